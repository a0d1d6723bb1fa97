//! Side-by-side layout of a diff: old on the left, new on the right.
//!
//! Owns: the pairs of old and new lines, and the wrapping of long lines. Never: truncates a line.

use super::rows::{DiffRow, Line, LineKind};
use super::{RowPainter, paint_nonempty};
use crate::printer::style;

/// Replacement of a tab.
const TAB: &str = "    ";
/// Separator between the sides.
const BETWEEN: &str = " │ ";

/// Writes all rows side by side.
pub fn write_sides(out: &mut String, rows: &[DiffRow<'_>], width: usize, painter: &mut RowPainter<'_>) {
    let digits = painter.digits.unwrap_or(3);
    let taken = painter.rungs.margin_width() + BETWEEN.chars().count() + 2 * (digits + 3);
    let room = (width.saturating_sub(taken) / 2).max(20);
    let mut waiting = UnpairedLines::default();
    for row in rows {
        match row {
            DiffRow::Line(line) => match line.kind {
                // A diff lists removed lines before the added lines that replace them. A removed line after added ones
                // begins another pair of blocks.
                LineKind::Removed if waiting.new.is_empty() => waiting.old.push(*line),
                LineKind::Removed => {
                    waiting.flush(out, painter, digits, room);
                    waiting.old.push(*line);
                }
                LineKind::Added => waiting.new.push(*line),
                LineKind::Same => {
                    waiting.flush(out, painter, digits, room);
                    write_pair(out, painter, (Some(*line), Some(*line)), digits, room);
                }
            },
            DiffRow::File(_) | DiffRow::Hunk(_) | DiffRow::About(_) => {
                waiting.flush(out, painter, digits, room);
                painter.write_heading(out, row);
            }
        }
    }
    waiting.flush(out, painter, digits, room);
}

/// Changed lines that are not paired yet.
#[derive(Default)]
struct UnpairedLines<'a> {
    old: Vec<Line<'a>>,
    new: Vec<Line<'a>>,
}

impl UnpairedLines<'_> {
    /// Writes the lines in pairs: the first old one next to the first new one, and so on.
    fn flush(&mut self, out: &mut String, painter: &mut RowPainter<'_>, digits: usize, room: usize) {
        for at in 0..self.old.len().max(self.new.len()) {
            let pair = (self.old.get(at).copied(), self.new.get(at).copied());
            write_pair(out, painter, pair, digits, room);
        }
        self.old.clear();
        self.new.clear();
    }
}

/// Writes a pair of lines, in as many rows as the longer one needs.
fn write_pair(
    out: &mut String,
    painter: &mut RowPainter<'_>,
    (old, new): (Option<Line<'_>>, Option<Line<'_>>),
    digits: usize,
    room: usize,
) {
    let margin = painter
        .rungs
        .next_margin(new.filter(|line| line.kind != LineKind::Same).or(old).as_ref());
    let left = wrap_side(old, |line| line.old, digits, room);
    let right = wrap_side(new, |line| line.new, digits, room);
    let empty = || SideCell::blank_cell(digits, room);
    for at in 0..left.len().max(right.len()) {
        let cell = |cells: &[SideCell]| cells.get(at).cloned().unwrap_or_else(empty);
        let (left, right) = (cell(&left), cell(&right));
        if at == 0 {
            out.push_str(&margin);
        } else {
            out.push_str(&" ".repeat(painter.rungs.margin_width()));
        }
        let blanks = " ".repeat(room.saturating_sub(left.width));
        let row = format!(
            "{}{}{blanks}{}{}{}",
            paint_nonempty(style::DIM, &left.number),
            left.text,
            paint_nonempty(style::DIM, BETWEEN),
            paint_nonempty(style::DIM, &right.number),
            right.text
        );
        out.push_str(row.trim_end());
        out.push('\n');
    }
}

/// Row of one side.
#[derive(Clone)]
struct SideCell {
    number: String,
    text: String,
    /// Columns of the text, including the mark.
    width: usize,
}

impl SideCell {
    fn blank_cell(digits: usize, room: usize) -> Self {
        Self {
            number: " ".repeat(digits + 1),
            text: " ".repeat(room.min(1)),
            width: room.min(1),
        }
    }
}

fn wrap_side(
    line: Option<Line<'_>>,
    number: fn(&Line<'_>) -> Option<u64>,
    digits: usize,
    room: usize,
) -> Vec<SideCell> {
    let Some(line) = line else {
        return Vec::new();
    };
    // A tab moves to a column of the terminal, which depends on what stands left of it. Four blanks keep the two sides
    // apart.
    let wide = line.text.replace('\t', TAB);
    let (mark, own) = super::line_mark(line.kind);
    let mut cells = Vec::new();
    let mut part = mark.to_owned();
    let mut width = 1;
    for c in wide.chars() {
        if width >= room {
            cells.push(format_cell(own, &part, width));
            // A blank aligns wrapped text with the code above, not with its mark.
            part = " ".to_owned();
            width = 1;
        }
        part.push(c);
        width += 1;
    }
    cells.push(format_cell(own, &part, width));
    let number = number(&line).map(|number| number.to_string()).unwrap_or_default();
    for (at, cell) in cells.iter_mut().enumerate() {
        let number = if at == 0 { number.as_str() } else { "" };
        cell.number = format!("{number:>digits$} ");
    }
    cells
}

fn format_cell(style: &str, text: &str, width: usize) -> SideCell {
    SideCell {
        number: String::new(),
        text: paint_nonempty(style, text),
        width,
    }
}
