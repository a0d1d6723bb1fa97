//! Reads the stream of an answer as servers really send it.
//!
//! Owns: what counts as an event, as a word, as an error and as the end. Never: knows the fields of a wire, or takes a stream that
//! was cut for an answer.
//!
//! | what arrives | read as |
//! |---|---|
//! | a comment, an empty event, `{}`, `null`, `""`, `[]` | nothing; it does not prolong a limit |
//! | `[DONE]` | the end, with or without a reason before it |
//! | an event with an error | that error; before the first word it is judged by its status |
//! | a sentence again and again | the failure of an answer without an end |
//! | half of a character | joined with the other half in the next event |
//! | the end of the connection behind an end | the end; many servers reset it |
//! | the end of the connection without an end | a broken stream |

use std::collections::VecDeque;

use agentos_model::{ChatEvent, ChatPiece};
use agentos_net::BodyEvents;
use serde_json::Value;

use crate::assembly::AnswerBuilder;
use crate::surrogates::{LOST_CHARACTER, SplitCharacter};
use crate::verdict::{judge_event, passes_by_itself};
use crate::{AnswerPiece, Fault, Reason, Wire};

/// Events of one answer.
pub(crate) struct AnswerEvents {
    events: BodyEvents,
    reader: EventReader,
}

/// Result of reading one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventStep {
    /// The answer continues. `has_word` is true if the event had a word of the answer.
    GoesOn { has_word: bool },
    /// The answer is complete.
    Ended,
}

/// Reader of events, wherever they come from.
#[derive(Default)]
pub(crate) struct EventReader {
    split: SplitCharacter,
}

impl AnswerEvents {
    /// Makes a reader of the events.
    pub(crate) fn new(events: BodyEvents) -> Self {
        Self {
            events,
            reader: EventReader::default(),
        }
    }

    /// Reads the next event. Returns false after the end of a complete answer.
    ///
    /// # Errors
    /// If the stream breaks, or ends without an end of the answer.
    pub(crate) async fn read_next(
        &mut self,
        wire: &dyn Wire,
        answer: &mut AnswerBuilder<'_>,
        ready: &mut VecDeque<ChatEvent>,
    ) -> Result<bool, Fault> {
        let event = match self.events.next().await {
            Ok(event) => event,
            // Some servers send the end and then reset the connection. The answer is complete, so the error does not matter.
            Err(_) if answer.is_ended() => None,
            Err(error) => return Err(in_stream(error.into())),
        };
        match self.reader.read_event(event.as_deref(), wire, answer, ready)? {
            EventStep::GoesOn { has_word } => {
                if has_word {
                    self.events.note_word();
                }
                Ok(true)
            }
            EventStep::Ended => Ok(false),
        }
    }
}

impl EventReader {
    /// Reads one event. `None` is the end of the connection.
    ///
    /// # Errors
    /// If the event reports a failure or cannot be read, or the connection ends without an end of the answer.
    pub(crate) fn read_event(
        &mut self,
        event: Option<&str>,
        wire: &dyn Wire,
        answer: &mut AnswerBuilder<'_>,
        ready: &mut VecDeque<ChatEvent>,
    ) -> Result<EventStep, Fault> {
        let nothing = EventStep::GoesOn { has_word: false };
        let Some(event) = event else {
            if !answer.is_ended() {
                return Err(Fault::from(Reason::BrokenStream)
                    .with_message("the stream ended without a finish reason"));
            }
            self.close(answer, ready)?;
            return Ok(EventStep::Ended);
        };
        match event.trim() {
            "" => return Ok(nothing),
            // The end of OpenAI's streams, which many servers copy; it is not JSON.
            "[DONE]" => {
                answer.end_without_reason();
                if !answer.is_ended() {
                    return Err(Fault::from(Reason::BrokenStream)
                        .with_message("the stream ended without a finish reason"));
                }
                self.close(answer, ready)?;
                return Ok(EventStep::Ended);
            }
            _ => {}
        }
        let was_open = self.split.is_open();
        let Some(json) = self.split.read_event(event) else {
            let words = format!("an event of the stream is not JSON: {event}");
            return Err(Fault::from(Reason::BrokenStream).with_message(&words));
        };
        if is_nothing(&json) {
            return Ok(nothing);
        }
        // The status is already 200 when a failure happens in the middle of a stream, so servers send the error as an event.
        if let Some(fault) = judge_event(&json, answer.is_begun()) {
            return Err(fault);
        }
        let mut piece = wire.read_event(&json).map_err(|fault| match answer.is_begun() {
            true => broken_by(fault),
            false => fault,
        })?;
        if was_open && self.split.is_open() && !piece.content.text.is_empty() {
            // The text goes on without the second half.
            self.split.give_up();
            piece.content.text.insert_str(0, LOST_CHARACTER);
        }
        let has_word = piece.has_word();
        // Before the piece is added: everything before it was shown, and an end that comes now still counts.
        if piece.finish.is_none() {
            answer.check_repetition()?;
        }
        answer.add_piece(piece, ready)?;
        Ok(EventStep::GoesOn { has_word })
    }

    /// Ends the answer. A half of a character that still waits is shown as lost.
    fn close(
        &mut self,
        answer: &mut AnswerBuilder<'_>,
        ready: &mut VecDeque<ChatEvent>,
    ) -> Result<(), Fault> {
        if self.split.is_open() {
            self.split.give_up();
            let piece = AnswerPiece {
                content: ChatPiece::from_text(LOST_CHARACTER),
                ..AnswerPiece::default()
            };
            answer.add_piece(piece, ready)?;
        }
        answer.close(ready)
    }
}

/// Returns true for events that servers send to keep a connection open.
fn is_nothing(json: &Value) -> bool {
    match json {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Converts a failure that passes by itself to [`Reason::BrokenStream`], because the user has seen a part of the answer.
fn broken_by(fault: Fault) -> Fault {
    match passes_by_itself(fault.reason) {
        true => Fault {
            reason: Reason::BrokenStream,
            ..fault
        },
        false => fault,
    }
}

/// Converts a connection closed in the middle of a stream to [`Reason::BrokenStream`]. Limits keep their own reason.
fn in_stream(fault: Fault) -> Fault {
    if fault.reason == Reason::Closed {
        Fault {
            reason: Reason::BrokenStream,
            ..fault
        }
    } else {
        fault
    }
}
