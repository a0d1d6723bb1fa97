//! Story of one run, as text for people.
//!
//! Owns: the order and the words. Never: shows untrusted text unescaped.

use agentos_host::{
    FollowKind, ResultKind, RunStory, StoryAttempt, StoryCheck, StoryConsent, StoryDecision, StoryFile,
};
use agentos_tool::{format_dollars, short_run};

use super::count_noun;
use super::log::{LogLayout, describe_result};
use super::next_step::word_hint;
use super::run_ids::shorten_runs;
use super::when::format_local;
use crate::codes;
use crate::escape;
use crate::printer::{paint, style};

/// Width of the labels.
const LABEL: usize = 9;

/// Returns the story of a run: a label and its text on each line.
pub fn format_story(story: &RunStory, layout: &LogLayout) -> String {
    let mut out = String::new();
    push_begin(&mut out, story, layout);
    let count = story.attempts.len();
    for attempt in &story.attempts {
        if count > 1 {
            let title = format!("attempt {} of {count}", attempt.attempt);
            out.push_str(&format!("{}\n", paint(style::BOLD, &title)));
        }
        push_attempt(&mut out, attempt);
    }
    if let Some(decision) = &story.decision {
        push_decision(&mut out, decision);
    }
    if let Some(consent) = &story.consent {
        push_line(&mut out, "consent", &describe_consent(consent, is_over(story)));
        if let Some(comment) = &consent.comment {
            push_block(&mut out, "comment", comment);
        }
    }
    push_end(&mut out, story);
    out
}

fn push_begin(out: &mut String, story: &RunStory, layout: &LogLayout) {
    let run = &story.run;
    let id = format!(
        "{} {}",
        paint(style::BOLD, &escape::line(&run.short)),
        paint(style::DIM, &format!("({})", escape::line(&run.run)))
    );
    push_line(out, "run", &id);
    let began = format_local(&run.began, layout.offset_minutes);
    let verb = run.verb.as_ref().map(|verb| format!(", agentos {verb}"));
    let when = format!("{began}{}", verb.unwrap_or_default());
    push_line(out, "began", &escape::line(&when));
    if let Some(task) = &story.task {
        // The ids of other runs are the task of an undo or an approval.
        push_block(out, "task", &shorten_runs(task));
    }
    if let (None, Some(earlier)) = (&story.task, &run.answers) {
        let words = format!("the request of run {}", short_run(earlier));
        push_line(out, "closes", &escape::line(&words));
    }
    if let Some(provider) = &run.provider {
        let model = run.model.as_ref().map(|model| format!(", {model}"));
        let mode = story.execution_mode.as_ref().map(|mode| format!(", {mode}"));
        let by = format!(
            "{provider}{}{}",
            model.unwrap_or_default(),
            mode.unwrap_or_default()
        );
        push_line(out, "by", &escape::line(&by));
    }
    if let Some(earlier) = &story.follows {
        let how = match earlier.how {
            FollowKind::Retry => "does run {} again",
            FollowKind::Continue => "continues run {}",
        };
        let words = how.replace("{}", short_run(&earlier.run));
        push_line(out, "follows", &escape::line(&words));
    }
    if let Some(source) = &story.answer_of {
        let words = format!("the recorded one of run {}", short_run(source));
        push_line(out, "from", &escape::line(&words));
    }
    if let Some(branch) = &run.branch {
        let base = story.base_commit.as_ref();
        let base = base.map(|id| format!(" at {}", id.get(..10).unwrap_or(id)));
        let place = format!("{branch}{}", base.unwrap_or_default());
        push_line(out, "branch", &escape::line(&place));
    }
}

fn push_attempt(out: &mut String, attempt: &StoryAttempt) {
    if !attempt.shown.is_empty() {
        push_line(out, "shown", &escape::line(&attempt.shown.join(", ")));
    }
    if !attempt.withheld.is_empty() {
        push_line(out, "withheld", &escape::line(&attempt.withheld.join(", ")));
    }
    if let Some(words) = describe_answer(attempt) {
        push_line(out, "answer", &escape::line(&words));
    }
    if let Some(error) = &attempt.error {
        push_block(out, "problem", error);
    }
    for (at, file) in attempt.files.iter().enumerate() {
        push_line(out, if at == 0 { "files" } else { "" }, &describe_file(file));
    }
    // The refusal of one file is usually that of the whole answer, and would be repeated.
    let is_said = attempt.error.is_some() || attempt.files.iter().any(|file| file.refused.is_some());
    if let Some(refused) = attempt.refused.as_ref().filter(|_| !is_said) {
        push_block(out, "problem", refused);
    }
    if let Some(check) = &attempt.check {
        push_line(out, "check", &describe_check(check));
    }
    for (at, hook) in attempt.hooks.iter().enumerate() {
        push_line(out, if at == 0 { "hooks" } else { "" }, &describe_check(hook));
    }
}

/// Returns size, tokens, time and cost of an answer. `None` if nothing is known.
fn describe_answer(attempt: &StoryAttempt) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(bytes) = attempt.answer_bytes {
        parts.push(count_noun(bytes, "byte"));
    }
    if attempt.answer_bytes.is_none() && attempt.latency_ms.is_some() {
        parts.push("none".to_owned());
    }
    parts.extend(attempt.model.as_ref().map(|model| format!("from {model}")));
    let tokens = (attempt.input_tokens, attempt.output_tokens);
    if let (Some(input), Some(output)) = tokens {
        parts.push(format!("{input} tokens in, {output} out"));
    }
    let time = attempt.latency_ms.filter(|time| *time > 0);
    parts.extend(time.map(format_seconds));
    parts.extend(
        attempt
            .cost_micro_usd
            .filter(|cost| *cost > 0)
            .map(format_dollars),
    );
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn describe_file(file: &StoryFile) -> String {
    let counts = match (file.added, file.removed) {
        (0, 0) => String::new(),
        (added, removed) => format!(
            "  {} {}",
            paint(style::GOOD, &format!("+{added}")),
            paint(style::BAD, &format!("-{removed}"))
        ),
    };
    let placed = match file.placed.as_slice() {
        [] => String::new(),
        placed => paint(
            style::DIM,
            &format!("  {}", escape::line(&placed.join(", ").replace('-', " "))),
        ),
    };
    let refused = file.refused.as_ref();
    let refused = refused.map(|why| format!("  {}", paint(style::BAD, &escape::line(why))));
    format!(
        "{}{counts}{placed}{}",
        escape::line(&file.path),
        refused.unwrap_or_default()
    )
}

fn describe_check(check: &StoryCheck) -> String {
    let command = escape::line(&check.command);
    let time = format_seconds(check.elapsed_ms);
    let without = match check.passes_without {
        Some(false) => "; it fails without the change as well",
        Some(true) | None => "",
    };
    match (check.passed, check.code) {
        (true, _) => format!("{} `{command}`, {time}", paint(style::GOOD, "passed")),
        (false, Some(code)) => {
            let failed = paint(style::BAD, "failed");
            format!("{failed} `{command}` with exit code {code}, {time}{without}")
        }
        (false, None) => format!(
            "{} `{command}` did not end in {time}",
            paint(style::BAD, "failed")
        ),
    }
}

fn push_decision(out: &mut String, decision: &StoryDecision) {
    let painted = match decision.effect.as_str() {
        "allow" => style::GOOD,
        "ask" => style::WARN,
        _ => style::BAD,
    };
    let effect = paint(painted, &escape::line(&decision.effect));
    if decision.rules.is_empty() {
        push_line(out, "policy", &format!("{effect}: no rule allows it"));
    }
    for (at, rule) in decision.rules.iter().enumerate() {
        let words = escape::line(&rule.why);
        let name = paint(style::DIM, &format!("({})", escape::line(&rule.rule)));
        let words = match at {
            0 => format!("{effect}: {words} {name}"),
            _ => format!("       {words} {name}"),
        };
        push_line(out, if at == 0 { "policy" } else { "" }, &words);
    }
}

/// Returns true if somebody answered the request of a run later, or nobody may any more.
fn is_over(story: &RunStory) -> bool {
    matches!(
        story.run.result.kind,
        ResultKind::Approved | ResultKind::Declined | ResultKind::Void | ResultKind::Expired
    )
}

fn describe_consent(consent: &StoryConsent, is_over: bool) -> String {
    let how = consent.how.as_ref().map(|how| format!(" ({how})"));
    let how = how.unwrap_or_default();
    let words = match (consent.given, &consent.who, &consent.until) {
        (true, Some(who), _) => format!("given by {who}{how}"),
        (true, None, _) => "given".to_owned(),
        (false, Some(who), _) => format!("declined by {who}{how}"),
        (false, None, Some(_)) if is_over => "nobody was asked at the time".to_owned(),
        (false, None, Some(until)) => format!("nobody was asked; can be given until {until}"),
        (false, None, None) => "not given".to_owned(),
    };
    escape::line(&words)
}

fn push_end(out: &mut String, story: &RunStory) {
    let result = &story.run.result;
    if let Some(commit) = &result.commit {
        let subject = story
            .commit_subject
            .as_deref()
            .unwrap_or("not in this repository");
        let words = format!("{} {subject}", commit.get(..10).unwrap_or(commit));
        push_line(out, "commit", &escape::line(&words));
    }
    let painted = match result.kind {
        ResultKind::Landed | ResultKind::DryRun | ResultKind::Approved => style::GOOD,
        ResultKind::Refused | ResultKind::Denied | ResultKind::Failed => style::BAD,
        ResultKind::Waiting | ResultKind::NothingToDo | ResultKind::NotEnded => style::WARN,
        ResultKind::Expired | ResultKind::Declined | ResultKind::Void | ResultKind::Ended => style::DIM,
    };
    let words = escape::line(&describe_result(result));
    push_line(out, "result", &paint(painted, &words));
    if let Some(refusal) = &story.refusal {
        push_block(out, "", &shorten_runs(&refusal.message));
        let default = || codes::default_step(refusal.code.as_deref()?).map(str::to_owned);
        let hint = word_hint(refusal.hint.as_deref(), &refusal.next).or_else(default);
        // The steps of that time lead nowhere.
        if let Some(hint) = hint.filter(|_| !is_over(story)) {
            push_line(out, "next", &escape::line(&shorten_runs(&hint)));
        }
    }
    if let Some(comment) = &story.run.comment {
        push_block(out, "comment", comment);
    }
}

fn format_seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

/// Adds a line. The text must be escaped.
fn push_line(out: &mut String, label: &str, text: &str) {
    out.push_str(&paint(style::DIM, &format!("{label:LABEL$}")));
    out.push_str(text);
    out.push('\n');
}

/// Adds untrusted text of several lines, each below the first.
fn push_block(out: &mut String, label: &str, text: &str) {
    for (at, line) in text.trim_end().lines().enumerate() {
        push_line(out, if at == 0 { label } else { "" }, &escape::line(line));
    }
}
