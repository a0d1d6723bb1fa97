//! An answer put together from its pieces.
//!
//! Owns: which of several ends counts, and what a person is told about the end. Never: shows a piece that may hold
//! a part of the key.

use agentos_tool::{FinishReason, Progress, ProgressSink, Usage};

use crate::guard::{KeyGuard, Watch};
use crate::{Close, Fault, Piece};

/// The answer so far.
pub(crate) struct Assembly<'a> {
    guard: KeyGuard<'a>,
    watch: Watch<'a>,
    pub(crate) text: String,
    refusal: String,
    finish: Option<FinishReason>,
    ending: Option<String>,
    close_awaited: bool,
    pub(crate) usage: Option<Usage>,
    pub(crate) model: Option<String>,
}

impl<'a> Assembly<'a> {
    pub(crate) fn new(guard: KeyGuard<'a>) -> Self {
        Self {
            guard,
            watch: guard.watch(),
            text: String::new(),
            refusal: String::new(),
            finish: None,
            ending: None,
            close_awaited: false,
            usage: None,
            model: None,
        }
    }

    /// Adds a piece, and shows what is safe to show of its text.
    ///
    /// # Errors
    /// When the text holds the key.
    pub(crate) fn take(&mut self, piece: Piece, progress: &dyn ProgressSink) -> Result<(), Fault> {
        self.text.push_str(&piece.text);
        self.refusal.push_str(&piece.refusal);
        if piece.finish.is_some() {
            self.ending = piece.ending;
        }
        self.finish = match (self.finish, piece.finish) {
            // An end that makes the answer less than whole is not taken back by a later one.
            (
                Some(first @ (FinishReason::Length | FinishReason::ContentFilter | FinishReason::ToolCalls)),
                _,
            ) => Some(first),
            (earlier, later) => later.or(earlier),
        };
        match piece.close {
            Some(Close::Awaited) => self.close_awaited = true,
            Some(Close::Seen) => self.close_awaited = false,
            None => {}
        }
        self.usage = match (self.usage, piece.usage) {
            (Some(before), Some(later)) => Some(later_of(before, later)),
            (before, later) => later.or(before),
        };
        self.model = piece.model.or(self.model.take());
        show(self.watch.pass(&piece.text)?, progress);
        Ok(())
    }

    /// True when the server has said that this is the end.
    pub(crate) fn is_ended(&self) -> bool {
        self.finish.is_some() && !self.close_awaited
    }

    /// Shows what was held back; nothing more comes.
    ///
    /// # Errors
    /// When the text ends with the key.
    pub(crate) fn close(&mut self, progress: &dyn ProgressSink) -> Result<(), Fault> {
        show(self.watch.rest()?, progress);
        Ok(())
    }

    /// Why the model stopped. A refusal ends with `stop` like an answer does.
    pub(crate) fn finish(&self) -> FinishReason {
        if self.refusal.is_empty() {
            self.finish.unwrap_or(FinishReason::Unknown)
        } else {
            FinishReason::ContentFilter
        }
    }

    /// What a person should know of the end.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let refused = self
            .guard
            .words(&self.refusal)
            .map(|said| format!("the model refused: {said}"));
        let unsure = self
            .ending
            .as_deref()
            .and_then(|word| self.guard.words(word))
            .map(|word| format!("the answer may not be whole: the server says `{word}` for its end"));
        refused.into_iter().chain(unsure).collect()
    }
}

/// Each count from the last event that has it.
fn later_of(before: Usage, later: Usage) -> Usage {
    Usage {
        input_tokens: later.input_tokens.or(before.input_tokens),
        cached_tokens: later.cached_tokens.or(before.cached_tokens),
        output_tokens: later.output_tokens.or(before.output_tokens),
        reasoning_tokens: later.reasoning_tokens.or(before.reasoning_tokens),
    }
}

fn show(text: String, progress: &dyn ProgressSink) {
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
            let mut assembly = Assembly::new(KeyGuard::new(None, None));
            for end in ends {
                let piece = Piece {
                    finish: Some(*end),
                    ..Piece::default()
                };
                assembly.take(piece, &NoProgress).unwrap();
            }
            assert_eq!(assembly.finish(), finish, "{ends:?}");
        }
    }
}
