//! Bytes as lines, with each line's own ending.
//!
//! Owns: splitting and joining without loss. Never: changes a byte or asks for UTF-8.

use std::borrow::Cow;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnding {
    /// A line feed.
    Lf,
    /// Carriage return and line feed.
    CrLf,
    /// The last line of a text that has no final newline.
    Missing,
}

impl LineEnding {
    /// Its bytes.
    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Missing => b"",
        }
    }
}

/// The byte order mark of UTF-8.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// One line without its ending.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextLine<'a> {
    /// The content.
    pub text: &'a [u8],
    /// The ending.
    pub eol: LineEnding,
    /// Content and ending.
    pub full: &'a [u8],
}

impl TextLine<'_> {
    /// Appends the line as it was.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.full);
    }
}

/// The lines of a text; nothing is lost.
pub(crate) fn split_lines(bytes: &[u8]) -> Vec<TextLine<'_>> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(split_ending)
        .collect()
}

fn split_ending(full: &[u8]) -> TextLine<'_> {
    if let Some(text) = full.strip_suffix(b"\r\n") {
        return TextLine {
            text,
            eol: LineEnding::CrLf,
            full,
        };
    }
    match full.strip_suffix(b"\n") {
        Some(text) => TextLine {
            text,
            eol: LineEnding::Lf,
            full,
        },
        None => TextLine {
            text: full,
            eol: LineEnding::Missing,
            full,
        },
    }
}

/// True for space and tab.
pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Without blanks (and stray carriage returns) at the end.
pub(crate) fn trim_end(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let Some((last, rest)) = text.split_last() {
        if !is_blank(*last) && *last != b'\r' {
            break;
        }
        text = rest;
    }
    text
}

/// A file of this name is prose, and may show code and edits.
pub(crate) fn is_page(path: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 6] = [b".md", b".mdx", b".markdown", b".rst", b".adoc", b".txt"];
    let lower = path.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// How many blanks all of these lines end with. Few lines, or few with something before the blanks, may do so by
/// chance: none then.
pub(crate) fn common_tail<'l>(lines: impl Iterator<Item = &'l [u8]>) -> usize {
    const ENOUGH: usize = 4;
    const ENOUGH_SAID: usize = 3;
    let (mut count, mut said, mut tail) = (0, 0, usize::MAX);
    for line in lines {
        let length = trim_end(line).len();
        count += 1;
        said += usize::from(length > 0);
        tail = tail.min(line.len() - length);
    }
    if count < ENOUGH || said < ENOUGH_SAID {
        0
    } else {
        tail
    }
}

/// Without blanks at the start.
pub(crate) fn trim_start(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let Some((first, rest)) = text.split_first() {
        if !is_blank(*first) {
            break;
        }
        text = rest;
    }
    text
}

/// Without blanks on both sides.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    trim_start(trim_end(text))
}

/// The blanks a line begins with.
pub(crate) fn leading_blanks(text: &[u8]) -> &[u8] {
    text.get(..text.len() - trim_start(text).len())
        .unwrap_or_default()
}

/// Text for a message: lossy UTF-8, cut after `limit` characters.
pub(crate) fn excerpt(text: &[u8], limit: usize) -> String {
    // Four bytes are the most a character takes, so a longer slice cannot be needed.
    let head = text
        .get(..text.len().min(limit.saturating_mul(4)))
        .unwrap_or(text);
    let lossy: Cow<'_, str> = String::from_utf8_lossy(head);
    let mut out: String = lossy.chars().take(limit).collect();
    if out.len() < text.len() && lossy.chars().count() > limit || head.len() < text.len() {
        out.push('…');
    }
    out
}
