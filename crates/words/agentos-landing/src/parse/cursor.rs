//! Lines of an answer one by one, with the margin that quoting or indentation put before a diff.
//!
//! Owns: margins and fences. Never: knows a dialect.

use crate::text::{BOM, LineEnding, TextLine, is_blank, split_lines, split_run, trim, trim_end};

/// Splits a text into lines, without its byte order mark.
pub(super) fn answer_lines(text: &[u8]) -> Vec<TextLine<'_>> {
    let mut lines = split_lines(text.strip_prefix(BOM).unwrap_or(text));
    // An answer that ends in a carriage return was cut between it and its line feed.
    if let Some(last) = lines.last_mut()
        && last.eol == LineEnding::Missing
        && let Some(text) = last.text.strip_suffix(b"\r")
    {
        last.text = text;
        last.eol = LineEnding::CrLf;
    }
    lines
}

/// Position in the lines of an answer.
pub(crate) struct LineCursor<'l, 'a> {
    lines: &'l [TextLine<'a>],
    /// Index of the next line.
    pub at: usize,
    /// Margin before every line of the part being read.
    margin: &'a [u8],
}

impl<'l, 'a> LineCursor<'l, 'a> {
    /// Creates a cursor at the first line.
    pub(crate) fn new(lines: &'l [TextLine<'a>], margin: &'a [u8]) -> Self {
        Self { lines, at: 0, margin }
    }

    /// Returns true at the end of the answer.
    pub(crate) fn is_done(&self) -> bool {
        self.at >= self.lines.len()
    }

    /// Returns true if the last line has no line ending.
    pub(crate) fn lacks_final_newline(&self) -> bool {
        self.lines
            .last()
            .is_some_and(|line| line.eol == LineEnding::Missing)
    }

    /// Returns line `index` as it is. Returns `None` past the end.
    pub(crate) fn raw_line(&self, index: usize) -> Option<&'a [u8]> {
        self.lines.get(index).map(|line| line.text)
    }

    /// Returns line `index` without the margin. Returns `None` past the end, or if the line has no margin; a blank
    /// line may have lost its own.
    pub(crate) fn line(&self, index: usize) -> Option<&'a [u8]> {
        let text = self.raw_line(index)?;
        match text.strip_prefix(self.margin) {
            Some(rest) => Some(rest),
            // Mail programs and editors strip blanks from empty lines, and with them the margin.
            None if trim_end(text).len() < self.margin.len() && self.margin.starts_with(trim_end(text)) => {
                Some(b"")
            }
            None => None,
        }
    }

    /// Returns true if line `index` ends in carriage return and line feed.
    pub(crate) fn ends_in_cr(&self, index: usize) -> bool {
        self.lines
            .get(index)
            .is_some_and(|line| line.eol == LineEnding::CrLf)
    }
}

/// Splits a line into its possible margin (blanks, and the `>` marks of quoted mail) and the rest.
pub(crate) fn split_margin(text: &[u8]) -> (&[u8], &[u8]) {
    split_run(text, |byte| is_blank(byte) || byte == b'>')
}

/// Fence line of Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeFence<'a> {
    /// Mark, a backtick or a tilde.
    pub mark: u8,
    /// Number of marks.
    pub count: usize,
    /// Rest of the line, such as a language.
    pub info: &'a [u8],
}

/// Parses a fence line: three or more backticks or tildes. Returns `None` for another line, and for backticks with a
/// further backtick in the line, which is inline code.
pub(crate) fn parse_fence(text: &[u8]) -> Option<CodeFence<'_>> {
    let mark = *text.first()?;
    if mark != b'`' && mark != b'~' {
        return None;
    }
    let (marks, info) = split_run(text, |byte| byte == mark);
    let count = marks.len();
    (count >= 3 && !info.contains(&b'`')).then_some(CodeFence {
        mark,
        count,
        info: trim(info),
    })
}

/// Returns true if `text` closes `open`. A tag or a mark may follow the fence in its line.
pub(crate) fn closes_fence(open: &CodeFence<'_>, text: &[u8]) -> bool {
    parse_fence(text).is_some_and(|close| {
        let ends = close.info.is_empty() || close.info.starts_with(b"<");
        close.mark == open.mark && close.count >= open.count && ends
    })
}

/// Returns the lines from `at` on that are inside the fence `open`: up to its closing line, or to the end.
pub(crate) fn fence_body<'l, 'a>(
    lines: &'l [TextLine<'a>],
    at: usize,
    open: &CodeFence<'_>,
) -> &'l [TextLine<'a>] {
    let rest = lines.get(at..).unwrap_or_default();
    let length = rest.iter().position(|line| closes_fence(open, line.text));
    rest.get(..length.unwrap_or(rest.len())).unwrap_or_default()
}
