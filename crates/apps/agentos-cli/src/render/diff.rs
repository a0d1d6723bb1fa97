//! A diff for people: line numbers, added and removed lines in colour, side by side where there is room, and in the
//! margin how each hunk of the answer was placed.
//!
//! Owns: reading our own canonical form back into rows, and their layout. Never: leaves a line of a diff out or cuts it,
//! or lets untrusted text through unescaped. A line that is not understood is shown as it stands.

mod rows;
mod rungs;
mod sides;

use agentos_landing::LandingReport;

use self::rows::{Kind, Line, Row, rows};
use self::rungs::Rungs;
use crate::escape;
use crate::printer::{paint, style};

/// From this width on, old and new stand side by side.
pub const WIDE: usize = 160;
/// Below this width there are no line numbers.
const NARROW: usize = 60;

/// The diff, for a screen of this width. With a report the margin says how each hunk was placed.
pub fn diff(text: &str, width: usize, report: Option<&LandingReport>) -> String {
    // A line end of Windows is said in one sign, and not as the escape that any other control character is.
    let text = escape::block(&text.replace("\r\n", "␍\n"));
    let rows = rows(&text);
    let mut painter = Painter::new(&rows, width, report);
    let mut out = String::new();
    if width >= WIDE {
        sides::sides(&mut out, &rows, width, &mut painter);
        return out;
    }
    for row in &rows {
        match row {
            Row::Line(line) => painter.line(&mut out, line),
            Row::File(_) | Row::Hunk(_) | Row::About(_) => painter.heading(&mut out, row),
        }
    }
    out
}

/// Layout of the rows of one diff.
struct Painter<'a> {
    /// Columns of a line number. `None` on a narrow screen.
    digits: Option<usize>,
    rungs: Rungs<'a>,
}

impl<'a> Painter<'a> {
    fn new(rows: &[Row<'_>], width: usize, report: Option<&'a LandingReport>) -> Self {
        let numbers = rows.iter().filter_map(|row| match row {
            Row::Line(line) => line.old.max(line.new),
            Row::File(_) | Row::Hunk(_) | Row::About(_) => None,
        });
        let most = numbers.max().unwrap_or(0).to_string().len().max(3);
        Self {
            digits: (width >= NARROW).then_some(most),
            rungs: Rungs::new(report),
        }
    }

    /// Writes a line that is no line of a file.
    fn heading(&mut self, out: &mut String, row: &Row<'_>) {
        let (style, text) = match row {
            Row::File(path) => {
                self.rungs.file(path);
                (style::BOLD, *path)
            }
            Row::Hunk(text) | Row::About(text) => (style::DIM, *text),
            Row::Line(line) => ("", line.text),
        };
        out.push_str(&self.rungs.margin(None));
        out.push_str(&paint(style, text));
        out.push('\n');
    }

    /// Writes a line of a file below the others.
    fn line(&mut self, out: &mut String, line: &Line<'_>) {
        out.push_str(&self.rungs.margin(Some(line)));
        if let Some(digits) = self.digits {
            let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
            let numbers = format!("{:>digits$} {:>digits$} ", number(line.old), number(line.new));
            out.push_str(&paint(style::DIM, &numbers));
        }
        let (mark, own) = mark(line.kind);
        out.push_str(&painted(own, &format!("{mark}{}", line.text)));
        out.push('\n');
    }
}

/// Returns the mark before a line, and the style of both.
fn mark(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Same => (" ", ""),
        Kind::Added => ("+", style::GOOD),
        Kind::Removed => ("-", style::BAD),
    }
}

fn painted(style: &str, text: &str) -> String {
    match (style, text) {
        (_, "") => String::new(),
        ("", text) => text.to_owned(),
        (style, text) => paint(style, text),
    }
}

#[cfg(test)]
mod tests;
