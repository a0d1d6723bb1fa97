//! Outcome of `apply`, `run` and `undo`, as text for people.
//!
//! Owns: the sentence, the reasons and the next step. Never: shows more than helps.

use agentos_api::unsaid_causes;
use agentos_host::Withheld;
use agentos_host::{Decision, Effect};
use agentos_host::{FailedAttempt, Outcome, OutcomeKind, Tried};
use agentos_tool::format_dollars;

use super::report::{deletion_mark, format_report};
use crate::escape;
use crate::printer::{paint, style};

/// Returns the outcome as text. `verbose` adds the report of a landed change.
pub fn format_outcome(outcome: &Outcome, verbose: bool, width: usize) -> String {
    let mut out = format_headline(outcome);
    for cause in unsaid_causes(&outcome.message, &outcome.causes) {
        out.push_str(&format!("  caused by: {}\n", escape::line(cause)));
    }
    if let Some(landing) = &outcome.report
        && (verbose || outcome.outcome != OutcomeKind::Landed || has_repairs(outcome))
    {
        out.push_str(&format_report(landing, &outcome.deleted, width));
    } else {
        write_files(&mut out, outcome);
    }
    out.push_str(&format_earlier(outcome));
    out.push_str(&format_output(outcome));
    out.push_str(&outcome.check.as_ref().map(format_check).unwrap_or_default());
    out.push_str(&format_withheld(&outcome.withheld));
    for path in &outcome.kept {
        let path = escape::line(path);
        out.push_str(&format!(
            "  {} {path} was edited meanwhile; your edits were not overwritten\n",
            paint(style::WARN, "kept")
        ));
    }
    write_reasons(&mut out, outcome, verbose);
    if let Some(hint) = &outcome.hint {
        out.push_str(&format!(
            "  {} {}\n",
            paint(style::BOLD, "next:"),
            escape::line(hint)
        ));
    }
    // The next step of a run that waits names the run already.
    let is_named = outcome
        .hint
        .as_ref()
        .is_some_and(|hint| hint.contains(outcome.run.as_str()));
    let mut about = match is_named {
        true => String::new(),
        false => format!("  run {}", outcome.run),
    };
    if let Some(result) = &outcome.result {
        about.push_str(&super::result::describe_call(result));
    }
    if outcome.attempts > 1 {
        let cost = outcome
            .cost_micro_usd
            // A call that cost nothing needs no word; `evidence stats` has the zero.
            .filter(|cost| *cost > 0)
            .map(|cost| format!(", {} in all", format_dollars(cost)));
        about.push_str(&format!(
            ", {} attempts{}",
            outcome.attempts,
            cost.unwrap_or_default()
        ));
    }
    if !about.is_empty() {
        out.push_str(&paint(style::DIM, &format!("{about}\n")));
    }
    out
}

/// Writes the paths of the change, the deleted ones marked.
fn write_files(out: &mut String, outcome: &Outcome) {
    // More would push the outcome itself off the screen.
    const MOST_FILES: usize = 20;
    for file in outcome.files.iter().take(MOST_FILES) {
        let mark = deletion_mark(outcome.deleted.contains(file));
        out.push_str(&format!("  {}{mark}\n", escape::line(file)));
    }
    let more = outcome.files.len().saturating_sub(MOST_FILES);
    if more > 0 {
        out.push_str(&paint(
            style::DIM,
            &format!("  and {more} more; `agentos show` lists all\n"),
        ));
    }
}

/// Maximum number of lines shown of a failed check's output. `agentos show --output` prints all that is recorded.
const CHECK_LINES: usize = 10;

/// Returns the result of the check, and the end of its output if it failed.
fn format_check(tried: &Tried) -> String {
    let command = escape::line(&tried.command);
    let seconds = format!("{}.{} s", tried.elapsed_ms / 1000, tried.elapsed_ms % 1000 / 100);
    if tried.passed {
        return format!(
            "  {} `{command}` {}\n",
            paint(style::GOOD, "passed"),
            paint(style::DIM, &seconds)
        );
    }
    let mut out = format!(
        "  {} `{command}` {}\n",
        paint(style::BAD, "failed"),
        paint(style::DIM, &seconds)
    );
    // Test runners print their summary last, so the end of the output says what failed.
    let lines: Vec<&str> = tried.said.lines().collect();
    let last = lines.iter().skip(lines.len().saturating_sub(CHECK_LINES));
    out.extend(last.map(|line| quote_line(line)));
    out
}

/// Returns a line of a program's output, marked as a quotation.
fn quote_line(line: &str) -> String {
    format!("    {} {}\n", paint(style::DIM, "|"), escape::line(line))
}

/// Returns why each earlier attempt did not land, one line each.
fn format_earlier(outcome: &Outcome) -> String {
    let line = |failed: &FailedAttempt| {
        let title = paint(style::WARN, &format!("attempt {} did not land", failed.attempt));
        if failed.message == outcome.message {
            return format!("  {title} for the same reason\n");
        }
        let code = failed.code.as_deref();
        let code = code.map(|code| format!(" [{}]", escape::line(code)));
        let message = escape::line(&failed.message);
        format!("  {title}{} {message}\n", code.unwrap_or_default())
    };
    outcome.earlier.iter().map(line).collect()
}

/// Returns the end of what the tool wrote besides its answer.
fn format_output(outcome: &Outcome) -> String {
    if outcome.output.is_empty() {
        return String::new();
    }
    let lines: String = outcome.output.iter().map(|line| quote_line(line)).collect();
    format!("  {}\n{lines}", paint(style::DIM, "the tool's output ends with"))
}

/// Returns the files that policy withheld from the tool, one line each.
pub fn format_withheld(list: &[Withheld]) -> String {
    let line = |one: &Withheld| {
        let (path, why) = (escape::line(&one.path), escape::line(&one.why));
        format!(
            "  {} {path} was not shown to the tool: {why}\n",
            paint(style::WARN, "left out")
        )
    };
    list.iter().map(line).collect()
}

fn format_headline(outcome: &Outcome) -> String {
    let message = escape::line(&outcome.message);
    let code = outcome
        .code
        .as_deref()
        .map(|code| format!(" [{}]", escape::line(code)))
        .unwrap_or_default();
    match outcome.outcome {
        OutcomeKind::Landed => format!("{}\n", paint(style::GOOD, &message)),
        OutcomeKind::Refused => format!("{}{code} {message}\n", paint(style::BAD, "refused")),
        // The message equals the first reason, and all reasons follow, one line each.
        OutcomeKind::Denied => {
            let words = match &outcome.decision {
                // Only a decision before the call is about no change.
                Some(decision) if decision.diff_sha256().is_none() => {
                    "by policy, whatever the change would be; no tool was called"
                }
                Some(_) => "by policy",
                None => &message,
            };
            format!("{}{code} {words}\n", paint(style::BAD, "denied"))
        }
        // The message says that the request stays open, or that the change was declined, and nothing is left to add.
        OutcomeKind::ConsentNeeded
            if matches!(
                outcome.code.as_deref(),
                Some("declined" | "interrupted" | "consent-void" | "consent-answered" | "consent-expired")
            ) =>
        {
            format!("{}\n", paint(style::WARN, &message))
        }
        OutcomeKind::ConsentNeeded => {
            let target = outcome.target.as_ref();
            let place = target.map(|target| target.refname.trim_start_matches("refs/heads/"));
            let place = place.map(|place| format!(" on {}", escape::line(place)));
            format!(
                "{}{code} nothing was landed{}; policy requires a person's consent\n",
                paint(style::WARN, "consent needed"),
                place.unwrap_or_default()
            )
        }
        OutcomeKind::NothingToDo => format!("{}{code} {message}\n", paint(style::WARN, "nothing to do")),
        OutcomeKind::Failed => format!("{}{code} {message}\n", paint(style::BAD, "failed")),
    }
}

/// Returns true if an edit was repaired or moved, so that the report is worth showing.
fn has_repairs(outcome: &Outcome) -> bool {
    outcome.report.as_ref().is_some_and(|report| {
        report.files.iter().any(|file| {
            !file.repairs.is_empty()
                || file.hunks.iter().any(|hunk| {
                    !hunk.repairs.is_empty()
                        || (hunk.stated_line.is_some() && hunk.stated_line != hunk.found_line)
                })
        })
    })
}

fn write_reasons(out: &mut String, outcome: &Outcome, verbose: bool) {
    let Some(decision) = &outcome.decision else { return };
    if verbose {
        for reason in decision.reasons() {
            let place = reason
                .path
                .as_deref()
                .map(|path| format!("{}: ", escape::line(path)))
                .unwrap_or_default();
            let line = reason.line.map(|line| format!(":{line}")).unwrap_or_default();
            out.push_str(&format!(
                "  {} {place}{} {}\n",
                paint_effect(reason.effect),
                escape::line(&reason.sentence()),
                paint(
                    style::DIM,
                    &format!(
                        "({}, {}{line})",
                        escape::line(&reason.rule),
                        escape::line(&reason.source)
                    )
                ),
            ));
        }
    } else {
        out.push_str(&format_groups(decision));
    }
}

/// Returns every rule that asked or denied, one line each, with its paths. No rule is omitted, because a person can only
/// consent to what is shown.
pub fn format_groups(decision: &Decision) -> String {
    let mut out = String::new();
    for group in decision
        .grouped()
        .iter()
        .filter(|group| group.effect != Effect::Allow)
    {
        let paths: Vec<String> = group.paths.iter().map(|path| escape::line(path)).collect();
        // A group lists only its first paths, but its count covers all of them. A person must see how much a consent
        // covers.
        let more = group.count.saturating_sub(paths.len() as u64);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let place = if paths.is_empty() {
            String::new()
        } else {
            format!("{}{more}: ", paths.join(", "))
        };
        out.push_str(&format!(
            "  {} {place}{} {}\n",
            paint_effect(group.effect),
            escape::line(&group.sentence()),
            paint(style::DIM, &format!("({})", escape::line(group.rule))),
        ));
    }
    out
}

/// Returns a decision in its color.
pub fn paint_effect(effect: Effect) -> String {
    let style = match effect {
        Effect::Allow => style::GOOD,
        Effect::Ask => style::WARN,
        Effect::Deny => style::BAD,
    };
    paint(style, effect.as_str())
}
