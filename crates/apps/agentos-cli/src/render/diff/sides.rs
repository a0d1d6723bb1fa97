//! Old on the left, new on the right.
//!
//! Owns: which lines stand beside each other, and how a long one goes on below. Never: cuts a line.

use super::rows::{Kind, Line, Row};
use super::{Painter, painted};
use crate::printer::style;

/// Columns that a tab takes on a side.
const TAB: &str = "    ";
/// Between the sides.
const BETWEEN: &str = " │ ";

/// All rows.
pub fn sides(out: &mut String, rows: &[Row<'_>], width: usize, painter: &mut Painter<'_>) {
    let digits = painter.digits.unwrap_or(3);
    let taken = painter.rungs.width() + BETWEEN.chars().count() + 2 * (digits + 3);
    let room = (width.saturating_sub(taken) / 2).max(20);
    let mut waiting = Waiting::default();
    for row in rows {
        match row {
            Row::Line(line) => match line.kind {
                Kind::Removed if waiting.new.is_empty() => waiting.old.push(*line),
                Kind::Removed => {
                    waiting.flush(out, painter, digits, room);
                    waiting.old.push(*line);
                }
                Kind::Added => waiting.new.push(*line),
                Kind::Same => {
                    waiting.flush(out, painter, digits, room);
                    beside(out, painter, (Some(*line), Some(*line)), digits, room);
                }
            },
            Row::File(_) | Row::Hunk(_) | Row::About(_) => {
                waiting.flush(out, painter, digits, room);
                painter.heading(out, row);
            }
        }
    }
    waiting.flush(out, painter, digits, room);
}

/// Changed lines that have no partner yet.
#[derive(Default)]
struct Waiting<'a> {
    old: Vec<Line<'a>>,
    new: Vec<Line<'a>>,
}

impl Waiting<'_> {
    /// The first old one beside the first new one, and so on.
    fn flush(&mut self, out: &mut String, painter: &mut Painter<'_>, digits: usize, room: usize) {
        for at in 0..self.old.len().max(self.new.len()) {
            let pair = (self.old.get(at).copied(), self.new.get(at).copied());
            beside(out, painter, pair, digits, room);
        }
        self.old.clear();
        self.new.clear();
    }
}

/// One line beside another; as many rows as the longer one needs.
fn beside(
    out: &mut String,
    painter: &mut Painter<'_>,
    (old, new): (Option<Line<'_>>, Option<Line<'_>>),
    digits: usize,
    room: usize,
) {
    let margin = painter
        .rungs
        .margin(new.filter(|line| line.kind != Kind::Same).or(old).as_ref());
    let left = side(old, |line| line.old, digits, room);
    let right = side(new, |line| line.new, digits, room);
    let empty = || Cell::empty(digits, room);
    for at in 0..left.len().max(right.len()) {
        let cell = |cells: &[Cell]| cells.get(at).cloned().unwrap_or_else(empty);
        let (left, right) = (cell(&left), cell(&right));
        if at == 0 {
            out.push_str(&margin);
        } else {
            out.push_str(&" ".repeat(painter.rungs.width()));
        }
        let blanks = " ".repeat(room.saturating_sub(left.width));
        let row = format!(
            "{}{}{blanks}{}{}{}",
            painted(style::DIM, &left.number),
            left.text,
            painted(style::DIM, BETWEEN),
            painted(style::DIM, &right.number),
            right.text
        );
        out.push_str(row.trim_end());
        out.push('\n');
    }
}

/// One row of one side.
#[derive(Clone)]
struct Cell {
    number: String,
    text: String,
    /// Columns of the text, mark and all.
    width: usize,
}

impl Cell {
    fn empty(digits: usize, room: usize) -> Self {
        Self {
            number: " ".repeat(digits + 1),
            text: " ".repeat(room.min(1)),
            width: room.min(1),
        }
    }
}

fn side(
    line: Option<Line<'_>>,
    number: fn(&Line<'_>) -> Option<u64>,
    digits: usize,
    room: usize,
) -> Vec<Cell> {
    let Some(line) = line else {
        return Vec::new();
    };
    let wide = line.text.replace('\t', TAB);
    let (mark, own) = super::mark(line.kind);
    let mut cells = Vec::new();
    let mut part = mark.to_owned();
    let mut width = 1;
    for c in wide.chars() {
        if width >= room {
            cells.push(cell(own, &part, width));
            // What goes on below stands under the code, not under the mark.
            part = " ".to_owned();
            width = 1;
        }
        part.push(c);
        width += 1;
    }
    cells.push(cell(own, &part, width));
    let number = number(&line).map(|number| number.to_string()).unwrap_or_default();
    for (at, cell) in cells.iter_mut().enumerate() {
        let number = if at == 0 { number.as_str() } else { "" };
        cell.number = format!("{number:>digits$} ");
    }
    cells
}

fn cell(style: &str, text: &str, width: usize) -> Cell {
    Cell {
        number: String::new(),
        text: painted(style, text),
        width,
    }
}
