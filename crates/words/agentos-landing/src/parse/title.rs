//! Path above a block, as models write it: alone, in bold, in backticks, in a heading, after `File:`, or on the
//! fence.
//!
//! Owns: reading that line. Never: takes a sentence for a path.
//!
//! A line that is exactly the path of a file of the base is a title, whatever its characters: `app/[id]/page.tsx`.

use super::name::strip_marks;
use super::remark::{says_complete, says_new_file, states_file};
use crate::text::{is_in, split_run, strip_start, trim};

/// Returns true for the path of a file that the base has.
pub(crate) type IsTracked<'t> = &'t dyn Fn(&[u8]) -> bool;

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

impl PathTitle {
    /// Creates the title of a line that is the path.
    pub(super) fn certain(path: &[u8]) -> Self {
        Self {
            path: path.to_vec(),
            is_certain: true,
            only_mentioned: false,
            is_stated: false,
        }
    }
}

/// Reads the line above a block. Returns `None` if it names no file.
pub(crate) fn read_title(line: &[u8], is_tracked: IsTracked<'_>) -> Option<PathTitle> {
    if let Some(path) = [trim(line), strip_marks(line)]
        .into_iter()
        .find_map(|line| tracked_path(line, is_tracked))
    {
        return Some(PathTitle::certain(path));
    }
    let is_heading = trim(line).starts_with(b"#");
    let introduces = trim(line).ends_with(b":") || trim(line).ends_with(b"(new file)");
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
    if let Some(path) = tracked_path(bare, is_tracked) {
        return Some(PathTitle {
            is_stated: labelled,
            ..PathTitle::certain(path)
        });
    }
    // Marks around the name show that it is one, even with blanks in it.
    let marked = bare.len() < line.len();
    if is_path(bare, marked) {
        return Some(PathTitle {
            // A bold word can be a heading, such as `**After:**`, and a caption names commands and routes as well.
            is_certain: labelled
                || (!bare.contains(&b' ') && looks_like_path(bare))
                || ((is_heading || line.contains(&b'`')) && is_usual_name(bare)),
            is_stated: labelled,
            ..PathTitle::certain(bare)
        });
    }
    let (quoted, said) = match only_quoted(line) {
        Some(quoted) => (quoted, line.to_vec()),
        None => only_path(line, is_tracked).filter(|_| introduces)?,
    };
    let is_stated = states_file(&said) || says_complete(&said);
    let is_name = is_path(quoted, true) && (looks_like_path(quoted) || says_new_file(&said));
    (tracked_path(quoted, is_tracked).is_some() || is_name).then(|| PathTitle {
        only_mentioned: !is_stated,
        is_stated,
        ..PathTitle::certain(quoted)
    })
}

/// Returns the one path in a sentence without marks around it, as `Create src/new.py:`, and the sentence with a code span in
/// the place of the path. Returns `None` for a sentence with another number of paths.
fn only_path<'t>(line: &'t [u8], is_tracked: IsTracked<'_>) -> Option<(&'t [u8], Vec<u8>)> {
    let is_mark = |byte: &u8| b"*_():,\"'".contains(byte);
    let bare = |word: &'t [u8]| {
        let from = word.iter().position(|byte| !is_mark(byte))?;
        let to = word.iter().rposition(|byte| !is_mark(byte))? + 1;
        word.get(from..to)
    };
    let is_named = |word: &&[u8]| {
        is_path(word, false) && (tracked_path(word, is_tracked).is_some() || looks_like_path(word))
    };
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let mut paths = words.iter().filter_map(|word| bare(word)).filter(is_named);
    let path = paths
        .next()
        .filter(|_| paths.next().is_none() && !line.contains(&b'`'))?;
    let said = words
        .iter()
        .map(|word| if bare(word) == Some(path) { b"`x`" } else { *word });
    Some((path, said.collect::<Vec<_>>().join(&b' ')))
}

/// Returns the path of a file of the base that a text is, maybe with line numbers behind it: `src/a.rs:3-9`.
fn tracked_path<'t>(text: &'t [u8], is_tracked: IsTracked<'_>) -> Option<&'t [u8]> {
    let numbers = |byte: &u8| byte.is_ascii_digit() || b":-L#".contains(byte);
    let end = text
        .iter()
        .rposition(|byte| !numbers(byte))
        .map_or(0, |at| at + 1);
    let short = text.get(..end).unwrap_or_default();
    [text, short]
        .into_iter()
        .find(|path| !path.is_empty() && is_tracked(path))
}

/// Reads the rest of an opening fence line: `rust src/a.rs`, `rust:src/a.rs`, `src/a.rs`, `title="src/a.rs"`. Returns
/// `None` if it names no file.
pub(crate) fn fence_title(info: &[u8], is_tracked: IsTracked<'_>) -> Option<PathTitle> {
    // A single word is a language, even if it looks like a file name, as `node.js` does.
    if !info.iter().any(|byte| b" /:=".contains(byte)) {
        return None;
    }
    let behind = |mark: u8| info.splitn(2, |byte| *byte == mark).nth(1);
    let words = [Some(info), behind(b':'), behind(b' ')];
    let mut words = words.into_iter().flatten();
    if let Some(path) = words.find_map(|word| tracked_path(word, is_tracked)) {
        return Some(PathTitle::certain(path));
    }
    let word = info.split(|byte| *byte == b' ').next_back()?;
    let word = strip_start("title=;file=;path=;filename=", word).unwrap_or(word);
    let word = word
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""))
        .unwrap_or(word);
    let word = word.splitn(2, |byte| *byte == b':').last().unwrap_or(word);
    (tracked_path(word, is_tracked).is_some() || is_path(word, false) && looks_like_path(word))
        .then(|| PathTitle::certain(word))
}

pub(super) fn without_bullet(line: &[u8]) -> &[u8] {
    let (_, line) = split_run(line, |byte| byte == b'#');
    let line = trim(line);
    let (digits, rest) = split_run(line, |byte| byte.is_ascii_digit());
    match strip_start(". ;) ", rest) {
        Some(rest) if !digits.is_empty() => trim(rest),
        _ => strip_start("- ;* ;// ;-- ", line).map_or(line, trim),
    }
}

fn without_label(line: &[u8]) -> &[u8] {
    const LABELS: &str = "file:,path:,filename:,file path:,filepath:,**file:**,**path:**,file name:";
    let lower = line.to_ascii_lowercase();
    let label = LABELS
        .split(',')
        .find(|label| lower.starts_with(label.as_bytes()));
    label.map_or(line, |label| trim(line.get(label.len()..).unwrap_or_default()))
}

/// Returns the one text between backticks on a line. Returns `None` if there is none, or more than one.
fn only_quoted(line: &[u8]) -> Option<&[u8]> {
    let mut parts = line.split(|byte| *byte == b'`');
    let (_, quoted, _) = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(quoted)
}

fn is_path(name: &[u8], marked: bool) -> bool {
    /// Maximum length of a path.
    const LONGEST: usize = 4_096;
    !name.is_empty()
        && name.len() <= LONGEST
        && (marked || !name.contains(&b' '))
        && !name.iter().any(|byte| b"`<>;,=".contains(byte))
        && closes_brackets(name)
        && !name.ends_with(b"/")
        && name.iter().any(u8::is_ascii_alphanumeric)
}

/// Returns true if a name has no brackets, or has folders and each part closes its own: `app/[id]/page.tsx`. Links and calls
/// as `[a](docs/a.md)` do not.
fn closes_brackets(name: &[u8]) -> bool {
    const PAIRS: [(u8, u8); 3] = [(b'(', b')'), (b'[', b']'), (b'{', b'}')];
    let closes = |part: &[u8]| {
        let count = |mark: u8| part.iter().filter(|byte| **byte == mark).count();
        PAIRS.iter().all(|(open, close)| count(*open) == count(*close))
    };
    let has_any = name.iter().any(|byte| b"()[]{}".contains(byte));
    !has_any || (name.contains(&b'/') && name.split(|byte| *byte == b'/').all(closes))
}

/// Returns true for a name with an extension, and for well-known files without one. A slash alone is no sign: captions have
/// routes and alternatives, as `Input/Output`. Nor are versions, hosts, and products as `Node.js`.
fn looks_like_path(name: &[u8]) -> bool {
    const BARE: &str = "Makefile,Dockerfile,Containerfile,Justfile,Gemfile,Rakefile,Procfile,LICENSE";
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let dot = last.iter().rposition(|byte| *byte == b'.');
    let extension = dot.and_then(|dot| last.get(dot + 1..)).unwrap_or_default();
    let is_bare = last.len() == name.len();
    let is_product = is_bare && extension == b"js" && name.first().is_some_and(u8::is_ascii_uppercase);
    let is_extension = extension.iter().any(u8::is_ascii_alphabetic)
        && extension.iter().all(u8::is_ascii_alphanumeric)
        && !(is_bare && is_in("com,net,org,io", extension));
    is_in(BARE, last) || (is_extension && !is_product)
}

/// Returns true for a name without an extension that only files have. Below a heading, another word is a chapter.
fn is_usual_name(name: &[u8]) -> bool {
    const NAMES: &str = "AUTHORS,BUILD,CHANGELOG,CODEOWNERS,CONTRIBUTORS,COPYING,INSTALL,MAINTAINERS,NOTICE,OWNERS,PKGBUILD,README,\
        VERSION,WORKSPACE";
    is_in(NAMES, name) || (name.len() > 4 && name.ends_with(b"file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_above_a_block_names_its_file() {
        let cases: [(&str, Option<&str>); 16] = [
            ("`app/[id]/page.tsx`", Some("app/[id]/page.tsx")),
            ("app/[id]/page.tsx:3-9", Some("app/[id]/page.tsx")),
            ("src/a.rs", Some("src/a.rs")),
            ("**src/a.rs**", Some("src/a.rs")),
            ("`src/a.rs`:", Some("src/a.rs")),
            ("### `src/a.rs`", Some("src/a.rs")),
            ("1. **File:** `src/a.rs`", Some("src/a.rs")),
            ("File: src/a.rs", Some("src/a.rs")),
            ("Next, update `build/probe.rs`:", Some("build/probe.rs")),
            ("File: `my notes.txt`", Some("my notes.txt")),
            ("../escape.txt", Some("../escape.txt")),
            ("Makefile", Some("Makefile")),
            ("Run this", None),
            ("Use `a` and `b` here", None),
            ("Call `main()` first:", None),
            ("", None),
        ];
        for (line, path) in cases {
            let found = read_title(line.as_bytes(), &|path| path == b"app/[id]/page.tsx")
                .map(|title| String::from_utf8(title.path).expect("text"));
            assert_eq!(found.as_deref(), path, "{line:?}");
        }
    }
}
