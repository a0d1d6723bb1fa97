//! The terminal and the shell around it.
//!
//! Owns: what is drawn, asked and completed there. Never: decides, or does what a run does.

use std::io::IsTerminal;

pub mod complete;
pub mod consent;
pub mod follow;
pub mod interrupt;
pub mod progress;
pub mod screen;
pub mod working;

/// Which streams a person looks at.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    /// A person can see standard output.
    pub stdout_is_terminal: bool,
    /// A person can see standard error.
    pub stderr_is_terminal: bool,
    /// A person can see standard error and answer on standard input.
    pub can_ask: bool,
}

impl Streams {
    /// Looks at this process's streams.
    pub fn of_process() -> Self {
        let stderr_is_terminal = std::io::stderr().is_terminal();
        Self {
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal,
            can_ask: std::io::stdin().is_terminal() && stderr_is_terminal,
        }
    }
}
