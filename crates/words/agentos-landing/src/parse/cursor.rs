//! The answer line by line, with the margin that quoting or indentation put before a diff.
//!
//! Owns: margins and fences. Never: knows a dialect.

use crate::text::{Eol, Line, is_blank, trim_end};

/// The lines of an answer.
#[derive(Debug)]
pub(crate) struct Cursor<'l, 'a> {
    lines: &'l [Line<'a>],
    /// The next line.
    pub at: usize,
    /// What stands before every line of the part being read.
    pub margin: &'a [u8],
}

impl<'l, 'a> Cursor<'l, 'a> {
    /// At the start of the answer.
    pub(crate) fn new(lines: &'l [Line<'a>]) -> Self {
        Self {
            lines,
            at: 0,
            margin: b"",
        }
    }

    /// True at the end.
    pub(crate) fn done(&self) -> bool {
        self.at >= self.lines.len()
    }

    /// True when the last line has no line ending.
    pub(crate) fn unended(&self) -> bool {
        self.lines.last().is_some_and(|line| line.eol == Eol::Missing)
    }

    /// Line `index` as it stands.
    pub(crate) fn raw(&self, index: usize) -> Option<&'a [u8]> {
        self.lines.get(index).map(|line| line.text)
    }

    /// Line `index` without the margin. A blank line may have lost it; any other line without it is none.
    pub(crate) fn line(&self, index: usize) -> Option<&'a [u8]> {
        let text = self.raw(index)?;
        match text.strip_prefix(self.margin) {
            Some(rest) => Some(rest),
            None if trim_end(text).len() < self.margin.len() && self.margin.starts_with(trim_end(text)) => {
                Some(b"")
            }
            None => None,
        }
    }

    /// True when line `index` ends in carriage return and line feed.
    pub(crate) fn cr(&self, index: usize) -> bool {
        self.lines.get(index).is_some_and(|line| line.eol == Eol::CrLf)
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
pub(crate) struct Fence<'a> {
    /// The mark, a backtick or a tilde.
    pub mark: u8,
    /// How many.
    pub count: usize,
    /// The rest of the line.
    pub info: &'a [u8],
}

/// Reads a fence line: three or more backticks or tildes. An opening fence of backticks has none in its info.
pub(crate) fn fence(text: &[u8]) -> Option<Fence<'_>> {
    let mark = *text.first()?;
    if mark != b'`' && mark != b'~' {
        return None;
    }
    let count = text.iter().take_while(|byte| **byte == mark).count();
    let info = text.get(count..)?;
    (count >= 3 && !info.contains(&b'`')).then_some(Fence {
        mark,
        count,
        info: crate::text::trim(info),
    })
}

/// True when `text` closes `open`.
pub(crate) fn closes(open: &Fence<'_>, text: &[u8]) -> bool {
    fence(text)
        .is_some_and(|close| close.mark == open.mark && close.count >= open.count && close.info.is_empty())
}
