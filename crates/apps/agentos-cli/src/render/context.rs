//! Files that a tool would be shown, as text for people.
//!
//! Owns: the wording. Never: shows a file's content.

use super::format_columns;
use crate::escape;
use crate::printer::{paint, style};
use agentos_host::{ContextBudgetReport, ContextFileReport, ContextReport, OmittedMatches, WindowSource};

/// Returns a line for each file, the division of the model's window, and what is not shown.
pub fn format_context(report: &ContextReport) -> String {
    let mut out = format_files(report);
    if report.files.is_empty() {
        out.push_str("no file of the repository seems to belong to this task; name one with `--file`\n");
    }
    out.push_str(&format_division(report));
    out
}

/// Returns the same for the context of an earlier run.
pub fn format_shown(report: &ContextReport) -> String {
    let mut out = format_files(report);
    if report.files.is_empty() {
        out.push_str("the tool was shown no file as text\n");
    }
    match report.budget {
        Some(_) => out.push_str(&format_division(report)),
        None => out.push_str(&paint(style::DIM, &format!("{}\n", format_size(report.bytes)))),
    }
    out
}

/// Returns a line for each file, and what is not shown.
fn format_files(report: &ContextReport) -> String {
    let rows: Vec<Vec<String>> = report
        .files
        .iter()
        .map(|file| {
            vec![
                escape::line(&file.path),
                shown_lines(file),
                format_size(file.bytes),
                selection_reason(file),
            ]
        })
        .collect();
    let mut out = format_columns(&rows);
    if !report.outlined.is_empty() {
        let paths: Vec<String> = report.outlined.iter().map(|path| escape::line(path)).collect();
        out.push_str(&format!("definitions alone: {}\n", paths.join(", ")));
    }
    for text in list_omissions(report) {
        out.push_str(&paint(style::WARN, &format!("{text}\n")));
    }
    out
}

/// Returns the division of the window, and how many files were searched.
fn format_division(report: &ContextReport) -> String {
    let mut out = report.budget.as_ref().map(format_budget).unwrap_or_default();
    // A very large repository is searched up to a limit of size. The other files can only be ranked by their paths.
    let unread = report.ranked - report.read.min(report.ranked);
    let cut = match unread {
        0 => String::new(),
        some => format!("; {some} are beyond the limit of the search and ranked by path only"),
    };
    out.push_str(&paint(
        style::DIM,
        &format!(
            "{} from {} files{cut}\n",
            format_size(report.bytes),
            report.ranked
        ),
    ));
    out
}

/// Returns the division of a window, in one line for each part.
fn format_budget(budget: &ContextBudgetReport) -> String {
    let limit = budget.answer_limit.filter(|limit| *limit > budget.answer);
    let answer = limit.map_or_else(String::new, |limit| {
        format!("of the {limit} that are allowed; the files keep the rest")
    });
    let mut rows = vec![
        ("window", budget.window, window_origin(budget.source).to_owned()),
        ("instructions and task", budget.prompt, String::new()),
        (
            "files",
            budget.used,
            format!("of {} that they may have", budget.context),
        ),
        ("kept for the answer", budget.answer, answer),
        ("reserve", budget.reserve, "the counts are estimates".to_owned()),
    ];
    if budget.outline > 0 {
        rows.insert(
            3,
            (
                "definitions",
                budget.outline,
                "of files that are not shown as a whole".to_owned(),
            ),
        );
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, tokens, note)| vec![name.to_owned(), format!("{tokens} tokens"), note])
        .collect();
    format!("\n{}", format_columns(&rows))
}

/// Returns where the size of a window comes from.
fn window_origin(source: WindowSource) -> &'static str {
    match source {
        WindowSource::Server => "loaded by the server",
        WindowSource::Catalogue => "the vendor's, for this model",
        WindowSource::Profile => "`capabilities.context_window` of the profile",
        WindowSource::UserModel => "your entry about the model: `agentos models show`",
        WindowSource::Assumed => "assumed, because neither server nor profile states it",
    }
}

/// Returns a line for each file that would be expected and is not shown.
fn list_omissions(report: &ContextReport) -> Vec<String> {
    let too_large = report.too_large.iter().map(|path| {
        format!(
            "{} is named but no part of it fits the window",
            escape::line(path)
        )
    });
    let withheld = report.withheld.iter().map(|file| {
        format!(
            "{} is withheld: {}",
            escape::line(&file.path),
            escape::line(&file.why)
        )
    });
    let omitted = report.omitted.iter().map(word_omitted);
    too_large.chain(omitted).chain(withheld).collect()
}

/// Returns how much of a folder, a pattern or a name is shown.
fn word_omitted(omitted: &OmittedMatches) -> String {
    format!(
        "{} means {} files or definitions, of which {} fit and are shown",
        escape::line(&omitted.name),
        omitted.matched,
        omitted.shown
    )
}

/// Returns which lines of a file are shown.
fn shown_lines(file: &ContextFileReport) -> String {
    if let Some(commit) = &file.commit {
        let short: String = commit.chars().take(12).collect();
        return format!("difference of {short}");
    }
    if file.ranges.is_empty() {
        return "whole".to_owned();
    }
    let ranges = file.ranges.iter().take(MOST_RANGES);
    let ranges: Vec<String> = ranges.map(|(first, last)| format!("{first}-{last}")).collect();
    let more = match file.ranges.len().saturating_sub(MOST_RANGES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    // Nobody counted the lines of a file that the model called for.
    let of = match file.lines {
        0 => String::new(),
        lines => format!(" of {lines}"),
    };
    format!("{}{more}{of}", ranges.join(","))
}

/// Most parts of a file that are listed in a row.
const MOST_RANGES: usize = 6;

/// Returns the summary in one line, and a line for each thing that the user should know before the answer is paid for.
pub fn summarize_context(report: &ContextReport) -> String {
    let mut lines = Vec::new();
    if report.files.is_empty() {
        lines.push(
            "context: no file of the repository seems to belong to this task; name one with `--file`"
                .to_owned(),
        );
    } else {
        let paths = report.files.iter().take(MOST_PATHS);
        let paths: Vec<String> = paths
            .map(|file| match file.ranges.is_empty() {
                true => escape::line(&file.path),
                false => format!("{} (in part)", escape::line(&file.path)),
            })
            .collect();
        let more = match report.files.len().saturating_sub(MOST_PATHS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        lines.push(format!(
            "context: {}{more} ({}); `--context show` explains the selection",
            paths.join(", "),
            format_size(report.bytes)
        ));
    }
    let named: Vec<&String> = report.too_large.iter().collect();
    for path in named {
        let path = escape::line(path);
        lines.push(format!(
            "context: {path} is named but no part of it fits the window"
        ));
    }
    lines.extend(
        report
            .omitted
            .iter()
            .map(|omitted| format!("context: {}", word_omitted(omitted))),
    );
    let is_cut = !report.too_large.is_empty() || report.files.iter().any(|file| !file.ranges.is_empty());
    if let Some(budget) = &report.budget
        && budget.source == WindowSource::Assumed
        && is_cut
    {
        lines.push(format!(
            "context: neither server nor profile states the model's window, so {} tokens are assumed; set \
             `capabilities.context_window` in the profile",
            budget.window
        ));
    }
    lines.join("\n")
}

/// Most files that are listed in the summary.
const MOST_PATHS: usize = 8;

fn selection_reason(file: &ContextFileReport) -> String {
    if !file.read_by.is_empty() {
        format!("read by {}", escape::line(&file.read_by.join(", ")))
    } else if file.named {
        "named".to_owned()
    } else if let Some(near) = &file.near {
        format!("near {}", escape::line(near))
    } else if file.words.is_empty() {
        "changed often or lately".to_owned()
    } else {
        escape::line(&file.words.join(", "))
    }
}

/// Formats a number of bytes.
pub fn format_size(bytes: u64) -> String {
    if bytes < 1024 {
        format!("{bytes} B")
    } else {
        format!("{:.1} KB", bytes as f64 / 1024.0)
    }
}
