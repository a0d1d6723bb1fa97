//! Report of `agentos doctor`, as text for people.
//!
//! Owns: the layout. Never: omits a fix.

use crate::escape;
use crate::printer::{paint, style};
use agentos_host::{CheckStatus, DoctorReport};

/// Returns a line for each check with its fix below, and a summary.
pub fn format_doctor(report: &DoctorReport) -> String {
    let names = report.checks.iter().map(|check| check.name.chars().count());
    let width = names.max().unwrap_or(0);
    let mut out = String::new();
    for check in &report.checks {
        let (colour, word) = status_mark(check.status);
        let code = check
            .code
            .as_ref()
            .map_or_else(String::new, |code| format!(" [{code}]"));
        out.push_str(&format!(
            "{} {:width$}  {}{}\n",
            paint(colour, &format!("{word:9}")),
            escape::line(&check.name),
            escape::line(&check.details),
            paint(style::DIM, &code),
        ));
        if let Some(fix) = &check.fix {
            let indent = " ".repeat(width + 12);
            out.push_str(&format!(
                "{indent}{} {}\n",
                paint(style::BOLD, "next:"),
                escape::line(fix)
            ));
        }
    }
    let count = |status| {
        report
            .checks
            .iter()
            .filter(|check| check.status == status)
            .count()
    };
    let (wrong, attention) = (count(CheckStatus::Wrong), count(CheckStatus::Attention));
    out.push_str(&format!("\n{wrong} wrong, {attention} need attention\n"));
    out
}

fn status_mark(status: CheckStatus) -> (&'static str, &'static str) {
    match status {
        CheckStatus::Ok => (style::GOOD, "ok"),
        CheckStatus::Attention => (style::WARN, "attention"),
        CheckStatus::Wrong => (style::BAD, "wrong"),
        CheckStatus::Skipped => (style::DIM, "skipped"),
    }
}
