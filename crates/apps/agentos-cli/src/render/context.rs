//! Files that a tool would be shown, as text for people.
//!
//! Owns: the wording. Never: shows a file's content.

use super::format_columns;
use crate::escape;
use crate::printer::{paint, style};
use agentos_host::{ContextFileReport, ContextReport};

/// Returns a line for each file, and a summary.
pub fn format_context(report: &ContextReport) -> String {
    let rows: Vec<Vec<String>> = report
        .files
        .iter()
        .map(|file| {
            vec![
                escape::line(&file.path),
                format_size(file.bytes),
                selection_reason(file),
            ]
        })
        .collect();
    let mut out = format_columns(&rows);
    for path in &report.too_large {
        let text = format!("{} is named in the task but does not fit\n", escape::line(path));
        out.push_str(&paint(style::WARN, &text));
    }
    if report.files.is_empty() {
        out.push_str("no file of the repository seems to belong to this task; name one with `--file`\n");
    }
    // A large repository is ranked within a time limit. Files that were not read in time can only be ranked by their
    // paths.
    let unread = report.ranked - report.read.min(report.ranked);
    let cut = match unread {
        0 => String::new(),
        some => format!("; {some} were not read in time and ranked by path only"),
    };
    out.push_str(&paint(
        style::DIM,
        &format!(
            "{} of {} that fit, from {} files{cut}\n",
            format_size(report.bytes),
            format_size(report.budget_bytes),
            report.ranked
        ),
    ));
    out
}

/// Returns the summary in one line.
pub fn summarize_context(report: &ContextReport) -> String {
    if report.files.is_empty() {
        return "context: no file of the repository seems to belong to this task; name one with `--file`"
            .to_owned();
    }
    let paths: Vec<String> = report.files.iter().map(|file| escape::line(&file.path)).collect();
    format!(
        "context: {} ({}); `--context show` explains the selection",
        paths.join(", "),
        format_size(report.bytes)
    )
}

fn selection_reason(file: &ContextFileReport) -> String {
    if file.named {
        "named in the task".to_owned()
    } else {
        escape::line(&file.words.join(", "))
    }
}

fn format_size(bytes: u64) -> String {
    if bytes < 1024 {
        format!("{bytes} B")
    } else {
        format!("{:.1} KB", bytes as f64 / 1024.0)
    }
}
