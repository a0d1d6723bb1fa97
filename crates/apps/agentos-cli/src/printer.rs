//! Where output goes: data to standard output, everything else to standard error.
//!
//! Owns: the two streams, colour and quiet. Never: formats; callers hand over finished, escaped text.

use std::io::{self, Write};

use anstream::AutoStream;

use crate::escape;

/// ANSI codes for the few styles used.
pub mod style {
    /// Good.
    pub const GOOD: &str = "\u{1b}[32m";
    /// Bad.
    pub const BAD: &str = "\u{1b}[31m";
    /// Wants attention.
    pub const WARN: &str = "\u{1b}[33m";
    /// Less important.
    pub const DIM: &str = "\u{1b}[2m";
    /// A heading.
    pub const BOLD: &str = "\u{1b}[1m";
    /// Back to normal.
    pub const RESET: &str = "\u{1b}[0m";
}

/// Paints text; the stream strips the paint where colour is not wanted.
pub fn paint(style: &str, text: &str) -> String {
    format!("{style}{text}{}", style::RESET)
}

/// The two streams of one call.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    /// Only data and errors.
    pub quiet: bool,
    /// Data is JSON.
    pub json: bool,
}

impl Printer {
    /// Writes data. A closed pipe is no error: the reader has seen enough.
    ///
    /// # Errors
    /// When standard output cannot be written for another reason (a full disk).
    pub fn data(&self, text: &str) -> io::Result<()> {
        let mut out = AutoStream::new(io::stdout().lock(), AutoStream::choice(&io::stdout()));
        forgive_closed_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Writes bytes as they are: for pipes, where they must arrive unchanged.
    ///
    /// # Errors
    /// As [`Printer::data`].
    pub fn bytes(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        forgive_closed_pipe(out.write_all(bytes).and_then(|()| out.flush()))
    }

    /// Writes one JSON document as data, its invisible and control characters as escapes.
    ///
    /// # Errors
    /// As [`Printer::data`].
    pub fn json<T: serde::Serialize>(&self, value: &T) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        let mut text = escape::json(&text);
        text.push('\n');
        self.bytes(text.as_bytes())
    }

    /// Tells a person something, unless quiet.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.error(text);
        }
    }

    /// Tells a person what went wrong, always.
    pub fn error(&self, text: &str) {
        let mut out = AutoStream::new(io::stderr().lock(), AutoStream::choice(&io::stderr()));
        // Nobody is left to tell when standard error is gone.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n"));
    }
}

fn forgive_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
