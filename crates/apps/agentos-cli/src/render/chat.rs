//! Sessions as text for people.
//!
//! Owns: tables and stories. Never: returns a text of a conversation unescaped.

use agentos_host::{FoundTurn, SessionList, SessionMessage, SessionState, SessionStory};
use agentos_ledger::CompressionReceipt;
use agentos_model::{ChatRole, MessagePart};
use agentos_tool::ExactCost;

use super::log::LogLayout;
use super::when::format_when;
use super::{count_noun, format_columns};
use crate::escape;
use crate::printer::{paint, style};

/// Longest title in a table, in characters.
const LONGEST_TITLE: usize = 60;
/// Longest result of a tool in a story, in characters.
const LONGEST_RESULT: usize = 200;

/// Returns a table with a line for each session.
pub fn format_sessions(list: &SessionList, layout: &LogLayout) -> String {
    let mut rows = vec![
        ["SESSION", "LAST", "TURNS", "COST (USD)", "MODEL", "ABOUT"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(list.sessions.iter().map(|session| {
        let about = session
            .title
            .as_deref()
            .or(session.opening.as_deref())
            .unwrap_or("-");
        let model = [session.provider.as_deref(), session.model.as_deref()];
        vec![
            escape::line(&session.session),
            format_when(&session.last, &layout.now, layout.offset_minutes),
            session.turns.to_string(),
            format_cost(session.cost_usd, session.unknown),
            escape::line(&model.into_iter().flatten().collect::<Vec<_>>().join("/")),
            escape::line(&about.chars().take(LONGEST_TITLE).collect::<String>()),
        ]
    }));
    let mut out = format_columns(&rows);
    let more = list.all.saturating_sub(list.sessions.len() as u64);
    if more > 0 {
        out.push_str(&format!(
            "{} not shown; `-n N` shows more\n",
            count_noun(more, "older session")
        ));
    }
    out
}

/// Formats a sum of costs, with the number of calls that are not in it.
pub fn format_cost(known: Option<ExactCost>, unknown: u64) -> String {
    match (known, unknown) {
        (None, _) => "too large".to_owned(),
        (Some(known), 0) => known.to_string(),
        (Some(known), _) if known == ExactCost::default() => "unknown".to_owned(),
        (Some(known), _) => format!("{known}+"),
    }
}

/// Describes the state of a session, a line each.
pub fn describe_state(state: &SessionState, model: &str) -> Vec<String> {
    let totals = state.totals();
    let live = state.list_live().count() as u64;
    let mut lines = vec![
        format!("session  {}", state.key()),
        format!("model    {model}"),
        format!(
            "sent     {} of {}",
            count_noun(live, "message"),
            state.messages().len()
        ),
        format!(
            "pinned   {}",
            count_noun(state.settings().pins.len() as u64, "text")
        ),
        format!(
            "cost     {} for {}, {} tokens in, {} out",
            format_cost(Some(totals.cost_usd), totals.calls_without_cost),
            count_noun(totals.turns, "turn"),
            totals.input_tokens,
            totals.output_tokens
        ),
    ];
    if state.active_compression().is_some() {
        lines.push("summary  earlier messages are sent as a summary".to_owned());
    }
    lines
}

/// Describes a summary by what it replaces.
pub fn describe_receipt(receipt: &CompressionReceipt) -> String {
    let count = count_noun(receipt.replaced.len() as u64, "message");
    let (before, after) = (receipt.tokens_before, receipt.tokens_after);
    format!("{count} of before become a summary: {before} tokens become {after}")
}

/// Returns a session with its messages, for reading.
pub fn format_story(story: &SessionStory) -> String {
    let mut out = format!("{}\n", paint(style::BOLD, story.session.as_str()));
    if let Some(title) = &story.title {
        out.push_str(&format!("{}\n", escape::line(title)));
    }
    let mut section = |name: &str, text: &str| {
        out.push_str(&format!(
            "\n{}\n{}\n",
            paint(style::DIM, name),
            escape::block(text.trim_end())
        ));
    };
    if let Some(system) = &story.system {
        section("system", system);
    }
    story.pins.iter().for_each(|pin| section("pinned", pin));
    if let Some(summary) = &story.summary {
        section("summary of earlier messages", summary);
    }
    for message in &story.messages {
        section(&name_author(message), &describe_message(message));
    }
    out
}

/// Returns the name of who wrote a message, escaped.
pub fn name_author(message: &SessionMessage) -> String {
    let name = match (&message.author, &message.message) {
        (Some(author), _) => {
            let model = author.model.as_deref().unwrap_or(&author.provider);
            escape::line(model)
        }
        (None, Some(message))
            if message
                .parts
                .iter()
                .any(|part| matches!(part, MessagePart::ToolResult(_))) =>
        {
            "results of tools".to_owned()
        }
        (None, Some(message)) => match message.role {
            ChatRole::User => "you".to_owned(),
            ChatRole::Assistant => "model".to_owned(),
        },
        (None, None) => "you".to_owned(),
    };
    let name = match &message.cut {
        Some(reason) => format!("{name} (cut: {})", escape::line(reason)),
        None => name,
    };
    match message.is_live {
        true => name,
        false => format!("{name} (not sent any more)"),
    }
}

/// Returns the text of a message, with a line for each call of a tool and each image.
pub fn describe_message(message: &SessionMessage) -> String {
    let Some(found) = &message.message else {
        return "(the text cannot be read)".to_owned();
    };
    let shorten = |text: &str| text.chars().take(LONGEST_RESULT).collect::<String>();
    let parts = found.parts.iter().filter_map(|part| match part {
        MessagePart::Text(text) => Some(text.clone()),
        MessagePart::Image(image) => Some(format!("[image, {}]", image.media_type)),
        MessagePart::ToolCall(call) => Some(format!(
            "[{} {}]",
            call.name,
            shorten(&call.arguments.to_string())
        )),
        MessagePart::ToolResult(result) => Some(format!("[{}]", shorten(&result.text))),
        MessagePart::Thinking(_) => None,
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// Returns the turns that a search found, a line each.
pub fn format_found(found: &[FoundTurn]) -> String {
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|turn| {
            let words: Vec<&str> = turn.snippet.split_whitespace().collect();
            vec![escape::line(&turn.session), escape::line(&words.join(" "))]
        })
        .collect();
    format_columns(&rows)
}
