//! Lines of a canonical diff, as data.
//!
//! Owns: parsing the diff into files, hunks and lines. Never: leaves out a line; one that is none of a hunk becomes a note of its
//! file.

use agentos_landing::{describe_binary, split_diff};
use schemars::JsonSchema;
use serde::Serialize;

/// File of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewedFile {
    /// Path of the file. Untrusted.
    pub path: String,
    /// Kind of the change.
    pub kind: FileChangeKind,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
    /// Other facts that the diff states, such as a changed mode. Untrusted.
    pub notes: Vec<String>,
    /// How the edits of the answer were placed, each way once, as in `exact-moved`. Empty if that is not known.
    pub placed: Vec<String>,
    /// How each edit of the answer was placed. Empty if that is not known. The lines are those of the base at the time of the request.
    pub edits: Vec<ReviewedEdit>,
    /// Repairs that were needed to read the file's part of the answer, a sentence each. Untrusted.
    pub repairs: Vec<String>,
    /// True if the text is not UTF-8, so that the lines here do not show every byte.
    pub is_lossy: bool,
    /// Hunks, in order.
    pub hunks: Vec<ReviewedHunk>,
}

/// Edit of the answer, as it was placed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewedEdit {
    /// Rung on which its place was found, as in `exact-moved`. `None` if it was not found.
    pub rung: Option<String>,
    /// Line of the base at which it was found, 1 for the first. `None` if it was not found.
    pub found_line: Option<u64>,
    /// Line that the answer states. `None` if it states none.
    pub stated_line: Option<u64>,
    /// Repairs that were needed, a sentence each. Untrusted.
    pub repairs: Vec<String>,
}

/// Kind of the change of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileChangeKind {
    /// The file is there before and after.
    #[default]
    Changed,
    /// The file is new.
    Added,
    /// The file is removed.
    Removed,
}

/// Hunk of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewedHunk {
    /// Header, as in `@@ -1,3 +1,4 @@`. Untrusted.
    pub header: String,
    /// Lines, in order.
    pub lines: Vec<ReviewedLine>,
}

/// Line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewedLine {
    /// Kind of the line.
    pub kind: ReviewedLineKind,
    /// Number in the old file, 1 for the first. `None` if the line is added, or a note.
    pub old: Option<u64>,
    /// Number in the new file, 1 for the first. `None` if the line is removed, or a note.
    pub new: Option<u64>,
    /// Text without its line feed. Untrusted.
    pub text: String,
}

/// Kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewedLineKind {
    /// The line stays.
    Same,
    /// The line is new.
    Added,
    /// The line is removed.
    Removed,
    /// Remark of the diff on the line before, as that it has no line feed.
    Note,
}

/// Parses a canonical diff. Binary data becomes two notes with size and SHA-256 of the content before and after.
pub fn read_files(diff: &[u8]) -> Vec<ReviewedFile> {
    split_diff(&describe_binary(diff))
        .iter()
        .map(|file| {
            let header = file.part_text([]);
            let mut read = read_header(&String::from_utf8_lossy(&header));
            let mut is_lossy = std::str::from_utf8(&header).is_err();
            for at in 0..file.hunks.len() {
                let text = file.part_text([at]);
                let text = text.get(header.len()..).unwrap_or_default();
                is_lossy |= std::str::from_utf8(text).is_err();
                let start = file
                    .hunks
                    .get(at)
                    .map_or((0, 0), |hunk| (hunk.old_start, hunk.new_start));
                read.hunks.push(read_hunk(&String::from_utf8_lossy(text), start));
            }
            let count = |kind| {
                let lines = read.hunks.iter().flat_map(|hunk| &hunk.lines);
                lines.filter(|line| line.kind == kind).count() as u64
            };
            read.added = count(ReviewedLineKind::Added);
            read.removed = count(ReviewedLineKind::Removed);
            read.is_lossy = is_lossy;
            read
        })
        .collect()
}

fn read_header(header: &str) -> ReviewedFile {
    let mut file = ReviewedFile::default();
    let mut names: Option<&str> = None;
    for line in header.lines() {
        if let Some(both) = line.strip_prefix("diff --git ") {
            names = Some(both);
        } else if line.starts_with("new file mode") {
            file.kind = FileChangeKind::Added;
            add_mode(&mut file, line);
        } else if line.starts_with("deleted file mode") {
            file.kind = FileChangeKind::Removed;
        } else if line.starts_with("index ") && line.ends_with(LINK_MODE) {
            file.notes
                .push("symbolic link; its text is the target".to_owned());
        } else if line.starts_with("index ") || line.starts_with("--- ") || line.starts_with("+++ ") {
            // The names are in the first line, and the ids of the contents tell a person nothing.
        } else {
            file.notes.push(line.to_owned());
        }
    }
    file.path = names.map(new_name).unwrap_or_default().to_owned();
    file
}

/// Mode of a symbolic link at the end of a line, as git writes it.
const LINK_MODE: &str = " 120000";

/// Adds the mode of a new file, unless it is the usual one.
fn add_mode(file: &mut ReviewedFile, line: &str) {
    if line.ends_with(LINK_MODE) {
        file.notes
            .push("symbolic link; its text is the target".to_owned());
        return;
    }
    if !line.ends_with(" 100644") {
        file.notes.push(line.to_owned());
    }
}

/// Returns the new name from `a/NAME b/NAME`: the text after the last ` b/`, with quotes as git writes them.
fn new_name(names: &str) -> &str {
    let quoted = names
        .rsplit_once(" \"b/")
        .map(|(_, name)| name.trim_end_matches('"'));
    let plain = || names.rsplit_once(" b/").map_or(names, |(_, name)| name);
    quoted.unwrap_or_else(plain)
}

fn read_hunk(text: &str, (mut old, mut new): (u64, u64)) -> ReviewedHunk {
    // Not `lines`, which takes a carriage return for a part of the line end and would hide it.
    let mut lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    let mut hunk = ReviewedHunk {
        header: lines.next().unwrap_or_default().to_owned(),
        lines: Vec::new(),
    };
    for line in lines {
        let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        let kind = match mark {
            "+" => ReviewedLineKind::Added,
            "-" => ReviewedLineKind::Removed,
            " " => ReviewedLineKind::Same,
            _ => ReviewedLineKind::Note,
        };
        let is_old = matches!(kind, ReviewedLineKind::Same | ReviewedLineKind::Removed);
        let is_new = matches!(kind, ReviewedLineKind::Same | ReviewedLineKind::Added);
        hunk.lines.push(ReviewedLine {
            kind,
            old: is_old.then_some(old),
            new: is_new.then_some(new),
            text: match kind {
                ReviewedLineKind::Note => line.to_owned(),
                ReviewedLineKind::Same | ReviewedLineKind::Added | ReviewedLineKind::Removed => {
                    rest.to_owned()
                }
            },
        });
        old = old.saturating_add(u64::from(is_old));
        new = new.saturating_add(u64::from(is_new));
    }
    hunk
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -3,2 +3,3 @@ fn x\n same\n-old\r\n+new\n++++ b/x\n\
                        \\ No newline at end of file\n\
                        diff --git a/n b/n\nnew file mode 100755\nindex 0..3\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+#!/bin/sh\n\
                        diff --git a/m b/m\nold mode 100644\nnew mode 100755\n\
                        diff --git a/d b/d\ndeleted file mode 100644\nindex 3..0\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";

    #[test]
    fn every_line_of_a_diff_is_read_with_its_numbers() {
        let mut seen = String::new();
        for file in read_files(DIFF.as_bytes()) {
            seen.push_str(&format!(
                "{} {:?} +{} -{} {:?}\n",
                file.path, file.kind, file.added, file.removed, file.notes
            ));
            for hunk in file.hunks {
                seen.push_str(&format!("  {}\n", hunk.header));
                for line in hunk.lines {
                    seen.push_str(&format!(
                        "    {:?} {:?} {:?} {:?}\n",
                        line.kind, line.old, line.new, line.text
                    ));
                }
            }
        }
        insta::assert_snapshot!(seen, @r##"
        a.txt Changed +2 -1 []
          @@ -3,2 +3,3 @@ fn x
            Same Some(3) Some(3) "same"
            Removed Some(4) None "old\r"
            Added None Some(4) "new"
            Added None Some(5) "+++ b/x"
            Note None None "\\ No newline at end of file"
        n Added +1 -0 ["new file mode 100755"]
          @@ -0,0 +1 @@
            Added None Some(1) "#!/bin/sh"
        m Changed +0 -0 ["old mode 100644", "new mode 100755"]
        d Removed +0 -1 []
          @@ -1 +0,0 @@
            Removed Some(1) None "gone"
        "##);
    }

    #[test]
    fn binary_files_and_links_are_told_by_what_they_are() {
        use std::sync::Arc;

        use agentos_landing::{Change, FileMode, FileState, RepoPath};
        let path = |name: &str| RepoPath::new(name).unwrap();
        let file = |content: &[u8]| Some(FileState::regular(content));
        let link = |target: &str| {
            Some(FileState {
                mode: FileMode::Symlink,
                content: Arc::from(target.as_bytes()),
            })
        };
        let change = Change::new(vec![
            (path("logo.bin"), file(b"\0"), file(b"a\0b")),
            (path("moved"), link("old.md"), link("new.md")),
            (path("new"), None, link("guide.md")),
        ]);
        let seen: Vec<String> = read_files(change.unwrap().canonical_diff())
            .into_iter()
            .map(|file| {
                let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
                let lines: Vec<_> = lines.map(|line| (line.kind, line.text.as_str())).collect();
                format!("{} {:?} {:?}", file.path, file.notes, lines)
            })
            .collect();
        insta::assert_snapshot!(seen.join("\n"), @r#"
        logo.bin ["binary before: 1 byte, sha256 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d", "binary after: 3 bytes, sha256 59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138"] []
        moved ["symbolic link; its text is the target"] [(Removed, "old.md"), (Note, "\\ No newline at end of file"), (Added, "new.md"), (Note, "\\ No newline at end of file")]
        new ["symbolic link; its text is the target"] [(Added, "guide.md"), (Note, "\\ No newline at end of file")]
        "#);
    }

    #[test]
    fn bytes_that_are_no_text_are_stated() {
        let mut diff = DIFF.as_bytes().to_vec();
        assert!(!read_files(&diff).iter().any(|file| file.is_lossy));
        let at = diff.iter().position(|byte| *byte == b'w').unwrap();
        diff[at] = 0xff;
        let lossy: Vec<bool> = read_files(&diff).iter().map(|file| file.is_lossy).collect();
        assert_eq!(lossy, [true, false, false, false]);
    }
}
