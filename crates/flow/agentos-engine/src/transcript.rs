//! The transcript: a tool's output besides its answer, kept for the evidence.
//!
//! Owns: the limit and where it is cut. Never: changes the progress that a person sees.

use std::sync::{Mutex, PoisonError};

use agentos_tool::{FileRead, ProgramCall, ProgramView, Progress, ProgressSink};

use crate::ports::EffectError;
use crate::records;

/// Most bytes that are kept. They are the first ones: a tool states its plan first, and its errors are in the verdict.
const LONGEST: usize = 1 << 20;

/// Passes progress on, and keeps the transcript, the texts that the tool called for, and its calls.
pub(crate) struct TranscriptRecorder<'a> {
    onward: &'a dyn ProgressSink,
    kept: Mutex<KeptText>,
    reads: Mutex<Vec<FileRead>>,
    calls: Mutex<Vec<ProgramCall>>,
    views: Mutex<Vec<ProgramView>>,
}

#[derive(Default)]
struct KeptText {
    text: String,
    left_out: usize,
}

impl<'a> TranscriptRecorder<'a> {
    pub(crate) fn new(onward: &'a dyn ProgressSink) -> Self {
        Self {
            onward,
            kept: Mutex::default(),
            reads: Mutex::default(),
            calls: Mutex::default(),
            views: Mutex::default(),
        }
    }

    /// Returns the texts of the repository that the tool called for, in their order.
    pub(crate) fn take_reads(&self) -> Vec<FileRead> {
        std::mem::take(&mut *self.reads.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the calls of the user's programs, in their order.
    pub(crate) fn take_calls(&self) -> Vec<ProgramCall> {
        std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the files that a program could read, in the order of its starts.
    pub(crate) fn take_views(&self) -> Vec<ProgramView> {
        std::mem::take(&mut *self.views.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the transcript. `None` if the tool wrote nothing besides its answer.
    pub(crate) fn transcript(&self) -> Option<String> {
        // A panic elsewhere cannot leave the text half changed, so a poisoned lock is used all the same.
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.left_out {
            _ if kept.text.is_empty() => None,
            0 => Some(kept.text.clone()),
            more => Some(format!("{}\n[{more} more bytes were left out]\n", kept.text)),
        }
    }
}

/// Most lines of a tool's output in an outcome. A program names its error at the end.
const LAST_LINES: usize = 10;
/// Most characters of such a line.
const LONGEST_LINE: usize = 500;

/// Returns the last lines of a tool's output that are not empty, without secrets.
///
/// # Errors
/// If the patterns of secrets cannot be used.
pub(crate) fn last_lines(transcript: &str) -> Result<Vec<String>, EffectError> {
    let lines = transcript.lines().rev().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = lines
        .take(LAST_LINES)
        .map(|line| line.chars().take(LONGEST_LINE).collect())
        .collect();
    lines.reverse();
    // Like a record: an outcome is printed and passed on.
    records::clean_lines(&lines)
}

impl ProgressSink for TranscriptRecorder<'_> {
    fn progress(&self, progress: Progress) {
        if let Progress::Transcript(text) = &progress {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            // Once a part was left out, nothing more is kept: a gap in the middle would look like the tool's own text.
            if kept.left_out == 0 && kept.text.len() + text.len() <= LONGEST {
                kept.text.push_str(text);
            } else {
                kept.left_out += text.len();
            }
        }
        if let Progress::Read(read) = &progress {
            let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
            reads.push(read.clone());
        }
        if let Progress::Called(call) = &progress {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(call.clone());
        }
        if let Progress::Viewed(view) = progress {
            // Only the evidence has this list, which can be long.
            let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
            views.push(view);
            return;
        }
        self.onward.progress(progress);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentos_tool::NoProgress;

    #[test]
    fn the_last_lines_are_few_short_and_without_secrets() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let header = format!("authorization: Bearer {token}");
        let text = format!("first\n\n{}\n{header}\n  \n{}", "n\n".repeat(8), "x".repeat(900));
        let lines = last_lines(&text).unwrap();
        assert_eq!((lines.len(), lines[0].as_str()), (10, "n"));
        assert!(!lines.concat().contains(&token), "{lines:?}");
        assert_eq!(lines[9].len(), LONGEST_LINE);
        assert_eq!(last_lines("").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn only_the_transcript_is_kept_and_what_is_left_out_is_said() {
        let recorder = TranscriptRecorder::new(&NoProgress);
        recorder.progress(Progress::Text("the answer".to_owned()));
        assert_eq!(recorder.transcript(), None);
        recorder.progress(Progress::Transcript("building\n".to_owned()));
        assert_eq!(recorder.transcript().as_deref(), Some("building\n"));
        recorder.progress(Progress::Transcript("x".repeat(LONGEST)));
        recorder.progress(Progress::Transcript("late".to_owned()));
        let expected = format!("building\n\n[{} more bytes were left out]\n", LONGEST + 4);
        assert_eq!(recorder.transcript(), Some(expected));
    }
}
