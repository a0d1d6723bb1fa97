//! Output: data goes to standard output, everything else to standard error.
//!
//! Owns: the two streams, color and `--quiet`. Never: formats; callers pass finished, escaped text.

use std::io::{self, Write};

use anstream::AutoStream;

use crate::escape;
use crate::render::layout::wrap_text;
use crate::terminal::last_line;

/// ANSI codes for the few styles used.
pub mod style {
    /// Success.
    pub const GOOD: &str = "\u{1b}[32m";
    /// Failure.
    pub const BAD: &str = "\u{1b}[31m";
    /// Warning.
    pub const WARN: &str = "\u{1b}[33m";
    /// Less important text.
    pub const DIM: &str = "\u{1b}[2m";
    /// Heading.
    pub const BOLD: &str = "\u{1b}[1m";
    /// Reset to normal text.
    pub const RESET: &str = "\u{1b}[0m";
}

/// Adds a style to text. The stream removes styles if color is not wanted.
pub fn paint(style: &str, text: &str) -> String {
    format!("{style}{text}{}", style::RESET)
}

/// Output of one command.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    /// True if only data and errors are printed.
    pub quiet: bool,
    /// True if data is printed as JSON.
    pub json: bool,
    /// Columns of standard output. `None` if it is not a terminal: then no line is broken.
    pub out_width: Option<usize>,
    /// Columns of standard error. `None` if it is not a terminal.
    pub err_width: Option<usize>,
}

impl Printer {
    /// Writes data to standard output. A closed pipe is not an error: the reader has seen enough.
    ///
    /// # Errors
    /// Fails if standard output cannot be written for another reason, such as a full disk.
    pub fn write_data(&self, text: &str) -> io::Result<()> {
        last_line::end_status();
        // The stream decides about color when it is written to: callers always paint, and a pipe, `NO_COLOR` or a
        // terminal without color gets plain text.
        let mut out = AutoStream::new(io::stdout().lock(), AutoStream::choice(&io::stdout()));
        forgive_closed_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Writes a report to standard output, with lines that fit the terminal.
    ///
    /// # Errors
    /// Fails like [`Printer::write_data`].
    pub fn write_report(&self, text: &str) -> io::Result<()> {
        self.write_data(&self.fit_report(text))
    }

    /// Returns a report with lines that fit standard output.
    pub fn fit_report(&self, text: &str) -> String {
        match self.out_width {
            Some(width) => wrap_text(text, width),
            None => text.to_owned(),
        }
    }

    /// Writes bytes unchanged, for pipes.
    ///
    /// # Errors
    /// Fails like [`Printer::write_data`].
    pub fn write_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        last_line::end_status();
        // `AutoStream` would remove bytes that look like color codes, but these bytes must stay exact: `git apply`
        // reads them.
        let mut out = io::stdout().lock();
        forgive_closed_pipe(out.write_all(bytes).and_then(|()| out.flush()))
    }

    /// Writes one JSON document to standard output, with invisible and control characters as escapes.
    ///
    /// # Errors
    /// Fails like [`Printer::write_data`].
    pub fn write_json<T: serde::Serialize>(&self, value: &T) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        let mut text = escape::json(&text);
        text.push('\n');
        self.write_bytes(text.as_bytes())
    }

    /// Writes one JSON document in one line to standard output, as [`Printer::write_json`] does.
    ///
    /// # Errors
    /// Fails like [`Printer::write_data`].
    pub fn write_json_line<T: serde::Serialize>(&self, value: &T) -> io::Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        let mut text = escape::json(&text);
        text.push('\n');
        self.write_bytes(text.as_bytes())
    }

    /// Shows a message to a person, unless `--quiet` is set.
    pub fn show_note(&self, text: &str) {
        if !self.quiet {
            self.show_error(text);
        }
    }

    /// Shows an error to a person, even with `--quiet`.
    pub fn show_error(&self, text: &str) {
        match self.err_width {
            Some(width) => last_line::print(&wrap_text(text, width)),
            None => last_line::print(text),
        }
    }
}

fn forgive_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        // A reader such as `head` closes the pipe when it has enough. Rust ignores SIGPIPE, so the closed pipe arrives
        // as an error of the write.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
