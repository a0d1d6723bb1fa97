//! Ranking of files for a task.
//!
//! Owns: the score: BM25 over the words of a text, plus the words of its path, less for generated files. Never: sees
//! more of a file than it is given. The cost grows with the bytes given and the words of the task.

use std::collections::HashMap;

use crate::query::TaskQuery;
use crate::words::{for_each_identifier, for_each_part, stem_word};

/// Parameters of BM25: how fast further occurrences of one word stop to count, and how much the length of a file
/// counts (Robertson and Zaragoza, 2009).
const K1: f64 = 1.2;
const B: f64 = 0.5;
/// Weight of a word in the folder, and of one in the file name, relative to a word of the text.
const FOLDER_WEIGHT: f64 = 0.8;
const NAME_WEIGHT: f64 = 2.0;
/// Factor for generated files and for data.
const GENERATED_FACTOR: f64 = 0.15;
/// Factor for tests: a task is usually about the code they test.
const TEST_FACTOR: f64 = 0.7;
/// Maximum number of words in the reason of a file.
const MAX_REASON_WORDS: usize = 3;

/// Number of a file that was added to the ranker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(usize);

/// Reason why a file belongs to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankReason {
    /// The task names the file.
    Named,
    /// Words of the task that are in its path or text, the one with the highest score first.
    Words(Vec<String>),
}

/// File with its rank.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedFile {
    /// Number of the file.
    pub file: FileId,
    /// Path of the file.
    pub path: String,
    /// Score. Higher is better; scores are comparable within one ranking only.
    pub score: f64,
    /// Reason for the rank.
    pub why: RankReason,
}

/// Collects files and ranks them.
#[derive(Debug)]
pub struct FileRanker<'q> {
    query: &'q TaskQuery,
    known: HashMap<&'q [u8], usize>,
    /// First letters of the words of the task, so that other words are passed over quickly.
    starts: [bool; 256],
    files: Vec<CollectedFile>,
}

#[derive(Debug)]
struct CollectedFile {
    path: String,
    // Named files first. Equal scores are sorted by path, so that one task always has one order.
    named: bool,
    /// For each word of the task in the path: its number and weight.
    in_path: Vec<(usize, f64)>,
    /// For each word of the task in the text: its number and how often it occurs.
    in_text: Vec<(usize, u32)>,
    /// Number of words of the text. `None` until the text was added.
    length: Option<u32>,
}

impl<'q> FileRanker<'q> {
    /// Creates a ranker without files.
    #[must_use]
    pub fn new(query: &'q TaskQuery) -> Self {
        let mut starts = [false; 256];
        let mut known = HashMap::new();
        for (at, term) in query.terms.iter().enumerate() {
            known.insert(term.stem.as_slice(), at);
            if let Some(first) = term.stem.first() {
                // A text is scanned as it is written, and the stem is in small letters.
                for byte in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
                    if let Some(start) = starts.get_mut(usize::from(byte)) {
                        *start = true;
                    }
                }
            }
        }
        Self {
            query,
            known,
            starts,
            files: Vec::new(),
        }
    }

    /// Adds a file by its path, with `/` between parts.
    pub fn add_path(&mut self, path: &str) -> FileId {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut in_path: Vec<(usize, f64)> = Vec::new();
        for (part, counts) in [(folder, FOLDER_WEIGHT), (name, NAME_WEIGHT)] {
            self.count_words(part.as_bytes(), |at| {
                match in_path.iter_mut().find(|(known, _)| *known == at) {
                    // A word in folder and name counts once, with the higher weight.
                    Some((_, best)) => *best = best.max(counts),
                    None => in_path.push((at, counts)),
                }
            });
        }
        let named = self.query.paths.iter().any(|asked| {
            // `parse.rs` in the task names `src/parse.rs`, but not `src/reparse.rs`.
            let above = path.strip_suffix(asked.as_str());
            above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
        });
        let id = FileId(self.files.len());
        self.files.push(CollectedFile {
            path: path.to_owned(),
            named,
            in_path,
            in_text: Vec::new(),
            length: None,
        });
        id
    }

    /// Returns the files in the order in which their texts should be read: if not all can be read, the best by path
    /// are read first.
    #[must_use]
    pub fn reading_order(&self) -> Vec<FileId> {
        let mut order: Vec<(f64, FileId)> = self
            .files
            .iter()
            .enumerate()
            .map(|(at, file)| (self.by_path(file), FileId(at)))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// Adds the text of a file. Content with a NUL byte is no text, so such a file counts by its path alone.
    pub fn add_text(&mut self, file: FileId, text: &[u8]) {
        if text.contains(&0) {
            return;
        }
        let mut counts = vec![0_u32; self.query.terms.len()];
        let length = self.count_words(text, |at| {
            if let Some(count) = counts.get_mut(at) {
                *count += 1;
            }
        });
        if let Some(file) = self.files.get_mut(file.0) {
            file.length = Some(length);
            let counts = counts.into_iter().enumerate();
            file.in_text = counts.filter(|(_, count)| *count > 0).collect();
        }
    }

    /// Returns the files that have a word of the task, best first; those with equal scores are sorted by path.
    #[must_use]
    pub fn rank_files(self) -> Vec<RankedFile> {
        let rarity = self.word_rarity();
        let read = self.files.iter().filter_map(|file| file.length);
        let (count, words) = read.fold((0_u32, 0_u64), |(count, words), length| {
            (count + 1, words + u64::from(length))
        });
        let usual = if count == 0 {
            1.0
        } else {
            (words as f64 / f64::from(count)).max(1.0)
        };
        let mut ranked = Vec::new();
        for (at, file) in self.files.iter().enumerate() {
            let told = self.matched_words(file, &rarity, usual);
            let mut score: f64 = told.iter().map(|(_, score)| score).sum();
            if is_generated(&file.path) {
                score *= GENERATED_FACTOR;
            // A task that mentions tests is about them.
            } else if is_test(&file.path) && !self.asks_for_tests() {
                score *= TEST_FACTOR;
            }
            if score <= 0.0 && !file.named {
                continue;
            }
            let why = if file.named {
                RankReason::Named
            } else {
                RankReason::Words(
                    told.iter()
                        .take(MAX_REASON_WORDS)
                        .map(|(word, _)| (*word).to_owned())
                        .collect(),
                )
            };
            ranked.push(RankedFile {
                file: FileId(at),
                path: file.path.clone(),
                score,
                why,
            });
        }
        let first = |file: &RankedFile| file.why == RankReason::Named;
        ranked.sort_by(|a, b| {
            let named = first(b).cmp(&first(a));
            named
                .then(b.score.total_cmp(&a.score))
                .then_with(|| a.path.cmp(&b.path))
        });
        ranked
    }

    /// Returns each word of the task that the file has, with its share of the score, highest first.
    fn matched_words(&self, file: &CollectedFile, rarity: &[f64], usual: f64) -> Vec<(&str, f64)> {
        let length = f64::from(file.length.unwrap_or(0));
        let mut told: Vec<(&str, f64)> = Vec::new();
        for (at, term) in self.query.terms.iter().enumerate() {
            let often = file.in_text.iter().find(|(known, _)| *known == at);
            let often = f64::from(often.map_or(0, |(_, count)| *count));
            let in_path = file.in_path.iter().find(|(known, _)| *known == at);
            let in_path = in_path.map_or(0.0, |(_, counts)| *counts);
            // Long files have more words of any kind, so the length relative to the usual one reduces their score.
            let in_text = often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * length / usual));
            let adds = term.weight * rarity.get(at).copied().unwrap_or(0.0) * (in_text + in_path);
            if adds > 0.0 {
                told.push((&term.written, adds));
            }
        }
        told.sort_by(|a, b| b.1.total_cmp(&a.1));
        told
    }

    fn asks_for_tests(&self) -> bool {
        self.known.contains_key(b"test".as_slice())
    }

    /// Returns how rare each word is: a word of every file does not point to any.
    fn word_rarity(&self) -> Vec<f64> {
        let all = self.files.len() as f64;
        let mut having = vec![0_u32; self.query.terms.len()];
        for file in &self.files {
            let mut found: Vec<usize> = file.in_text.iter().map(|(at, _)| *at).collect();
            found.extend(file.in_path.iter().map(|(at, _)| *at));
            found.sort_unstable();
            found.dedup();
            for at in found {
                if let Some(count) = having.get_mut(at) {
                    *count += 1;
                }
            }
        }
        let rarity = having.into_iter().map(|count| {
            let count = f64::from(count);
            // The inverse document frequency of BM25. The 1 inside keeps it positive for words that most files have.
            (1.0 + (all - count + 0.5) / (count + 0.5)).ln()
        });
        rarity.collect()
    }

    fn by_path(&self, file: &CollectedFile) -> f64 {
        let words = file.in_path.iter().map(|(at, counts)| {
            let weight = self.query.terms.get(*at).map_or(0.0, |term| term.weight);
            weight * counts
        });
        let score: f64 = words.sum();
        // More than any sum of weights, so a named file is always read first.
        let named = if file.named { 1000.0 } else { 0.0 };
        // Among files without a word of the task in their path, generated ones are read last.
        let written = if is_generated(&file.path) { -1.0 } else { 0.0 };
        named + score + written
    }

    /// Calls `each` with the number of every word of the task in a text. Returns the number of all its words.
    fn count_words(&self, text: &[u8], mut each: impl FnMut(usize)) -> u32 {
        let mut length = 0_u32;
        let mut buffer = Vec::new();
        let starts = |word: &[u8]| {
            let first = word.first().copied().map_or(0, usize::from);
            self.starts.get(first).copied().unwrap_or(false)
        };
        for_each_identifier(text, |whole| {
            length = length.saturating_add(1);
            let mut count = 0;
            let mut only_start = false;
            for_each_part(whole, |part| {
                count += 1;
                only_start = starts(part);
                if only_start
                    && stem_word(part, &mut buffer)
                    && let Some(at) = self.known.get(buffer.as_slice())
                {
                    each(*at);
                }
            });
            // An identifier counts by its parts and as a whole, so that `parse_hunk` finds both spellings.
            let compound = count > 1 || whole.contains(&b'_');
            if compound
                && starts(whole)
                && stem_word(whole, &mut buffer)
                && let Some(at) = self.known.get(buffer.as_slice())
            {
                each(*at);
            }
        });
        length
    }
}

fn is_test(path: &str) -> bool {
    let small = path.to_ascii_lowercase();
    let mut parts = small.split('/');
    parts.any(|part| {
        let stem = part.split_once('.').map_or(part, |(stem, _)| stem);
        matches!(stem, "test" | "tests" | "spec" | "specs" | "__tests__")
            || stem.starts_with("test_")
            || stem.ends_with("_test")
            || part.contains(".test.")
            || part.contains(".spec.")
    })
}

/// Returns true for files that programs generate, or that hold no text to work on.
fn is_generated(path: &str) -> bool {
    let small = path.to_ascii_lowercase();
    let name = small.rsplit('/').next().unwrap_or(&small);
    let parts = [
        "node_modules",
        "vendor",
        "third_party",
        "dist",
        "target",
        "snapshots",
        "fixtures",
        "testdata",
    ];
    let endings = [
        ".lock", ".min.js", ".min.css", ".map", ".snap", ".svg", ".csv", ".jsonl", ".patch", ".diff",
        ".pb.go", ".ipynb",
    ];
    let names = ["package-lock.json", "pnpm-lock.yaml", "go.sum", "changelog.md"];
    small.split('/').any(|part| parts.contains(&part))
        || endings.iter().any(|ending| name.ends_with(ending))
        || names.contains(&name)
}
