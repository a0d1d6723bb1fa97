//! Other readings of an answer that was damaged as a whole: escaped for a web page, coloured for a terminal, or written
//! in another encoding.
//!
//! Owns: undoing such damage in the whole answer. Never: runs before the answer was read as written, or undoes damage
//! in one place and not in another.
//!
//! Copying an answer from a web page or a terminal changes all of it in one way. A repair of single lines
//! would guess for each line; a repair of the whole answer is one guess, and the base confirms it, since damaged
//! lines would not be found there.
//!
//! | damage | repaired only if | and then ([`ReadingProof`]) |
//! |---|---|---|
//! | terminal colours | there is no other escape sequence | it lands |
//! | HTML entities | there is no raw `<` or `>` | the files have no entities of their own, or `&` was escaped, too |
//! | UTF-16, as PowerShell writes a patch | every second byte of the first characters is zero | it lands |
//! | context lines without their mark | every hunk then has the lines that its header counts | each hunk matches exactly |

use crate::parse::{LineCount, StatedLines, hunk_header};
use crate::text::{BOM, begins_as, decode_utf16};

/// Proof that a reading of a damaged answer needs, besides that it lands.
pub(crate) enum ReadingProof {
    /// No other: the damage is certain.
    Landing,
    /// Each hunk matches exactly, since the repair is a guess.
    ExactLines,
    /// The files have no entities of their own, which would look like those of the damage, or `&` was escaped, too.
    ForeignEntities,
}

/// Undoes one kind of damage. Returns `None` if the answer does not have it.
type UndoDamage = fn(&[u8]) -> Option<Vec<u8>>;

/// How a kind of damage is undone, the proof that the repair needs, and a note for the report that names the damage.
type AnswerReading = (UndoDamage, ReadingProof, &'static str);

/// All readings. The first that lands is taken, so the certain repairs come before those that guess.
pub(crate) const READINGS: [AnswerReading; 4] = [
    (
        out_of_utf16,
        ReadingProof::Landing,
        "the answer was read as UTF-16",
    ),
    (
        without_colours,
        ReadingProof::Landing,
        "the answer was read without its terminal colours",
    ),
    (
        undo_escaping,
        ReadingProof::ForeignEntities,
        "the answer was read as text that was escaped for a web page",
    ),
    (
        with_context_marks,
        ReadingProof::ExactLines,
        "the answer was read with a blank in front of each context line",
    ),
];

/// Decodes UTF-16 without its byte order mark. Returns `None` if the text has no zero in every second byte at its beginning.
fn out_of_utf16(answer: &[u8]) -> Option<Vec<u8>> {
    /// Number of characters that are looked at.
    const LOOKED_AT: usize = 8;
    let text = answer.strip_prefix(b"\xff\xfe").unwrap_or(answer);
    let (units, _) = text.as_chunks::<2>();
    let first = units.get(..LOOKED_AT)?;
    let is_wide = first
        .iter()
        .all(|unit| (1..0x80).contains(&u16::from_le_bytes(*unit)));
    let decoded = decode_utf16(text, u16::from_le_bytes).filter(|_| is_wide)?;
    let bytes = decoded.into_bytes();
    Some(bytes.strip_prefix(BOM).map(<[u8]>::to_vec).unwrap_or(bytes))
}

/// Removes colours (`ESC [ … m`). Returns `None` if there is another escape sequence: it could hide text.
fn without_colours(answer: &[u8]) -> Option<Vec<u8>> {
    let mut parts = answer.split(|byte| *byte == 0x1b);
    let mut out = parts.next()?.to_vec();
    let mut found = false;
    for part in parts {
        // Any sequence other than a colour ends the reading.
        let rest = part.strip_prefix(b"[")?;
        let end = rest
            .iter()
            .position(|byte| !byte.is_ascii_digit() && *byte != b';')?;
        let rest = rest.get(end..)?.strip_prefix(b"m")?;
        out.extend_from_slice(rest);
        found = true;
    }
    found.then_some(out)
}

/// HTML entities that escaping produces.
const ENTITIES: [(&[u8], u8); 7] = [
    (b"&lt;", b'<'),
    (b"&gt;", b'>'),
    (b"&amp;", b'&'),
    (b"&quot;", b'"'),
    (b"&#39;", b'\''),
    (b"&#x27;", b'\''),
    (b"&apos;", b'\''),
];

/// Returns true if the text has an entity that escaping produces.
pub(crate) fn has_entities(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b'&').skip(1);
    parts.any(|rest| read_entity(rest).is_some())
}

/// Returns true if the text has a character that escaping would have replaced.
pub(crate) fn has_raw_marks(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, b'<' | b'>')) || has_raw_ampersand(text)
}

/// Returns true if the text has a `&` that escaping would have replaced.
pub(crate) fn has_raw_ampersand(text: &[u8]) -> bool {
    let mut ands = text.split(|byte| *byte == b'&').skip(1);
    ands.any(|rest| read_entity(rest).is_none())
}

/// Reads the entity whose rest after `&` begins here. Returns its character and its length after `&`, or `None`.
fn read_entity(rest: &[u8]) -> Option<(u8, usize)> {
    ENTITIES
        .iter()
        .find(|(name, _)| name.get(1..).is_some_and(|name| rest.starts_with(name)))
        .map(|(name, character)| (*character, name.len() - 1))
}

/// Decodes the entities of a text. Returns `None` if the text was not escaped.
pub(crate) fn undo_escaping(answer: &[u8]) -> Option<Vec<u8>> {
    // Escaping would have replaced raw marks.
    if answer.iter().any(|byte| matches!(byte, b'<' | b'>')) || !has_entities(answer) {
        return None;
    }
    let mut parts = answer.split(|byte| *byte == b'&');
    let mut out = parts.next()?.to_vec();
    for part in parts {
        match read_entity(part) {
            Some((character, length)) => {
                out.push(character);
                out.extend_from_slice(part.get(length..).unwrap_or_default());
            }
            None => {
                out.push(b'&');
                out.extend_from_slice(part);
            }
        }
    }
    Some(out)
}

/// Adds the blank mark to each context line if some have none. Returns `None` unless every hunk then has the lines that its
/// header counts.
fn with_context_marks(answer: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(answer.len() + answer.len() / 8);
    // Lines that the header of the hunk counts, and those of its body so far.
    let mut hunk: Option<(StatedLines, LineCount)> = None;
    let is_full = |hunk: &(StatedLines, LineCount)| hunk.1.is_stated(hunk.0);
    let mut bare = false;
    for line in answer.split_inclusive(|byte| *byte == b'\n') {
        let header = line.starts_with(b"@@");
        if header || begins_file(line) || line.starts_with(b"```") {
            if hunk.take().is_some_and(|hunk| !is_full(&hunk)) {
                return None;
            }
            if header {
                let (stated, _) = hunk_header(line)?;
                stated.old_count.and(stated.new_count)?;
                hunk = Some((stated, LineCount::default()));
            }
        } else if let Some((_, count)) = hunk.as_mut().filter(|hunk| !is_full(hunk)) {
            count.add_line(line);
            let is_marked = matches!(line.first(), Some(b'-' | b'+' | b'\\'));
            if !is_marked && !matches!(line.first(), None | Some(b'\n' | b'\r')) {
                bare |= !line.starts_with(b" ") && !line.starts_with(b"\t");
                out.push(b' ');
            }
        }
        out.extend_from_slice(line);
    }
    (bare && hunk.is_none_or(|hunk| is_full(&hunk))).then_some(out)
}

fn begins_file(line: &[u8]) -> bool {
    begins_as("diff --git ;--- a/;+++ b/;--- /dev/null;+++ /dev/null", line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(reading: Option<Vec<u8>>) -> Option<String> {
        reading.map(|text| String::from_utf8(text).expect("text"))
    }

    #[test]
    fn damage_is_undone_everywhere_or_not_at_all() {
        let cases: [(UndoDamage, &str, Option<&str>); 5] = [
            (without_colours, "\u{1b}[1;32m+a\u{1b}[m\n", Some("+a\n")),
            (without_colours, "+a\u{1b}[2Jb\n", None),
            (without_colours, "+a\n", None),
            (undo_escaping, "a &lt;b&gt; &amp;amp; &x", Some("a <b> &amp; &x")),
            (undo_escaping, "a &lt; b > c", None),
        ];
        for (undo, damaged, wanted) in cases {
            assert_eq!(text(undo(damaged.as_bytes())).as_deref(), wanted, "{damaged:?}");
        }
    }
}
