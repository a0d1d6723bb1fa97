//! Random edits of real files, and their diff as a structure that damage can be done to.
//!
//! Owns: the edits. Deterministic: one seed makes one case. Never: damages anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentos_landing::{Change, FileState, RepoPath};

use super::vary::varied;
use crate::memory::{Memory, Tree};

/// A small generator of numbers; the same seed always gives the same ones.
pub struct Random(pub u64);

impl Random {
    /// The numbers of one class of damage in one round.
    pub fn for_round(seed: u64, round: usize, class: &str) -> Self {
        let mix = |state: u64, value: u64| (state ^ value).wrapping_mul(0x0100_0000_01B3).rotate_left(29);
        let state = class
            .bytes()
            .fold(mix(seed, round as u64), |state, byte| mix(state, u64::from(byte)));
        let mut random = Self(state | 1);
        // The first numbers of similar states are similar.
        (0..8).for_each(|_| {
            random.next();
        });
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// One hunk of the right diff.
#[derive(Clone)]
pub struct Hunk {
    pub old: (usize, usize),
    pub new: (usize, usize),
    /// The code line above, as git shows it.
    pub section: String,
    /// Mark and text; a mark of `\` is the note about the final newline.
    pub lines: Vec<(char, String)>,
}

/// One file of the right diff.
#[derive(Clone)]
pub struct File {
    pub path: String,
    pub old: Option<String>,
    pub new: Option<String>,
    pub hunks: Vec<Hunk>,
}

/// A base, an edit of it, and what it must come to.
pub struct Case {
    /// The canonical diff, with true `index` lines.
    pub diff: Vec<u8>,
    pub base: Memory,
    pub expected: Tree,
    pub files: Vec<File>,
}

/// Makes a case of some files of a repository.
pub fn case(random: &mut Random, sources: &[(String, String)]) -> Option<Case> {
    let sources: Vec<(String, String)> = sources
        .iter()
        .map(|(path, text)| (path.clone(), varied(random, text)))
        .collect();
    case_of(random, &sources)
}

/// Makes a case of these texts as they are.
pub fn case_of(random: &mut Random, sources: &[(String, String)]) -> Option<Case> {
    let mut base = Memory::default();
    for (path, text) in sources {
        base.put(path, "100644", text.as_bytes());
    }
    let mut touched: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
    let count = 1 + random.below(3.min(sources.len()));
    for _ in 0..count {
        let (path, text) = &sources[random.below(sources.len())];
        let new = edited(random, text);
        if new != *text {
            touched.insert(path.clone(), (Some(text.clone()), Some(new)));
        }
    }
    if random.one_in(6) {
        let (path, text) = &sources[random.below(sources.len())];
        touched.insert(format!("{path}.new.rs"), (None, Some(edited(random, text))));
    }
    if random.one_in(8) {
        let (path, text) = &sources[random.below(sources.len())];
        touched.insert(path.clone(), (Some(text.clone()), None));
    }
    let states = touched
        .iter()
        .map(|(path, (old, new))| {
            let state = |text: &Option<String>| text.as_ref().map(|text| FileState::regular(text.as_bytes()));
            Some((RepoPath::new(path).ok()?, state(old), state(new)))
        })
        .collect::<Option<Vec<_>>>()?;
    let change = Change::new(states).ok()?;
    if change.is_empty() {
        return None;
    }
    let expected = base.after(&change);
    let files = structure(&change);
    Some(Case {
        diff: change.canonical_diff().to_vec(),
        base,
        expected,
        files,
    })
}

/// The same edit in two steps: the second is made for what the first leaves.
pub fn in_two(random: &mut Random, case: &Case) -> Option<[Vec<File>; 2]> {
    let mut steps = [Vec::new(), Vec::new()];
    for file in &case.files {
        let path = || RepoPath::new(&file.path).ok();
        let state = |text: &str| Some(FileState::regular(text.as_bytes()));
        let (old, new) = (file.old.as_ref()?, file.new.as_ref()?);
        let middle = edited(random, old);
        let first = Change::new(vec![(path()?, state(old), state(&middle))]).ok()?;
        let second = Change::new(vec![(path()?, state(&middle), state(new))]).ok()?;
        if first.is_empty() || second.is_empty() || middle.is_empty() {
            return None;
        }
        for (step, change) in steps.iter_mut().zip([first, second]) {
            let mut files = structure(&change);
            if files.is_empty() {
                return None;
            }
            step.append(&mut files);
        }
    }
    Some(steps)
}

/// A few sites, each with a small edit as people make them.
fn edited(random: &mut Random, text: &str) -> String {
    // The mark is no part of the first line: people insert below it.
    if let Some(rest) = text.strip_prefix('\u{feff}') {
        return format!("\u{feff}{}", edited(random, rest));
    }
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if lines.len() < 4 {
        return format!("{text}added line{}", if text.ends_with('\n') { end } else { "" });
    }
    for _ in 0..=random.below(4) {
        let at = random.below(lines.len());
        match random.below(5) {
            0 => lines[at] = tweaked(random, &lines[at].clone()),
            1 => {
                let from = random.below(lines.len());
                let copies: Vec<String> = lines
                    .iter()
                    .skip(from)
                    .take(1 + random.below(4))
                    .cloned()
                    .collect();
                for (offset, line) in copies.into_iter().enumerate() {
                    let line = if line.ends_with('\n') { line } else { line + end };
                    let line = tweaked(random, &line);
                    lines.insert(at + offset, line);
                }
            }
            2 => {
                let count = (1 + random.below(3)).min(lines.len() - at);
                lines.drain(at..at + count);
            }
            3 => {
                let here = lines[at].clone();
                lines[at] = tweaked(random, &here);
                // As deep as the next line, as an author writes it.
                let blanks = here.len() - here.trim_start_matches([' ', '\t']).len();
                let indent = here.get(..blanks).unwrap_or_default();
                lines.insert(
                    at,
                    format!(
                        "{indent}let added_{} = {};{end}",
                        random.below(90),
                        random.below(90)
                    ),
                );
            }
            _ => {
                let other = (at + 1).min(lines.len() - 1);
                if lines[other].ends_with('\n') && lines[at].ends_with('\n') {
                    lines.swap(at, other);
                }
            }
        }
        if lines.len() < 2 {
            break;
        }
    }
    let new = lines.concat();
    // Only a diff can say that a file gains its final newline. Such an edit is left out.
    if new.ends_with('\n') && !text.ends_with('\n') {
        return text.to_owned();
    }
    new
}

/// The line with one letter changed.
fn tweaked(random: &mut Random, line: &str) -> String {
    let letters: Vec<usize> = line
        .char_indices()
        .filter(|(_, letter)| letter.is_ascii_alphabetic())
        .map(|(at, _)| at)
        .collect();
    let Some(at) = letters.get(random.below(letters.len())) else {
        return line.to_owned();
    };
    let (head, tail) = line.split_at(*at);
    let word = ["x", "value", "q_"][random.below(3)];
    format!("{head}{word}{}", tail.split_at(1).1)
}

/// The canonical diff, read back.
fn structure(change: &Change) -> Vec<File> {
    let text = String::from_utf8_lossy(change.canonical_diff()).into_owned();
    let parts = text.split("diff --git ").skip(1);
    let text_of = |state: &Option<FileState>| {
        state
            .as_ref()
            .map(|state| String::from_utf8_lossy(&Arc::clone(&state.content)).into_owned())
    };
    // A body line may hold the words that begin a part: such a diff is not used.
    let parts: Vec<&str> = parts.collect();
    if parts.len() != change.files().len() {
        return Vec::new();
    }
    parts
        .iter()
        .zip(change.files())
        .map(|(part, file)| File {
            path: file.path.as_str().to_owned(),
            old: text_of(&file.old),
            new: text_of(&file.new),
            hunks: hunks(part, &text_of(&file.old).unwrap_or_default()),
        })
        .collect()
}

fn hunks(part: &str, old: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for line in part.split_inclusive('\n') {
        let line = line.strip_suffix('\n').unwrap_or(line);
        if let Some(rest) = line.strip_prefix("@@ -") {
            let (a, b) = rest.trim_end_matches(" @@").split_once(" +").expect("two spans");
            let span = |text: &str| {
                let (start, count) = text.split_once(',').unwrap_or((text, "1"));
                (start.parse().expect("a number"), count.parse().expect("a number"))
            };
            let old_span: (usize, usize) = span(a);
            hunks.push(Hunk {
                old: old_span,
                new: span(b),
                section: section(old, old_span.0),
                lines: Vec::new(),
            });
        } else if let Some(hunk) = hunks.last_mut() {
            let mark = line.chars().next().unwrap_or(' ');
            hunk.lines
                .push((mark, line.get(1..).unwrap_or_default().to_owned()));
        }
    }
    hunks
}

/// The same hunks at other stated lines. `None` if one of them fits exactly where it then states: that text is the right diff of
/// another edit, and nothing in it shows the first.
pub fn moved(mut files: Vec<File>, mut by: impl FnMut() -> usize) -> Option<Vec<File>> {
    for file in &mut files {
        for at in 0..file.hunks.len() {
            let off = by();
            if fits_at(file, at, file.hunks[at].old.0 + off) {
                return None;
            }
            file.hunks[at].old.0 += off;
            file.hunks[at].new.0 += off;
        }
    }
    Some(files)
}

/// A hunk has exactly the lines of the file from this one on, which is not its own.
pub fn fits_at(file: &File, hunk: usize, line: usize) -> bool {
    let hunk = &file.hunks[hunk];
    let old = hunk.lines.iter().filter(|(mark, _)| matches!(mark, ' ' | '-'));
    let old: Vec<&str> = old.map(|(_, text)| text.as_str()).collect();
    let there = file.old.as_deref().unwrap_or_default().lines();
    let there: Vec<&str> = there.skip(line.saturating_sub(1)).take(old.len()).collect();
    line != hunk.old.0 && !old.is_empty() && old == there
}

/// The nearest line above that begins with a letter.
fn section(old: &str, start: usize) -> String {
    let lines: Vec<&str> = old.lines().take(start.saturating_sub(1)).collect();
    let found = lines
        .iter()
        .rev()
        .find(|line| line.starts_with(|letter: char| letter.is_ascii_alphabetic()));
    found
        .map(|line| line.chars().take(40).collect())
        .unwrap_or_default()
}
