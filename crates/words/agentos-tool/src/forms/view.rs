//! Views of a text: unchanged, with its escapes decoded, and of either only the letters and digits.
//!
//! Each byte of a view knows its place in the original text, so that a match in a view can be replaced in the original.
//!
//! Owns: the escapes, and the place of each byte of a view in the text. Never: knows a secret.

use std::ops::Range;

/// Maximum number of bytes between two letters or digits of a secret.
const LONGEST_GAP: usize = 128;
/// Byte that represents a longer gap. No form of a secret contains it, so that nothing matches across the gap.
const GAP: u8 = 0;
/// Maximum length of an escape, as in `&CounterClockwiseContourIntegral;`.
const LONGEST_ESCAPE: usize = 40;

/// TextView of a text.
pub(super) struct TextView {
    bytes: Vec<u8>,
    /// Place of each byte in the text. `None` if the view is the unchanged text.
    places: Option<Vec<(u32, u32)>>,
    /// Start of an escape that may continue after the end of the text. `None` if there is none.
    unfinished: Option<usize>,
}

impl TextView {
    pub(super) fn from_text(text: &[u8]) -> Self {
        Self {
            bytes: text.to_vec(),
            places: None,
            unfinished: None,
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn unfinished_escape(&self) -> Option<usize> {
        self.unfinished
    }

    /// Returns the start and end of a byte's place in the text. `None` if the view has no such byte.
    fn place_of(&self, at: usize) -> Option<(usize, usize)> {
        match &self.places {
            Some(places) => {
                let (start, end) = places.get(at)?;
                Some((usize::try_from(*start).ok()?, usize::try_from(*end).ok()?))
            }
            None => Some((at, at + 1)),
        }
    }

    /// Returns the place of a byte as two 32-bit numbers, which halves the memory of a view. A text is searched in blocks of
    /// much less than 4 GiB.
    fn short_place(&self, at: usize) -> (u32, u32) {
        match &self.places {
            Some(places) => places.get(at).copied().unwrap_or_default(),
            None => {
                let at = u32::try_from(at).unwrap_or(u32::MAX);
                (at, at.saturating_add(1))
            }
        }
    }

    /// Returns the place in the text of a range of this view. `None` if the range is empty or out of bounds.
    pub(super) fn source_range(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let (first, last) = (
            self.place_of(range.start)?,
            self.place_of(range.end.checked_sub(1)?)?,
        );
        Some(first.0..last.1)
    }

    /// Returns the view with its escapes decoded. `None` if it has none. Unless `is_end`, the view ends before an escape that
    /// may continue after the end of the text.
    pub(super) fn decode_escapes(&self, is_end: bool) -> Option<Self> {
        let is_special = |byte: &u8| matches!(byte, b'%' | b'\\' | b'&' | 0x1b | 0x80..);
        let first = self.bytes.iter().position(is_special)?;
        let mut decoded = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            places: None,
            unfinished: None,
        };
        let mut places = Vec::with_capacity(self.bytes.len());
        let (mut at, mut has_escape) = (0, false);
        while let Some(byte) = self.bytes.get(at) {
            let escape = if at < first || !is_special(byte) {
                None
            } else {
                let rest = self.bytes.get(at..).unwrap_or_default();
                if !is_end && may_be_escape(rest) {
                    decoded.unfinished = self.place_of(at).map(|place| place.0);
                    break;
                }
                decode_escape(rest)
            };
            has_escape |= escape.is_some();
            let (length, byte) = escape.unwrap_or((1, *byte));
            places.push((self.short_place(at).0, self.short_place(at + length - 1).1));
            decoded.bytes.push(byte);
            at += length;
        }
        decoded.places = Some(places);
        (has_escape || decoded.unfinished.is_some()).then_some(decoded)
    }

    /// Returns only the letters and digits, in lower case. [`GAP`] replaces a long run of other bytes.
    pub(super) fn keep_alphanumeric(&self) -> Self {
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let mut places = Vec::with_capacity(self.bytes.len());
        let mut gap = 0;
        for (at, byte) in self.bytes.iter().enumerate() {
            if byte.is_ascii_alphanumeric() {
                gap = 0;
            } else {
                gap += 1;
                if gap != LONGEST_GAP {
                    continue;
                }
            }
            let shown = if gap == 0 { byte.to_ascii_lowercase() } else { GAP };
            bytes.push(shown);
            places.push(self.short_place(at));
        }
        Self {
            bytes,
            places: Some(places),
            unfinished: None,
        }
    }
}

/// Decodes the escape at the beginning of a text. Returns its length and its byte. `None` if the text begins with no escape.
fn decode_escape(rest: &[u8]) -> Option<(usize, u8)> {
    let (length, code) = match rest {
        [b'%', after @ ..] => parse_number(after, 16, 2, 2).map(|(length, code)| (1 + length, code)),
        [b'\\', after @ ..] => decode_backslash(after).map(|(length, code)| (1 + length, code)),
        [b'&', after @ ..] => decode_entity(after).map(|(length, code)| (1 + length, code)),
        [0x1b, after @ ..] => control_sequence_length(after).map(|length| (1 + length, u32::from(b' '))),
        _ => decode_character(rest),
    }?;
    Some((length, ascii_of(code)))
}

/// Returns true if the last bytes of a text may be the beginning of an escape.
fn may_be_escape(rest: &[u8]) -> bool {
    if rest.len() > LONGEST_ESCAPE {
        return false;
    }
    let are = |bytes: &[u8], fits: fn(&u8) -> bool| bytes.iter().all(fits);
    match rest {
        [b'%', after @ ..] => after.len() < 2 && are(after, u8::is_ascii_hexdigit),
        [b'\\'] | [b'\\', b'x' | b'u' | b'U'] | [0x1b] => true,
        [b'\\', b'x' | b'u', b'{', after @ ..] => are(after, u8::is_ascii_hexdigit),
        [b'\\', kind, after @ ..] => {
            let digits = match kind {
                b'x' => 2,
                b'u' => 4,
                b'U' => 8,
                _ => 0,
            };
            let is_octal =
                rest.len() < 4 && are(rest.get(1..).unwrap_or_default(), |c| matches!(c, b'0'..=b'7'));
            is_octal || (after.len() < digits && are(after, u8::is_ascii_hexdigit))
        }
        [b'&', after @ ..] => are(after, |c| c.is_ascii_alphanumeric() || *c == b'#'),
        [0x1b, b'[', after @ ..] => are(after, |c| matches!(c, 0x20..=0x3f)),
        [first, ..] => {
            rest.len() < utf8_length(*first) && are(rest.get(1..).unwrap_or_default(), |c| c & 0xc0 == 0x80)
        }
        [] => false,
    }
}

/// Parses `least` to `most` digits. Returns their count and value. `None` if there are fewer.
fn parse_number(text: &[u8], base: u32, least: usize, most: usize) -> Option<(usize, u32)> {
    let digits = text
        .iter()
        .take(most)
        .map_while(|byte| char::from(*byte).to_digit(base));
    let (mut length, mut value) = (0, 0_u32);
    for digit in digits {
        length += 1;
        value = value.saturating_mul(base).saturating_add(digit);
    }
    (length >= least).then_some((length, value))
}

/// Decodes the part of an escape after its backslash, as in JSON (RFC 8259, section 7), C, Rust, Python and JavaScript.
/// `None` if it is not an escape.
fn decode_backslash(after: &[u8]) -> Option<(usize, u32)> {
    let behind = |count: usize| after.get(count..).unwrap_or_default();
    let in_braces = || {
        let (length, code) = parse_number(behind(2), 16, 1, 8)?;
        (behind(2 + length).first() == Some(&b'}')).then_some((3 + length, code))
    };
    let fixed = |digits| parse_number(behind(1), 16, digits, digits).map(|(length, code)| (1 + length, code));
    match after.first()? {
        b'x' | b'u' if behind(1).first() == Some(&b'{') => in_braces(),
        b'x' => fixed(2),
        b'u' => fixed(4),
        b'U' => fixed(8),
        // At most three octal digits, as in C; Python and JavaScript do the same.
        b'0'..=b'7' => parse_number(after, 8, 1, 3),
        b'\\' => Some((1, u32::from(b'\\'))),
        // No key contains a control character, so the exact one does not matter: a blank is dropped from the view like it.
        b'a' | b'b' | b'e' | b'f' | b'n' | b'r' | b't' | b'v' => Some((1, u32::from(b' '))),
        _ => None,
    }
}

/// Decodes the part of an HTML character reference after its `&`. `None` if it is not one. Named references exist for no
/// ASCII letter or digit, so that all but a few names can become a blank.
fn decode_entity(after: &[u8]) -> Option<(usize, u32)> {
    let (length, code) = match after {
        [b'#', b'x' | b'X', digits @ ..] => {
            let (length, code) = parse_number(digits, 16, 1, 8)?;
            (2 + length, code)
        }
        [b'#', digits @ ..] => {
            let (length, code) = parse_number(digits, 10, 1, 8)?;
            (1 + length, code)
        }
        _ => {
            let end = after.iter().take(LONGEST_ESCAPE).position(|byte| *byte == b';')?;
            let name = after.get(..end)?;
            let code = match name {
                b"amp" | b"AMP" => b'&',
                b"bsol" => b'\\',
                b"percnt" => b'%',
                b"num" => b'#',
                _ => b' ',
            };
            let is_name = end > 1 && name.iter().all(u8::is_ascii_alphanumeric);
            return is_name.then_some((end + 1, u32::from(code)));
        }
    };
    // Browsers accept a numeric reference without its semicolon.
    let end = usize::from(after.get(length) == Some(&b';'));
    Some((length + end, code))
}

/// Returns the length of a terminal control sequence after its escape character (ECMA-48, section 5.4). `None` if the bytes
/// are not one.
fn control_sequence_length(after: &[u8]) -> Option<usize> {
    let inside = after.strip_prefix(b"[")?.iter().take(LONGEST_ESCAPE);
    let length = inside.take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
    let is_end = matches!(after.get(1 + length), Some(0x40..=0x7e));
    is_end.then_some(length + 2)
}

/// Returns the length of the UTF-8 character that begins with this byte.
fn utf8_length(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}

/// Decodes the first character. Returns its length and code point. `None` if the bytes are not valid UTF-8.
fn decode_character(rest: &[u8]) -> Option<(usize, u32)> {
    let length = utf8_length(*rest.first()?);
    let text = std::str::from_utf8(rest.get(..length)?).ok()?;
    Some((length, u32::from(text.chars().next()?)))
}

/// Returns the ASCII character that a code point resembles or encodes: itself, its fullwidth form, its (invisible) tag
/// character, its mathematical letter or digit. Returns a blank for all others.
fn ascii_of(code: u32) -> u8 {
    let ascii = match code {
        0..=0x7f => code,
        0xff01..=0xff5e => code - 0xff01 + 0x21,
        0xe0020..=0xe007e => code - 0xe0000,
        0x1d400..=0x1d6a3 => match (code - 0x1d400) % 52 {
            letter @ 0..26 => 0x41 + letter,
            letter => 0x61 + letter - 26,
        },
        0x1d7ce..=0x1d7ff => 0x30 + (code - 0x1d7ce) % 10,
        _ => 0x20,
    };
    u8::try_from(ascii).unwrap_or(b' ')
}
