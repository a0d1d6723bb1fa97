//! The best parts that fit into a budget.
//!
//! Owns: which parts are shown, and when a whole file is shown instead. Never: leaves out a named file in silence.

use crate::parts::{CandidateFile, RankedPart};
use crate::rank::{FileId, RankReason};
use crate::tokens::estimate_tokens;

/// Limits of the files that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextBudget {
    /// Maximum number of tokens, with the headings of files and parts.
    pub tokens: u64,
    /// True if a file may only be shown whole, because the tool must answer with the whole new text of each file.
    pub whole_only: bool,
}

/// Lines of a file that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// Number of the first line, counted from 1.
    pub first: usize,
    /// Number of the last line.
    pub last: usize,
}

/// File that is shown, whole or in parts.
#[derive(Debug, Clone, PartialEq)]
pub struct PickedFile {
    /// Number of the file.
    pub file: FileId,
    /// Path of the file.
    pub path: String,
    /// Reason for its rank.
    pub why: RankReason,
    /// Lines that are shown, in the order of the file. Empty if the whole file is shown.
    pub ranges: Vec<LineRange>,
    /// Number of lines of the file.
    pub lines: usize,
    /// Estimated tokens of the lines that are shown, with their headings.
    pub tokens: u64,
}

/// Picked files, and files that the task names but that do not fit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PickedFiles {
    /// Picked files, best first.
    pub files: Vec<PickedFile>,
    /// Estimated tokens of all of them.
    pub tokens: u64,
    /// Paths that the task names and of which not even one part fits.
    pub too_large: Vec<String>,
}

/// Tokens of the heading and the fences of a part, besides its path.
const HEADING_TOKENS: u64 = 24;
/// Share of a file, in percent, from which the rest of it is shown too: a few missing lines save little and hide much.
const NEARLY_WHOLE: u64 = 75;
/// Minimum tokens for each file that a pattern means. Of many files, the best are shown with enough of their text, instead of
/// all with a few lines each.
const LEAST_SHARE: u64 = 600;
/// Minimum share of the best score. A part below it is probably about something else.
const MIN_SHARE: f64 = 0.05;

/// Picks the best parts that fit.
#[must_use]
pub fn pick_parts(candidates: &[CandidateFile], budget: ContextBudget) -> PickedFiles {
    let mut picker = PartPicker {
        files: candidates.iter().map(OpenFile::new).collect(),
        left: budget.tokens,
    };
    picker.pick_named(budget.whole_only);
    picker.pick_matched(budget.whole_only);
    if budget.whole_only {
        picker.pick_whole_files();
    } else {
        picker.pick_best_parts();
        picker.close_gaps();
    }
    picker.collect_picked()
}

/// Candidate, and the parts of it that were picked.
struct OpenFile<'c> {
    candidate: &'c CandidateFile,
    picked: Vec<bool>,
    path_tokens: u64,
    is_whole: bool,
}

/// State of the choice.
struct PartPicker<'c> {
    files: Vec<OpenFile<'c>>,
    left: u64,
}

impl<'c> OpenFile<'c> {
    fn new(candidate: &'c CandidateFile) -> Self {
        Self {
            candidate,
            picked: vec![false; candidate.parts.len()],
            path_tokens: estimate_tokens(&candidate.file.path),
            is_whole: false,
        }
    }

    fn is_named(&self) -> bool {
        self.candidate.file.why == RankReason::Named
    }

    fn is_matched(&self) -> bool {
        self.candidate.file.why == RankReason::Matched
    }

    fn is_picked(&self, part: usize) -> bool {
        self.picked.get(part).copied().unwrap_or(false)
    }

    fn has_any(&self) -> bool {
        self.is_whole || self.picked.contains(&true)
    }

    /// Returns the tokens of a heading of this file.
    fn heading_tokens(&self) -> u64 {
        self.path_tokens + HEADING_TOKENS
    }

    fn whole_tokens(&self) -> u64 {
        self.candidate.tokens + self.heading_tokens()
    }

    /// Returns the tokens that one more part costs. One that continues a picked part needs no heading of its own.
    fn part_tokens(&self, at: usize, part: &RankedPart) -> u64 {
        if at.checked_sub(1).is_some_and(|above| self.is_picked(above)) {
            return part.tokens;
        }
        // The lines that enclose the part replace those of the part below it, which has its heading already.
        let below = self
            .candidate
            .parts
            .get(at + 1)
            .filter(|_| self.is_picked(at + 1));
        match below {
            Some(below) => part.tokens + part.header_tokens.saturating_sub(below.header_tokens),
            None => part.tokens + part.header_tokens + self.heading_tokens(),
        }
    }

    fn pick_part(&mut self, at: usize) {
        if let Some(picked) = self.picked.get_mut(at) {
            *picked = true;
        }
    }

    /// Picks the best parts that fit into a share, and returns their tokens.
    fn pick_within(&mut self, share: u64) -> u64 {
        let mut order: Vec<(usize, &RankedPart)> = self.candidate.parts.iter().enumerate().collect();
        order.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then(a.0.cmp(&b.0)));
        let mut spent = 0;
        for (at, part) in order {
            let cost = self.part_tokens(at, part);
            if spent + cost <= share {
                self.pick_part(at);
                spent += cost;
            }
        }
        spent
    }

    fn pick_whole(&mut self) {
        self.is_whole = true;
        self.picked.fill(true);
    }

    /// Returns the tokens of what is picked, with headings.
    fn count_picked(&self) -> u64 {
        if self.is_whole {
            return self.whole_tokens();
        }
        let mut tokens = 0;
        for (at, part) in self.candidate.parts.iter().enumerate() {
            if self.is_picked(at) {
                let begins = !at.checked_sub(1).is_some_and(|above| self.is_picked(above));
                let heading = part.header_tokens + self.heading_tokens();
                tokens += part.tokens + if begins { heading } else { 0 };
            }
        }
        tokens
    }

    /// Returns the picked lines; neighbouring parts are one range.
    fn list_ranges(&self) -> Vec<LineRange> {
        let mut ranges: Vec<LineRange> = Vec::new();
        for (at, ranked) in self.candidate.parts.iter().enumerate() {
            if !self.is_picked(at) {
                continue;
            }
            match ranges.last_mut() {
                Some(range) if range.last + 1 == ranked.part.first_line => range.last = ranked.part.last_line,
                Some(_) | None => ranges.push(LineRange {
                    first: ranked.part.first_line,
                    last: ranked.part.last_line,
                }),
            }
        }
        ranges
    }
}

impl PartPicker<'_> {
    /// Picks the named files: whole if they fit, else their best parts. Each gets an equal share of what is left, so that a
    /// large one does not displace the others.
    fn pick_named(&mut self, whole_only: bool) {
        let mut waiting = self.files.iter().filter(|file| file.is_named()).count() as u64;
        for file in self.files.iter_mut().filter(|file| file.is_named()) {
            let share = self.left / waiting.max(1);
            waiting -= 1;
            // A file that must be whole cannot be left out or cut: the server decides if it is too large.
            if !file.candidate.is_limited && (file.whole_tokens() <= share || whole_only) {
                file.pick_whole();
                self.left = self.left.saturating_sub(file.whole_tokens());
                continue;
            }
            let spent = file.pick_within(share);
            self.left = self.left.saturating_sub(spent);
        }
    }

    /// Picks the files that a pattern means, the best first: whole if they fit their share, else their best parts.
    fn pick_matched(&mut self, whole_only: bool) {
        let mut waiting = self.files.iter().filter(|file| file.is_matched()).count() as u64;
        for file in self.files.iter_mut().filter(|file| file.is_matched()) {
            let share = (self.left / waiting.max(1)).max(LEAST_SHARE).min(self.left);
            waiting -= 1;
            if file.whole_tokens() <= share {
                file.pick_whole();
                self.left -= file.whole_tokens();
            } else if !whole_only {
                self.left -= file.pick_within(share);
            }
        }
    }

    fn pick_whole_files(&mut self) {
        for file in &mut self.files {
            if !file.has_any() && file.whole_tokens() <= self.left {
                file.pick_whole();
                self.left -= file.whole_tokens();
            }
        }
    }

    /// Picks the parts with the highest scores of all files that fit.
    fn pick_best_parts(&mut self) {
        let mut order: Vec<(f64, usize, usize)> = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let parts = file.candidate.parts.iter().enumerate();
            order.extend(parts.map(|(at, part)| (part.score, number, at)));
        }
        let best = order.iter().map(|(score, _, _)| *score).fold(0.0, f64::max);
        order.retain(|(score, _, _)| *score >= best * MIN_SHARE);
        // The candidates are sorted, so equal scores are always picked in the same order.
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (_, number, at) in order {
            let Some(file) = self.files.get_mut(number) else {
                continue;
            };
            let Some(part) = file.candidate.parts.get(at) else {
                continue;
            };
            let cost = file.part_tokens(at, part);
            if !file.is_picked(at) && cost <= self.left {
                file.pick_part(at);
                self.left -= cost;
            }
        }
    }

    /// Shows nearly complete files whole, and fills gaps that are smaller than the heading that they make necessary.
    fn close_gaps(&mut self) {
        for file in &mut self.files {
            if file.is_whole || !file.has_any() {
                continue;
            }
            let shown = file.count_picked();
            let rest = file.whole_tokens().saturating_sub(shown);
            if file.candidate.is_limited {
                continue;
            }
            if rest <= self.left && shown * 100 >= file.whole_tokens() * NEARLY_WHOLE {
                file.pick_whole();
                self.left -= rest;
                continue;
            }
            for at in 0..file.picked.len() {
                let is_gap = !file.is_picked(at)
                    && at.checked_sub(1).is_some_and(|above| file.is_picked(above))
                    && file.is_picked(at + 1);
                let tokens = file.candidate.parts.get(at).map_or(0, |part| part.tokens);
                if is_gap && tokens <= file.heading_tokens().min(self.left) {
                    file.pick_part(at);
                    self.left -= tokens;
                }
            }
            file.is_whole = !file.picked.contains(&false);
        }
    }

    fn collect_picked(self) -> PickedFiles {
        let mut picked = PickedFiles::default();
        for file in self.files {
            let path = file.candidate.file.path.clone();
            if !file.has_any() {
                if file.is_named() {
                    picked.too_large.push(path);
                }
                continue;
            }
            let tokens = file.count_picked();
            picked.tokens += tokens;
            picked.files.push(PickedFile {
                file: file.candidate.file.file,
                path,
                why: file.candidate.file.why.clone(),
                ranges: match file.is_whole {
                    true => Vec::new(),
                    false => file.list_ranges(),
                },
                lines: file.candidate.lines,
                tokens,
            });
        }
        picked
    }
}
