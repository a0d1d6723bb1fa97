//! Ranking of files for a task.
//!
//! Owns: the score: BM25 over the words of a text, the words of its path, and the history of the file, less for generated
//! files, tests and prose. Never: sees more of a file than it is given. The cost grows with the bytes given and the words of
//! the task.

use std::collections::HashMap;

use crate::kind::{KindFactors, PROSE_WORDS, PathKinds};
use crate::query::TaskQuery;
use crate::word_key::{WordKey, for_each_stem};
use crate::words::WordStarts;

mod neighbours;
mod order;
mod past;
mod paths;
mod sort;

pub(crate) use neighbours::{FileNeighbour, NearFile};
pub(crate) use order::FileScores;
use past::PastChange;
pub use past::PastCommit;

/// Parameters of BM25: how fast further occurrences of one word stop to count, and how much the length of a file
/// counts (Robertson and Zaragoza, 2009).
pub(crate) const K1: f64 = 1.2;
const B: f64 = 0.5;
/// Weight of a word in the folder, and of one in the file name, relative to a word of the text.
const FOLDER_WEIGHT: f64 = 2.2;
const NAME_WEIGHT: f64 = 3.0;
/// Factor for a word in the path that is also in the area in front of the task.
const AREA_FACTOR: f64 = 2.5;
/// Weight of the commits whose subjects resemble the task, relative to the best text.
const RESEMBLANCE_WEIGHT: f64 = 0.6;
/// Weight of having been changed often and lately.
const RECENCY_WEIGHT: f64 = 0.25;
/// Maximum number of words in the reason of a file.
const MAX_REASON_WORDS: usize = 3;

/// Number of a file that was added to the ranker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(usize);

impl FileId {
    /// Returns the position of the file among all that were added.
    #[must_use]
    pub fn position(self) -> usize {
        self.0
    }
}

/// Reason why a file belongs to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankReason {
    /// The task names the file.
    Named,
    /// The file matches a pattern, or is in a folder, that the task names.
    Matched,
    /// Words of the task that are in its path or text, the one with the highest score first.
    Words(Vec<String>),
    /// No word, but a good file imports it, or it tests one: the path of that file.
    Near(String),
    /// No word, but earlier commits changed it: often, lately, or for a similar task.
    History,
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
    /// Beginnings of the words of the task, so that other words are passed over quickly.
    starts: WordStarts,
    files: Vec<CollectedFile>,
    /// For each word of the task: the files with it in their text and how often, sorted by file.
    in_text: Vec<Vec<(usize, u32)>>,
    /// For each word of the task: the files with it in their path and its weight, sorted by file.
    in_path: Vec<Vec<(usize, f64)>>,
    /// Folder of the file that was added last. Listings are sorted, so most files share the folder of the one before them.
    last_folder: KnownFolder,
    /// Changes of the ranked files, newest first.
    history: Vec<PastChange>,
}

/// Folder that was looked at.
#[derive(Debug, Default)]
struct KnownFolder {
    path: String,
    /// Words of the task in the path.
    words: Vec<usize>,
    kinds: PathKinds,
}

#[derive(Debug)]
struct CollectedFile {
    path: String,
    // Named files first. Equal scores are sorted by path, so that one task always has one order.
    named: bool,
    matched: bool,
    kinds: PathKinds,
    /// Number of words of the text. `None` until the text was added.
    length: Option<u32>,
}

impl<'q> FileRanker<'q> {
    /// Creates a ranker without files.
    #[must_use]
    pub fn new(query: &'q TaskQuery) -> Self {
        let mut starts = WordStarts::default();
        let mut known = HashMap::new();
        for (at, term) in query.terms.iter().enumerate() {
            known.insert(term.stem.as_slice(), at);
            starts.add_stem(&term.stem);
        }
        Self {
            query,
            known,
            starts,
            files: Vec::new(),
            in_text: vec![Vec::new(); query.terms.len()],
            in_path: vec![Vec::new(); query.terms.len()],
            last_folder: KnownFolder::default(),
            history: Vec::new(),
        }
    }

    /// Adds a file by its path, with `/` between parts.
    pub fn add_path(&mut self, path: &str) -> FileId {
        let id = FileId(self.files.len());
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if folder != self.last_folder.path {
            let mut words = Vec::new();
            self.count_words(folder.as_bytes(), |at| words.push(at));
            self.last_folder = KnownFolder {
                path: folder.to_owned(),
                words,
                kinds: PathKinds::of_folder(folder),
            };
        }
        let mut words = Vec::new();
        self.count_words(name.as_bytes(), |at| words.push(at));
        let names = words.into_iter().map(|at| (at, NAME_WEIGHT));
        let folders = self.last_folder.words.iter().map(|at| (*at, FOLDER_WEIGHT));
        for (at, weight) in names.chain(folders) {
            let Some(list) = self.in_path.get_mut(at) else {
                continue;
            };
            // A word in folder and name counts once, with the higher weight, which comes first.
            if list.last().is_none_or(|(file, _)| *file != id.0) {
                let is_area = self.query.terms.get(at).is_some_and(|term| term.is_area);
                list.push((id.0, if is_area { weight * AREA_FACTOR } else { weight }));
            }
        }
        let named = self.query.paths.iter().any(|asked| {
            // `parse.rs` in the task names `src/parse.rs`, but not `src/reparse.rs`.
            let above = path.strip_suffix(asked.as_str());
            above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
        });
        self.files.push(CollectedFile {
            path: path.to_owned(),
            named,
            matched: false,
            kinds: self.last_folder.kinds.with_name(name),
            length: None,
        });
        id
    }

    /// Finds a file by its path. `None` if it was not added.
    #[must_use]
    pub fn find_path(&self, path: &str) -> Option<FileId> {
        self.files.iter().position(|file| file.path == path).map(FileId)
    }

    /// Lists the files in the order in which they were added.
    pub fn list_ids(&self) -> impl Iterator<Item = FileId> {
        (0..self.files.len()).map(FileId)
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

    /// Returns the files in the order in which their texts should be read for this task: if not all can be read, the best by
    /// path are read first.
    #[must_use]
    pub fn reading_order(&self) -> Vec<FileId> {
        let mut scores = vec![0.0; self.files.len()];
        for (term, paths) in self.query.terms.iter().zip(&self.in_path) {
            for (at, counts) in paths {
                if let Some(score) = scores.get_mut(*at) {
                    *score += term.weight * counts;
                }
            }
        }
        let mut order: Vec<(u8, f64, usize)> = Vec::new();
        for (at, (file, score)) in self.files.iter().zip(scores).enumerate() {
            // Among files without a word of the task in their path, generated ones are read last.
            let score = score - f64::from(u8::from(file.kinds.is_generated));
            order.push((file.group(), score, at));
        }
        order.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        order.into_iter().map(|(_, _, at)| FileId(at)).collect()
    }

    /// Returns the files in an order that does not depend on the task, so that an index of texts serves every task: generated
    /// ones last.
    #[must_use]
    pub fn stable_order(&self) -> Vec<FileId> {
        let files = self.files.iter().enumerate();
        let (generated, written): (Vec<_>, Vec<_>) = files.partition(|(_, file)| file.kinds.is_generated);
        let order = written.into_iter().chain(generated);
        order.map(|(at, _)| FileId(at)).collect()
    }

    /// Returns the keys of the words of the task, for [`FileRanker::add_count`].
    #[must_use]
    pub fn word_keys(&self) -> Vec<WordKey> {
        let terms = self.query.terms.iter();
        terms.map(|term| WordKey::from_stem(&term.stem)).collect()
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
        self.set_length(file, length);
        for (at, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            self.add_count(file, at, count);
        }
    }

    /// Sets the number of words of a file's text, whose words were counted before. A file without a length counts by its path
    /// alone.
    pub fn set_length(&mut self, file: FileId, length: u32) {
        if let Some(file) = self.files.get_mut(file.0) {
            file.length = Some(length);
        }
    }

    /// Adds the number of occurrences of one word of the task in a file's text. `word` is the word's position in
    /// [`FileRanker::word_keys`].
    pub fn add_count(&mut self, file: FileId, word: usize, count: u32) {
        let Some(list) = self.in_text.get_mut(word) else {
            return;
        };
        match list.last() {
            Some((last, _)) if *last >= file.0 => match list.binary_search_by_key(&file.0, |(file, _)| *file)
            {
                Ok(at) => {
                    if let Some((_, known)) = list.get_mut(at) {
                        *known = count;
                    }
                }
                Err(at) => list.insert(at, (file.0, count)),
            },
            Some(_) | None => list.push((file.0, count)),
        }
    }

    fn find_reason(&self, at: usize, file: &CollectedFile, weights: &[f64], usual: f64) -> RankReason {
        if file.named {
            return RankReason::Named;
        }
        if file.matched {
            return RankReason::Matched;
        }
        let words = self.matched_words(at, file, weights, usual);
        if words.is_empty() {
            return RankReason::History;
        }
        let first = words.into_iter().take(MAX_REASON_WORDS);
        RankReason::Words(first.map(|(word, _)| word.to_owned()).collect())
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

    /// Returns the factors for the kinds of files.
    fn kind_factors(&self) -> KindFactors {
        KindFactors::of_task(self.asks_for(&["test"]), self.asks_for(&PROSE_WORDS))
    }

    /// Returns the sum of the scores of the words of each file.
    fn sum_scores(&self, weights: &[f64], usual: f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.files.len()];
        for (weight, (texts, paths)) in weights.iter().zip(self.in_text.iter().zip(&self.in_path)) {
            for (at, often) in texts {
                if let Some((sum, file)) = sums.get_mut(*at).zip(self.files.get(*at)) {
                    *sum += weight * file.saturate_count(*often, usual);
                }
            }
            for (at, counts) in paths {
                if let Some(sum) = sums.get_mut(*at) {
                    *sum += weight * counts;
                }
            }
        }
        sums
    }

    /// Returns each word of the task that the file has, with its share of the score, highest first.
    fn matched_words(
        &self,
        at: usize,
        file: &CollectedFile,
        weights: &[f64],
        usual: f64,
    ) -> Vec<(&str, f64)> {
        let mut matched: Vec<(&str, f64)> = Vec::new();
        let lists = self.in_text.iter().zip(&self.in_path);
        for ((term, weight), (texts, paths)) in self.query.terms.iter().zip(weights).zip(lists) {
            let often = find_use(texts, at).unwrap_or(0);
            let in_path = find_use(paths, at).unwrap_or(0.0);
            let adds = weight * (file.saturate_count(often, usual) + in_path);
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
        // The number of the last word that was found in each file, so that a file counts once for each word.
        let mut seen = vec![usize::MAX; self.files.len()];
        let lists = self.in_text.iter().zip(&self.in_path).enumerate();
        let rarity = lists.map(|(word, (texts, paths))| {
            let mut count = 0_u32;
            let files = texts.iter().map(|(at, _)| *at);
            for at in files.chain(paths.iter().map(|(at, _)| *at)) {
                if let Some(last) = seen.get_mut(at) {
                    count += u32::from(*last != word);
                    *last = word;
                }
            }
            inverse_frequency(f64::from(count), all)
        });
        rarity.collect()
    }

    /// Returns the weight of each word of the task, with its rarity.
    fn word_weights(&self) -> Vec<f64> {
        let rarity = self.word_rarity();
        self.term_weights()
            .zip(rarity)
            .map(|(weight, rare)| weight * rare)
            .collect()
    }

    /// Calls `each` with the number of every word of the task in a text. Returns the number of all its words.
    pub(crate) fn count_words(&self, text: &[u8], mut each: impl FnMut(usize)) -> u32 {
        for_each_stem(
            text,
            |word| self.starts.may_begin(word),
            |stem| {
                if let Some(at) = self.known.get(stem) {
                    each(*at);
                }
            },
        )
    }
}

impl CollectedFile {
    /// Returns the group of the file: those of a lower one come first.
    fn group(&self) -> u8 {
        match (self.named, self.matched) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        }
    }

    /// Returns how much a word adds to the score that occurs `often` times in the text.
    fn saturate_count(&self, often: u32, usual: f64) -> f64 {
        let length = f64::from(self.length.unwrap_or(0));
        saturate(f64::from(often), length / usual, B)
    }
}

/// Finds the value of a file in a list that is sorted by file. `None` if the file is not in it.
fn find_use<T: Copy>(list: &[(usize, T)], at: usize) -> Option<T> {
    let found = list.binary_search_by_key(&at, |(file, _)| *file).ok()?;
    list.get(found).map(|(_, value)| *value)
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
