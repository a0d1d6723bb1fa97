//! Formats the results of commands as text for people.
//!
//! Owns: layout and wording. Never: prints, or returns untrusted text unescaped.

pub mod budget;
pub mod chat;
pub mod chat_export;
pub mod config;
pub mod context;
pub mod cost;
pub mod diff;
pub mod doctor;
pub mod evidence;
pub mod gauge;
pub mod health;
pub mod init;
pub mod layout;
pub mod log;
pub mod machine;
pub mod manual;
pub mod markdown;
pub mod models;
pub mod next_step;
pub mod outcome;
pub mod page;
pub mod policy;
pub mod pool;
pub mod record_line;
pub mod reference;
pub mod report;
pub mod requests;
pub mod result;
pub mod run_ids;
pub mod service_token;
pub mod status;
pub mod story;
pub mod thought_lines;
pub mod toolbox;
pub mod when;

/// Returns a number with its noun, as in `1 file` and `2 files`.
pub fn count_noun(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// Formats a table. Each column is as wide as its widest cell; the last one is not padded.
pub fn format_columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    // The width is the number of characters. Cells must not contain color codes: they would be counted, although they
    // take no space on the screen.
    let widths: Vec<usize> = (0..count)
        .map(|column| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(
                ' ',
                width.saturating_sub(cell.chars().count()) + 2,
            ));
        }
        // Spaces at line ends are copied with the text, and show up as differences when saved output is compared.
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
