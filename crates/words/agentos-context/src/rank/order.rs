//! The order of the files for a task.
//!
//! Owns: the score of a file, and which of two files comes first. Never: describes a file before it is taken: of a large
//! repository most files have some word of the task, and few are looked at.

use std::cmp::Ordering;

use super::sort::sort_lazily;
use super::{CollectedFile, FileId, FileRanker, RECENCY_WEIGHT, RESEMBLANCE_WEIGHT, RankedFile, largest};

/// Number of files that are sorted at once. Most rankings are left after fewer.
const USUALLY_TAKEN: usize = 128;

/// Scores of all files for the task.
#[derive(Debug)]
pub(crate) struct FileScores {
    /// Score of each file.
    pub(crate) files: Vec<f64>,
    /// Weight of each word of the task.
    weights: Vec<f64>,
    /// Average number of words of the texts.
    usual: f64,
}

/// Place of a file in the order: its group, its score and its number.
type FilePlace = (u8, f64, usize);

impl FileRanker<'_> {
    /// Returns the files that have a word of the task or a history, best first; those with equal scores are sorted by path.
    #[must_use]
    pub fn rank_files(&self) -> Vec<RankedFile> {
        let scores = self.score_files();
        let order = self.order_files(&scores);
        order.filter_map(|at| self.describe_file(&scores, at)).collect()
    }

    /// Scores all files.
    pub(crate) fn score_files(&self) -> FileScores {
        let weights = self.word_weights();
        let usual = self.usual_length();
        let mut scores = self.sum_scores(&weights, usual);
        let best = largest(scores.iter().copied());
        let past = self.score_history(&weights);
        let factors = self.kind_factors();
        for ((score, file), past) in scores.iter_mut().zip(&self.files).zip(past) {
            let by_history = RESEMBLANCE_WEIGHT * past.resemblance + RECENCY_WEIGHT * past.recency;
            *score = (*score / best + by_history) * factors.factor_of(file.kinds);
        }
        FileScores {
            files: scores,
            weights,
            usual,
        }
    }

    /// Returns the numbers of the files that have a score or that the user means, best first.
    pub(crate) fn order_files(&self, scores: &FileScores) -> impl Iterator<Item = usize> + use<'_> {
        // A file without a score has nothing to do with the task, and most files of a large repository have none.
        let mut order: Vec<FilePlace> = Vec::new();
        for (at, (file, score)) in self.files.iter().zip(&scores.files).enumerate() {
            if *score > 0.0 || file.named || file.matched {
                order.push((file.group(), *score, at));
            }
        }
        sort_lazily(order, USUALLY_TAKEN, |a, b| self.compare_places(a, b)).map(|(_, _, at)| at)
    }

    /// Returns which of two files comes first by these scores.
    pub(crate) fn compare_files(&self, scores: &FileScores, a: usize, b: usize) -> Ordering {
        let place = |at: usize| {
            let group = self.files.get(at).map_or(u8::MAX, CollectedFile::group);
            (group, scores.files.get(at).copied().unwrap_or(0.0), at)
        };
        self.compare_places(&place(a), &place(b))
    }

    fn compare_places(&self, a: &FilePlace, b: &FilePlace) -> Ordering {
        let path = |at: usize| self.files.get(at).map(|file| file.path.as_str());
        let groups = a.0.cmp(&b.0);
        groups
            .then(b.1.total_cmp(&a.1))
            .then_with(|| path(a.2).cmp(&path(b.2)))
    }

    /// Describes a file with its rank. `None` if there is no such file.
    pub(crate) fn describe_file(&self, scores: &FileScores, at: usize) -> Option<RankedFile> {
        let file = self.files.get(at)?;
        Some(RankedFile {
            file: FileId(at),
            path: file.path.clone(),
            score: scores.files.get(at).copied().unwrap_or(0.0),
            why: self.find_reason(at, file, &scores.weights, scores.usual),
        })
    }
}
