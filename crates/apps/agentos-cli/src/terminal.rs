//! Terminal and shell.
//!
//! Owns: drawing, questions, signals and completions. Never: decides, or does the work of a run.

use std::io::IsTerminal;

pub mod arrivals;
pub mod complete;
pub mod consent;
pub mod editor;
pub mod follow;
pub mod keyboard;
pub mod last_line;
#[cfg(unix)]
pub mod line_editor;
pub mod live_output;
pub mod progress;
#[cfg(unix)]
pub mod saved_mode;
pub mod screen;
pub mod signals;
#[cfg(unix)]
pub mod typed_text;
pub mod walk;
pub mod watch;
pub mod working;

/// Standard streams that a person sees.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    /// True if standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// True if standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// True if a person can see standard error and answer on standard input.
    pub can_ask: bool,
}

impl Streams {
    /// Inspects the standard streams of this process.
    pub fn of_process() -> Self {
        let stderr_is_terminal = std::io::stderr().is_terminal();
        Self {
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal,
            can_ask: std::io::stdin().is_terminal() && stderr_is_terminal,
        }
    }
}
