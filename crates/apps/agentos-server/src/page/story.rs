//! One run as a story of its stations.
//!
//! Owns: which facts each station shows. Never: leaves out a station that refused.

use agentos_host::{ResultKind, RunStory, StoryAttempt, StoryCheck};
use askama::Template;

use super::views::{PageFrame, RunRow, describe_run};
use crate::marked_text::mark;

/// Most files of a station that are listed.
const MOST_FILES: usize = 200;

#[derive(Template)]
#[template(path = "run.html")]
pub struct RunPage {
    frame: PageFrame,
    row: RunRow,
    stations: Vec<RunStation>,
    can_undo: bool,
    is_open: bool,
}

/// RunStation of a run.
struct RunStation {
    name: String,
    /// Sign and word of the result: a colour alone says nothing to some readers.
    sign: &'static str,
    class: &'static str,
    lines: Vec<String>,
    files: Vec<(String, u64, u64, String)>,
}

impl RunStation {
    fn new(name: impl Into<String>, lines: Vec<String>) -> Self {
        Self {
            name: name.into(),
            sign: "●",
            class: "",
            lines: lines.iter().map(|line| mark(line)).collect(),
            files: Vec::new(),
        }
    }

    fn judged(self, is_good: bool) -> Self {
        let (sign, class) = if is_good { ("✓", "good") } else { ("✗", "bad") };
        Self { sign, class, ..self }
    }

    fn waiting(self) -> Self {
        Self {
            sign: "…",
            class: "warn",
            ..self
        }
    }
}

impl RunPage {
    /// Makes the page of a run.
    pub fn new(frame: PageFrame, story: &RunStory) -> Self {
        let mut stations = vec![describe_task(story)];
        let several = story.attempts.len() > 1;
        for attempt in &story.attempts {
            stations.extend(describe_attempt(attempt, several));
        }
        stations.extend(describe_decision(story));
        stations.extend(describe_end(story));
        Self {
            frame,
            row: describe_run(&story.run),
            can_undo: story.run.result.kind == ResultKind::Landed,
            is_open: story.run.result.kind == ResultKind::Waiting,
            stations,
        }
    }
}

fn describe_task(story: &RunStory) -> RunStation {
    let mut lines = Vec::new();
    lines.extend(story.task.clone());
    let commit = story.base_commit.as_deref().map(short);
    match (&story.run.branch, commit) {
        (Some(branch), Some(commit)) => lines.push(format!("for {branch}, on commit {commit}")),
        (Some(branch), None) => lines.push(format!("for {branch}")),
        (None, Some(commit)) => lines.push(format!("on commit {commit}")),
        (None, None) => {}
    }
    lines.extend(
        story
            .follows
            .as_ref()
            .map(|follows| format!("follows run {}", follows.run)),
    );
    lines.extend(
        story
            .answer_of
            .as_ref()
            .map(|run| format!("lands the answer of run {run}")),
    );
    RunStation::new("Task", lines)
}

/// Describes an attempt: what was shown, what was answered, where it was placed, and what the checks said.
fn describe_attempt(attempt: &StoryAttempt, several: bool) -> Vec<RunStation> {
    let suffix = if several {
        format!(" {}", attempt.attempt)
    } else {
        String::new()
    };
    let mut stations = Vec::new();
    if !attempt.shown.is_empty() || !attempt.withheld.is_empty() {
        let mut lines = vec![format!("{} files shown", attempt.shown.len())];
        if !attempt.withheld.is_empty() {
            lines.push(format!("withheld by policy: {}", attempt.withheld.join(", ")));
        }
        stations.push(RunStation::new(format!("Context{suffix}"), lines));
    }
    let mut lines = Vec::new();
    lines.extend(attempt.model.clone());
    lines.extend(attempt.answer_bytes.map(|bytes| format!("{bytes} bytes")));
    lines.extend(attempt.latency_ms.map(|time| format!("{time} ms")));
    if let (Some(input), Some(output)) = (attempt.input_tokens, attempt.output_tokens) {
        lines.push(format!("{input} tokens in, {output} out"));
    }
    let lines = vec![lines.join(" · ")].into_iter().chain(attempt.error.clone());
    let answer = RunStation::new(
        format!("Answer{suffix}"),
        lines.filter(|line| !line.is_empty()).collect(),
    );
    stations.push(match &attempt.error {
        Some(_) => answer.judged(false),
        None => answer,
    });
    if !attempt.files.is_empty() || attempt.refused.is_some() {
        let mut placed = RunStation::new(
            format!("Placed{suffix}"),
            attempt.refused.iter().cloned().collect(),
        );
        placed = placed.judged(attempt.refused.is_none());
        let files = attempt.files.iter().take(MOST_FILES);
        placed.files = files
            .map(|file| {
                let how = file.refused.clone().unwrap_or_else(|| file.placed.join(", "));
                (mark(&file.path), file.added, file.removed, mark(&how))
            })
            .collect();
        stations.push(placed);
    }
    stations.extend(attempt.check.iter().map(|check| describe_check("Check", check)));
    stations.extend(attempt.hooks.iter().map(|hook| describe_check("Hook", hook)));
    stations
}

fn describe_check(name: &str, check: &StoryCheck) -> RunStation {
    let end = check.code.map_or_else(
        || "ended at its time limit".to_owned(),
        |code| format!("exit {code}"),
    );
    let lines = vec![
        check.command.clone(),
        format!("{end} after {} ms", check.elapsed_ms),
    ];
    RunStation::new(name, lines).judged(check.passed)
}

fn describe_decision(story: &RunStory) -> Vec<RunStation> {
    let mut stations = Vec::new();
    if let Some(decision) = &story.decision {
        let rules = decision
            .rules
            .iter()
            .map(|rule| format!("{}: {}", rule.rule, rule.why));
        let lines = std::iter::once(decision.effect.clone()).chain(rules).collect();
        let station = RunStation::new("Policy", lines);
        stations.push(match decision.effect.as_str() {
            "allow" => station.judged(true),
            "deny" => station.judged(false),
            _ => station.waiting(),
        });
    }
    if let Some(consent) = &story.consent {
        let how = consent.how.as_deref().unwrap_or("?");
        stations.push(match (&consent.who, consent.given) {
            (Some(who), true) => {
                let device = consent
                    .device
                    .as_ref()
                    .map(|device| format!("signed on {device}"));
                let lines = [format!("{who} agreed"), how.to_owned()]
                    .into_iter()
                    .chain(device);
                RunStation::new("Consent", lines.collect()).judged(true)
            }
            (Some(who), false) => {
                let lines = std::iter::once(format!("{who} declined")).chain(consent.comment.clone());
                RunStation::new("Consent", lines.collect()).judged(false)
            }
            (None, _) => RunStation::new("Consent", vec!["nobody has answered".to_owned()]).waiting(),
        });
    }
    stations
}

fn describe_end(story: &RunStory) -> Option<RunStation> {
    if let Some(commit) = &story.run.result.commit {
        let lines = vec![
            short(commit).to_owned(),
            story.commit_subject.clone().unwrap_or_default(),
        ];
        return Some(RunStation::new("Commit", lines).judged(true));
    }
    let refusal = story.refusal.as_ref()?;
    let lines = std::iter::once(refusal.message.clone())
        .chain(refusal.hint.clone())
        .chain(
            story
                .run
                .comment
                .as_ref()
                .map(|comment| format!("declined: {comment}")),
        )
        .collect();
    let end = RunStation::new("End", lines);
    Some(match story.run.result.kind {
        // The run left a request, which is no refusal, whatever became of it later.
        ResultKind::Waiting | ResultKind::Approved => end.waiting(),
        ResultKind::Landed
        | ResultKind::DryRun
        | ResultKind::Refused
        | ResultKind::Denied
        | ResultKind::Expired
        | ResultKind::Declined
        | ResultKind::Void
        | ResultKind::NothingToDo
        | ResultKind::Failed
        | ResultKind::Ended
        | ResultKind::NotEnded => end.judged(false),
    })
}

/// Returns the beginning of a commit's id, as git shows it.
fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
