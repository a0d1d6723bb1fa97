//! What makes two lines equal on each rung of the ladder.
//!
//! Owns: the keys. Each rung forgives all that the rungs above it forgive. Never: measures similarity.

use std::borrow::Cow;

use crate::text::{indent, trim, trim_end};

/// The rungs, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Level {
    /// Equal.
    Exact,
    /// Equal but for blanks at the end.
    Trailing,
    /// Equal but for the indentation, which must differ by one and the same shift.
    Indent,
    /// Equal but for how many blanks stand between words.
    Blanks,
    /// Equal but for typographic look-alikes.
    Typography,
}

impl Level {
    /// All, strictest first.
    pub(crate) const ALL: [Self; 5] = [
        Self::Exact,
        Self::Trailing,
        Self::Indent,
        Self::Blanks,
        Self::Typography,
    ];
}

/// The part of a line that must be equal on this rung.
pub(crate) fn key(level: Level, text: &[u8]) -> Cow<'_, [u8]> {
    match level {
        Level::Exact => Cow::Borrowed(text),
        Level::Trailing => Cow::Borrowed(trim_end(text)),
        Level::Indent => Cow::Borrowed(trim(text)),
        Level::Blanks => collapse(Cow::Borrowed(trim(text))),
        Level::Typography => {
            let plain = plain(text);
            collapse(Cow::Owned(trim(&plain).to_vec()))
        }
    }
}

/// The indentation as this rung sees it.
pub(crate) fn indentation(level: Level, text: &[u8]) -> Cow<'_, [u8]> {
    match level {
        Level::Exact | Level::Trailing | Level::Indent | Level::Blanks => Cow::Borrowed(indent(text)),
        Level::Typography => Cow::Owned(indent(&plain(text)).to_vec()),
    }
}

/// Runs of blanks as one space.
fn collapse(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let tidy = text.windows(2).all(|pair| !pair.iter().all(blank)) && !text.contains(&b'\t');
    if tidy {
        return text;
    }
    let words: Vec<&[u8]> = text
        .split(|byte| blank(byte))
        .filter(|word| !word.is_empty())
        .collect();
    Cow::Owned(words.join(&b' '))
}

/// Typographic characters as plain ones. Bytes that are not UTF-8 stay as they are.
fn plain(text: &[u8]) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match look_alike(character) {
                Some(plain) => out.extend_from_slice(plain.as_bytes()),
                None => {
                    let mut buffer = [0; 4];
                    out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                }
            }
        }
        out.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(out)
}

/// The plain text that a typographic character is taken for.
pub(crate) fn look_alike(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' => "'",
        '\u{201c}'..='\u{201f}' | '\u{2033}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{2026}' => "...",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\u{200b}' | '\u{2060}' | '\u{feff}' => "",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rung_forgives_its_own_difference_and_no_other() {
        let cases = [
            ("a = 1", "a = 1", Level::Exact),
            ("a = 1  ", "a = 1", Level::Trailing),
            ("\ta = 1", "a = 1", Level::Indent),
            ("a  = 1", "a = 1", Level::Blanks),
            (
                "say \u{201c}a\u{201d}\u{a0}\u{2014} b",
                "say \"a\" - b",
                Level::Typography,
            ),
        ];
        for (a, b, first) in cases {
            for level in Level::ALL {
                let equal = key(level, a.as_bytes()) == key(level, b.as_bytes());
                assert_eq!(equal, level >= first, "{a:?} and {b:?} at {level:?}");
            }
        }
    }
}
