//! The transcript: a tool's output besides its answer, kept for the evidence.
//!
//! Owns: the limit and where it is cut. Never: changes the progress that a person sees.

use std::sync::{Mutex, PoisonError};

use agentos_tool::{Progress, ProgressSink};

/// Most bytes that are kept. They are the first ones: a tool states its plan first, and its errors are in the verdict.
const LONGEST: usize = 1 << 20;

/// Passes progress on and keeps the transcript.
pub(crate) struct TranscriptRecorder<'a> {
    onward: &'a dyn ProgressSink,
    kept: Mutex<KeptText>,
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
        }
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
        self.onward.progress(progress);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentos_tool::NoProgress;

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
