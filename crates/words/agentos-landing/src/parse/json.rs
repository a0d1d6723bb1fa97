//! JSON in an answer: where a value ends, and the damage that a model does to it. And the documented edits,
//! `{"edits":[{"path","search","replace"}]}`, whose schema is published.
//!
//! Owns: the text of JSON. Never: knows a call; `calls` does.

use std::io::{self, Read};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Refusal;
use crate::refusal::malformed;
use crate::text::{TextLine, begins_as, is_in, join_lines, trim, trim_end};

/// Edit: a text of the file and its replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonEdit {
    /// Path of the file.
    pub path: String,
    /// Text that occurs in the file exactly once; empty for a new file.
    pub search: String,
    /// Text that replaces it.
    pub replace: String,
}

/// Answer in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonEdits {
    /// Edits, in any order.
    pub edits: Vec<JsonEdit>,
}

/// Outcome of reading a value that begins in a line.
pub(super) enum JsonRead {
    /// Value, the line in which it ends, and the byte behind it in that line.
    Value(Value, usize, usize),
    /// The text ends inside the value.
    Cut,
    /// The text is not JSON.
    Invalid,
}

/// Reads the value that begins at byte `from` of line `at`. Damage that has one reading is undone if `repair` is true: raw
/// line ends and tabs in strings, and a comma behind the last element.
pub(super) fn read_value(lines: &[TextLine<'_>], at: usize, from: usize, repair: bool) -> JsonRead {
    let rest = lines.get(at..).unwrap_or_default();
    let mut reader = LineReader {
        lines: rest,
        skipped: from,
    };
    // Strict JSON first, so that a repair cannot change the strings of valid JSON.
    let mut stream = serde_json::Deserializer::from_reader(&mut reader).into_iter::<Value>();
    let failed = match stream.next() {
        Some(Ok(value)) => {
            let mut left = from + stream.byte_offset();
            let mut end = at;
            while let Some(line) = lines.get(end).filter(|line| left > line.text.len()) {
                left = left.saturating_sub(line.full.len());
                end += 1;
            }
            return JsonRead::Value(value, end, left);
        }
        Some(Err(error)) if error.is_eof() => JsonRead::Cut,
        Some(Err(_)) | None => JsonRead::Invalid,
    };
    if !repair || !has_key_near(rest) {
        return failed;
    }
    // Models write a sentence below the value.
    let ends = |line: &TextLine<'_>| matches!(trim_end(line.text).last(), Some(b'}' | b']'));
    let end = rest.iter().rposition(ends).unwrap_or(0);
    let text = join_lines(rest.get(..=end).unwrap_or_default());
    let repaired = repair_json(text.get(from..).unwrap_or_default());
    match serde_json::from_slice(&repaired) {
        Ok(value) => JsonRead::Value(value, at + end, rest.get(end).map_or(0, |line| line.text.len())),
        Err(error) if error.is_eof() => JsonRead::Cut,
        Err(_) => JsonRead::Invalid,
    }
}

/// Returns true if one of the first lines of a value has a key of a call.
pub(super) fn has_key_near(lines: &[TextLine<'_>]) -> bool {
    /// The path and the name of a call are its first arguments.
    const NEAR: usize = 50;
    lines.iter().take(NEAR).any(|line| has_key(line.text))
}

/// Reads all values of a text that holds nothing else. Returns `None` for another text.
pub(super) fn read_all(lines: &[TextLine<'_>]) -> Option<Vec<Value>> {
    let text = join_lines(lines);
    let values = serde_json::Deserializer::from_slice(&text).into_iter().collect();
    match values {
        Ok(values) => Some(values),
        Err(_) if has_key_near(lines) => serde_json::from_slice(&repair_json(&text))
            .ok()
            .map(|value| vec![value]),
        Err(_) => None,
    }
}

/// Returns true if the line has a key of a call or of the documented edits: other JSON in an answer is not an attempt at
/// an edit.
pub(super) fn has_key(line: &[u8]) -> bool {
    const KEYS: &str =
        r#""edits";"path";"file_path";"filePath";"target_file";"TargetFile";"filename";"notebook_path""#;
    let mut quotes = line.iter().enumerate().filter(|(_, byte)| **byte == b'"');
    quotes.any(|(at, _)| begins_as(KEYS, line.get(at..).unwrap_or_default()))
}

/// Returns true if the documented edits begin in this line.
pub(super) fn begins_edits(lines: &[TextLine<'_>], at: usize) -> bool {
    let text = |at: usize| lines.get(at).map(|line| trim(line.text)).unwrap_or_default();
    let behind = trim(text(at).strip_prefix(b"{").unwrap_or_default());
    let next = if behind.is_empty() { text(at + 1) } else { behind };
    text(at).starts_with(b"{") && next.starts_with(b"\"edits\"")
}

/// Returns true if an object names edits.
pub(super) fn names_edits(lines: &[TextLine<'_>]) -> bool {
    let named = |line: &TextLine<'_>| {
        let mut quoted = line.text.split(|byte| *byte == b'"');
        quoted.any(|word| word == b"edits")
    };
    begins_value(lines) && lines.iter().any(named)
}

/// Returns the refusal of documented edits that are not valid JSON.
pub(super) fn broken_edits() -> Refusal {
    malformed("the edits are not valid JSON, or the answer was cut off inside of them")
}

/// Returns true for the kinds of fences that hold JSON.
pub(super) fn is_json(info: &[u8]) -> bool {
    info.is_empty() || is_in("json,jsonc,json5", info.to_ascii_lowercase())
}

/// Returns true if the first line with text begins an object or a list.
pub(super) fn begins_value(lines: &[TextLine<'_>]) -> bool {
    let first = lines.iter().find(|line| line.says());
    first.is_some_and(|line| matches!(trim(line.text).first(), Some(b'{' | b'[')))
}

/// Repairs JSON that a model wrote by hand.
fn repair_json(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for byte in text {
        if in_string {
            match byte {
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                other => out.push(*other),
            }
            // An escaped quote does not end the string.
            in_string = *byte != b'"' || escaped;
            escaped = *byte == b'\\' && !escaped;
            continue;
        }
        if matches!(byte, b']' | b'}') {
            let end = out.iter().rposition(|byte: &u8| !byte.is_ascii_whitespace());
            if let Some(end) = end.filter(|end| out.get(*end) == Some(&b',')) {
                out.truncate(end);
            }
        }
        out.push(*byte);
        in_string = *byte == b'"';
    }
    out
}

/// Reads lines as one text without copying them: many lines may begin a value, and few do.
struct LineReader<'l, 'a> {
    lines: &'l [TextLine<'a>],
    /// Bytes of the first line that were read.
    skipped: usize,
}

impl Read for LineReader<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some((first, rest)) = self.lines.split_first() {
            let count = first.full.get(self.skipped..).unwrap_or_default().read(out)?;
            self.skipped += count;
            if count > 0 {
                return Ok(count);
            }
            (self.lines, self.skipped) = (rest, 0);
        }
        Ok(0)
    }
}
