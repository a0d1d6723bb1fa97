//! Builds an answer from its pieces.
//!
//! Owns: which of several ends counts, and the warnings about it. Never: shows a piece that may contain a part of the key.

use agentos_tool::{FinishReason, Progress, ProgressSink, Usage};

use crate::guard::{KeyGuard, KeyWatch};
use crate::{AnswerClose, AnswerPiece, Fault};

/// Answer in progress.
pub(crate) struct AnswerBuilder<'a> {
    guard: KeyGuard<'a>,
    watch: KeyWatch<'a>,
    pub(crate) text: String,
    refusal: String,
    finish: Option<FinishReason>,
    ending: Option<String>,
    close_awaited: bool,
    pub(crate) usage: Option<Usage>,
    pub(crate) model: Option<String>,
}

impl<'a> AnswerBuilder<'a> {
    pub(crate) fn new(guard: KeyGuard<'a>) -> Self {
        Self {
            guard,
            watch: guard.start_watch(),
            text: String::new(),
            refusal: String::new(),
            finish: None,
            ending: None,
            close_awaited: false,
            usage: None,
            model: None,
        }
    }

    /// Adds a piece, and reports the part of its text that is safe to show.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`](crate::Reason::KeyInAnswer) if the text contains the key.
    pub(crate) fn add_piece(&mut self, piece: AnswerPiece, progress: &dyn ProgressSink) -> Result<(), Fault> {
        self.text.push_str(&piece.content.text);
        self.refusal.push_str(&piece.refusal);
        if piece.finish.is_some() {
            self.ending = piece.ending;
        }
        self.finish = match (self.finish, piece.finish) {
            // If an answer has several ends, the one that says that it is incomplete wins, in whichever order they arrive: a cut
            // answer must never land as a complete one.
            (
                Some(first @ (FinishReason::Length | FinishReason::ContentFilter | FinishReason::ToolCalls)),
                _,
            ) => Some(first),
            (earlier, later) => later.or(earlier),
        };
        match piece.close {
            Some(AnswerClose::Awaited) => self.close_awaited = true,
            Some(AnswerClose::Seen) => self.close_awaited = false,
            None => {}
        }
        // Some servers repeat the counts in every event, others spread them over two.
        self.usage = match (self.usage, piece.usage) {
            (Some(before), Some(later)) => Some(later_of(before, later)),
            (before, later) => later.or(before),
        };
        self.model = piece.model.or(self.model.take());
        report_text(self.watch.pass_piece(&piece.content.text)?, progress);
        Ok(())
    }

    /// Returns true if the server has sent the end of the answer.
    pub(crate) fn is_ended(&self) -> bool {
        // Anthropic's stop reason comes before the last event, and a connection may break off between the two.
        self.finish.is_some() && !self.close_awaited
    }

    /// Reports the text that was withheld because the key might begin in it. Call it after the last piece.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`](crate::Reason::KeyInAnswer) if the text ends with the key.
    pub(crate) fn close(&mut self, progress: &dyn ProgressSink) -> Result<(), Fault> {
        report_text(self.watch.take_rest()?, progress);
        Ok(())
    }

    /// Returns why the model stopped. A refusal counts as a content filter, although servers send `stop` for it.
    pub(crate) fn finish_reason(&self) -> FinishReason {
        if self.refusal.is_empty() {
            self.finish.unwrap_or(FinishReason::Unknown)
        } else {
            FinishReason::ContentFilter
        }
    }

    /// Words a warning for a refusal, and for an end that the wire does not know.
    pub(crate) fn list_warnings(&self) -> Vec<String> {
        let refused = self
            .guard
            .clean_message(&self.refusal)
            .map(|said| format!("the model refused: {said}"));
        let unsure = self
            .ending
            .as_deref()
            .and_then(|word| self.guard.clean_message(word))
            .map(|word| {
                format!("the answer may be incomplete: the server gave `{word}` as the reason for its end")
            });
        refused.into_iter().chain(unsure).collect()
    }
}

/// Merges two reports of usage: each count is the one of the last event that has it.
fn later_of(before: Usage, later: Usage) -> Usage {
    Usage {
        input_tokens: later.input_tokens.or(before.input_tokens),
        cached_tokens: later.cached_tokens.or(before.cached_tokens),
        output_tokens: later.output_tokens.or(before.output_tokens),
        reasoning_tokens: later.reasoning_tokens.or(before.reasoning_tokens),
    }
}

/// Reports a text unless it is empty.
fn report_text(text: String, progress: &dyn ProgressSink) {
    if !text.is_empty() {
        progress.progress(Progress::Text(text));
    }
}

#[cfg(test)]
mod tests {
    use agentos_tool::NoProgress;

    use super::*;

    #[test]
    fn a_later_end_does_not_make_an_answer_whole() {
        use FinishReason::{ContentFilter, Length, Stop, ToolCalls, Unknown};
        let cases: [(&[FinishReason], FinishReason); 7] = [
            (&[], Unknown),
            (&[Stop], Stop),
            (&[ContentFilter, Stop], ContentFilter),
            (&[Stop, ContentFilter], ContentFilter),
            (&[Length, Stop], Length),
            (&[ToolCalls, Stop], ToolCalls),
            (&[Unknown, Stop], Stop),
        ];
        for (ends, finish) in cases {
            let mut assembly = AnswerBuilder::new(KeyGuard::new(None, None));
            for end in ends {
                let piece = AnswerPiece {
                    finish: Some(*end),
                    ..AnswerPiece::default()
                };
                assembly.add_piece(piece, &NoProgress).unwrap();
            }
            assert_eq!(assembly.finish_reason(), finish, "{ends:?}");
        }
    }
}
