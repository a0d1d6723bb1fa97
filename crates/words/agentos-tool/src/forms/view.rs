//! Readings of a text: as it is, with its escapes decoded, and of either only the letters and digits.
//!
//! Owns: the escapes, and where each byte of a reading stands in the text. Never: knows a secret.

use std::ops::Range;

/// Bytes of a text that may stand between two letters or digits of a secret.
const LONGEST_GAP: usize = 128;
/// Stands for a longer gap; no form has it.
const GAP: u8 = 0;
/// The longest escape, as in `&CounterClockwiseContourIntegral;`.
const LONGEST_ESCAPE: usize = 40;

/// A reading of a text.
pub(super) struct View {
    bytes: Vec<u8>,
    /// The place of each byte in the text; `None` if it is the byte's own.
    places: Option<Vec<(u32, u32)>>,
    /// Where an escape begins that may go on behind the end.
    unfinished: Option<usize>,
}

impl View {
    pub(super) fn of(text: &[u8]) -> Self {
        Self {
            bytes: text.to_vec(),
            places: None,
            unfinished: None,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn unfinished(&self) -> Option<usize> {
        self.unfinished
    }

    fn place(&self, at: usize) -> Option<(usize, usize)> {
        match &self.places {
            Some(places) => {
                let (start, end) = places.get(at)?;
                Some((usize::try_from(*start).ok()?, usize::try_from(*end).ok()?))
            }
            None => Some((at, at + 1)),
        }
    }

    /// Returns the place of a byte in as few bytes as it takes: a text is looked at in blocks of much less than 4 GiB.
    fn short_place(&self, at: usize) -> (u32, u32) {
        match &self.places {
            Some(places) => places.get(at).copied().unwrap_or_default(),
            None => {
                let at = u32::try_from(at).unwrap_or(u32::MAX);
                (at, at.saturating_add(1))
            }
        }
    }

    /// Returns where bytes of this reading stand in the text. `None` if there are none.
    pub(super) fn source(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let (first, last) = (self.place(range.start)?, self.place(range.end.checked_sub(1)?)?);
        Some(first.0..last.1)
    }

    /// Reads the text with its escapes decoded. `None` if it has none. Unless it is the end, an escape that may go on behind
    /// it, and whatever follows its beginning, is left out.
    pub(super) fn decode(&self, is_end: bool) -> Option<Self> {
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
                if !is_end && may_go_on(rest) {
                    decoded.unfinished = self.place(at).map(|place| place.0);
                    break;
                }
                escape_at(rest)
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

    /// Reads only the letters and digits, in lower case; [`GAP`] stands for many other bytes.
    pub(super) fn squeeze(&self) -> Self {
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

/// Reads the escape that a text begins with: its length, and the byte that it means. `None` if there is none.
fn escape_at(rest: &[u8]) -> Option<(usize, u8)> {
    let (length, code) = match rest {
        [b'%', after @ ..] => number(after, 16, 2, 2).map(|(length, code)| (1 + length, code)),
        [b'\\', after @ ..] => backslash(after).map(|(length, code)| (1 + length, code)),
        [b'&', after @ ..] => entity(after).map(|(length, code)| (1 + length, code)),
        [0x1b, after @ ..] => control_sequence(after).map(|length| (1 + length, u32::from(b' '))),
        _ => character(rest),
    }?;
    Some((length, ascii_of(code)))
}

/// Returns true if bytes up to the end of a text are the beginning of an escape.
fn may_go_on(rest: &[u8]) -> bool {
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
            rest.len() < width(*first) && are(rest.get(1..).unwrap_or_default(), |c| c & 0xc0 == 0x80)
        }
        [] => false,
    }
}

/// Reads so many digits. `None` if there are too few.
fn number(text: &[u8], base: u32, least: usize, most: usize) -> Option<(usize, u32)> {
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

/// Escapes of JSON (RFC 8259, section 7), C, Rust, Python and JavaScript, behind their backslash.
fn backslash(after: &[u8]) -> Option<(usize, u32)> {
    let behind = |count: usize| after.get(count..).unwrap_or_default();
    let in_braces = || {
        let (length, code) = number(behind(2), 16, 1, 8)?;
        (behind(2 + length).first() == Some(&b'}')).then_some((3 + length, code))
    };
    let fixed = |digits| number(behind(1), 16, digits, digits).map(|(length, code)| (1 + length, code));
    match after.first()? {
        b'x' | b'u' if behind(1).first() == Some(&b'{') => in_braces(),
        b'x' => fixed(2),
        b'u' => fixed(4),
        b'U' => fixed(8),
        b'0'..=b'7' => number(after, 8, 1, 3),
        b'\\' => Some((1, u32::from(b'\\'))),
        b'a' | b'b' | b'e' | b'f' | b'n' | b'r' | b't' | b'v' => Some((1, u32::from(b' '))),
        _ => None,
    }
}

/// References of HTML behind their `&`; those of letters are no concern, as HTML has none of ASCII's.
fn entity(after: &[u8]) -> Option<(usize, u32)> {
    let (length, code) = match after {
        [b'#', b'x' | b'X', digits @ ..] => {
            let (length, code) = number(digits, 16, 1, 8)?;
            (2 + length, code)
        }
        [b'#', digits @ ..] => {
            let (length, code) = number(digits, 10, 1, 8)?;
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
    let end = usize::from(after.get(length) == Some(&b';'));
    Some((length + end, code))
}

/// Measures a control sequence of a terminal behind its escape character (ECMA-48, section 5.4).
fn control_sequence(after: &[u8]) -> Option<usize> {
    let inside = after.strip_prefix(b"[")?.iter().take(LONGEST_ESCAPE);
    let length = inside.take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
    let is_end = matches!(after.get(1 + length), Some(0x40..=0x7e));
    is_end.then_some(length + 2)
}

/// Bytes of a character that begins with this one.
fn width(first: u8) -> usize {
    match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    }
}

fn character(rest: &[u8]) -> Option<(usize, u32)> {
    let length = width(*rest.first()?);
    let text = std::str::from_utf8(rest.get(..length)?).ok()?;
    Some((length, u32::from(text.chars().next()?)))
}

/// Returns the ASCII character that a character stands for: itself, its full width, its tag (which shows nothing), its
/// mathematical letter or digit; a blank for all others.
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
