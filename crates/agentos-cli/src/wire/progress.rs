//! The answer arriving on a terminal.
//!
//! Owns: showing pieces as they come, escaped and dimmed. Never: used where nobody looks.

use std::io::Write;

use agentos_tool::{Progress, ProgressSink};

use crate::escape;
use crate::printer::{paint, style};

/// Writes each piece to standard error.
#[derive(Debug, Clone, Copy)]
pub struct TerminalProgress;

impl ProgressSink for TerminalProgress {
    fn progress(&self, progress: Progress) {
        let text = match progress {
            Progress::Text(text) | Progress::Transcript(text) => paint(style::DIM, &escape::block(&text)),
            Progress::Note(text) => format!("{}\n", paint(style::DIM, &escape::line(&text))),
        };
        let mut out = anstream::stderr().lock();
        // A terminal that is gone takes no progress; the run goes on.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
