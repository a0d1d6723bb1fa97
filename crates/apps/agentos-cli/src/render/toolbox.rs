//! A toolbox as a person is asked about it: how it is started, its tools, and how they changed.
//!
//! Owns: the layout. Never: shows a text of the toolbox unescaped.

use agentos_host::{ToolboxChange, ToolboxReview, ToolboxTrust};

use crate::escape;
use crate::printer::{paint, style};

/// Formats a review.
pub fn format_review(review: &ToolboxReview) -> String {
    let launch = &review.launch;
    let mut out = format!("{}\n", paint(style::BOLD, &escape::line(&review.toolbox)));
    let words: Vec<&str> = std::iter::once(&launch.command)
        .chain(&launch.args)
        .map(String::as_str)
        .collect();
    out.push_str(&format!("program   {}\n", escape::line(&words.join(" "))));
    for (name, value) in &launch.env {
        out.push_str(&format!(
            "variable  {}\n",
            escape::line(&format!("{name}={value}"))
        ));
    }
    for (path, sha256) in &launch.files {
        out.push_str(&format!(
            "file      {}  {}\n",
            escape::line(path),
            escape::line(sha256)
        ));
    }
    let hosts = match launch.hosts.as_slice() {
        [] => "none".to_owned(),
        hosts => escape::line(&hosts.join(", ")),
    };
    out.push_str(&format!("network   {hosts}\n"));
    out.push_str(&format!("sha256    {}\n", escape::line(&review.sha256)));
    for tool in &review.tools {
        let name = format!("{}__{}", review.toolbox, tool.name);
        out.push_str(&format!("\n{}\n", paint(style::BOLD, &escape::line(&name))));
        push_text(&mut out, "  ", &tool.description);
        push_text(&mut out, "  arguments ", &tool.input_schema.to_string());
        if let Some(notes) = review.notes.get(&tool.name) {
            push_text(&mut out, "  notes ", &notes.to_string());
        }
    }
    out.push('\n');
    match review.trust {
        ToolboxTrust::Trusted => out.push_str("you trust these tools\n"),
        ToolboxTrust::New => out.push_str("you were not asked about these tools yet\n"),
        ToolboxTrust::Changed => {
            out.push_str("changed since you trusted them:\n");
            review
                .changes
                .iter()
                .for_each(|change| push_change(&mut out, change));
        }
    }
    out
}

fn push_change(out: &mut String, change: &ToolboxChange) {
    match change {
        ToolboxChange::ToolAdded { tool } => push_text(out, "  + tool ", tool),
        ToolboxChange::ToolRemoved { tool } => push_text(out, "  - tool ", tool),
        ToolboxChange::Description { tool, before, after } => {
            push_text(out, "  description of ", tool);
            push_text(out, "    - ", before);
            push_text(out, "    + ", after);
        }
        ToolboxChange::Schema { tool, before, after } => {
            push_text(out, "  arguments of ", tool);
            push_text(out, "    - ", before);
            push_text(out, "    + ", after);
        }
        ToolboxChange::Notes { tool, before, after } => {
            push_text(out, "  notes on ", tool);
            push_text(out, "    - ", before);
            push_text(out, "    + ", after);
        }
        ToolboxChange::Order => push_text(out, "  ", "the order of the tools"),
        ToolboxChange::File { path } => push_text(out, "  bytes of ", path),
        ToolboxChange::Launch { field, before, after } => {
            push_text(out, "  ", field);
            push_text(out, "    - ", before);
            push_text(out, "    + ", after);
        }
    }
}

/// Adds a text of the toolbox, each of its lines behind this mark: a text with line breaks must not look like one of ours.
fn push_text(out: &mut String, mark: &str, text: &str) {
    for line in text.split('\n') {
        out.push_str(&format!("{mark}{}\n", escape::line(line)));
    }
}
