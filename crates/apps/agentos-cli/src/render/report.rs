//! Landing report, as text for people.
//!
//! Owns: a line for each hunk, and the file's text where a hunk failed. Never: shows more than about one screen.

use agentos_landing::{FileReport, HunkReport, HunkStatus, LandingReport, Repair, Rung};

use crate::escape;
use crate::printer::{paint, style};

/// Maximum number of hunks shown. The others are only counted.
const MOST_HUNKS: usize = 40;

/// Widest side of a comparison.
const WIDEST_SIDE: usize = 42;

/// Narrowest side of a comparison. Below it, one text follows the other.
const NARROWEST_SIDE: usize = 28;

/// Repair that is not shown: a unified diff without git's header is as good as one with it.
const USUAL: &str = "no-git-header";

/// Returns the whole report.
pub fn format_report(report: &LandingReport, width: usize) -> String {
    let mut out = String::new();
    let mut left = MOST_HUNKS;
    for file in &report.files {
        write_file(&mut out, file, &mut left, width);
    }
    let hidden: usize = report
        .files
        .iter()
        .map(|file| file.hunks.len())
        .sum::<usize>()
        .saturating_sub(MOST_HUNKS);
    if hidden > 0 {
        out.push_str(&paint(
            style::DIM,
            &format!("  and {hidden} more; --json shows all\n"),
        ));
    }
    for note in &report.notes {
        out.push_str(&paint(style::DIM, &format!("  note: {}\n", escape::line(note))));
    }
    out
}

fn write_file(out: &mut String, file: &FileReport, left: &mut usize, width: usize) {
    out.push_str(&format!("  {}", escape::line(&file.path)));
    if let Some(written) = &file.written_as {
        out.push_str(&paint(
            style::DIM,
            &format!("  (written as {})", escape::line(written)),
        ));
    }
    out.push('\n');
    if let Some(refusal) = &file.refusal {
        out.push_str(&format!(
            "    {} {}\n",
            paint(style::BAD, refusal.code.as_str()),
            escape::line(&refusal.message)
        ));
    }
    write_repairs(out, "    ", &file.repairs);
    for hunk in &file.hunks {
        if *left == 0 {
            return;
        }
        // The limit covers all files together, because a change may have one hunk in each of a thousand files.
        *left -= 1;
        write_hunk(out, hunk, width);
    }
}

fn write_hunk(out: &mut String, hunk: &HunkReport, width: usize) {
    let (mark, words) = match hunk.status {
        HunkStatus::Landed => (paint(style::GOOD, "+"), describe_place(hunk)),
        HunkStatus::AlreadyThere => (paint(style::DIM, "="), "already in the file".to_owned()),
        HunkStatus::Refused => (paint(style::BAD, "x"), describe_refusal(hunk)),
    };
    out.push_str(&format!("    {mark} hunk {}: {words}\n", hunk.index));
    write_repairs(out, "        ", &hunk.repairs);
    // Two columns of less than this show only the beginnings of most lines of code.
    let is_wide = side_width(width) >= NARROWEST_SIDE;
    match (hunk.expected.is_empty(), hunk.actual.is_empty()) {
        (false, false) if is_wide => write_comparison(out, hunk, side_width(width)),
        // If one side is empty, two columns would only show blanks.
        (_, _) => {
            write_excerpt(out, "the answer expects", &hunk.expected);
            write_excerpt(out, "the file has", &hunk.actual);
        }
    }
}

fn write_repairs(out: &mut String, indent: &str, repairs: &[Repair]) {
    let shown = repairs.iter().filter(|repair| repair.kind != USUAL);
    let details: Vec<String> = shown.map(|repair| escape::line(&repair.detail)).collect();
    if details.is_empty() {
        return;
    }
    out.push_str(&paint(
        style::DIM,
        &format!("{indent}repaired: {}\n", details.join("; ")),
    ));
}

fn describe_place(hunk: &HunkReport) -> String {
    let found = hunk
        .found_line
        .map(|line| format!("line {line}"))
        .unwrap_or_default();
    let how = match hunk.rung {
        Some(Rung::ExactStated) => "as stated".to_owned(),
        Some(Rung::ExactMoved) => match hunk.stated_line {
            Some(stated) => format!("the answer states line {stated}; exactly one place fits"),
            None => "exactly one place fits".to_owned(),
        },
        Some(Rung::Blanks) => "blanks differ".to_owned(),
        Some(Rung::TrailingBlanks) => "blanks at line ends differ".to_owned(),
        Some(Rung::Indentation) => "indentation differs".to_owned(),
        Some(Rung::Typography) => "look-alike characters differ".to_owned(),
        Some(Rung::Merged) => "merged from the version that the tool saw".to_owned(),
        Some(Rung::WholeFile) => "the whole file".to_owned(),
        None => String::new(),
    };
    match (found.is_empty(), how.is_empty()) {
        (false, false) => format!("{found} ({how})"),
        (false, true) => found,
        (true, _) => how,
    }
}

fn describe_refusal(hunk: &HunkReport) -> String {
    let mut words = hunk
        .refusal
        .as_ref()
        .map(|refusal| format!("{}: {}", refusal.code, escape::line(&refusal.message)))
        .unwrap_or_else(|| "does not land".to_owned());
    if !hunk.candidates.is_empty() {
        let lines: Vec<String> = hunk.candidates.iter().take(8).map(u64::to_string).collect();
        let s = if lines.len() == 1 { "" } else { "s" };
        words.push_str(&format!(" (line{s} {})", lines.join(", ")));
    }
    words
}

/// Returns the characters of one side of a comparison on a screen of this width, without the indent and the marks.
fn side_width(width: usize) -> usize {
    (width.saturating_sub(11) / 2).min(WIDEST_SIDE)
}

/// Writes the expected lines and the file's lines side by side, with `!` between lines that differ.
fn write_comparison(out: &mut String, hunk: &HunkReport, wide: usize) {
    let first = hunk.candidates.first().copied().unwrap_or_default();
    let clip = |text: &str| {
        let text = escape::line(text);
        if text.chars().count() <= wide {
            return text;
        }
        text.chars().take(wide.saturating_sub(1)).chain(['…']).collect()
    };
    let title = format!(
        "        {:<wide$}   the file has, from line {first}\n",
        "the answer expects"
    );
    out.push_str(&paint(style::DIM, &title));
    for at in 0..hunk.expected.len().max(hunk.actual.len()) {
        let (left, right) = (hunk.expected.get(at), hunk.actual.get(at));
        let mark = if left == right {
            paint(style::DIM, "|")
        } else {
            paint(style::BAD, "!")
        };
        let side = |text: Option<&String>| text.map(|text| clip(text)).unwrap_or_default();
        out.push_str(format!("        {:<wide$} {mark} {}", side(left), side(right)).trim_end());
        out.push('\n');
    }
}

fn write_excerpt(out: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    out.push_str(&paint(style::DIM, &format!("        {title}\n")));
    for line in lines {
        out.push_str(&format!(
            "        {} {}\n",
            paint(style::DIM, "|"),
            escape::line(line)
        ));
    }
}

#[cfg(test)]
mod tests;
