//! Ranking of files for a task.
//!
//! Owns: the score: BM25 over the words of a text, the words of its path, and the history of the file, less for generated
//! files, tests and prose. Never: sees more of a file than it is given. The cost grows with the bytes given and the words of
//! the task.

use std::collections::HashMap;

use crate::kind::{PROSE_WORDS, is_generated, is_prose, is_test};
use crate::query::TaskQuery;
use crate::words::{for_each_identifier, for_each_part, stem_word};

/// Parameters of BM25: how fast further occurrences of one word stop to count, and how much the length of a file
/// counts (Robertson and Zaragoza, 2009).
pub(crate) const K1: f64 = 1.2;
const B: f64 = 0.5;
/// Weight of a word in the folder, and of one in the file name, relative to a word of the text.
const FOLDER_WEIGHT: f64 = 0.8;
const NAME_WEIGHT: f64 = 2.0;
/// Factor for generated files and for data.
const GENERATED_FACTOR: f64 = 0.15;
/// Factor for tests: a task is usually about the code they test.
const TEST_FACTOR: f64 = 0.3;
/// Factor for prose and settings: they have the words of a task, but most tasks change code.
const PROSE_FACTOR: f64 = 0.4;
/// Weight of the commits whose subjects resemble the task, relative to the best text.
const RESEMBLANCE_WEIGHT: f64 = 0.6;
/// Score at which a resemblance counts half: one common word is no resemblance.
const HALF_RESEMBLANCE: f64 = 5.0;
/// Weight of having been changed often and lately.
const RECENCY_WEIGHT: f64 = 0.25;
/// Number of commits after which a change counts half.
const HALF_LIFE: f64 = 100.0;
/// Number of commits from which recency counts half.
const HALF_HISTORY: f64 = 20.0;
/// Maximum number of files of a commit that counts. One of more files renames or formats, and says nothing about each.
const MOST_CHANGED: usize = 30;
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
    /// The file matches a pattern, or is in a folder, that the task names.
    Matched,
    /// Words of the task that are in its path or text, the one with the highest score first.
    Words(Vec<String>),
    /// No word, but earlier commits changed it: often, lately, or for a similar task.
    History,
}

/// Commit of the history, as far as the ranking needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastCommit {
    /// First line of the message.
    pub subject: String,
    /// Paths of the changed files.
    pub paths: Vec<String>,
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
    /// Changes of the ranked files, newest first.
    history: Vec<PastChange>,
}

/// Commit of the history, with the numbers of its files and of the words that it shares with the task.
#[derive(Debug)]
struct PastChange {
    age: f64,
    words: Vec<usize>,
    files: Vec<usize>,
}

/// Score of a file by its history: by commits that resemble the task, and by its recent changes.
#[derive(Debug, Clone, Copy, Default)]
struct PastScore {
    resemblance: f64,
    recency: f64,
}

#[derive(Debug)]
struct CollectedFile {
    path: String,
    // Named files first. Equal scores are sorted by path, so that one task always has one order.
    named: bool,
    matched: bool,
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
            history: Vec::new(),
        }
    }

    /// Adds the history, newest commit first, after all paths were added.
    pub fn add_history(&mut self, commits: &[PastCommit]) {
        let paths = self.files.iter().enumerate();
        let known: HashMap<&str, usize> = paths.map(|(at, file)| (file.path.as_str(), at)).collect();
        let mut history = Vec::new();
        for (age, commit) in commits.iter().enumerate() {
            let files: Vec<usize> = commit
                .paths
                .iter()
                .filter_map(|path| known.get(path.as_str()).copied())
                .collect();
            if files.is_empty() || files.len() > MOST_CHANGED {
                continue;
            }
            let mut words = Vec::new();
            self.count_words(commit.subject.as_bytes(), |at| words.push(at));
            words.sort_unstable();
            words.dedup();
            history.push(PastChange {
                age: age as f64,
                words,
                files,
            });
        }
        self.history = history;
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
            matched: false,
            in_path,
            in_text: Vec::new(),
            length: None,
        });
        id
    }

    /// Marks a file as named, as if the task contained its path.
    pub fn mark_named(&mut self, file: FileId) {
        if let Some(file) = self.files.get_mut(file.0) {
            file.named = true;
        }
    }

    /// Marks a file as one of those that a pattern of the user means.
    pub fn mark_matched(&mut self, file: FileId) {
        if let Some(file) = self.files.get_mut(file.0) {
            file.matched = true;
        }
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

    /// Returns the files that have a word of the task or a history, best first; those with equal scores are sorted by path.
    #[must_use]
    pub fn rank_files(&self) -> Vec<RankedFile> {
        let rarity = self.word_rarity();
        let usual = self.usual_length();
        let past = self.score_history(&rarity);
        let matched: Vec<Vec<(&str, f64)>> = self
            .files
            .iter()
            .map(|file| self.matched_words(file, &rarity, usual))
            .collect();
        let sums: Vec<f64> = matched.iter().map(|words| sum_scores(words)).collect();
        let best = largest(sums.iter().copied());
        let mut ranked = Vec::new();
        for (at, ((file, words), sum)) in self.files.iter().zip(&matched).zip(&sums).enumerate() {
            let past = past.get(at).copied().unwrap_or_default();
            let by_history = RESEMBLANCE_WEIGHT * past.resemblance + RECENCY_WEIGHT * past.recency;
            let score = (sum / best + by_history) * self.kind_factor(&file.path);
            if score <= 0.0 && !file.named && !file.matched {
                continue;
            }
            let why = if file.named {
                RankReason::Named
            } else if file.matched {
                RankReason::Matched
            } else if words.is_empty() {
                RankReason::History
            } else {
                let first = words.iter().take(MAX_REASON_WORDS);
                RankReason::Words(first.map(|(word, _)| (*word).to_owned()).collect())
            };
            ranked.push(RankedFile {
                file: FileId(at),
                path: file.path.clone(),
                score,
                why,
            });
        }
        let group = |file: &RankedFile| match file.why {
            RankReason::Named => 0,
            RankReason::Matched => 1,
            RankReason::Words(_) | RankReason::History => 2,
        };
        ranked.sort_by(|a, b| {
            let groups = group(a).cmp(&group(b));
            groups
                .then(b.score.total_cmp(&a.score))
                .then_with(|| a.path.cmp(&b.path))
        });
        ranked
    }

    /// Returns the average number of words of the texts.
    fn usual_length(&self) -> f64 {
        let read = self.files.iter().filter_map(|file| file.length);
        let (count, words) = read.fold((0_u32, 0_u64), |(count, words), length| {
            (count + 1, words + u64::from(length))
        });
        // No text at all still needs a number to divide by.
        (words as f64 / f64::from(count.max(1))).max(1.0)
    }

    /// Returns the factor for the kind of a file.
    fn kind_factor(&self, path: &str) -> f64 {
        if is_generated(path) {
            GENERATED_FACTOR
        // A task that mentions tests or documents is about them.
        } else if is_test(path) && !self.asks_for(&["test"]) {
            TEST_FACTOR
        } else if is_prose(path) && !self.asks_for(&PROSE_WORDS) {
            PROSE_FACTOR
        } else {
            1.0
        }
    }

    /// Scores the files by the commits that changed them. Both scores are between 0 and 1.
    fn score_history(&self, rarity: &[f64]) -> Vec<PastScore> {
        let mut scores = vec![PastScore::default(); self.files.len()];
        for change in &self.history {
            let words = change.words.iter().map(|at| {
                let weight = self.query.terms.get(*at).map_or(0.0, |term| term.weight);
                weight * rarity.get(*at).copied().unwrap_or(0.0)
            });
            let resemblance: f64 = words.sum();
            let recency = 0.5_f64.powf(change.age / HALF_LIFE);
            // A commit of many files says less about each of them.
            let share = 1.0 / (change.files.len() as f64).sqrt();
            for file in &change.files {
                if let Some(score) = scores.get_mut(*file) {
                    score.resemblance += resemblance * share;
                    score.recency += recency * share;
                }
            }
        }
        let most_alike = largest(scores.iter().map(|score| score.resemblance));
        let most_recent = largest(scores.iter().map(|score| score.recency));
        let sureness = most_alike / (most_alike + HALF_RESEMBLANCE);
        // In a short history every file was changed lately.
        let commits = self.history.len() as f64;
        let length = commits / (commits + HALF_HISTORY);
        for score in &mut scores {
            score.resemblance = score.resemblance / most_alike * sureness;
            score.recency = (score.recency / most_recent).sqrt() * length;
        }
        scores
    }

    /// Returns each word of the task that the file has, with its share of the score, highest first.
    fn matched_words(&self, file: &CollectedFile, rarity: &[f64], usual: f64) -> Vec<(&str, f64)> {
        let length = f64::from(file.length.unwrap_or(0));
        let mut matched: Vec<(&str, f64)> = Vec::new();
        for (at, term) in self.query.terms.iter().enumerate() {
            let often = file.in_text.iter().find(|(known, _)| *known == at);
            let often = f64::from(often.map_or(0, |(_, count)| *count));
            let in_path = file.in_path.iter().find(|(known, _)| *known == at);
            let in_path = in_path.map_or(0.0, |(_, counts)| *counts);
            let in_text = saturate(often, length / usual, B);
            let adds = term.weight * rarity.get(at).copied().unwrap_or(0.0) * (in_text + in_path);
            if adds > 0.0 {
                matched.push((&term.written, adds));
            }
        }
        matched.sort_by(|a, b| b.1.total_cmp(&a.1));
        matched
    }

    /// Returns the number of words of the task.
    pub(crate) fn count_terms(&self) -> usize {
        self.query.terms.len()
    }

    /// Returns the weights of the words of the task.
    pub(crate) fn term_weights(&self) -> impl Iterator<Item = f64> {
        self.query.terms.iter().map(|term| term.weight)
    }

    fn asks_for(&self, stems: &[&str]) -> bool {
        stems.iter().any(|stem| self.known.contains_key(stem.as_bytes()))
    }

    /// Returns how rare each word is: a word of every file does not point to any.
    pub(crate) fn word_rarity(&self) -> Vec<f64> {
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
            inverse_frequency(count, all)
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
        let named = f64::from(u8::from(file.named)) * 2000.0 + f64::from(u8::from(file.matched)) * 1000.0;
        // Among files without a word of the task in their path, generated ones are read last.
        let written = if is_generated(&file.path) { -1.0 } else { 0.0 };
        named + score + written
    }

    /// Calls `each` with the number of every word of the task in a text. Returns the number of all its words.
    pub(crate) fn count_words(&self, text: &[u8], mut each: impl FnMut(usize)) -> u32 {
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

/// Returns the inverse document frequency of BM25 of a word that `count` of `all` texts have. The 1 inside keeps it positive for
/// words that most texts have.
pub(crate) fn inverse_frequency(count: f64, all: f64) -> f64 {
    (1.0 + (all - count + 0.5) / (count + 0.5)).ln()
}

/// Returns how much a word adds to a score that occurs `often` times in a text of a length relative to the usual one. Long texts
/// have more words of any kind, so the length reduces the score by the share `by_length`.
pub(crate) fn saturate(often: f64, length: f64, by_length: f64) -> f64 {
    often * (K1 + 1.0) / (often + K1 * (1.0 - by_length + by_length * length))
}

/// Returns the largest number, or a number close to 0 if there is none to divide by.
pub(crate) fn largest(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(f64::MIN_POSITIVE, f64::max)
}

fn sum_scores(words: &[(&str, f64)]) -> f64 {
    words.iter().map(|(_, score)| score).sum()
}
