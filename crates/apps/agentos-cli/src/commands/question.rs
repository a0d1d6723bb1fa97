//! Questions with yes or no at the terminal.
//!
//! Owns: the words that count as a yes. Never: finds out if there is a terminal; the caller does.

use std::io;

use agentos_host::EffectError;

use crate::app::{App, stopped_error, usage_error};
use crate::terminal::keyboard::{Keyboard, LineSource, TypedLine};
use crate::terminal::last_line;

/// Asks a question. Returns true only for a clear yes.
///
/// # Errors
/// Fails if the answer cannot be read, or the person stops the program.
pub fn ask_yes(app: &App, question: &str) -> Result<bool, EffectError> {
    let failed = |error: io::Error| usage_error(format!("cannot read the answer: {error}"));
    last_line::print_prompt(&format!("{question} [y/N] "));
    match Keyboard::new(&app.signals).read_line().map_err(failed)? {
        TypedLine::Line(line) => Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")),
        TypedLine::End => Ok(false),
        TypedLine::Stopped => Err(stopped_error()),
    }
}
