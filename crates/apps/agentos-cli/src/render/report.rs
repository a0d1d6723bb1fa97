//! Landing report, as text for people.
//!
//! Owns: a line for each hunk, and the file's text where a hunk failed. Never: shows more than about one screen.

use agentos_landing::{FileReport, HunkReport, HunkStatus, LandingReport, Repair, Rung};

use crate::escape;
use crate::printer::{paint, style};

/// Maximum number of hunks shown. The others are only counted.
const MOST_HUNKS: usize = 40;

/// Width of one side of a comparison, unless longer lines need more and the screen has it.
const USUAL_SIDE: usize = 42;

/// Narrowest side of a comparison. Below it, one text follows the other.
const NARROWEST_SIDE: usize = 28;

/// Repair that is not shown: a unified diff without git's header is as good as one with it.
const USUAL: &str = "no-git-header";

/// Returns the whole report. The `deleted` paths are marked: their hunks look like any other.
pub fn format_report(report: &LandingReport, deleted: &[String], width: usize) -> String {
    let mut out = String::new();
    let mut left = MOST_HUNKS;
    let mut hidden = 0;
    for file in &report.files {
        if left == 0 {
            hidden += 1;
            continue;
        }
        write_file(&mut out, file, deleted.contains(&file.path), &mut left, width);
    }
    if hidden > 0 {
        out.push_str(&paint(style::DIM, &format!("  and {hidden} more files\n")));
    }
    for note in &report.notes {
        out.push_str(&paint(style::DIM, &format!("  note: {}\n", escape::line(note))));
    }
    out
}

/// Returns the mark of a deleted file, after its path.
pub fn deletion_mark(is_deleted: bool) -> &'static str {
    if is_deleted { "  (deleted)" } else { "" }
}

fn write_file(out: &mut String, file: &FileReport, is_deleted: bool, left: &mut usize, width: usize) {
    let mark = deletion_mark(is_deleted);
    out.push_str(&format!("  {}{mark}", escape::line(&file.path)));
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
    if is_deleted {
        // Its hunks remove every line, and say nothing more.
        *left = left.saturating_sub(1);
        return;
    }
    for (at, hunk) in file.hunks.iter().enumerate() {
        if *left == 0 {
            let more = file.hunks.len() - at;
            out.push_str(&paint(style::DIM, &format!("    and {more} more hunks\n")));
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
    if hunk.status != HunkStatus::Refused {
        return;
    }
    // Two columns of less than this show only the beginnings of most lines of code.
    let wide = side_width(hunk, width);
    match (hunk.expected.is_empty(), hunk.actual.is_empty()) {
        (false, false) if wide >= NARROWEST_SIDE => write_comparison(out, hunk, wide),
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

/// Returns the characters of one side of a comparison on a screen of this width, without the indent and the marks. Long lines make
/// the sides wider, if the screen has room.
fn side_width(hunk: &HunkReport, width: usize) -> usize {
    let lines = hunk.expected.iter().chain(&hunk.actual);
    let longest = lines.map(|line| escape::line(line).chars().count()).max();
    let wanted = longest.unwrap_or_default().max(USUAL_SIDE);
    (width.saturating_sub(11) / 2).min(wanted)
}

/// Cuts both sides of a line to the width: at their ends, or before their first difference if the ends would hide it.
fn cut_sides(left: &str, right: &str, wide: usize) -> (String, String) {
    // Enough of the shared text to find the place in the line.
    const SHOWN_BEFORE: usize = 8;
    let (left, right) = (escape::line(left), escape::line(right));
    let shared = left
        .chars()
        .zip(right.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let longest = left.chars().count().max(right.chars().count());
    let is_hidden = left != right && longest > wide && shared + 1 >= wide;
    let start = if is_hidden {
        shared.saturating_sub(SHOWN_BEFORE)
    } else {
        0
    };
    let cut = |text: &str| {
        let mut rest: Vec<char> = text.chars().skip(start).collect();
        if start > 0 {
            rest.insert(0, '…');
        }
        if rest.len() > wide {
            rest.truncate(wide.saturating_sub(1));
            rest.push('…');
        }
        rest.into_iter().collect::<String>()
    };
    (cut(&left), cut(&right))
}

/// Writes the expected lines and the file's lines side by side, with `!` between lines that differ.
fn write_comparison(out: &mut String, hunk: &HunkReport, wide: usize) {
    let first = hunk.candidates.first().copied().unwrap_or_default();
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
        let text = |side: Option<&String>| side.cloned().unwrap_or_default();
        let (shown_left, shown_right) = cut_sides(&text(left), &text(right), wide);
        out.push_str(format!("        {shown_left:<wide$} {mark} {shown_right}").trim_end());
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
