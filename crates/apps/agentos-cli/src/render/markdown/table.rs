//! Rows of a table, which are shown together.
//!
//! Owns: the columns. Never: holds more rows than a screen or two have, or breaks a row.

use super::inline::{InlineToken, find_token};
use super::layout::{LineLayout, LinePrefix, count_columns};
use crate::escape;
use crate::printer::{paint, style};

/// Most rows that are held. A longer table is shown in parts.
const MOST_ROWS: usize = 60;

/// Rows that wait for the end of their table.
#[derive(Debug, Default)]
pub struct TableRows {
    rows: Vec<Vec<String>>,
    prefix: LinePrefix,
    /// True if earlier rows of the table were written.
    is_continued: bool,
}

impl TableRows {
    /// Adds a row.
    pub fn add(&mut self, line: &str, prefix: LinePrefix, layout: &mut LineLayout) {
        if self.rows.len() >= MOST_ROWS {
            self.write_rows(layout);
            self.is_continued = true;
        }
        self.prefix = prefix;
        self.rows.push(split_cells(line));
    }

    /// Ends the table, if there is one.
    pub fn flush(&mut self, layout: &mut LineLayout) {
        self.write_rows(layout);
        self.is_continued = false;
    }

    fn write_rows(&mut self, layout: &mut LineLayout) {
        let rows = std::mem::take(&mut self.rows);
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        // A later row of this form has data: a dash often means that there is none.
        let has_head = !self.is_continued && rows.get(1).is_some_and(|row| is_separator(row));
        let shown = |at: usize| at != 1 || !has_head;
        let widths: Vec<usize> = (0..count)
            .map(|column| {
                let cells = rows
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| shown(*at))
                    .filter_map(|(_, row)| row.get(column));
                cells.map(|cell| count_columns(cell)).max().unwrap_or(0)
            })
            .collect();
        // Wider than the screen, the columns would be broken anywhere: then only the cells are kept apart.
        let total = widths.iter().sum::<usize>() + 3 * count.saturating_sub(1);
        let fits = total <= layout.width();
        for (at, row) in rows.iter().enumerate() {
            let line = match (shown(at), has_head && at == 0) {
                (false, _) if fits => paint(style::DIM, &write_separator(&widths)),
                (false, _) => continue,
                (true, is_head) => write_row(row, &widths, fits, is_head),
            };
            layout.put_whole_line(&self.prefix, &line);
        }
    }
}

fn write_separator(widths: &[usize]) -> String {
    let lines = widths.iter().map(|width| "─".repeat(*width));
    lines.collect::<Vec<_>>().join("─┼─")
}

fn write_row(row: &[String], widths: &[usize], fits: bool, is_head: bool) -> String {
    let last = widths.len().saturating_sub(1);
    let cells = widths.iter().enumerate().map(|(at, width)| {
        let cell = row.get(at).map_or("", String::as_str);
        let missing = width.saturating_sub(count_columns(cell));
        let pad = match fits && at < last {
            true => " ".repeat(missing),
            false => String::new(),
        };
        match is_head {
            true => format!("{}{pad}", paint(style::BOLD, cell)),
            false => format!("{cell}{pad}"),
        }
    });
    let line = cells.collect::<Vec<_>>().join(&paint(style::DIM, " │ "));
    line.trim_end().to_owned()
}

/// Returns true for the row between the head of a table and its other rows.
fn is_separator(row: &[String]) -> bool {
    row.iter()
        .all(|cell| cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':')))
}

/// Splits a row into the texts of its cells, without marks.
fn split_cells(line: &str) -> Vec<String> {
    let row = line.trim();
    let mut cells = vec![String::new()];
    let mut is_escaped = false;
    for c in row.strip_prefix('|').unwrap_or(row).chars() {
        match (c, is_escaped) {
            ('|', false) => cells.push(String::new()),
            ('\\', false) => {
                is_escaped = true;
                continue;
            }
            (c, escaped) => {
                if let Some(cell) = cells.last_mut() {
                    // The mark of an escape stays before everything that is not a cell's border.
                    if escaped && c != '|' {
                        cell.push('\\');
                    }
                    cell.push(c);
                }
            }
        }
        is_escaped = false;
    }
    if cells.len() > 1 && cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| strip_marks(cell.trim())).collect()
}

/// Returns the text of a cell without its marks, escaped.
fn strip_marks(cell: &str) -> String {
    let mut out = String::new();
    let (mut rest, mut before) = (cell, ' ');
    while !rest.is_empty() {
        let token = find_token(rest, before, true);
        let (done, after) = rest.split_at_checked(token.len()).unwrap_or((rest, ""));
        before = done.chars().next_back().unwrap_or(before);
        match token {
            InlineToken::Wait => {}
            InlineToken::Text { text, .. } | InlineToken::Code { text, .. } => out.push_str(&text),
            InlineToken::Emphasis { inner, .. } => out.push_str(&inner),
            InlineToken::Link {
                text, address, title, ..
            } => {
                out.push_str(&text);
                out.extend(InlineToken::write_target(&text, &address, title.as_deref()));
            }
        }
        rest = after;
    }
    escape::line(&out)
}
