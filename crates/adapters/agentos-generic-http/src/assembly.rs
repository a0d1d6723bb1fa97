//! Builds an answer from its pieces.
//!
//! Owns: which of several ends counts, the warnings about it, and what an answer without a word is. Never: decides what may be shown; [`PieceReader`] does.

use std::collections::VecDeque;

use agentos_model::{ChatEvent, ChatPiece};
use agentos_tool::{FinishReason, SendingSize, Usage};

use crate::guard::KeyGuard;
use crate::marks::{TextPart, TextReader};
use crate::pieces::PieceReader;
use crate::repetition::Repetition;
use crate::spoken::clean_name;
use crate::{AnswerClose, AnswerPiece, Fault, Reason};

/// Kinds of content that have arrived of an answer.
#[derive(Debug, Clone, Copy, Default)]
struct ArrivedContent {
    is_any: bool,
    has_text: bool,
    has_calls: bool,
    thinking: usize,
}

impl ArrivedContent {
    fn add_piece(&mut self, piece: &ChatPiece) {
        self.has_text |= !piece.text.trim().is_empty();
        self.has_calls |= !piece.calls.is_empty();
        let thoughts = piece.thoughts.iter();
        self.thinking += thoughts
            .map(|thought| thought.text.chars().count())
            .sum::<usize>();
    }
}

/// Answer in progress.
pub(crate) struct AnswerBuilder<'a> {
    guard: KeyGuard<'a>,
    text: Option<TextReader<'a>>,
    arrived: ArrivedContent,
    /// True if the end came without a reason.
    is_end_unexplained: bool,
    /// Tools whose calls were written as text.
    spoken: Vec<String>,
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
    repetition: Repetition,
    pub(crate) model: Option<String>,
}

impl<'a> AnswerBuilder<'a> {
    /// Makes an answer. `text` reads the marks in its text; without it, the text stays as it is.
    pub(crate) fn new(guard: KeyGuard<'a>, size: SendingSize, text: Option<TextReader<'a>>) -> Self {
        Self {
            guard,
            text,
            arrived: ArrivedContent::default(),
            is_end_unexplained: false,
            spoken: Vec::new(),
            pieces: PieceReader::new(guard),
            refusal: String::new(),
            finish: None,
            ending: None,
            close_awaited: false,
            usage: None,
            size,
            has_excess: false,
            repetition: Repetition::default(),
            model: None,
        }
    }

    /// Adds a piece, and appends the events of what may be shown of it.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`](crate::Reason::KeyInAnswer) if it contains the key.
    pub(crate) fn add_piece(
        &mut self,
        mut piece: AnswerPiece,
        events: &mut VecDeque<ChatEvent>,
    ) -> Result<(), Fault> {
        self.arrived.is_any |= !piece.content.is_empty();
        for call in &mut piece.content.calls {
            call.name = call.name.take().map(clean_name);
        }
        self.refusal.push_str(&piece.refusal);
        if piece.finish.is_some() {
            self.ending = piece.ending;
        }
        self.finish = match (self.finish, piece.finish) {
            // If an answer has several ends, the one that says that it is incomplete wins, in whichever order they arrive: a cut
            // answer must never land as a complete one.
            (Some(first @ (FinishReason::Length | FinishReason::ContentFilter)), _) => Some(first),
            (_, Some(later @ (FinishReason::Length | FinishReason::ContentFilter))) => Some(later),
            (Some(FinishReason::ToolCalls), _) => Some(FinishReason::ToolCalls),
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
        let parts = match &mut self.text {
            Some(reader) => reader.add_piece(piece.content),
            None => vec![TextPart::Piece(piece.content)],
        };
        self.add_parts(parts, events)?;
        if usage != self.usage {
            self.usage = usage;
            // After the content, so that an answer that is cut right here has its tokens with its last piece.
            let known = usage.filter(|usage| !usage.is_unknown());
            events.extend(known.map(ChatEvent::Usage));
        }
        Ok(())
    }

    fn add_parts(&mut self, parts: Vec<TextPart>, events: &mut VecDeque<ChatEvent>) -> Result<(), Fault> {
        for part in parts {
            match part {
                TextPart::Piece(piece) => {
                    self.arrived.add_piece(&piece);
                    self.repetition.add_text(&piece.text);
                    for thought in &piece.thoughts {
                        self.repetition.add_text(&thought.text);
                    }
                    self.pieces.add_content(piece, events)?;
                }
                TextPart::WasThinking => {
                    self.arrived.has_text = false;
                    self.arrived.thinking += 1;
                    self.pieces.take_text_back(events)?;
                }
            }
        }
        Ok(())
    }

    /// Checks that an answer without an end does not say the same again and again.
    ///
    /// # Errors
    /// [`Reason::EndlessAnswer`] if it does. Its counts are not known, because servers send them with the end.
    pub(crate) fn check_repetition(&self) -> Result<(), Fault> {
        match self.repetition.is_noticed() && self.finish.is_none() {
            true => Err(Reason::EndlessAnswer.into()),
            false => Ok(()),
        }
    }

    /// Returns true if a piece of the answer has arrived.
    pub(crate) fn is_begun(&self) -> bool {
        self.arrived.is_any
    }

    /// Ends an answer in a conversation by the server's mark for the end of a stream, also if no reason came before it: some gateways send
    /// the mark alone. An answer to an edit task has no end then: proxies send the mark after a broken stream as well, and a cut answer must
    /// never land.
    pub(crate) fn end_without_reason(&mut self) {
        if self.finish.is_none() && self.text.is_some() && !self.close_awaited {
            self.is_end_unexplained = true;
            self.finish = Some(match self.arrived.has_calls {
                true => FinishReason::ToolCalls,
                false => FinishReason::Stop,
            });
        }
    }

    /// Checks that a complete answer has a word.
    ///
    /// # Errors
    /// [`Reason::EmptyAnswer`] with what came instead, if it has neither text nor a call. An answer that was cut or refused has a
    /// reason of its own.
    pub(crate) fn check_content(&self) -> Result<(), Fault> {
        let is_explained = match self.finish_reason() {
            FinishReason::Length | FinishReason::ContentFilter => true,
            FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Unknown => false,
        };
        if self.arrived.has_text || self.arrived.has_calls || is_explained {
            return Ok(());
        }
        let read = self.usage.and_then(|usage| usage.input_tokens);
        let written = self.usage.and_then(|usage| usage.output_tokens);
        let words = match (self.arrived.thinking, &self.ending, read, written) {
            _ if self.finish == Some(FinishReason::ToolCalls) => {
                "the server says that the model called a tool, and sent no call that can be read".to_owned()
            }
            (1.., _, _, _) => "the model only thought, and gave no answer".to_owned(),
            (0, Some(word), _, _) => {
                format!("the answer has no text; the server gave `{word}` as the reason for its end")
            }
            (0, None, Some(read), None | Some(0)) => {
                format!(
                    "{read} tokens went in, and nothing came out: does the request fit the context window?"
                )
            }
            (0, None, _, Some(written)) => {
                format!("the answer has no text, although the server counted {written} tokens")
            }
            (0, None, None, None) => "the answer has neither text nor a call".to_owned(),
        };
        Err(Fault::from(Reason::EmptyAnswer).with_message(&words))
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
        let rest = self.text.as_mut().map(TextReader::finish).unwrap_or_default();
        for part in &rest {
            if let TextPart::Piece(piece) = part {
                self.spoken
                    .extend(piece.calls.iter().filter_map(|call| call.name.clone()));
            }
        }
        self.add_parts(rest, events)?;
        self.pieces.close(events)
    }

    /// Returns why the model stopped. A refusal counts as a content filter, although servers send `stop` for it.
    pub(crate) fn finish_reason(&self) -> FinishReason {
        match self.finish {
            _ if !self.refusal.is_empty() => FinishReason::ContentFilter,
            // Ollama and others say `stop` behind calls of tools.
            Some(FinishReason::Stop) if self.arrived.has_calls => FinishReason::ToolCalls,
            finish => finish.unwrap_or(FinishReason::Unknown),
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
            .map(|word| match self.finish {
                Some(FinishReason::Length) => format!(
                    "the context window is full (`{word}`): shorten the conversation, or give fewer or smaller files; a higher limit on \
                     the answer does not help"
                ),
                _ => format!("the answer may be incomplete: the server gave `{word}` as the reason for its end"),
            });
        let excess = self.has_excess.then(|| {
            "the server reported more tokens than were possible, so the most possible number is recorded"
                .to_owned()
        });
        let unexplained = self.is_end_unexplained.then(|| {
            "the server ended its stream without a reason; the answer is taken as complete".to_owned()
        });
        let spoken = self.spoken.iter();
        let spoken = spoken.map(|name| {
            format!(
                "the model wrote its call of `{}` as text",
                self.guard.clean_name(name.clone())
            )
        });
        let others = refused.into_iter().chain(unsure).chain(excess).chain(unexplained);
        others.chain(spoken).collect()
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
        stated_cost: later.stated_cost.or(before.stated_cost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_repeats_itself_fails_unless_its_server_has_ended_it() {
        let unbounded = SendingSize {
            text_tokens: u64::MAX,
            image_tokens: 0,
            output_tokens: None,
        };
        let piece = |finish| AnswerPiece {
            content: ChatPiece::from_text("The answer is applied by another program.\n"),
            finish,
            ..AnswerPiece::default()
        };
        for (end, fault) in [
            (None, Some(Reason::EndlessAnswer)),
            (Some(FinishReason::Stop), None),
        ] {
            let mut answer = AnswerBuilder::new(KeyGuard::new(None, None), unbounded, None);
            for _ in 0..149 {
                answer.add_piece(piece(None), &mut VecDeque::new()).unwrap();
            }
            answer.add_piece(piece(end), &mut VecDeque::new()).unwrap();
            assert_eq!(answer.check_repetition().err().map(|fault| fault.reason), fault);
        }
    }

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
            let mut assembly = AnswerBuilder::new(KeyGuard::new(None, None), unbounded, None);
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
