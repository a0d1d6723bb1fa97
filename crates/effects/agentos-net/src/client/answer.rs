//! An answer while it arrives: its head, its shape, and its body as bytes or events.
//!
//! Owns: the limits on a body, and what its first bytes say about its shape. Never: decompresses, or knows what an event means.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentos_tool::Endpoint;

use super::{NetConfig, Response};
use crate::date;
use crate::{Deadline, LineParser, NetError, NetErrorKind, SseError, SseParser};

/// Answer whose head has arrived and whose body is still coming.
#[derive(Debug)]
pub struct Answer {
    inner: reqwest::Response,
    endpoint: Endpoint,
    sent_at: Instant,
    deadline: Deadline,
    config: Arc<NetConfig>,
    received: usize,
    /// Bytes that were read to see the shape of the body, in their order.
    seen: VecDeque<Vec<u8>>,
    /// Time of the last word of the answer. `None` before the first one.
    last_word: Option<Instant>,
}

/// Shape of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyShape {
    /// Server-sent events.
    Events,
    /// JSON documents, each on a line.
    Lines,
    /// A single document, or text.
    Document,
}

impl Answer {
    /// Makes the answer whose head has arrived.
    ///
    /// # Errors
    /// If the body is compressed: no request asks for it, and a client that guessed would read what the server did not mean.
    pub(super) fn of_head(
        inner: reqwest::Response,
        endpoint: Endpoint,
        sent_at: Instant,
        deadline: Deadline,
        config: Arc<NetConfig>,
    ) -> Result<Self, NetError> {
        let answer = Self {
            inner,
            endpoint,
            sent_at,
            deadline,
            config,
            received: 0,
            seen: VecDeque::new(),
            last_word: None,
        };
        match answer.header("content-encoding") {
            None | Some("" | "identity") => Ok(answer),
            Some(encoding) => Err(NetError::encoded(&answer.endpoint, encoding)),
        }
    }

    /// Returns the status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// Returns the shape of the body. Its first bytes decide, because servers and proxies send streams as `text/plain` or
    /// `application/json`, and documents with an error as `text/event-stream`. An empty body has the shape of its content type.
    ///
    /// # Errors
    /// If the first bytes do not arrive within the deadline.
    pub async fn body_shape(&mut self) -> Result<BodyShape, NetError> {
        let declared = match self.content_type() {
            Some(kind) if kind.starts_with("text/event-stream") => BodyShape::Events,
            Some(kind) if is_json_lines(&kind) => BodyShape::Lines,
            Some(_) | None => BodyShape::Document,
        };
        let mut start = Vec::new();
        loop {
            if let Some(shape) = shape_of(&start, declared) {
                return Ok(shape);
            }
            match self.receive().await? {
                Some(bytes) => {
                    start.extend_from_slice(&bytes);
                    self.seen.push_back(bytes);
                }
                None => return Ok(shape_at_end(&start, declared)),
            }
        }
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// If it does not end within the deadline and the limit.
    pub async fn read(mut self) -> Result<Response, NetError> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next_bytes().await? {
            body.extend_from_slice(&bytes);
        }
        Ok(Response {
            status: self.status(),
            content_type: self.content_type(),
            retry_after: self.retry_after(),
            body,
        })
    }

    /// Reads the next bytes of the body. `None` at its end.
    ///
    /// # Errors
    /// If they do not arrive within the deadline, or the body is longer than the limit.
    pub async fn next_bytes(&mut self) -> Result<Option<Vec<u8>>, NetError> {
        let bytes = self.chunk().await?;
        self.last_word = Some(Instant::now());
        Ok(bytes)
    }

    /// Reads the body event by event, in a shape that [`Answer::body_shape`] has found.
    #[must_use]
    pub fn events(self, shape: BodyShape) -> BodyEvents {
        let limit = self.config.max_event_bytes;
        let parser = match shape {
            BodyShape::Lines => StreamParser::Lines(LineParser::new(limit)),
            BodyShape::Events | BodyShape::Document => StreamParser::Sse(SseParser::new(limit)),
        };
        BodyEvents {
            answer: self,
            parser,
            ready: VecDeque::new(),
        }
    }

    fn content_type(&self) -> Option<String> {
        self.header("content-type").map(str::to_ascii_lowercase)
    }

    /// Returns a header of the answer. `None` if the server sent none, or one that is no text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    }

    /// Returns all values of a header that may occur several times. Those that are no text are left out.
    #[must_use]
    pub fn header_values(&self, name: &str) -> Vec<&str> {
        let values = self.inner.headers().get_all(name).into_iter();
        values.filter_map(|value| value.to_str().ok()).collect()
    }

    /// Reads how long to wait: seconds, milliseconds, or a date. The answer's own date is subtracted from a date,
    /// because the clocks of two machines differ. `None` if the server does not say.
    fn retry_after(&self) -> Option<Duration> {
        // OpenAI's servers send milliseconds too, and a LiteLLM proxy passes its provider's header on with a prefix.
        let number = |name| self.header(name).and_then(|text| text.trim().parse::<f64>().ok());
        let seconds = number("retry-after-ms")
            .map(|ms| ms / 1000.0)
            .or_else(|| number("retry-after"))
            .or_else(|| number("llm_provider-retry-after"));
        match seconds {
            Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            None => date::time_between(self.header("date")?, self.header("retry-after")?),
        }
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, NetError> {
        match self.seen.pop_front() {
            Some(bytes) => Ok(Some(bytes)),
            None => self.receive().await,
        }
    }

    async fn receive(&mut self) -> Result<Option<Vec<u8>>, NetError> {
        let (deadline, sent_at, last_word) = (self.deadline, self.sent_at, self.last_word);
        let work = self.inner.chunk();
        let next = match last_word {
            Some(last_word) => deadline.await_next_bytes(last_word, work).await,
            // Some servers send the head at once and read the prompt afterwards.
            None => deadline.await_first_byte(sent_at, work).await,
        };
        let next = next
            .map_err(|limit| NetError::out_of_time(&self.endpoint, limit))?
            .map_err(|error| NetError::from_http(&error, &self.endpoint))?;
        // Counted as it arrives: a server that sends without end must not fill the memory.
        self.received += next.as_ref().map_or(0, |bytes| bytes.len());
        if self.received > self.config.max_body_bytes {
            return Err(NetError::too_large(&self.endpoint, self.config.max_body_bytes));
        }
        Ok(next.map(|bytes| bytes.to_vec()))
    }
}

/// Returns the shape of a body that begins with these bytes. `None` if more of them are needed.
fn shape_of(start: &[u8], declared: BodyShape) -> Option<BodyShape> {
    const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    let start = start
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(start)
        .trim_ascii_start();
    let first = start.first()?;
    if FIELDS.iter().any(|field| start.starts_with(field)) {
        return Some(BodyShape::Events);
    }
    if FIELDS.iter().any(|field| field.starts_with(start)) {
        return None;
    }
    match (declared, first) {
        // Lines of a stream look like the beginning of a document.
        (BodyShape::Lines, _) => Some(BodyShape::Lines),
        (_, b'{') => shape_of_object(start),
        (_, b'[' | b'<') => Some(BodyShape::Document),
        (declared, _) => Some(declared),
    }
}

/// Returns the shape of a body that begins with an object: lines if a second one follows on the next line, as proxies send JSON lines
/// under the type of a document. `None` if more bytes are needed.
fn shape_of_object(start: &[u8]) -> Option<BodyShape> {
    /// Most bytes of the first line of a stream.
    const LONGEST: usize = 64 << 10;
    let Some(end) = start.iter().position(|byte| *byte == b'\n') else {
        return (start.len() > LONGEST).then_some(BodyShape::Document);
    };
    let (line, after) = start.split_at(end);
    // The first line of a document over several lines is not a complete object.
    if line.len() < 2 || !line.trim_ascii_end().ends_with(b"}") {
        return Some(BodyShape::Document);
    }
    match after.trim_ascii_start().first() {
        Some(b'{') => Some(BodyShape::Lines),
        Some(_) => Some(BodyShape::Document),
        None => None,
    }
}

/// Returns the shape of a body that ended before its shape was certain.
fn shape_at_end(start: &[u8], declared: BodyShape) -> BodyShape {
    match start.trim_ascii_start().first() {
        Some(b'{') => BodyShape::Document,
        Some(_) | None => declared,
    }
}

fn is_json_lines(content_type: &str) -> bool {
    content_type.starts_with("application/x-ndjson") || content_type.starts_with("application/jsonl")
}

/// Parser that splits a stream into events.
#[derive(Debug)]
enum StreamParser {
    Sse(SseParser),
    Lines(LineParser),
}

/// Events of a streamed answer.
#[derive(Debug)]
pub struct BodyEvents {
    answer: Answer,
    parser: StreamParser,
    ready: VecDeque<String>,
}

impl BodyEvents {
    /// Notes that the last event was a word of the answer. The limits count from the last one: a comment or an empty event that a
    /// server sends to keep the connection open is not a word, and does not prolong a limit.
    pub fn note_word(&mut self) {
        self.answer.last_word = Some(Instant::now());
    }

    /// Returns the data of the next event, or `None` at the end of the stream. Dropping this value closes the
    /// connection.
    ///
    /// # Errors
    /// If the connection breaks, the deadline passes, or a limit is reached.
    pub async fn next(&mut self) -> Result<Option<String>, NetError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let bytes = self.answer.chunk().await?;
            let ready = &mut self.ready;
            let parsed = match (&mut self.parser, &bytes) {
                (StreamParser::Sse(parser), Some(bytes)) => {
                    parser.push_bytes(bytes, |event| ready.push_back(event))
                }
                (StreamParser::Lines(parser), Some(bytes)) => {
                    parser.push_bytes(bytes, |line| ready.push_back(line))
                }
                (StreamParser::Lines(parser), None) => parser.finish_line().map(|line| ready.extend(line)),
                // An event that is not ended by a blank line is incomplete and dropped, as the standard says.
                (StreamParser::Sse(_), None) => Ok(()),
            };
            parsed.map_err(|error| stream_error(error, &self.answer.endpoint))?;
            if bytes.is_none() {
                return Ok(self.ready.pop_front());
            }
        }
    }
}

fn stream_error(error: SseError, endpoint: &Endpoint) -> NetError {
    match error {
        SseError::TooLarge { limit } => NetError::too_large(endpoint, limit),
        SseError::NotUtf8 => NetError::from_kind(NetErrorKind::NotHttp, endpoint),
    }
}
