//! Bases and answers of any size, always the same ones.
//!
//! Owns: the made-up code and its edits, clean and damaged. Never: chance.

use std::sync::Arc;

use agentos_landing::{Change, FileMode, FileState, MemoryBase, RepoPath};

/// How large a case is.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Files that are edited.
    pub files: usize,
    /// Hunks in each of them.
    pub hunks: usize,
    /// Lines in each of them.
    pub lines: usize,
}

/// A base and an answer made for it.
pub struct Case {
    /// The base.
    pub base: MemoryBase,
    /// A clean git diff, or what the constructor says.
    pub answer: Vec<u8>,
}

type States = Vec<(RepoPath, Option<FileState>, Option<FileState>)>;

impl Case {
    /// Files of made-up code with changed lines at equal distances.
    pub fn new(shape: Shape) -> Self {
        let states = (0..shape.files).filter_map(|file| {
            let path = RepoPath::new(&format!("src/part_{}/file_{file}.rs", file % 40)).ok()?;
            let distance = (shape.lines / shape.hunks).max(1);
            let old = content((0..shape.lines).map(|at| line(file, at)));
            let new = content((0..shape.lines).map(|at| match at % distance {
                5 => format!("    let changed_{at} = other({file});\n"),
                _ => line(file, at),
            }));
            Some((path, Some(old), Some(new)))
        });
        Self::of(states.collect())
    }

    /// New files, and nothing that was there before.
    pub fn of_new_files(files: usize, bytes: usize) -> Self {
        let states = (0..files).filter_map(|file| {
            let path = RepoPath::new(&format!("new/file_{file}.rs")).ok()?;
            let lines = bytes / line(file, 100).len();
            Some((path, None, Some(content((0..lines).map(|at| line(file, at))))))
        });
        Self::of(states.collect())
    }

    /// A file of one line again and again, and an edit that fits everywhere in it.
    pub fn of_one_line_repeated(lines: usize) -> Self {
        let mut base = MemoryBase::default();
        base.put("src/same.rs", Arc::from("a\n".repeat(lines).into_bytes()));
        let answer = b"--- a/src/same.rs\n+++ b/src/same.rs\n@@ @@\n a\n a\n-a\n+b\n a\n".to_vec();
        Self { base, answer }
    }

    /// A diff of one file that goes on with one piece of text again and again.
    pub fn of_pieces(piece: &str, bytes: usize) -> Self {
        let mut base = MemoryBase::default();
        base.put("f", Arc::from(b"a\nb\n".to_vec()));
        let answer = format!("--- a/f\n+++ b/f\n{}", piece.repeat(bytes / piece.len()));
        Self {
            base,
            answer: answer.into_bytes(),
        }
    }

    /// One hunk whose context is told by every second line, with `...` between.
    pub fn of_elisions(elisions: usize) -> Self {
        let text: String = (0..=elisions * 2).map(|at| format!("line {at}\n")).collect();
        let mut base = MemoryBase::default();
        base.put("f", Arc::from(text.into_bytes()));
        let told: String = (0..elisions)
            .map(|at| format!(" line {}\n ...\n", at * 2))
            .collect();
        let answer = format!(
            "--- a/f\n+++ b/f\n@@ @@\n{told}-line {}\n+the end\n",
            elisions * 2
        );
        Self {
            base,
            answer: answer.into_bytes(),
        }
    }

    /// Search/replace blocks of one file: each replaces one line of two.
    pub fn of_blocks(blocks: usize) -> Self {
        let text: String = (0..blocks * 2).map(|at| format!("line {at}\n")).collect();
        let answer: String = (0..blocks)
            .map(|at| {
                let (stays, goes) = (at * 2, at * 2 + 1);
                format!(
                    "src/f.rs\n<<<<<<< SEARCH\nline {stays}\nline {goes}\n=======\nline {stays}\nnew {goes}\n>>>>>>> REPLACE\n\n"
                )
            })
            .collect();
        Self::of_text("src/f.rs", text, answer)
    }

    /// Diffs of one file of ten thousand lines, each made for what the one before it leaves.
    pub fn of_parts_in_turn(parts: usize) -> Self {
        let text: String = (0..10_000).map(|at| format!("line {at}\n")).collect();
        let answer: String = (0..parts)
            .map(|at| {
                let goes = if at == 0 {
                    "line 7".to_owned()
                } else {
                    format!("step {at}")
                };
                format!(
                    "--- a/f\n+++ b/f\n@@ @@\n line 6\n-{goes}\n+step {}\n line 8\n\n",
                    at + 1
                )
            })
            .collect();
        Self::of_text("f", text, answer)
    }

    /// Hunks of one file that stand nowhere in it, but nearly: what finding the nearest lines costs.
    pub fn of_near_misses(hunks: usize) -> Self {
        let text: String = (0..hunks * 10).map(|at| format!("line {at}\n")).collect();
        let hunks: String = (0..hunks)
            .map(|at| {
                let first = at * 10;
                format!(
                    "@@ @@\n line {first}\n-lime {}\n+new\n line {}\n",
                    first + 1,
                    first + 2
                )
            })
            .collect();
        Self::of_text("f", text, format!("--- a/f\n+++ b/f\n{hunks}"))
    }

    /// An answer without any edit.
    pub fn of_prose(bytes: usize) -> Self {
        let sentence = "First, open the file `src/lib.rs` -- then look for the place that the error names.\n";
        let answer = sentence.repeat(bytes / sentence.len()).into_bytes();
        Self {
            base: MemoryBase::default(),
            answer,
        }
    }

    fn of_text(path: &str, text: String, answer: String) -> Self {
        let mut base = MemoryBase::default();
        base.put(path, Arc::from(text.into_bytes()));
        Self {
            base,
            answer: answer.into_bytes(),
        }
    }

    fn of(states: States) -> Self {
        let mut base = MemoryBase::default();
        for (path, old, _) in &states {
            if let Some(old) = old {
                base.put(path.as_str(), Arc::clone(&old.content));
            }
        }
        let answer = Change::new(states).map(|change| change.canonical_diff().to_vec());
        Self {
            base,
            answer: answer.unwrap_or_default(),
        }
    }

    /// The answer as a sloppy model writes it: no numbers, no git header lines, no blanks at line ends, and prose
    /// and a fence around it.
    pub fn damaged(&self) -> Vec<u8> {
        let mut out = b"Here is the change:\n\n```diff\n".to_vec();
        for line in self.answer.split(|byte| *byte == b'\n') {
            if line.starts_with(b"diff --git ") || line.starts_with(b"index ") {
                continue;
            }
            let line = if line.starts_with(b"@@ ") { b"@@ @@" } else { line };
            out.extend(line.trim_ascii_end());
            out.push(b'\n');
        }
        out.extend(b"```\n");
        out
    }
}

fn content(lines: impl Iterator<Item = String>) -> FileState {
    FileState {
        mode: FileMode::Regular,
        content: Arc::from(lines.collect::<String>().into_bytes()),
    }
}

/// Mostly lines that differ, with the repetition and the odd blanks that real code has.
fn line(file: usize, at: usize) -> String {
    match at % 10 {
        0 => format!("fn step_{at}(input: &str) -> usize {{\n"),
        3 => "\n".to_owned(),
        7 => format!("    check(value_{});  \n", at - 1),
        8 => "    value\n".to_owned(),
        9 => "}\n".to_owned(),
        _ => format!("    let value_{at} = input.len() * {file} + {};\n", at % 97),
    }
}
