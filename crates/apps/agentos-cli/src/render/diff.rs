//! A diff for people: line numbers, colours of the language, side by side where there is room, and in the margin how
//! each hunk of the answer was placed.
//!
//! Owns: reading our own canonical form back into rows, and their layout. Never: leaves a line of a diff out or cuts it,
//! or lets untrusted text through unescaped. A line that is not understood is shown as it stands.

mod rows;
mod rungs;
mod sides;

use agentos_landing::LandingReport;

use self::rows::{Kind, Line, Row, rows};
use self::rungs::Rungs;
use super::syntax::{Lexer, Token, language};
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

/// What a line is painted with, and what was left open above it.
struct Painter<'a> {
    old: Lexer,
    new: Lexer,
    /// Columns of a line number; none on a narrow screen.
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
            old: Lexer::new(None),
            new: Lexer::new(None),
            digits: (width >= NARROW).then_some(most),
            rungs: Rungs::new(report),
        }
    }

    /// A line that holds no code.
    fn heading(&mut self, out: &mut String, row: &Row<'_>) {
        let (style, text) = match row {
            Row::File(path) => {
                let language = language(path);
                (self.old, self.new) = (Lexer::new(language), Lexer::new(language));
                self.rungs.file(path);
                (style::BOLD, *path)
            }
            Row::Hunk(text) => {
                let begin = |lexer: &Lexer| Lexer::new(lexer.language());
                (self.old, self.new) = (begin(&self.old), begin(&self.new));
                (style::DIM, *text)
            }
            Row::About(text) => (style::DIM, *text),
            Row::Line(line) => ("", line.text),
        };
        out.push_str(&self.rungs.margin(None));
        out.push_str(&paint(style, text));
        out.push('\n');
    }

    /// A line of code, below the others.
    fn line(&mut self, out: &mut String, line: &Line<'_>) {
        out.push_str(&self.rungs.margin(Some(line)));
        if let Some(digits) = self.digits {
            let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
            let numbers = format!("{:>digits$} {:>digits$} ", number(line.old), number(line.new));
            out.push_str(&paint(style::DIM, &numbers));
        }
        out.push_str(&self.code(line));
        out.push('\n');
    }

    /// The mark and the code, painted.
    fn code(&mut self, line: &Line<'_>) -> String {
        let (mark, own) = mark(line.kind);
        let mut out = painted(own, mark);
        for (style, run) in joined(&self.pieces(line), own) {
            out.push_str(&painted(style, &run));
        }
        out
    }

    /// The line as its language reads it. One that stays is a line of both sides.
    fn pieces<'l>(&mut self, line: &Line<'l>) -> Vec<(Token, &'l str)> {
        match line.kind {
            Kind::Removed => self.old.line(line.text),
            Kind::Added => self.new.line(line.text),
            Kind::Same => {
                self.old.line(line.text);
                self.new.line(line.text)
            }
        }
    }
}

/// What stands before a line, and the line's own style.
fn mark(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Same => (" ", ""),
        Kind::Added => ("+", style::GOOD),
        Kind::Removed => ("-", style::BAD),
    }
}

/// The style of each run of text; plain text has the line's own.
fn joined<'s>(pieces: &[(Token, &str)], own: &'s str) -> Vec<(&'s str, String)> {
    let mut runs: Vec<(&str, String)> = Vec::new();
    for (token, piece) in pieces {
        let style = match token {
            Token::Plain => own,
            Token::Keyword => style::KEYWORD,
            Token::String => style::TEXT,
            Token::Number => style::NUMBER,
            Token::Comment => style::DIM,
        };
        match runs.last_mut() {
            Some((last, run)) if *last == style => run.push_str(piece),
            Some(_) | None => runs.push((style, (*piece).to_owned())),
        }
    }
    runs
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
