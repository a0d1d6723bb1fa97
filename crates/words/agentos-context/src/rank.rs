//! Files ranked for a task.
//!
//! Owns: the measure: BM25 over the words of a text, the words of a path on top, less for files that people do not
//! write. Never: sees more of a file than it is given. Cost grows with the bytes given and the words of the task.

use std::collections::HashMap;

use crate::query::Query;
use crate::words::{identifiers, parts, stem};

/// How fast more of one word stops to count, and how much a file's length does: the usual values of BM25
/// (Robertson and Zaragoza, 2009).
const K1: f64 = 1.2;
const B: f64 = 0.5;
/// What a word of the folder counts beside one of the text, and what one of the file's name does.
const IN_FOLDER: f64 = 0.8;
const IN_NAME: f64 = 2.0;
/// What files count that programs write, or that hold data.
const NOT_WRITTEN: f64 = 0.15;
/// What tests count: a task is about what they test, and seldom about them.
const TEST: f64 = 0.7;
/// Words told of a file.
const TOLD: usize = 3;

/// A file that was named to the ranker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(usize);

/// Why a file is thought to belong to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The task names it.
    Named,
    /// These words of the task are in its path or text, the weightiest first.
    Words(Vec<String>),
}

/// A file with its rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Which.
    pub file: FileId,
    /// Its path.
    pub path: String,
    /// Higher is better; comparable within one ranking only.
    pub score: f64,
    /// Why.
    pub why: Why,
}

/// Collects files and ranks them.
#[derive(Debug)]
pub struct Ranker<'q> {
    query: &'q Query,
    known: HashMap<&'q [u8], usize>,
    /// First letters of the words that are looked for, to pass over all others quickly.
    starts: [bool; 256],
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    path: String,
    named: bool,
    /// For each word: how much it counts in the path.
    in_path: Vec<(usize, f64)>,
    /// For each word that the text has: how often.
    in_text: Vec<(usize, u32)>,
    /// Words of the text; none until it was read.
    length: Option<u32>,
}

impl<'q> Ranker<'q> {
    /// A ranker without files.
    #[must_use]
    pub fn new(query: &'q Query) -> Self {
        let mut starts = [false; 256];
        let mut known = HashMap::new();
        for (at, term) in query.terms.iter().enumerate() {
            known.insert(term.stem.as_slice(), at);
            if let Some(first) = term.stem.first() {
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

    /// Takes a file by its path, parts separated by `/`.
    pub fn path(&mut self, path: &str) -> FileId {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut in_path: Vec<(usize, f64)> = Vec::new();
        for (part, counts) in [(folder, IN_FOLDER), (name, IN_NAME)] {
            self.words(part.as_bytes(), |at| {
                match in_path.iter_mut().find(|(known, _)| *known == at) {
                    Some((_, best)) => *best = best.max(counts),
                    None => in_path.push((at, counts)),
                }
            });
        }
        let named = self.query.paths.iter().any(|asked| {
            let above = path.strip_suffix(asked.as_str());
            above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
        });
        let id = FileId(self.files.len());
        self.files.push(File {
            path: path.to_owned(),
            named,
            in_path,
            in_text: Vec::new(),
            length: None,
        });
        id
    }

    /// The files in the order in which their texts are worth reading: where not all can be read, the best by path are.
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

    /// Takes a file's text. What holds a NUL byte is no text and counts by its path alone.
    pub fn text(&mut self, file: FileId, text: &[u8]) {
        if text.contains(&0) {
            return;
        }
        let mut counts = vec![0_u32; self.query.terms.len()];
        let length = self.words(text, |at| {
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

    /// The files that have anything to do with the task, best first; those of one score by path.
    #[must_use]
    pub fn finish(self) -> Vec<Ranked> {
        let rarity = self.rarity();
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
            let told = self.told(file, &rarity, usual);
            let mut score: f64 = told.iter().map(|(_, score)| score).sum();
            if is_not_written(&file.path) {
                score *= NOT_WRITTEN;
            } else if is_test(&file.path) && !self.asks_for_tests() {
                score *= TEST;
            }
            if score <= 0.0 && !file.named {
                continue;
            }
            let why = if file.named {
                Why::Named
            } else {
                Why::Words(
                    told.iter()
                        .take(TOLD)
                        .map(|(word, _)| (*word).to_owned())
                        .collect(),
                )
            };
            ranked.push(Ranked {
                file: FileId(at),
                path: file.path.clone(),
                score,
                why,
            });
        }
        let first = |file: &Ranked| file.why == Why::Named;
        ranked.sort_by(|a, b| {
            let named = first(b).cmp(&first(a));
            named
                .then(b.score.total_cmp(&a.score))
                .then_with(|| a.path.cmp(&b.path))
        });
        ranked
    }

    /// Each word of the task that the file has, with what it adds, the weightiest first.
    fn told(&self, file: &File, rarity: &[f64], usual: f64) -> Vec<(&str, f64)> {
        let length = f64::from(file.length.unwrap_or(0));
        let mut told: Vec<(&str, f64)> = Vec::new();
        for (at, term) in self.query.terms.iter().enumerate() {
            let often = file.in_text.iter().find(|(known, _)| *known == at);
            let often = f64::from(often.map_or(0, |(_, count)| *count));
            let in_path = file.in_path.iter().find(|(known, _)| *known == at);
            let in_path = in_path.map_or(0.0, |(_, counts)| *counts);
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

    /// How rare each word is: a word of every file says nothing.
    fn rarity(&self) -> Vec<f64> {
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
            (1.0 + (all - count + 0.5) / (count + 0.5)).ln()
        });
        rarity.collect()
    }

    fn by_path(&self, file: &File) -> f64 {
        let words = file.in_path.iter().map(|(at, counts)| {
            let weight = self.query.terms.get(*at).map_or(0.0, |term| term.weight);
            weight * counts
        });
        let score: f64 = words.sum();
        let named = if file.named { 1000.0 } else { 0.0 };
        // Among files that the path says nothing of, those that people write come first.
        let written = if is_not_written(&file.path) { -1.0 } else { 0.0 };
        named + score + written
    }

    /// Calls `each` with the place of every word of the task in a text; the answer is how many words there are at all.
    fn words(&self, text: &[u8], mut each: impl FnMut(usize)) -> u32 {
        let mut length = 0_u32;
        let mut buffer = Vec::new();
        let starts = |word: &[u8]| {
            let first = word.first().copied().map_or(0, usize::from);
            self.starts.get(first).copied().unwrap_or(false)
        };
        identifiers(text, |whole| {
            length = length.saturating_add(1);
            let mut count = 0;
            let mut only_start = false;
            parts(whole, |part| {
                count += 1;
                only_start = starts(part);
                if only_start
                    && stem(part, &mut buffer)
                    && let Some(at) = self.known.get(buffer.as_slice())
                {
                    each(*at);
                }
            });
            let compound = count > 1 || whole.contains(&b'_');
            if compound
                && starts(whole)
                && stem(whole, &mut buffer)
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

/// Files that programs write, or that hold no text to work on.
fn is_not_written(path: &str) -> bool {
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
