//! Path above a block, as models write it: alone, in bold, in backticks, in a heading, after `File:`, or on the
//! fence.
//!
//! Owns: reading that line. Never: takes a sentence for a path.

use super::name::strip_marks;
use crate::text::trim;

/// Path above a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathTitle {
    /// Path as written.
    pub path: Vec<u8>,
    /// True if it has a slash or an extension, or is marked as a name.
    pub is_certain: bool,
    /// True if it is inside a sentence that does not state that the file is written.
    pub only_mentioned: bool,
    /// True if the line states that the block is the file: by a label or a sentence about writing it.
    pub is_stated: bool,
}

/// Reads the line above a block. Returns `None` if it names no file.
pub(crate) fn read_title(line: &[u8]) -> Option<PathTitle> {
    let line = without_bullet(trim(line));
    let line = trim(line.strip_suffix(b":").unwrap_or(line));
    // `**File: src/a.rs**`: the label is inside the marks.
    let inner = strip_marks(line);
    let line = if without_label(inner).len() < inner.len() {
        inner
    } else {
        line
    };
    let unlabelled = without_label(trim(line));
    let labelled = unlabelled.len() < trim(line).len();
    let line = unlabelled;
    let bare = strip_marks(line);
    let bare = strip_marks(bare.strip_suffix(b":").unwrap_or(bare));
    // Marks around the name show that it is one, even with blanks in it.
    let marked = bare.len() < line.len();
    if is_path(bare, marked) {
        return Some(PathTitle {
            // A bold word can be a heading, such as `**After:**`. Backticks or a label mark a name.
            is_certain: (marked && line.contains(&b'`')) || labelled || looks_like_path(bare),
            path: bare.to_vec(),
            only_mentioned: false,
            is_stated: labelled,
        });
    }
    let quoted = only_quoted(line)?;
    (is_path(quoted, true) && looks_like_path(quoted)).then(|| PathTitle {
        path: quoted.to_vec(),
        is_certain: true,
        only_mentioned: !says_written(line),
        is_stated: says_written(line),
    })
}

/// Reads the rest of an opening fence line: `rust src/a.rs`, `rust:src/a.rs`, `src/a.rs`, `title="src/a.rs"`. Returns
/// `None` if it names no file.
pub(crate) fn fence_title(info: &[u8]) -> Option<PathTitle> {
    // A single word is a language, even if it looks like a file name, as `node.js` does.
    if !info.iter().any(|byte| b" /:=".contains(byte)) {
        return None;
    }
    let word = info.split(|byte| *byte == b' ').next_back()?;
    let word = [b"title=".as_slice(), b"file=", b"path=", b"filename="]
        .iter()
        .find_map(|label| word.strip_prefix(*label))
        .unwrap_or(word);
    let word = word
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""))
        .unwrap_or(word);
    let word = match word.iter().position(|byte| *byte == b':') {
        Some(at) => word.get(at + 1..).unwrap_or_default(),
        None => word,
    };
    (is_path(word, false) && looks_like_path(word)).then(|| PathTitle {
        path: word.to_vec(),
        is_certain: true,
        only_mentioned: false,
        is_stated: false,
    })
}

pub(super) fn without_bullet(line: &[u8]) -> &[u8] {
    let hashes = line.iter().take_while(|byte| **byte == b'#').count();
    let line = trim(line.get(hashes..).unwrap_or_default());
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = line.get(digits..).unwrap_or_default();
    if digits > 0
        && let Some(rest) = rest.strip_prefix(b". ").or_else(|| rest.strip_prefix(b") "))
    {
        return trim(rest);
    }
    [b"- ".as_slice(), b"* ", b"// ", b"-- "]
        .iter()
        .find_map(|mark| line.strip_prefix(*mark))
        .map_or(line, trim)
}

fn without_label(line: &[u8]) -> &[u8] {
    const LABELS: [&[u8]; 8] = [
        b"file:",
        b"path:",
        b"filename:",
        b"file path:",
        b"filepath:",
        b"**file:**",
        b"**path:**",
        b"file name:",
    ];
    let lower = line.to_ascii_lowercase();
    LABELS
        .iter()
        .find(|label| lower.starts_with(label))
        .and_then(|label| line.get(label.len()..))
        .map_or(line, trim)
}

/// Returns the one text between backticks on a line. Returns `None` if there is none, or more than one.
fn only_quoted(line: &[u8]) -> Option<&[u8]> {
    let mut parts = line.split(|byte| *byte == b'`');
    let (_, quoted, _) = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(quoted)
}

/// Returns true if the sentence states that the file is created or changed.
fn says_written(line: &[u8]) -> bool {
    const VERBS: [&str; 9] = [
        "creat", "updat", "replac", "new", "add", "sav", "writ", "rewrit", "complete",
    ];
    let text = String::from_utf8_lossy(line).to_lowercase();
    let outside: Vec<&str> = text.split('`').step_by(2).collect();
    outside
        .iter()
        .flat_map(|text| text.split(|mark: char| !mark.is_alphanumeric()))
        // By the beginning of the word: `create`, `creates`, `created`, `creating`.
        .any(|word| VERBS.iter().any(|verb| word.starts_with(verb)))
}

fn is_path(name: &[u8], marked: bool) -> bool {
    /// Maximum length of a path.
    const LONGEST: usize = 4_096;
    !name.is_empty()
        && name.len() <= LONGEST
        && (marked || !name.contains(&b' '))
        && !name.iter().any(|byte| b"`<>()[]{};,=".contains(byte))
        && !name.ends_with(b"/")
        && name.iter().any(u8::is_ascii_alphanumeric)
}

/// Returns true for a name with a slash or an extension, and for well-known files without one.
fn looks_like_path(name: &[u8]) -> bool {
    const BARE: [&[u8]; 8] = [
        b"Makefile",
        b"Dockerfile",
        b"Containerfile",
        b"Justfile",
        b"Gemfile",
        b"Rakefile",
        b"Procfile",
        b"LICENSE",
    ];
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let dot = last.iter().rposition(|byte| *byte == b'.');
    let extension = dot.and_then(|dot| last.get(dot + 1..)).unwrap_or_default();
    BARE.contains(&name)
        || name.contains(&b'/')
        || (!extension.is_empty() && extension.iter().all(u8::is_ascii_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_above_a_block_names_its_file() {
        let cases: [(&str, Option<&str>); 14] = [
            ("src/a.rs", Some("src/a.rs")),
            ("**src/a.rs**", Some("src/a.rs")),
            ("`src/a.rs`:", Some("src/a.rs")),
            ("### `src/a.rs`", Some("src/a.rs")),
            ("1. **File:** `src/a.rs`", Some("src/a.rs")),
            ("File: src/a.rs", Some("src/a.rs")),
            ("Next, update `build/probe.rs`:", Some("build/probe.rs")),
            ("`my notes.txt`", Some("my notes.txt")),
            ("../escape.txt", Some("../escape.txt")),
            ("Makefile", Some("Makefile")),
            ("Run this", None),
            ("Use `a` and `b` here", None),
            ("Call `main()` first:", None),
            ("", None),
        ];
        for (line, path) in cases {
            let found = read_title(line.as_bytes()).map(|title| String::from_utf8(title.path).expect("text"));
            assert_eq!(found.as_deref(), path, "{line:?}");
        }
    }
}
