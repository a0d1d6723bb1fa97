//! Keys that make two lines equal on each rung of the ladder.
//!
//! Owns: the keys. Each rung ignores all that the rungs above it ignore. Never: measures similarity.

use std::borrow::Cow;

use crate::text::{leading_blanks, trim, trim_end};

/// Rung of the ladder, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum MatchLevel {
    /// The lines are equal.
    Exact,
    /// The lines are equal except for blanks at the end.
    Trailing,
    /// The lines are equal except for the indentation, which must differ by one shift for all lines.
    Indent,
    /// The lines are equal except for the number of blanks between words.
    Blanks,
    /// The lines are equal except for typographic look-alikes.
    Typography,
}

impl MatchLevel {
    /// All rungs, strictest first.
    pub(crate) const ALL: [Self; 5] = [
        Self::Exact,
        Self::Trailing,
        Self::Indent,
        Self::Blanks,
        Self::Typography,
    ];
}

/// Returns the part of a line that must be equal on this rung.
pub(crate) fn line_key(level: MatchLevel, text: &[u8]) -> Cow<'_, [u8]> {
    match level {
        MatchLevel::Exact => Cow::Borrowed(text),
        MatchLevel::Trailing => Cow::Borrowed(trim_end(text)),
        MatchLevel::Indent => Cow::Borrowed(trim(text)),
        MatchLevel::Blanks => collapse_blanks(Cow::Borrowed(trim(text))),
        // Replaced before blanks are collapsed, since a no-break space becomes a blank.
        MatchLevel::Typography => {
            let plain = replace_typography(text);
            collapse_blanks(Cow::Owned(trim(&plain).to_vec()))
        }
    }
}

/// Returns the indentation of a line as this rung compares it.
pub(crate) fn indent_key(level: MatchLevel, text: &[u8]) -> Vec<u8> {
    let plain = match level {
        MatchLevel::Typography => replace_typography(text),
        MatchLevel::Exact | MatchLevel::Trailing | MatchLevel::Indent | MatchLevel::Blanks => text.into(),
    };
    leading_blanks(&plain).to_vec()
}

/// Replaces each run of blanks by one space.
fn collapse_blanks(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    // Most lines have single blanks only and are not copied.
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

/// Replaces typographic characters by plain ones. Bytes that are not UTF-8 stay as they are.
fn replace_typography(text: &[u8]) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut buffer = [0; 4];
            let written: &str = character.encode_utf8(&mut buffer);
            out.extend_from_slice(look_alike(character).unwrap_or(written).as_bytes());
        }
        out.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(out)
}

/// Returns the plain text that is written for a typographic character. Returns `None` for every other character.
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
            ("a = 1", "a = 1", MatchLevel::Exact),
            ("a = 1  ", "a = 1", MatchLevel::Trailing),
            ("\ta = 1", "a = 1", MatchLevel::Indent),
            ("a  = 1", "a = 1", MatchLevel::Blanks),
            (
                "say \u{201c}a\u{201d}\u{a0}\u{2014} b",
                "say \"a\" - b",
                MatchLevel::Typography,
            ),
        ];
        for (a, b, first) in cases {
            for level in MatchLevel::ALL {
                let equal = line_key(level, a.as_bytes()) == line_key(level, b.as_bytes());
                assert_eq!(equal, level >= first, "{a:?} and {b:?} at {level:?}");
            }
        }
    }
}
