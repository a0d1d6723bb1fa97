//! Bytes as lines, each with its own line ending.
//!
//! Owns: splitting and joining without loss. Never: changes a byte or requires UTF-8.

use std::borrow::Cow;
use std::ops::Range;

/// Ending of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnding {
    /// Line feed.
    Lf,
    /// Carriage return and line feed.
    CrLf,
    /// No ending: the last line of a text without a final newline.
    Missing,
}

impl LineEnding {
    /// Returns the bytes of the ending.
    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Missing => b"",
        }
    }
}

/// Byte order mark of UTF-8.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Line of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextLine<'a> {
    /// Content without the ending.
    pub text: &'a [u8],
    /// Ending of the line.
    pub eol: LineEnding,
    /// Content and ending together.
    pub full: &'a [u8],
}

impl TextLine<'_> {
    /// Returns true for a line that has more than blanks.
    pub(crate) fn says(&self) -> bool {
        !trim(self.text).is_empty()
    }
}

/// Splits a text into lines. Joining their `full` bytes gives the text again.
pub(crate) fn split_lines(bytes: &[u8]) -> Vec<TextLine<'_>> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(split_ending)
        .collect()
}

/// Returns the nearest line with text above line `at`, at most `reach` lines away. Returns `None` if there is none.
pub(crate) fn line_above(lines: &[TextLine<'_>], at: usize, reach: usize) -> Option<usize> {
    let above = lines.get(..at)?.iter().enumerate().rev().take(reach);
    above.into_iter().find(|(_, line)| line.says()).map(|(at, _)| at)
}

/// Returns the texts of lines without their endings.
pub(crate) fn texts_of<'a>(lines: &[TextLine<'a>]) -> Vec<&'a [u8]> {
    lines.iter().map(|line| line.text).collect()
}

/// Joins lines to the text that they were split from.
pub(crate) fn join_lines(lines: &[TextLine<'_>]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.full).copied().collect()
}

/// Returns the offset of each line, and the length of the text as the last one.
pub(crate) fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let feeds = || bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let ended = bytes.is_empty() || bytes.ends_with(b"\n");
    // Counted first: a list that grows would take twice the memory for a moment.
    let mut starts = Vec::with_capacity(feeds().count() + 2);
    starts.push(0);
    starts.extend(feeds().map(|(at, _)| at + 1));
    if !ended {
        starts.push(bytes.len());
    }
    starts
}

/// Lines of a file. It has the offsets of the lines only, since a large file has millions of lines; a line is cut out when
/// it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileLines<'l> {
    content: &'l [u8],
    /// Offset of each line, and the end of the last one.
    starts: &'l [usize],
}

impl<'l> FileLines<'l> {
    /// Returns the lines of a text. `starts` are its [`line_starts`].
    pub(crate) fn new(content: &'l [u8], starts: &'l [usize]) -> Self {
        Self { content, starts }
    }

    /// Returns the number of lines.
    pub(crate) fn len(self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns a line. `None` if the file has fewer lines.
    pub(crate) fn line(self, at: usize) -> Option<TextLine<'l>> {
        let (from, to) = (*self.starts.get(at)?, *self.starts.get(at.checked_add(1)?)?);
        Some(split_ending(self.content.get(from..to)?))
    }

    /// Returns the offset of a line in the content. `None` if the file has fewer lines.
    pub(crate) fn offset(self, at: usize) -> Option<usize> {
        self.starts.get(at).copied()
    }

    /// Returns the line that has the byte at this offset, or the last one.
    pub(crate) fn at_offset(self, offset: usize) -> usize {
        let starts = self.starts.get(..self.len()).unwrap_or_default();
        starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// Returns a range of the lines. `None` if the file has fewer lines.
    pub(crate) fn get(self, range: Range<usize>) -> Option<Self> {
        let starts = self.starts.get(range.start..range.end.checked_add(1)?)?;
        Some(Self { starts, ..self })
    }

    /// Returns the lines of a range; fewer if the file ends before.
    pub(crate) fn clamped(self, range: Range<usize>) -> Self {
        let end = range.end.min(self.len());
        self.get(range.start.min(end)..end)
            .unwrap_or(Self { starts: &[], ..self })
    }

    /// Returns the lines from this one on.
    pub(crate) fn below(self, start: usize) -> Self {
        self.clamped(start..self.len())
    }

    /// Returns the lines, first to last.
    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = TextLine<'l>> + ExactSizeIterator + Clone {
        let line = move |at| self.line(at).unwrap_or_else(|| split_ending(b""));
        (0..self.len()).map(line)
    }

    /// Returns the bytes of the lines.
    pub(crate) fn bytes(self) -> &'l [u8] {
        let range = self.starts.first().zip(self.starts.last());
        range
            .and_then(|(from, to)| self.content.get(*from..*to))
            .unwrap_or_default()
    }
}

/// Splits a line from its ending.
pub(crate) fn split_ending(full: &[u8]) -> TextLine<'_> {
    // A carriage return alone is content: old Mac files have one line here, and are kept byte for byte.
    let (text, eol) = match full.strip_suffix(b"\n") {
        Some(line) => match line.strip_suffix(b"\r") {
            Some(text) => (text, LineEnding::CrLf),
            None => (line, LineEnding::Lf),
        },
        None => (full, LineEnding::Missing),
    };
    TextLine { text, eol, full }
}

/// Returns true for a word of a list with commas between its words.
pub(crate) fn is_in(list: &str, word: impl AsRef<[u8]>) -> bool {
    list.split(',').any(|listed| listed.as_bytes() == word.as_ref())
}

/// Returns true for a text that begins as one of a list with semicolons between the beginnings.
pub(crate) fn begins_as(starts: &str, text: &[u8]) -> bool {
    strip_start(starts, text).is_some()
}

/// Returns a text without its beginning, which is one of a list with semicolons between the beginnings. Returns `None` for a
/// text with another beginning.
pub(crate) fn strip_start<'t>(starts: &str, text: &'t [u8]) -> Option<&'t [u8]> {
    starts
        .split(';')
        .find_map(|start| text.strip_prefix(start.as_bytes()))
}

/// Returns true if a text has this part, which is not empty.
pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Splits a text behind the bytes of one kind that it begins with.
pub(crate) fn split_run(text: &[u8], is_of_run: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !is_of_run(*byte));
    text.split_at_checked(end.unwrap_or(text.len()))
        .unwrap_or_default()
}

/// Returns true for space and tab.
pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Removes blanks and stray carriage returns at the end.
pub(crate) fn trim_end(text: &[u8]) -> &[u8] {
    let last = text.iter().rposition(|byte| !is_blank(*byte) && *byte != b'\r');
    text.get(..last.map_or(0, |last| last + 1)).unwrap_or_default()
}

/// Returns true if a file of this name is prose, which may show code and edits as examples.
pub(crate) fn is_page(path: &[u8]) -> bool {
    const ENDINGS: [&[u8]; 6] = [b".md", b".mdx", b".markdown", b".rst", b".adoc", b".txt"];
    let lower = path.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| lower.ends_with(ending))
}

/// Counts the blanks that all of these lines end with. Returns 0 for few lines, or few with text before the blanks:
/// those may end so by chance.
pub(crate) fn common_tail<'l>(lines: impl Iterator<Item = &'l [u8]>) -> usize {
    const ENOUGH: usize = 4;
    const ENOUGH_SAID: usize = 3;
    let (mut count, mut said, mut tail) = (0, 0, usize::MAX);
    for line in lines {
        let length = trim_end(line).len();
        // Empty lines count, too: damage reaches every line, and an empty line without blanks shows that there is
        // none.
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

/// Decodes UTF-16 whose pairs of bytes are read in this way; a single byte at the end is left out. Returns `None` if it is not
/// valid.
pub(crate) fn decode_utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, _) = bytes.as_chunks::<2>();
    char::decode_utf16(pairs.iter().map(|pair| read(*pair)))
        .collect::<Result<_, _>>()
        .ok()
}

/// Returns the number of quotes that begin or end a string of JSON.
pub(crate) fn count_quotes(json: &[u8]) -> usize {
    let (mut count, mut escaped) = (0, false);
    for byte in json {
        count += usize::from(*byte == b'"' && !escaped);
        escaped = *byte == b'\\' && !escaped;
    }
    count
}

/// Removes blanks at the start.
pub(crate) fn trim_start(text: &[u8]) -> &[u8] {
    split_run(text, is_blank).1
}

/// Removes blanks on both sides.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    trim_start(trim_end(text))
}

/// Returns the blanks that a line begins with.
pub(crate) fn leading_blanks(text: &[u8]) -> &[u8] {
    split_run(text, is_blank).0
}

/// Formats a name for a message.
pub(crate) fn shown_name(name: impl AsRef<[u8]>) -> String {
    excerpt(name, 200)
}

/// Formats text for a message: lossy UTF-8, cut after `limit` characters.
pub(crate) fn excerpt(text: impl AsRef<[u8]>, limit: usize) -> String {
    let text = text.as_ref();
    // A character takes at most four bytes, so a longer slice is not needed. Without this cut, an excerpt of a line
    // of one megabyte would decode all of it.
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
