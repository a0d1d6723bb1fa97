//! An exported session as Markdown for people.
//!
//! Owns: its layout. Never: escapes a text: a file is not a terminal, and the words of a conversation stay as they are.

use agentos_host::{SessionExport, SessionMessage};

use super::chat::{describe_message, format_cost, name_author};
use super::count_noun;

/// Returns the session as Markdown.
pub fn format_export(export: &SessionExport) -> String {
    let title = export.title.as_deref().unwrap_or(export.session.as_str());
    let totals = &export.totals;
    let mut out = format!(
        "# {title}\n\n- Session: `{}`\n- Cost: {} USD for {}, {} tokens in, {} out\n",
        export.session,
        format_cost(Some(totals.cost_usd), totals.calls_without_cost),
        count_noun(totals.turns, "turn"),
        totals.input_tokens,
        totals.output_tokens,
    );
    if let Some(system) = &export.system {
        push_section(&mut out, "System prompt", system);
    }
    for pin in &export.pins {
        push_section(&mut out, "Pinned", pin);
    }
    if let Some(summary) = &export.summary {
        push_section(&mut out, "Summary of earlier messages", summary);
    }
    for turn in &export.turns {
        let time = turn.time.as_deref().unwrap_or("time unknown");
        let cost = turn
            .cost_usd
            .map_or_else(|| "cost unknown".to_owned(), |cost| format!("{cost} USD"));
        for message in &turn.messages {
            let facts = match message.author.is_some() {
                true => format!("{time}, {cost}"),
                false => time.to_owned(),
            };
            push_message(&mut out, message, &facts);
        }
    }
    out
}

fn push_message(out: &mut String, message: &SessionMessage, facts: &str) {
    let name = format!("{} ({facts})", name_author(message));
    push_section(out, &name, &describe_message(message));
}

fn push_section(out: &mut String, name: &str, text: &str) {
    out.push_str(&format!("\n## {name}\n\n{}\n", text.trim_end()));
}
