//! Names in headers: git's quoting, timestamps, and the two names of a `diff --git` line.
//!
//! Owns: reading a name. Never: decides if it may be changed.

use super::model::HeaderName;
use crate::text::{strip_start, trim, trim_end};

/// Reads the name after `--- ` or `+++ `. Returns `None` if its quoting is broken.
pub(crate) fn header_name(rest: &[u8]) -> Option<HeaderName> {
    let rest = trim_end(rest);
    let name = if rest.first() == Some(&b'"') {
        unquote(rest)?.0
    } else {
        // `diff -u` puts a timestamp after a tab.
        let cut = rest.split(|byte| *byte == b'\t').next().unwrap_or(rest);
        strip_marks(without_note(without_date(cut))).to_vec()
    };
    Some(match name.as_slice() {
        b"" => HeaderName::Unstated,
        b"/dev/null" => HeaderName::Nothing,
        _ => HeaderName::Written(name),
    })
}

/// Reads a name that is alone on the rest of a line, as after `rename from `. Returns `None` if its quoting is
/// broken.
pub(crate) fn plain_name(rest: &[u8]) -> Option<Vec<u8>> {
    let rest = trim_end(rest);
    if rest.first() == Some(&b'"') {
        return unquote(rest).map(|(name, _)| name);
    }
    Some(strip_marks(trim(rest)).to_vec())
}

/// Removes Markdown's marks around a name: backticks, stars and underscores.
pub(crate) fn strip_marks(name: &[u8]) -> &[u8] {
    let mut name = trim(name);
    loop {
        let inner = [b"**".as_slice(), b"`", b"__"].iter().find_map(|mark| {
            name.strip_prefix(*mark)
                .and_then(|rest| rest.strip_suffix(*mark))
                .filter(|rest| !rest.is_empty())
        });
        match inner {
            Some(rest) => name = trim(rest),
            None => return name,
        }
    }
}

/// Removes a date with a time behind blanks, which stands there if a tab was lost: ` 2024-01-31 10:00:00`.
fn without_date(name: &[u8]) -> &[u8] {
    let is_date = |text: &[u8]| {
        let form = b"0000-00-00 00:00";
        text.get(..form.len()).is_some_and(|text| {
            text.iter().zip(form).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                form => byte == form,
            })
        })
    };
    let mut blanks = name.iter().enumerate().filter(|(_, byte)| **byte == b' ');
    let date = blanks.find(|(at, _)| name.get(at + 1..).is_some_and(is_date));
    date.and_then(|(at, _)| name.get(..at)).unwrap_or(name)
}

/// Removes ` (original)` and the like, and single quotes around the name.
fn without_note(name: &[u8]) -> &[u8] {
    const NOTES: &str = " (original), (modified), (updated), (old), (new), (before), (after), (working copy)";
    let name = trim(name);
    let mut notes = NOTES.split(',');
    let name = notes
        .find_map(|note| name.strip_suffix(note.as_bytes()))
        .unwrap_or(name);
    name.strip_prefix(b"'")
        .and_then(|rest| rest.strip_suffix(b"'"))
        .filter(|rest| !rest.is_empty() && !rest.contains(&b'\''))
        .unwrap_or(name)
}

/// Decodes git's C-style quoting. Returns the name and the text after the closing quote. Returns `None` if the
/// quoting is broken.
pub(crate) fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (first, tail) = rest.split_first()?;
        rest = tail;
        match first {
            b'"' => return Some((name, rest)),
            b'\\' => {
                let (byte, tail) = unescape_byte(rest)?;
                name.push(byte);
                rest = tail;
            }
            other => name.push(*other),
        }
    }
}

fn unescape_byte(rest: &[u8]) -> Option<(u8, &[u8])> {
    let (first, tail) = rest.split_first()?;
    match first {
        b'"' | b'\\' => Some((*first, tail)),
        // Three octal digits of one byte begin with 3 at most.
        b'0'..=b'3' => {
            let digits = std::str::from_utf8(rest.get(..3)?).ok()?;
            Some((u8::from_str_radix(digits, 8).ok()?, rest.get(3..)?))
        }
        // The control characters from 7 on, as C names them.
        letter => {
            let mut named = (7..).zip(b"abtnvfr");
            let (byte, _) = named.find(|(_, name)| *name == letter)?;
            Some((byte, tail))
        }
    }
}

/// Prefixes of one letter that git puts before names.
const PREFIXES: &str = "a/;b/;c/;i/;o/;w/;./";

/// Returns the name without a one-letter prefix. Returns `None` if it has none.
pub(crate) fn without_prefix(name: &[u8]) -> Option<&[u8]> {
    strip_start(PREFIXES, name)
}

/// Returns the name without a one-letter prefix, if it has one.
pub(crate) fn bare_name(name: &[u8]) -> &[u8] {
    without_prefix(name).unwrap_or(name)
}

/// Returns true if both names are equal apart from their prefixes.
pub(crate) fn same_file(a: &[u8], b: &[u8]) -> bool {
    a == b || bare_name(a) == bare_name(b)
}

/// Returns all ways to split the rest of a `diff --git` line into two names. Git does not quote names with blanks, so
/// every blank may be the border.
pub(crate) fn git_pairs(rest: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let rest = trim_end(rest);
    if rest.first() == Some(&b'"') {
        let pair = unquote(rest).and_then(|(old, tail)| match trim(tail) {
            quoted @ [b'"', ..] => Some((old, unquote(quoted)?.0)),
            plain => Some((old, plain.to_vec())),
        });
        return Vec::from_iter(pair);
    }
    // Git quotes each side by itself, so the first may be plain and the second quoted.
    if rest.last() == Some(&b'"')
        && let Some(at) = rest.iter().position(|byte| *byte == b'"')
        && let (Some(old), Some(new)) = (rest.get(..at), rest.get(at..).and_then(unquote))
    {
        return vec![(trim(old).to_vec(), new.0)];
    }
    split_pairs(rest)
}

/// Maximum number of blanks that are tried as the border. A limit keeps the work linear.
const MAX_BORDERS: usize = 64;

/// Maximum length of both names together.
const MAX_NAMES: usize = 16 << 10;

fn split_pairs(rest: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    if rest.len() > MAX_NAMES {
        return Vec::new();
    }
    rest.iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b' ')
        .take(MAX_BORDERS)
        .filter_map(|(at, _)| {
            let old = rest.get(..at)?;
            let new = rest.get(at + 1..)?;
            (!old.is_empty() && !new.is_empty()).then(|| (old.to_vec(), new.to_vec()))
        })
        .collect()
}
