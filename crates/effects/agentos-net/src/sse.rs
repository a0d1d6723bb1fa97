//! Server-sent events: turns bytes that arrive in any portions into the data of whole events.
//!
//! Owns: the event grammar (WHATWG HTML, "Server-sent events"), and a limit on one event. Never: waits, or knows what
//! the data means.

/// Error in a stream of events or lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is larger than the limit.
    #[error("one event of the stream is larger than {limit} bytes")]
    TooLarge {
        /// Limit in bytes.
        limit: usize,
    },
    /// An event's data is not UTF-8.
    #[error("the stream is not UTF-8")]
    NotUtf8,
}

/// Collects lines until a blank one ends the event. Comments and fields other than `data` are skipped. An event that
/// the end of the stream cuts off is dropped, as the standard says.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    at_start: bool,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl SseParser {
    /// Creates a parser that refuses events of more than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
        }
    }

    /// Takes the next portion and passes the data of each finished event to `each`.
    ///
    /// # Errors
    /// If an event is too large or not UTF-8. The stream cannot be read further then.
    pub fn push_bytes(&mut self, bytes: &[u8], mut each: impl FnMut(String)) -> Result<(), SseError> {
        let mut rest = bytes;
        while let Some((&first, after_first)) = rest.split_first() {
            // A line may end with CR LF, and the two bytes may arrive in different portions.
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = after_first;
                continue;
            }
            let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, after_part) = rest.split_at(length.unwrap_or(rest.len()));
            if self.line.len() + self.data.len() + part.len() > self.limit {
                return Err(SseError::TooLarge { limit: self.limit });
            }
            self.line.extend_from_slice(part);
            rest = after_part;
            if let Some((&end, after_end)) = rest.split_first() {
                self.after_cr = end == b'\r';
                rest = after_end;
                if let Some(event) = self.end_line()? {
                    each(event);
                }
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<String>, SseError> {
        let mut line = std::mem::take(&mut self.line);
        let event = self.read_line(&line);
        // Its memory is used for the next line.
        line.clear();
        self.line = line;
        event
    }

    fn read_line(&mut self, line: &[u8]) -> Result<Option<String>, SseError> {
        let mut text = line;
        if std::mem::take(&mut self.at_start) {
            // The standard allows one byte order mark, at the beginning of the stream only.
            text = text.strip_prefix(BOM).unwrap_or(text);
        }
        if text.is_empty() {
            return self.end_event();
        }
        let value = match text.strip_prefix(b"data") {
            Some([]) => Some(&[][..]),
            Some([b':', b' ', rest @ ..] | [b':', rest @ ..]) => Some(rest),
            Some(_) | None => None,
        };
        if let Some(value) = value {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(value);
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Result<Option<String>, SseError> {
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return Ok(None);
        }
        String::from_utf8(data).map(Some).map_err(|_| SseError::NotUtf8)
    }
}

#[cfg(test)]
mod tests;
