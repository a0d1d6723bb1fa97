//! Requests for consent, as text for people.
//!
//! Owns: the lines of a list, and the words about what differs from a request. Never: leaves out a rule that asks.

use agentos_host::{OpenRequest, RequestDrift, RequestState};

use agentos_tool::short_run;

use super::log::LogLayout;
use super::when::format_when;
use crate::escape;
use crate::printer::{paint, style};

/// Most paths and rules that a list names.
const MOST_NAMED: usize = 3;

/// Returns a request on four lines: what, by whom and where, the files, the rules. A closed one has its state as well.
pub fn format_request(open: &OpenRequest, layout: &LogLayout) -> String {
    let title = open.task.as_deref().unwrap_or_else(|| subject_of(open));
    let mut out = format!(
        "{}  {}\n",
        paint(style::BOLD, &escape::line(short_run(&open.run))),
        escape::line(title)
    );
    let when = |at: &str| format_when(at, &layout.now, layout.offset_minutes);
    let about = format!(
        "  asked {} by {}, for {}, open until {}",
        when(&open.asked),
        escape::line(&describe_tool(open)),
        escape::line(&describe_target(open)),
        match has_no_end(open) {
            true => "it is answered".to_owned(),
            false => when(open.request.expires.as_str()),
        },
    );
    out.push_str(&paint(style::DIM, &about));
    out.push('\n');
    if !open.files.is_empty() {
        out.push_str(&format!("  {}\n", list_some(&open.files)));
    }
    for reason in open.reasons.iter().take(MOST_NAMED) {
        let rule = paint(style::WARN, &escape::line(&reason.rule));
        out.push_str(&format!("  {rule}: {}\n", escape::line(&reason.sentence())));
    }
    if let Some(more) = open
        .reasons
        .len()
        .checked_sub(MOST_NAMED)
        .filter(|more| *more > 0)
    {
        out.push_str(&format!("  and {more} more reasons\n"));
    }
    if let Some(state) = describe_state(open) {
        out.push_str(&format!("  {}\n", paint(style::BOLD, &escape::line(&state))));
    }
    out
}

/// Returns the differences from a request, as lines below a question.
pub fn format_drift(drift: &RequestDrift) -> String {
    format!(
        "  {} {}\n",
        paint(style::WARN, "since the request:"),
        escape::line(&drift.describe())
    )
}

/// Returns the tool that proposed a change, with its model.
pub fn describe_tool(open: &OpenRequest) -> String {
    let tool = &open.request.tool;
    match &tool.model {
        Some(model) => format!("{} ({model})", tool.provider),
        None => tool.provider.clone(),
    }
}

/// Returns the place where a change would land.
pub fn describe_target(open: &OpenRequest) -> String {
    let target = &open.request.target;
    let branch = target.refname.trim_start_matches("refs/heads/");
    match target.writes.as_str() {
        "work-tree-only" => "the working tree, without a commit".to_owned(),
        _ => branch.to_owned(),
    }
}

fn subject_of(open: &OpenRequest) -> &str {
    open.request.message.lines().next().unwrap_or_default()
}

fn list_some(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(MOST_NAMED)
        .map(|name| escape::line(name))
        .collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    let mut text = shown.join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// Returns the state of a request. `None` if it is open.
fn describe_state(open: &OpenRequest) -> Option<String> {
    match open.state {
        RequestState::Open => None,
        RequestState::Approved => Some("approved".to_owned()),
        RequestState::Denied => Some("denied".to_owned()),
        RequestState::Expired => Some("expired".to_owned()),
        RequestState::Void => Some(format!("void: {}", open.void.as_deref().unwrap_or_default())),
    }
}

/// Returns whether a request waits until somebody answers: its end is the last time that a record can state.
fn has_no_end(open: &OpenRequest) -> bool {
    open.request.expires.as_str().starts_with("9999-")
}
