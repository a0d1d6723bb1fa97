//! Finds text of withheld files in the lines that a change adds.
//!
//! | the change has | counts as taken |
//! |---|---|
//! | one line of at least 24 characters that is in a withheld file | if no readable file has this line |
//! | three different lines, anywhere in the change, that follow one another in a withheld file | if they follow one another in no readable file |
//! | a file whose whole content is that of a withheld file | if no readable file has this content |
//!
//! Blanks and signs at both ends of a line do not count, so an indented, quoted or commented line is the same line. Lines without a
//! letter or digit do not count at all, and three lines have at least 12 characters. The lines of a change are one set: it does not matter in how many hunks or files they are.
//!
//! Owns: what counts as taken. Never: reads a file or decides which file is withheld; the caller does both.

use std::collections::{HashMap, HashSet};

use agentos_landing::{Change, FileChange};

/// Fewest characters of a line that counts alone. Shorter lines are often equal by chance, as in `return None` or `## Usage`.
const LONG_LINE: usize = 24;
/// Fewest characters that such a line must have between its first and its last letter or digit.
const LONG_KEY: usize = 12;
/// Fewest characters of three lines together, counted like that.
const RUN_CHARACTERS: usize = 12;

/// Text of a withheld file that a change adds to another file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TakenText {
    /// Path to which the change adds it.
    pub path: String,
    /// Path of the withheld file.
    pub from: String,
}

/// Search for text of withheld files in one change. The withheld files are added first, then the readable ones.
#[derive(Debug)]
pub struct TakenSearch<'c> {
    /// Keys of the added lines, each with the first path that adds it.
    added: HashMap<&'c [u8], &'c str>,
    /// Whole contents of the files that the change makes or rewrites.
    contents: HashMap<&'c [u8], &'c str>,
    lines: HashMap<&'c [u8], TakenText>,
    runs: HashMap<[&'c [u8]; 3], TakenText>,
    copies: HashMap<&'c [u8], TakenText>,
    /// Keys that are in `lines` or in one of `runs`.
    wanted: HashSet<&'c [u8]>,
}

impl<'c> TakenSearch<'c> {
    /// Collects the lines that a change adds. Files for which `is_withheld` is true are left out: their readers are the same.
    #[must_use]
    pub fn new(change: &'c Change, is_withheld: impl Fn(&str) -> bool) -> Self {
        let mut search = Self {
            added: HashMap::new(),
            contents: HashMap::new(),
            lines: HashMap::new(),
            runs: HashMap::new(),
            copies: HashMap::new(),
            wanted: HashSet::new(),
        };
        for file in change.files() {
            if !is_withheld(file.path.as_str()) {
                search.add_file(file);
            }
        }
        search
    }

    fn add_file(&mut self, file: &'c FileChange) {
        let Some(new) = &file.new else {
            return;
        };
        let path = file.path.as_str();
        let old = file.old.as_ref().map_or(&[][..], |old| &old.content);
        if *new.content == *old {
            return;
        }
        if new.content.iter().any(|byte| is_word(*byte)) {
            self.contents.entry(&new.content).or_insert(path);
        }
        let kept: HashSet<&[u8]> = line_keys(old).map(|line| line.key).collect();
        for line in line_keys(&new.content).filter(|line| !kept.contains(line.key)) {
            self.added.entry(line.key).or_insert(path);
        }
    }

    /// Returns true if the change adds nothing that could be taken from a file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.contents.is_empty()
    }

    /// Compares the change with the text of a withheld file.
    pub fn add_withheld(&mut self, from: &str, text: &[u8]) {
        let taken = |path: &str| TakenText {
            path: path.to_owned(),
            from: from.to_owned(),
        };
        if let Some((content, path)) = self.contents.get_key_value(text) {
            self.copies.entry(content).or_insert_with(|| taken(path));
        }
        let mut window = [None; 3];
        for line in line_keys(text) {
            let found = self.added.get_key_value(line.key);
            if let Some((key, path)) = found
                && line.is_long()
            {
                self.lines.entry(key).or_insert_with(|| taken(path));
                self.wanted.insert(key);
            }
            if let Some((keys, path)) = follow(&mut window, found) {
                self.wanted.extend(keys);
                self.runs.entry(keys).or_insert_with(|| taken(path));
            }
        }
    }

    /// Returns true if the change has text of a withheld file, as far as the readable files that were added until now show.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        !(self.lines.is_empty() && self.runs.is_empty() && self.copies.is_empty())
    }

    /// Compares with the text of a readable file, and drops everything that this file has as well.
    pub fn add_readable(&mut self, text: &[u8]) {
        self.copies.remove(text);
        if self.wanted.is_empty() {
            return;
        }
        let mut window = [None; 3];
        for line in line_keys(text) {
            let found = self.wanted.get(line.key).copied();
            if let Some(key) = found {
                self.lines.remove(key);
            }
            if let Some((keys, ())) = follow(&mut window, found.as_ref().map(|key| (key, &()))) {
                self.runs.remove(&keys);
            }
        }
    }

    /// Returns what the change takes, each pair of paths once, sorted.
    #[must_use]
    pub fn into_findings(self) -> Vec<TakenText> {
        let lines = self.lines.into_values().chain(self.runs.into_values());
        let mut findings: Vec<TakenText> = lines.chain(self.copies.into_values()).collect();
        findings.sort();
        findings.dedup();
        findings
    }
}

/// Moves the window by one line. Returns the keys of the last three lines if the search has all of them, with the place of the last one.
fn follow<'c, P: Copy>(
    window: &mut [Option<&'c [u8]>; 3],
    found: Option<(&&'c [u8], &P)>,
) -> Option<([&'c [u8]; 3], P)> {
    window.rotate_left(1);
    window[2] = found.map(|(key, _)| *key);
    let (_, place) = found?;
    match *window {
        [Some(first), Some(second), Some(third)] => {
            let keys = [first, second, third];
            tells_something(keys).then_some((keys, *place))
        }
        _ => None,
    }
}

/// Returns false for three lines that any program may have in a row, such as `else`, `None` and `else`.
fn tells_something([first, second, third]: [&[u8]; 3]) -> bool {
    let characters = [first, second, third].map(count_characters);
    characters.iter().sum::<usize>() >= RUN_CHARACTERS && first != second && second != third && first != third
}

/// Line with the part of it that is compared.
struct KeyedLine<'t> {
    /// Line without blanks at its ends.
    trimmed: &'t [u8],
    /// Line from its first to its last letter or digit.
    key: &'t [u8],
}

impl KeyedLine<'_> {
    fn is_long(&self) -> bool {
        count_characters(self.trimmed) >= LONG_LINE && count_characters(self.key) >= LONG_KEY
    }
}

/// Returns the lines of a text that have a letter or a digit.
fn line_keys(text: &[u8]) -> impl Iterator<Item = KeyedLine<'_>> {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let first = line.iter().position(|byte| is_word(*byte))?;
        let last = line.iter().rposition(|byte| is_word(*byte))?;
        Some(KeyedLine {
            trimmed: line.trim_ascii(),
            key: line.get(first..=last)?,
        })
    })
}

/// Returns true for a letter or a digit; every byte of a character outside ASCII counts as a letter.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Counts the characters of UTF-8. For other encodings the number is near enough.
fn count_characters(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}
