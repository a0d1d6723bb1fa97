//! Scores by the history.
//!
//! Owns: how much earlier commits say about a file: those that resemble the task, and recent ones. Never: reads a history.

use std::collections::{HashMap, HashSet};

use super::{FileRanker, largest};

/// Score at which a resemblance counts half: one common word is no resemblance.
const HALF_RESEMBLANCE: f64 = 5.0;
/// Number of commits after which a change counts half.
const HALF_LIFE: f64 = 100.0;
/// Number of commits from which recency counts half.
const HALF_HISTORY: f64 = 20.0;
/// Maximum number of files of a commit that counts. One of more files renames or formats, and says nothing about each.
const MOST_CHANGED: usize = 30;

/// Commit of the history, as far as the ranking needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastCommit {
    /// First line of the message.
    pub subject: String,
    /// Paths of the changed files.
    pub paths: Vec<String>,
}

/// Commit of the history, with the numbers of its files and of the words that it shares with the task.
#[derive(Debug)]
pub(super) struct PastChange {
    age: f64,
    words: Vec<usize>,
    files: Vec<usize>,
}

/// Score of a file by its history: by commits that resemble the task, and by its recent changes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PastScore {
    pub(super) resemblance: f64,
    pub(super) recency: f64,
}

impl FileRanker<'_> {
    /// Adds the history, newest commit first, after all paths were added.
    pub fn add_history(&mut self, commits: &[PastCommit]) {
        let known = self.find_changed(commits);
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

    /// Returns the numbers of the files that commits changed.
    fn find_changed<'c>(&self, commits: &'c [PastCommit]) -> HashMap<&'c str, usize> {
        // The history names far fewer paths than a large repository has.
        let changed: HashSet<&str> = commits
            .iter()
            .flat_map(|commit| commit.paths.iter().map(String::as_str))
            .collect();
        // A listing is sorted. Looking up each changed path in it costs a tenth of hashing every path.
        if self.files.is_sorted_by(|a, b| a.path < b.path) {
            let found = changed.into_iter().filter_map(|path| {
                let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path));
                Some((path, at.ok()?))
            });
            return found.collect();
        }
        let files = self.files.iter().enumerate();
        let found = files.filter_map(|(at, file)| Some((*changed.get(file.path.as_str())?, at)));
        found.collect()
    }

    /// Scores the files by the commits that changed them. Both scores are between 0 and 1.
    pub(super) fn score_history(&self, weights: &[f64]) -> Vec<PastScore> {
        let mut scores = vec![PastScore::default(); self.files.len()];
        for change in &self.history {
            let words = change
                .words
                .iter()
                .map(|at| weights.get(*at).copied().unwrap_or(0.0));
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
}
