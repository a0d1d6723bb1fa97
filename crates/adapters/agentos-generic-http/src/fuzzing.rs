//! The reader of streams, exposed for fuzzing.
//!
//! Owns: access to the reader without a connection. Never: sends anything. Nothing here is part of the crate's public interface.

use std::collections::VecDeque;

use agentos_model::ChatEvent;
use agentos_tool::{FinishReason, MOST_TOKENS, Secret, SendingSize};

use crate::assembly::AnswerBuilder;
use crate::guard::{KeyGuard, prepare_forms};
use crate::marks::TextReader;
use crate::reading::{EventReader, EventStep};
use crate::{Fault, Wire};

/// Result of reading a stream.
#[derive(Debug)]
pub struct ReadStream {
    /// Everything that a conversation was shown.
    pub shown: Vec<ChatEvent>,
    /// End of the answer with the warnings about it, or the failure with its words as a person reads them.
    pub end: Result<(FinishReason, Vec<String>), (Fault, Option<String>)>,
}

/// Reads the events of one stream as an answer to a request that offered these tools and was sent with this key.
#[must_use]
pub fn read_stream(wire: &dyn Wire, tools: &[&str], key: &Secret, events: &[String]) -> ReadStream {
    let forms = prepare_forms(Some(key));
    let guard = KeyGuard::new(Some(key), forms.as_ref());
    let size = SendingSize {
        text_tokens: MOST_TOKENS,
        image_tokens: 0,
        output_tokens: None,
    };
    let mut answer = AnswerBuilder::new(guard, size, Some(TextReader::new(tools.to_vec())));
    let (mut reader, mut ready) = (EventReader::default(), VecDeque::new());
    let end = loop_events(&mut reader, wire, &mut answer, &mut ready, events);
    let end = end.map_err(|fault| {
        let words = fault.said.as_deref().and_then(|said| guard.clean_message(said));
        (fault, words)
    });
    ReadStream {
        shown: ready.into(),
        end: end.map(|()| (answer.finish_reason(), answer.list_warnings())),
    }
}

fn loop_events(
    reader: &mut EventReader,
    wire: &dyn Wire,
    answer: &mut AnswerBuilder<'_>,
    ready: &mut VecDeque<ChatEvent>,
    events: &[String],
) -> Result<(), Fault> {
    // The connection ends behind the last event.
    for event in events.iter().map(|event| Some(event.as_str())).chain([None]) {
        if reader.read_event(event, wire, answer, ready)? == EventStep::Ended {
            break;
        }
    }
    answer.check_content()
}
