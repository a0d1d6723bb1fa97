//! Server-sent events and JSON lines: the way the bytes arrive makes no difference, and events are those of the
//! standard.
//!
//! Owns: the claims about both parsers, and a second reading of the standard that the first one is compared with.
//! Never: waits.

use agentos_net::{LineParser, SseError, SseParser};

use crate::bytes::{ByteReader, cut_chunks};

/// Everything that a parser returned before the end or the error.
type ParsedStream = (Vec<String>, Option<SseError>);

/// Reads the first byte as the way to cut, the second as the limit, and the rest as a stream.
///
/// # Panics
/// If a claim does not hold.
pub fn check_event_stream(data: &[u8]) {
    let mut bytes = ByteReader(data);
    let (cuts, cap) = (bytes.next(), bytes.next());
    let limit = if cap == 0 { 1 << 20 } else { usize::from(cap) };
    let stream = bytes.0;
    for read in [read_events, read_lines] {
        let whole = read(&[stream], limit);
        // A network delivers bytes in any portions. Byte by byte reaches every state of the parser between two bytes.
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(read(&single, limit), whole, "byte by byte it is another stream");
        assert_eq!(
            read(&cut_chunks(stream, cuts), limit),
            whole,
            "in chunks it is another stream"
        );
        for event in &whole.0 {
            // Between two lines of an event there may be one more line end than the limit counts.
            assert!(event.len() <= 2 * limit, "an event of {} bytes", event.len());
        }
    }
    // The second reading has no limit, so the two are only compared where the limit is never reached.
    if let (limit @ 1_048_576, Ok(text)) = (limit, std::str::from_utf8(stream))
        && text.len() < limit
    {
        assert_eq!(
            read_events(&[stream], limit),
            (events_of(text), None),
            "the standard says otherwise"
        );
    }
}

fn read_events(chunks: &[&[u8]], limit: usize) -> ParsedStream {
    let mut parser = SseParser::new(limit);
    let mut events = Vec::new();
    for chunk in chunks {
        if let Err(error) = parser.push_bytes(chunk, |event| events.push(event)) {
            return (events, Some(error));
        }
    }
    (events, None)
}

fn read_lines(chunks: &[&[u8]], limit: usize) -> ParsedStream {
    let mut parser = LineParser::new(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        if let Err(error) = parser.push_bytes(chunk, |line| lines.push(line)) {
            return (lines, Some(error));
        }
    }
    match parser.finish_line() {
        Ok(last) => {
            lines.extend(last);
            (lines, None)
        }
        Err(error) => (lines, Some(error)),
    }
}

/// The data of every whole event (WHATWG HTML, section 9.2.6), by way of whole lines.
fn events_of(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let Some((whole, _)) = text.rsplit_once('\n') else {
        return Vec::new();
    };
    let (mut events, mut data): (Vec<String>, Option<Vec<&str>>) = (Vec::new(), None);
    for line in whole.split('\n') {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if line.is_empty() {
            events.extend(data.take().map(|lines| lines.join("\n")));
        } else if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            data.get_or_insert_default().push(value);
        }
    }
    events
}
