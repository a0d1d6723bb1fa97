//! Builds an answer from its pieces.
//!
//! Owns: which of several ends counts, and the warnings about it. Never: decides what may be shown; [`PieceReader`] does.

use std::collections::VecDeque;

use agentos_model::ChatEvent;
use agentos_tool::{FinishReason, SendingSize, Usage};

use crate::guard::KeyGuard;
use crate::pieces::PieceReader;
use crate::{AnswerClose, AnswerPiece, Fault};

/// Answer in progress.
pub(crate) struct AnswerBuilder<'a> {
    guard: KeyGuard<'a>,
    pieces: PieceReader<'a>,
    refusal: String,
    finish: Option<FinishReason>,
    ending: Option<String>,
    close_awaited: bool,
    usage: Option<Usage>,
    /// Most that the server can count for the request.
    size: SendingSize,
    /// True if the server counted more.
    has_excess: bool,
    pub(crate) model: Option<String>,
}

impl<'a> AnswerBuilder<'a> {
    pub(crate) fn new(guard: KeyGuard<'a>, size: SendingSize) -> Self {
        Self {
            guard,
            pieces: PieceReader::new(guard),
            refusal: String::new(),
            finish: None,
            ending: None,
            close_awaited: false,
            usage: None,
            size,
            has_excess: false,
            model: None,
        }
    }

    /// Adds a piece, and appends the events of what may be shown of it.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`](crate::Reason::KeyInAnswer) if it contains the key.
    pub(crate) fn add_piece(
        &mut self,
        piece: AnswerPiece,
        events: &mut VecDeque<ChatEvent>,
    ) -> Result<(), Fault> {
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
        let usage = match (self.usage, piece.usage) {
            (Some(before), Some(later)) => Some(later_of(before, later)),
            (before, later) => later.or(before),
        };
        // A count of the server must not become a cost that its request cannot have, or a number that no record takes.
        let usage = usage.map(|usage| {
            let (usage, is_larger) = self.size.cap_usage(usage);
            self.has_excess |= is_larger;
            usage
        });
        self.model = piece.model.or(self.model.take());
        self.pieces.add_content(piece.content, events)?;
        if usage != self.usage {
            self.usage = usage;
            // After the content, so that an answer that is cut right here has its tokens with its last piece.
            let known = usage.filter(|usage| !usage.is_unknown());
            events.extend(known.map(ChatEvent::Usage));
        }
        Ok(())
    }

    /// Returns true if a piece of the answer has arrived.
    pub(crate) fn is_begun(&self) -> bool {
        self.pieces.has_content()
    }

    /// Returns true if the server has sent the end of the answer.
    pub(crate) fn is_ended(&self) -> bool {
        // Anthropic's stop reason comes before the last event, and a connection may break off between the two.
        self.finish.is_some() && !self.close_awaited
    }

    /// Appends the events of what was withheld because the key might begin in it. Call it after the last piece.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`](crate::Reason::KeyInAnswer) if the answer contains the key.
    pub(crate) fn close(&mut self, events: &mut VecDeque<ChatEvent>) -> Result<(), Fault> {
        self.pieces.close(events)
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
        let excess = self.has_excess.then(|| {
            "the server reported more tokens than were possible, so the most possible number is recorded"
                .to_owned()
        });
        refused.into_iter().chain(unsure).chain(excess).collect()
    }
}

/// Merges two reports of usage: each count is the one of the last event that has it.
fn later_of(before: Usage, later: Usage) -> Usage {
    Usage {
        input_tokens: later.input_tokens.or(before.input_tokens),
        cached_tokens: later.cached_tokens.or(before.cached_tokens),
        cache_write_tokens: later.cache_write_tokens.or(before.cache_write_tokens),
        output_tokens: later.output_tokens.or(before.output_tokens),
        reasoning_tokens: later.reasoning_tokens.or(before.reasoning_tokens),
    }
}

#[cfg(test)]
mod tests {
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
        let unbounded = SendingSize {
            text_tokens: u64::MAX,
            image_tokens: 0,
            output_tokens: None,
        };
        for (ends, finish) in cases {
            let mut assembly = AnswerBuilder::new(KeyGuard::new(None, None), unbounded);
            for end in ends {
                let piece = AnswerPiece {
                    finish: Some(*end),
                    ..AnswerPiece::default()
                };
                assembly.add_piece(piece, &mut VecDeque::new()).unwrap();
            }
            assert_eq!(assembly.finish_reason(), finish, "{ends:?}");
        }
    }
}
