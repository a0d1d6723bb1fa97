//! The wires, and an answer as each of them writes it.
//!
//! Owns: the choice of the form by the wire. Never: buffers an answer; each event is written when it comes.

use agentos_model::{ChatEvent, ChatReply};
use serde_json::Value;

use crate::anthropic::{self, AnswerLimit};
use crate::fault::{ClientFault, RequestFault};
use crate::openai;
use crate::request::{ClientRequest, RequestEcho};
use crate::responses;

/// Wire of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientWire {
    /// `POST /v1/chat/completions`.
    OpenAi,
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/messages`.
    Anthropic,
}

/// Facts about an answer that its form contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyFacts {
    /// Id of the answer.
    pub id: String,
    /// Model as the client named it.
    pub model: String,
    /// Provider of the model that answers. Signatures and marks are its.
    pub provider: String,
    /// Seconds since 1970 at the beginning of the answer.
    pub created: u64,
    /// Parts of the request that the answer depends on.
    pub echo: RequestEcho,
}

impl ClientWire {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// If it is not JSON of this wire, or asks for something that is not supported.
    pub fn read_request(self, body: &[u8]) -> Result<ClientRequest, RequestFault> {
        let value = parse_body(body)?;
        match self {
            Self::OpenAi => openai::read_request(value),
            Self::Responses => responses::read_request(value),
            Self::Anthropic => anthropic::read_request(value, AnswerLimit::Required),
        }
    }

    /// Reads the body of `POST /v1/messages/count_tokens`, which is a request of Anthropic's whose answer may have no limit.
    ///
    /// # Errors
    /// As [`ClientWire::read_request`].
    pub fn read_count(body: &[u8]) -> Result<ClientRequest, RequestFault> {
        anthropic::read_request(parse_body(body)?, AnswerLimit::Optional)
    }

    /// Returns the beginning of an answer's id.
    #[must_use]
    pub fn id_prefix(self) -> &'static str {
        match self {
            Self::OpenAi => "chatcmpl-",
            Self::Responses => "resp_",
            Self::Anthropic => "msg_",
        }
    }

    /// Writes a complete answer.
    #[must_use]
    pub fn write_reply(self, facts: &ReplyFacts, reply: &ChatReply) -> Value {
        match self {
            Self::OpenAi => openai::write_reply(facts, reply),
            Self::Responses => responses::write_reply(facts, reply),
            Self::Anthropic => anthropic::write_reply(facts, reply),
        }
    }

    /// Begins a stream of server-sent events. `reports_usage` as in [`ClientRequest`].
    #[must_use]
    pub fn start_stream(self, facts: ReplyFacts, reports_usage: bool) -> StreamWriter {
        match self {
            Self::OpenAi => StreamWriter::OpenAi(Box::new(openai::ChunkWriter::new(facts, reports_usage))),
            Self::Responses => StreamWriter::Responses(Box::new(responses::EventWriter::new(facts))),
            Self::Anthropic => StreamWriter::Anthropic(Box::new(anthropic::EventWriter::new(facts))),
        }
    }
}

pub(crate) fn parse_body(body: &[u8]) -> Result<Value, RequestFault> {
    serde_json::from_slice(body)
        .map_err(|error| RequestFault::of_body(format!("the body is not valid JSON: {error}")))
}

/// Writer of an answer's events.
///
/// | call | what it adds |
/// |---|---|
/// | [`StreamWriter::write_event`] | the events that begin the answer, if it is the first; then those of this event |
/// | [`StreamWriter::write_fault`] | the event of a failure, after which nothing follows |
#[derive(Debug)]
pub enum StreamWriter {
    /// Chunks of OpenAI.
    OpenAi(Box<openai::ChunkWriter>),
    /// Events of OpenAI's responses.
    Responses(Box<responses::EventWriter>),
    /// Events of Anthropic.
    Anthropic(Box<anthropic::EventWriter>),
}

impl StreamWriter {
    /// Appends the server-sent events of one event to `out`. The last ones come with [`ChatEvent::Finish`].
    pub fn write_event(&mut self, event: &ChatEvent, out: &mut String) {
        match self {
            Self::OpenAi(writer) => writer.write_event(event, out),
            Self::Responses(writer) => writer.write_event(event, out),
            Self::Anthropic(writer) => writer.write_event(event, out),
        }
    }

    /// Appends the event of a failure. The client must not take what it has for a whole answer.
    pub fn write_fault(&mut self, fault: &ClientFault, out: &mut String) {
        match self {
            Self::OpenAi(_) => write_sse(None, &fault.to_body(ClientWire::OpenAi, None), out),
            Self::Responses(writer) => writer.write_fault(fault, out),
            Self::Anthropic(writer) => writer.write_fault(fault, out),
        }
    }
}

/// Appends one server-sent event. JSON on one line contains no line end, so one `data` line is enough.
pub(crate) fn write_sse(name: Option<&str>, data: &Value, out: &mut String) {
    if let Some(name) = name {
        out.push_str("event: ");
        out.push_str(name);
        out.push('\n');
    }
    out.push_str("data: ");
    out.push_str(&data.to_string());
    out.push_str("\n\n");
}

/// Appends a comment, which every reader of server-sent events ignores. `text` must be one line.
pub fn write_comment(text: &str, out: &mut String) {
    // A line end would begin a field.
    out.push_str(": ");
    out.extend(text.chars().filter(|character| !character.is_control()));
    out.push_str("\n\n");
}
