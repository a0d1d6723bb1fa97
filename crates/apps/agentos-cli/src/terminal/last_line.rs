//! Last line of the terminal: the one owner of standard error.
//!
//! Owns: the status line, and everything that is printed around it. Never: lets a text begin behind a status line, or a
//! status line return below a question, a pager or data.
//!
//! A status line is drawn without a line end, again and again in the same place. Every other text first removes it. Text
//! that has to stay the last one on the screen, such as a question, ends the status line for good: its drawing thread may go
//! on, and draws nothing.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anstream::{AutoStream, ColorChoice};

use crate::printer::{paint, style};

/// Goes to the beginning of the line and clears it (ECMA-48, EL).
const CLEAR_LINE: &str = "\r\u{1b}[2K";
/// Columns that are assumed if the terminal does not report them.
const USUAL_WIDTH: usize = 80;

static LAST_LINE: Mutex<LineState> = Mutex::new(LineState {
    owner: None,
    next_owner: 0,
    is_drawn: false,
});

#[derive(Debug)]
struct LineState {
    /// Number of the status line that may draw. `None` if none may.
    owner: Option<u64>,
    next_owner: u64,
    /// True if a status line is on the screen.
    is_drawn: bool,
}

impl LineState {
    /// Gives the line to a new owner.
    fn begin(&mut self) -> u64 {
        let number = self.next_owner;
        self.next_owner += 1;
        self.owner = Some(number);
        number
    }

    fn draw(&mut self, number: u64, text: &str, out: &mut dyn Write) -> io::Result<()> {
        if self.owner != Some(number) {
            return Ok(());
        }
        self.is_drawn = true;
        out.write_all(format!("{CLEAR_LINE}{text}").as_bytes())?;
        out.flush()
    }

    /// Removes the status line from the screen. Its owner may draw it again.
    fn clear(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if std::mem::take(&mut self.is_drawn) {
            out.write_all(CLEAR_LINE.as_bytes())?;
            out.flush()?;
        }
        Ok(())
    }

    /// Removes the status line for good.
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.owner = None;
        self.clear(out)
    }
}

fn lock() -> MutexGuard<'static, LineState> {
    // A panic while it was held left at most a status line on the screen.
    LAST_LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Status line, until it is dropped or another text takes its place.
#[derive(Debug)]
pub struct StatusLine(u64);

impl StatusLine {
    /// Takes the last line of the terminal.
    pub fn begin() -> Self {
        let mut state = lock();
        let _ = state.clear(&mut io::stderr().lock());
        Self(state.begin())
    }

    /// Draws a text, cut at the width of the terminal. Ignores failures: a closed terminal must not end the work.
    pub fn draw(&self, text: &str) {
        let width = terminal_size::terminal_size_of(io::stderr());
        let width = width.map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0));
        let fitting = fit_line(text, width);
        let shown = match AutoStream::choice(&io::stderr()) {
            ColorChoice::Never => fitting,
            ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => paint(style::DIM, &fitting),
        };
        let _ = lock().draw(self.0, &shown, &mut io::stderr().lock());
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        let mut state = lock();
        if state.owner == Some(self.0) {
            let _ = state.end(&mut io::stderr().lock());
        }
    }
}

/// Cuts a text so that it stays on one line of the terminal.
fn fit_line(text: &str, width: usize) -> String {
    // Only the width of ASCII is certain. A character that takes two columns must not wrap the line, because clearing
    // reaches one line only.
    let mut left = width.saturating_sub(1);
    let fitting = text.chars().take_while(|c| {
        let columns = if c.is_ascii() { 1 } else { 2 };
        let fits = left >= columns;
        left = left.saturating_sub(columns);
        fits
    });
    fitting.collect()
}

/// Prints a text and a line end to standard error, above the status line.
pub fn print(text: &str) {
    let mut state = lock();
    let _ = state.clear(&mut io::stderr().lock());
    let mut out = AutoStream::new(io::stderr().lock(), AutoStream::choice(&io::stderr()));
    // If standard error is closed, there is no other place for the message.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n"));
}

/// Prints a text without a line end, which a person answers. Ends the status line.
pub fn print_prompt(text: &str) {
    end_status();
    let mut out = AutoStream::new(io::stderr().lock(), AutoStream::choice(&io::stderr()));
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Ends the status line: data, a question or a pager follows.
pub fn end_status() {
    let _ = lock().end(&mut io::stderr().lock());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_removes_the_status_line_and_a_question_ends_it() {
        let mut state = LineState {
            owner: None,
            next_owner: 0,
            is_drawn: false,
        };
        let mut out = Vec::new();
        let line = state.begin();
        state.draw(line, "1 s", &mut out).unwrap();
        state.clear(&mut out).unwrap();
        out.extend_from_slice(b"a note\n");
        state.draw(line, "2 s", &mut out).unwrap();
        state.end(&mut out).unwrap();
        out.extend_from_slice(b"land it? ");
        state.draw(line, "3 s", &mut out).unwrap();
        state.clear(&mut out).unwrap();
        out.extend_from_slice(b"y\n");
        let next = state.begin();
        state.draw(line, "4 s", &mut out).unwrap();
        state.draw(next, "next", &mut out).unwrap();
        let seen = String::from_utf8(out).unwrap().replace(CLEAR_LINE, "<clear>");
        assert_eq!(
            seen,
            "<clear>1 s<clear>a note\n<clear>2 s<clear>land it? y\n<clear>next"
        );
    }

    #[test]
    fn a_status_line_stays_on_one_line() {
        for (text, width, expected) in [
            ("12 tokens", 80, "12 tokens"),
            ("12 tokens", 6, "12 to"),
            ("日本語", 6, "日本"),
            ("abc", 0, ""),
        ] {
            assert_eq!(fit_line(text, width), expected, "{text} {width}");
        }
    }
}
