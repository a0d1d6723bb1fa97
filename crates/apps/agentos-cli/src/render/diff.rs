//! Diffs for people: line numbers, added and removed lines in color, side by side on a wide screen, with a margin that
//! shows how each hunk of the answer was placed.
//!
//! Owns: parsing the canonical diff into rows, and their layout. Never: omits or truncates a line of a diff, or shows
//! untrusted text unescaped. A line that cannot be parsed is shown escaped.

mod rows;
mod rungs;
mod sides;
mod view;

use agentos_landing::{LandingReport, describe_binary};

use self::rows::{DiffRow, Line, LineKind, parse_rows};
use self::rungs::RungMargin;
use crate::escape;
use crate::printer::{paint, style};

pub use self::view::format_view;

/// Minimum width for a side-by-side layout.
pub const WIDE: usize = 160;
/// Minimum width for line numbers.
const NARROW: usize = 60;

/// Formats a diff for a screen of this width. With a report, the margin shows how each hunk was placed. Binary data is shown
/// by its size and SHA-256.
pub fn format_diff(diff: &[u8], width: usize, report: Option<&LandingReport>) -> String {
    let text = String::from_utf8_lossy(&describe_binary(diff)).into_owned();
    // A CRLF line end is common and harmless, so it is shown as one symbol and not as an escape.
    let text = escape::block(&text.replace("\r\n", "␍\n"));
    let rows = parse_rows(&text);
    let mut painter = RowPainter::new(&rows, width, report);
    let mut out = String::new();
    if width >= WIDE {
        sides::write_sides(&mut out, &rows, width, &mut painter);
        return out;
    }
    for row in &rows {
        match row {
            DiffRow::Line(line) => painter.write_line(&mut out, line),
            DiffRow::File(_) | DiffRow::Hunk(_) | DiffRow::About(_) => painter.write_heading(&mut out, row),
        }
    }
    out
}

/// Layout of the rows of one diff.
struct RowPainter<'a> {
    /// Columns of a line number. `None` if the screen is too narrow.
    digits: Option<usize>,
    rungs: RungMargin<'a>,
}

impl<'a> RowPainter<'a> {
    fn new(rows: &[DiffRow<'_>], width: usize, report: Option<&'a LandingReport>) -> Self {
        let numbers = rows.iter().filter_map(|row| match row {
            DiffRow::Line(line) => line.old.max(line.new),
            DiffRow::File(_) | DiffRow::Hunk(_) | DiffRow::About(_) => None,
        });
        // At least three digits, so that most diffs have columns of the same width.
        let most = numbers.max().unwrap_or(0).to_string().len().max(3);
        Self {
            digits: (width >= NARROW).then_some(most),
            rungs: RungMargin::new(report),
        }
    }

    /// Writes a heading: any line that is not a line of a file.
    fn write_heading(&mut self, out: &mut String, row: &DiffRow<'_>) {
        let (style, text) = match row {
            DiffRow::File(path) => {
                self.rungs.start_file(path);
                (style::BOLD, *path)
            }
            DiffRow::Hunk(text) | DiffRow::About(text) => (style::DIM, *text),
            DiffRow::Line(line) => ("", line.text),
        };
        out.push_str(&self.rungs.next_margin(None));
        out.push_str(&paint(style, text));
        out.push('\n');
    }

    /// Writes a line of a file in the layout with one column.
    fn write_line(&mut self, out: &mut String, line: &Line<'_>) {
        out.push_str(&self.rungs.next_margin(Some(line)));
        if let Some(digits) = self.digits {
            let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
            let numbers = format!("{:>digits$} {:>digits$} ", number(line.old), number(line.new));
            out.push_str(&paint(style::DIM, &numbers));
        }
        let (mark, own) = line_mark(line.kind);
        out.push_str(&paint_nonempty(own, &format!("{mark}{}", line.text)));
        out.push('\n');
    }
}

/// Returns the mark before a line, and the style of mark and line.
fn line_mark(kind: LineKind) -> (&'static str, &'static str) {
    match kind {
        LineKind::Same => (" ", ""),
        LineKind::Added => ("+", style::GOOD),
        LineKind::Removed => ("-", style::BAD),
    }
}

fn paint_nonempty(style: &str, text: &str) -> String {
    match (style, text) {
        (_, "") => String::new(),
        ("", text) => text.to_owned(),
        (style, text) => paint(style, text),
    }
}

#[cfg(test)]
mod tests;
