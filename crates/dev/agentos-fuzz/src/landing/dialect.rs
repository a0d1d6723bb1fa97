//! Writes an edit in the other dialects, as far as they can express it.
//!
//! Owns: writing them. Never: writes an edit that the dialect cannot distinguish from another one.

use agentos_landing::{Change, FileChange, FileState};

/// Dialect of an answer.
#[derive(Clone, Copy)]
pub enum EditDialect {
    /// Search/replace blocks.
    Blocks,
    /// The `*** Begin Patch` envelope.
    Envelope,
    /// `{"edits":[…]}`.
    Json,
}

/// Lines of one hunk with their marks.
type HunkLines<'c> = Vec<&'c str>;

/// Writes the change in another dialect. `None` if that dialect cannot express it.
pub fn render(change: &Change, dialect: EditDialect) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(change.canonical_diff()).ok()?;
    let sections = sections(text);
    let sayable = sections.len() == change.files().len() && change.files().iter().all(is_sayable);
    if !sayable {
        return None;
    }
    let files = change.files().iter().zip(&sections);
    let out = match dialect {
        EditDialect::Blocks => files.map(|(file, hunks)| blocks(file, hunks)).collect(),
        EditDialect::Envelope => {
            let files: Option<String> = files.map(|(file, hunks)| envelope(file, hunks)).collect();
            files.map(|files| format!("*** Begin Patch\n{files}*** End Patch\n"))
        }
        EditDialect::Json => {
            let edits: Option<Vec<String>> = files.map(|(file, hunks)| json(file, hunks)).collect();
            edits.map(|edits| format!("{{\"edits\":[{}]}}\n", edits.join(",")))
        }
    };
    out.map(String::into_bytes)
}

/// Returns true if both states end every line with a plain line feed. Other line ends, and missing ones, are not part
/// of these dialects.
fn is_sayable(file: &FileChange) -> bool {
    let plain = |state: &FileState| state.content.ends_with(b"\n") && !state.content.contains(&b'\r');
    file.old.as_ref().is_none_or(plain) && file.new.as_ref().is_none_or(plain)
}

/// Splits a canonical diff into the hunks of each file.
fn sections(text: &str) -> Vec<Vec<HunkLines<'_>>> {
    let mut sections: Vec<Vec<HunkLines<'_>>> = Vec::new();
    for line in text.split_terminator('\n') {
        if line.starts_with("diff --git ") {
            sections.push(Vec::new());
        } else if let Some(hunks) = sections.last_mut() {
            if line.starts_with("@@ -") {
                hunks.push(Vec::new());
            } else if let Some(hunk) = hunks.last_mut() {
                hunk.push(line);
            }
        }
    }
    sections
}

/// Returns one side of a hunk: the lines before (`-`) or after (`+`) the change.
fn side(hunk: &HunkLines<'_>, mark: char) -> String {
    let lines = hunk.iter().filter(|line| line.starts_with([' ', mark]));
    lines
        .map(|line| format!("{}\n", line.get(1..).unwrap_or_default()))
        .collect()
}

fn blocks(file: &FileChange, hunks: &[HunkLines<'_>]) -> Option<String> {
    let (Some(_), Some(_)) = (&file.old, &file.new) else {
        return None;
    };
    let mut out = String::new();
    for hunk in hunks {
        let (search, replace) = (side(hunk, '-'), side(hunk, '+'));
        // A separator inside the text would end the block early.
        if search.is_empty() || [&search, &replace].iter().any(|text| text.contains("=======")) {
            return None;
        }
        out += &format!(
            "{}\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n\n",
            file.path
        );
    }
    Some(out)
}

fn envelope(file: &FileChange, hunks: &[HunkLines<'_>]) -> Option<String> {
    let path = &file.path;
    match (&file.old, &file.new) {
        (Some(_), None) => Some(format!("*** Delete File: {path}\n")),
        (None, Some(_)) => {
            let lines: String = hunks.iter().flatten().map(|line| format!("{line}\n")).collect();
            Some(format!("*** Add File: {path}\n{lines}"))
        }
        _ => {
            let hunks = hunks.iter().map(|hunk| format!("@@\n{}\n", hunk.join("\n")));
            Some(format!("*** Update File: {path}\n{}", hunks.collect::<String>()))
        }
    }
}

fn json(file: &FileChange, hunks: &[HunkLines<'_>]) -> Option<String> {
    let (Some(_), Some(_)) = (&file.old, &file.new) else {
        return None;
    };
    let edits = hunks.iter().map(|hunk| {
        let search = side(hunk, '-');
        (!search.is_empty()).then(|| {
            let [path, search, replace] = [file.path.as_str(), &search, &side(hunk, '+')].map(quoted);
            format!("{{\"path\":{path},\"search\":{search},\"replace\":{replace}}}")
        })
    });
    Some(edits.collect::<Option<Vec<String>>>()?.join(","))
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n").replace('\t', "\\t"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentos_landing::{FileMode, LandOptions, MemoryBase, RepoPath, land};

    use super::super::damage::damage;
    use super::*;

    const OLD: &str = "one\ntwo\n\nthree\nfour\nfive\nsix\nseven\n";

    fn change() -> (MemoryBase, Change) {
        let state = |text: &str| FileState {
            mode: FileMode::Regular,
            content: Arc::from(text.as_bytes()),
        };
        let (old, new) = (state(OLD), state(&OLD.replace("three", "\"3\"")));
        let mut base = MemoryBase::default();
        base.put("a.rs", Arc::clone(&old.content));
        let path = RepoPath::new("a.rs").expect("a path");
        (
            base,
            Change::new(vec![(path, Some(old), Some(new))]).expect("a change"),
        )
    }

    #[test]
    fn an_edit_with_one_place_lands_in_every_dialect() {
        let (base, change) = change();
        for dialect in [EditDialect::Blocks, EditDialect::Envelope, EditDialect::Json] {
            let written = render(&change, dialect).expect("it can be said");
            let landed = land(&written, &base, &LandOptions::default()).expect("it lands");
            assert_eq!(landed.change, change, "{}", written.escape_ascii());
        }
    }

    #[test]
    fn an_edit_with_one_place_survives_all_damage() {
        let (base, change) = change();
        for bits in 0..128 {
            let written = damage(&change, bits).expect("it can be damaged");
            let landed = land(&written, &base, &LandOptions::default());
            assert!(
                landed.is_ok_and(|landed| landed.change == change),
                "{bits:b}: {}",
                written.escape_ascii()
            );
        }
    }
}
