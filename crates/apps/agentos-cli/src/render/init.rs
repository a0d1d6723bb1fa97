//! Findings and proposal of `agentos init`, as text for people.
//!
//! Owns: the wording. Never: shows a long file completely; that is for an editor.

use crate::escape;
use crate::printer::{paint, style};
use agentos_host::{InitReport, ProposedFile};

/// Maximum number of lines of a file that is shown completely.
const SHORT: usize = 12;

/// Returns the findings, then the files that would be written.
pub fn format_proposal(report: &InitReport) -> String {
    let mut out = String::new();
    for server in &report.servers {
        let place = server.endpoint.as_deref().unwrap_or("-");
        let models = match server.models.as_slice() {
            [] => "no model".to_owned(),
            [only] => only.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
        };
        let text = format!("{} at {place}: {models}", server.provider);
        out.push_str(&format_line("server", &escape::line(&text)));
    }
    for key in &report.keys {
        let text = format!("{} in `{}`", escape::line(&key.provider), key.variable);
        out.push_str(&format_line("key", &text));
    }
    if report.servers.is_empty() && report.keys.is_empty() {
        out.push_str(&format_line(
            "found",
            "no local server that answers, and no key in the environment",
        ));
    }
    for path in &report.kept {
        out.push_str(&format_line(
            "kept",
            &format!("{} already exists", escape::line(path)),
        ));
    }
    for file in &report.files {
        out.push_str(&format_line("new file", &escape::line(&file.path)));
        out.push_str(&preview_file(file));
    }
    if report.files.is_empty() {
        out.push_str(&format_line("new files", "none"));
    }
    out
}

fn format_line(word: &str, text: &str) -> String {
    format!("{} {text}\n", paint(style::DIM, &format!("{word:11}")))
}

/// Returns the first lines of a file.
fn preview_file(file: &ProposedFile) -> String {
    let count = file.content.lines().count();
    let shown = if count <= SHORT { count } else { SHORT - 1 };
    let mut out: String = file
        .content
        .lines()
        .take(shown)
        .map(|line| {
            format!(
                "            {}\n",
                paint(style::GOOD, &format!("+{}", escape::line(line)))
            )
        })
        .collect();
    if shown < count {
        let rest = format!(
            "{} more lines; `agentos init --print --json` shows all of them",
            count - shown
        );
        out.push_str(&format!("            {}\n", paint(style::DIM, &rest)));
    }
    out
}
