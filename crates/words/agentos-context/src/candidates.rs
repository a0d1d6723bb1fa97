//! The files whose parts are ranked, in their order.
//!
//! Owns: how many files are read, and that the neighbours of the best ones move up. Never: ranks a part.

use std::iter::Peekable;

use crate::parts::{FileText, MOST_MATCHED};
use crate::rank::{FileNeighbour, FileRanker, FileScores, NearFile, RankReason, RankedFile};

/// Maximum number of files whose parts are ranked. More add nothing that fits a window and cost time.
const MOST_FILES: usize = 40;
/// Maximum bytes of the files whose parts are ranked, besides those that the user asks for. No window holds a fifth of it. A limit
/// of size and not of time, so that a busy machine chooses the same parts.
const MOST_TEXT: usize = 1 << 20;
/// Number of the best files whose neighbours move up.
const MOST_NEAR: usize = 8;

/// Order of the files that are not taken yet.
struct CandidateQueue<'r, 'q, I: Iterator<Item = usize>> {
    ranker: &'r FileRanker<'q>,
    scores: FileScores,
    order: Peekable<I>,
    is_taken: Vec<bool>,
    /// Neighbours that are not taken yet, the best last.
    raised: Vec<FileNeighbour>,
}

impl FileRanker<'_> {
    /// Reads the best files. `read` returns the text of a file, or `None` if it cannot be shown.
    pub(crate) fn read_candidates(
        &self,
        mut read: impl FnMut(&RankedFile) -> Option<FileText>,
    ) -> Vec<(RankedFile, FileText)> {
        let scores = self.score_files();
        let order = self.order_files(&scores).peekable();
        let mut queue = CandidateQueue {
            ranker: self,
            is_taken: vec![false; scores.files.len()],
            scores,
            order,
            raised: Vec::new(),
        };
        let mut candidates: Vec<(RankedFile, FileText)> = Vec::new();
        let (mut matched, mut found, mut bytes) = (0, 0, 0);
        let mut is_raised = false;
        loop {
            // Imports are known only from texts, so that the best files are read before the others are in order.
            // A short list ends before there are so many; its neighbours follow it.
            if !is_raised && (candidates.len() >= MOST_NEAR || queue.order.peek().is_none()) {
                is_raised = true;
                queue.raise_neighbours(&candidates);
            }
            let Some(file) = queue.take_next() else { break };
            let is_over = match file.why {
                // The user asks for these files, so that none of them is left out before the budget is known.
                RankReason::Named => false,
                RankReason::Matched => matched >= MOST_MATCHED,
                // These come last, so no other file follows.
                RankReason::Words(_) | RankReason::Near(_) | RankReason::History => {
                    if found >= MOST_FILES || bytes >= MOST_TEXT {
                        break;
                    }
                    false
                }
            };
            if is_over {
                continue;
            }
            let Some(text) = read(&file) else { continue };
            match file.why {
                RankReason::Matched => matched += 1,
                RankReason::Words(_) | RankReason::Near(_) | RankReason::History => {
                    found += 1;
                    bytes += text.text.len();
                }
                RankReason::Named => {}
            }
            candidates.push((file, text));
        }
        candidates
    }
}

impl<I: Iterator<Item = usize>> CandidateQueue<'_, '_, I> {
    /// Adds to the scores of the neighbours of the files that were read, and moves them up. Files that were read stay as they are.
    fn raise_neighbours(&mut self, read: &[(RankedFile, FileText)]) {
        let near: Vec<NearFile<'_>> = read
            .iter()
            .map(|(file, text)| NearFile {
                file: file.file.position(),
                text: &text.text,
                score: file.score,
            })
            .collect();
        let mut raised = self.ranker.find_neighbours(&near);
        // What was read keeps its rank: raising it too gained nothing on twelve repositories, and cost at small windows.
        raised.retain(|neighbour| self.is_taken.get(neighbour.file) == Some(&false));
        for neighbour in &raised {
            if let Some(score) = self.scores.files.get_mut(neighbour.file) {
                *score += neighbour.adds;
            }
        }
        raised.sort_by(|a, b| self.ranker.compare_files(&self.scores, b.file, a.file));
        self.raised = raised;
    }

    /// Takes the best file that is left. `None` if there is none.
    fn take_next(&mut self) -> Option<RankedFile> {
        // A raised file is also at its old place, further down.
        let is_gone = |at: &usize, queue: &Self| {
            let is_taken = queue.is_taken.get(*at) == Some(&true);
            is_taken || queue.raised.iter().any(|neighbour| neighbour.file == *at)
        };
        while let Some(at) = self.order.peek().copied() {
            if !is_gone(&at, self) {
                break;
            }
            self.order.next();
        }
        let neighbour = self.raised.last().copied();
        let is_raised = match (self.order.peek(), neighbour) {
            (Some(at), Some(neighbour)) => {
                let order = self.ranker.compare_files(&self.scores, neighbour.file, *at);
                order.is_lt()
            }
            (None, Some(_)) => true,
            (Some(_) | None, None) => false,
        };
        let (at, neighbour) = match is_raised {
            true => self
                .raised
                .pop()
                .map(|neighbour| (neighbour.file, Some(neighbour)))?,
            false => (self.order.next()?, None),
        };
        if let Some(is_taken) = self.is_taken.get_mut(at) {
            *is_taken = true;
        }
        let mut file = self.ranker.describe_file(&self.scores, at)?;
        if let Some(neighbour) = neighbour
            && file.why == RankReason::History
        {
            file.why = RankReason::Near(self.ranker.path_of(neighbour.of).to_owned());
        }
        Some(file)
    }
}
