//! The answer line by line, with the margin that quoting or indentation put before a diff.
//!
//! Owns: margins and fences. Never: knows a dialect.

use crate::text::{LineEnding, TextLine, is_blank, trim_end};

/// The lines of an answer.
#[derive(Debug)]
pub(crate) struct LineCursor<'l, 'a> {
    lines: &'l [TextLine<'a>],
    /// The next line.
    pub at: usize,
    /// What stands before every line of the part being read.
    pub margin: &'a [u8],
}

impl<'l, 'a> LineCursor<'l, 'a> {
    /// At the start of the answer.
    pub(crate) fn new(lines: &'l [TextLine<'a>]) -> Self {
        Self {
            lines,
            at: 0,
            margin: b"",
        }
    }

    /// True at the end.
    pub(crate) fn is_done(&self) -> bool {
        self.at >= self.lines.len()
    }

    /// True when the last line has no line ending.
    pub(crate) fn lacks_final_newline(&self) -> bool {
        self.lines
            .last()
            .is_some_and(|line| line.eol == LineEnding::Missing)
    }

    /// Line `index` as it stands.
    pub(crate) fn raw_line(&self, index: usize) -> Option<&'a [u8]> {
        self.lines.get(index).map(|line| line.text)
    }

    /// Line `index` without the margin. A blank line may have lost it; any other line without it is none.
    pub(crate) fn line(&self, index: usize) -> Option<&'a [u8]> {
        let text = self.raw_line(index)?;
        match text.strip_prefix(self.margin) {
            Some(rest) => Some(rest),
            None if trim_end(text).len() < self.margin.len() && self.margin.starts_with(trim_end(text)) => {
                Some(b"")
            }
            None => None,
        }
    }

    /// True when line `index` ends in carriage return and line feed.
    pub(crate) fn ends_in_cr(&self, index: usize) -> bool {
        self.lines
            .get(index)
            .is_some_and(|line| line.eol == LineEnding::CrLf)
    }
}

/// Splits a line into what may be a margin (blanks and `>` marks of quoted mail) and the rest.
pub(crate) fn split_margin(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text
        .iter()
        .position(|byte| !is_blank(*byte) && *byte != b'>')
        .unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((b"", text))
}

/// A fence: how many marks, and what follows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeFence<'a> {
    /// The mark, a backtick or a tilde.
    pub mark: u8,
    /// How many.
    pub count: usize,
    /// The rest of the line.
    pub info: &'a [u8],
}

/// Reads a fence line: three or more backticks or tildes. An opening fence of backticks has none in its info.
pub(crate) fn parse_fence(text: &[u8]) -> Option<CodeFence<'_>> {
    let mark = *text.first()?;
    if mark != b'`' && mark != b'~' {
        return None;
    }
    let count = text.iter().take_while(|byte| **byte == mark).count();
    let info = text.get(count..)?;
    (count >= 3 && !info.contains(&b'`')).then_some(CodeFence {
        mark,
        count,
        info: crate::text::trim(info),
    })
}

/// True when `text` closes `open`.
pub(crate) fn closes_fence(open: &CodeFence<'_>, text: &[u8]) -> bool {
    parse_fence(text)
        .is_some_and(|close| close.mark == open.mark && close.count >= open.count && close.info.is_empty())
}
