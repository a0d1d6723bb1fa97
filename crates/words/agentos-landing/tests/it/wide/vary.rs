//! Bases as they are rarely: other line ends, marks, blanks and characters, and lines that repeat.
//!
//! Owns: the variants of a file. Never: damages an answer.

use super::edits::Random;

/// Returns the text, or with one chance in two a variant of it.
pub fn varied(random: &mut Random, text: &str) -> String {
    // Carriage returns and marks of their own would mix with those that a variant adds.
    if text.contains('\r') || text.starts_with('\u{feff}') || random.one_in(2) {
        return text.to_owned();
    }
    match random.below(8) {
        0 => text.replace('\n', "\r\n"),
        1 => format!("\u{feff}{text}"),
        2 => text.trim_end_matches('\n').to_owned(),
        3 => some_lines(random, text, |line| {
            line.replace(" \"", " \u{201c}")
                .replace('"', "\u{201d}")
                .replace('\'', "\u{2019}")
                .replace(" - ", " \u{2013} ")
        }),
        4 => some_lines(random, text, |line| match line.trim_start_matches(' ') {
            rest if line.len() - rest.len() >= 4 => {
                let deep = line.len() - rest.len();
                format!("{}{}{rest}", "\t".repeat(deep / 4), " ".repeat(deep % 4))
            }
            _ => line.to_owned(),
        }),
        5 => some_lines(random, text, |line| {
            format!("{}  \n", line.trim_end_matches('\n'))
        }),
        6 => some_lines(random, text, |line| match line {
            "\n" => "    \n".to_owned(),
            _ => line.to_owned(),
        }),
        _ => repeated(random, text),
    }
}

/// The text with a change in about a third of its lines.
fn some_lines(random: &mut Random, text: &str, change: impl Fn(&str) -> String) -> String {
    text.split_inclusive('\n')
        .map(|line| match random.one_in(3) {
            true => change(line),
            false => line.to_owned(),
        })
        .collect()
}

/// The text with a part of it a second time further down.
fn repeated(random: &mut Random, text: &str) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let from = random.below(lines.len());
    let copy: Vec<&str> = lines
        .iter()
        .copied()
        .skip(from)
        .take(3 + random.below(20))
        .collect();
    let at = (from + copy.len() + random.below(9)).min(lines.len());
    if lines[at - 1].ends_with('\n') && copy.iter().all(|line| line.ends_with('\n')) {
        lines.splice(at..at, copy);
    }
    lines.concat()
}
