//! Ranking of the parts of the best files.
//!
//! Owns: the score of a part: BM25 over its words and those of the lines that enclose it, plus the score of its file. Never:
//! ranks a file for the parts that it has.

use std::collections::HashMap;
use std::rc::Rc;

use crate::calls::raise_called;
use crate::cut::{TextPart, cut_lines};
use crate::lines::TextShape;
use crate::pick::LineRange;
use crate::rank::{FileRanker, RankedFile, inverse_frequency, largest, saturate};
use crate::signature::read_signature;
use crate::tokens::{count_tokens, estimate_tokens, join_tokens, reduce_tokens};

/// Maximum number of files that a pattern of the user means and whose parts are ranked.
pub const MOST_MATCHED: usize = 256;
/// How much the length of a part counts.
const PART_LENGTH: f64 = 0.6;
/// Weight of a word in a line that encloses the part, relative to one inside it.
const HEADER_WEIGHT: f64 = 0.5;
/// Weight of a word in the name of a definition, in addition to that of a word anywhere: what is defined matters more than what
/// is used.
const DEFINED_WEIGHT: f64 = 1.0;
/// Weight of the file's score in the score of its parts.
const FILE_WEIGHT: f64 = 0.8;

/// Share of the score of a part that is added to the scores of the parts above and below it: changes lie close together.
const NEXT_WEIGHT: f64 = 0.2;

/// Text of a file, for the ranking of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Whole text.
    pub text: Rc<str>,
    /// Shape of the text.
    pub shape: Rc<TextShape>,
    /// Lines to which the user limits the file. Empty if there is no limit.
    pub wanted: Vec<LineRange>,
}

/// File with its ranked parts.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateFile {
    /// File.
    pub file: RankedFile,
    /// Parts in the order of the file. If the user limits the file to certain lines, these are the only parts.
    pub parts: Vec<RankedPart>,
    /// True if the user limits the file to certain lines.
    pub is_limited: bool,
    /// Number of lines.
    pub lines: usize,
    /// Estimated tokens of the whole text.
    pub tokens: u64,
}

/// Part of a file with its rank.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedPart {
    /// Lines of the part.
    pub part: TextPart,
    /// Score. Comparable between the parts of one ranking.
    pub score: f64,
    /// Estimated tokens of its lines.
    pub tokens: u64,
    /// Estimated tokens of the lines that enclose it.
    pub header_tokens: u64,
}

/// Counted words of a part.
struct CountedPart {
    counts: Vec<f64>,
    length: f64,
}

/// Lines of a text that enclose parts, each counted once: many parts have the same ones.
#[derive(Default)]
struct HeaderLines<'t> {
    lines: HashMap<usize, HeaderLine<'t>>,
}

/// Line that encloses parts.
#[derive(Default)]
struct HeaderLine<'t> {
    text: &'t str,
    /// Words of the task in the line, with repetitions.
    words: Vec<usize>,
    tokens: u64,
}

impl<'t> HeaderLines<'t> {
    /// Returns a line, counted from 1.
    fn find_line(&mut self, ranker: &FileRanker<'_>, source: &'t FileText, line: usize) -> &HeaderLine<'t> {
        self.lines.entry(line).or_insert_with(|| {
            let text = source.shape.slice_lines(&source.text, line, line);
            let mut words = Vec::new();
            ranker.count_words(text.as_bytes(), |at| words.push(at));
            let tokens = count_tokens(text);
            HeaderLine { text, words, tokens }
        })
    }

    /// Counts the tokens of lines that were looked up before.
    fn count_tokens(&self, lines: &[usize]) -> u64 {
        let lines = lines.iter().filter_map(|line| self.lines.get(line));
        join_tokens(lines.map(|line| (line.text, line.tokens)))
    }
}

impl FileText {
    /// Measures a text. `wanted` are the lines to which the user limits the file.
    #[must_use]
    pub fn measure(text: &str, wanted: Vec<LineRange>) -> Self {
        Self {
            text: Rc::from(text),
            shape: Rc::new(TextShape::measure(text)),
            wanted,
        }
    }
}

impl FileRanker<'_> {
    /// Ranks the parts of the first files. `read` returns the text of a file, or `None` if it cannot be shown.
    pub fn rank_parts(&self, read: impl FnMut(&RankedFile) -> Option<FileText>) -> Vec<CandidateFile> {
        let (mut candidates, mut counted, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (file, text) in self.read_candidates(read) {
            let (candidate, counts) = self.count_parts(file, &text);
            candidates.push(candidate);
            counted.push(counts);
            texts.push(text);
        }
        let weights = self.part_weights(&counted);
        let all = counted.iter().flatten();
        let words: f64 = all.clone().map(|part| part.length).sum();
        let usual = (words / all.count().max(1) as f64).max(1.0);
        let scores: Vec<Vec<f64>> = counted
            .iter()
            .map(|parts| parts.iter().map(|part| part.score(&weights, usual)).collect())
            .collect();
        let best = largest(scores.iter().flatten().copied());
        for (candidate, scores) in candidates.iter_mut().zip(scores) {
            for (part, score) in candidate.parts.iter_mut().zip(scores) {
                part.score = candidate.file.score * FILE_WEIGHT + score / best;
            }
        }
        raise_called(&mut candidates, &texts);
        candidates.iter_mut().for_each(raise_next);
        candidates
    }

    /// Cuts a text and counts the words of its parts.
    fn count_parts(&self, file: RankedFile, source: &FileText) -> (CandidateFile, Vec<CountedPart>) {
        let shape = &source.shape;
        let is_limited = !source.wanted.is_empty();
        let mut headers = HeaderLines::default();
        let mut parts = Vec::new();
        let mut counted = Vec::new();
        let mut tokens = Vec::new();
        for part in limit_parts(cut_lines(&file.path, shape), &source.wanted) {
            let own = shape.slice_lines(&source.text, part.first_line, part.last_line);
            let mut counts = vec![0.0; self.count_terms()];
            let length = self.count_lines(own, &mut counts);
            for line in &part.headers {
                for word in &headers.find_line(self, source, *line).words {
                    add_to(&mut counts, *word, HEADER_WEIGHT);
                }
            }
            // Kept, so that the tokens of the whole text need no second look at its bytes.
            let own_tokens = count_tokens(own);
            tokens.push((own, own_tokens));
            parts.push(RankedPart {
                tokens: reduce_tokens(own_tokens),
                header_tokens: reduce_tokens(headers.count_tokens(&part.headers)),
                part,
                score: 0.0,
            });
            counted.push(CountedPart {
                counts,
                length: f64::from(length),
            });
        }
        let candidate = CandidateFile {
            file,
            parts,
            is_limited,
            lines: shape.count_lines(),
            tokens: match is_limited {
                // The parts are not the whole text.
                true => estimate_tokens(&source.text),
                false => reduce_tokens(join_tokens(tokens.into_iter())),
            },
        };
        (candidate, counted)
    }

    /// Counts the words of lines. Returns the number of all of them.
    fn count_lines(&self, lines: &str, counts: &mut [f64]) -> u32 {
        let mut length = 0;
        for line in lines.split_inclusive('\n') {
            let mut has_any = false;
            length += self.count_words(line.as_bytes(), |at| {
                has_any = true;
                add_to(counts, at, 1.0);
            });
            // Few lines have a word of the task, so that few are looked at twice.
            if has_any && let Some(defined) = read_signature(line, !line.starts_with([' ', '\t'])) {
                self.count_words(defined.name.as_bytes(), |at| add_to(counts, at, DEFINED_WEIGHT));
            }
        }
        length
    }

    /// Returns the weight of each word of the task: its own, by its rarity among all files and among the parts. The second alone
    /// would value a word that all good files have as little as one that all files have.
    fn part_weights(&self, counted: &[Vec<CountedPart>]) -> Vec<f64> {
        let parts: Vec<&CountedPart> = counted.iter().flatten().collect();
        let all = parts.len() as f64;
        let rarity = self.word_rarity();
        let weights = self.term_weights().zip(rarity).enumerate();
        weights
            .map(|(at, (weight, among_files))| {
                let has = |part: &&&CountedPart| part.counts.get(at).is_some_and(|count| *count > 0.0);
                let count = parts.iter().filter(has).count() as f64;
                weight * (inverse_frequency(count, all) + among_files) / 2.0
            })
            .collect()
    }
}

/// Adds to the scores of parts next to good ones. The score of the file, which all its parts have, is not added again.
fn raise_next(candidate: &mut CandidateFile) {
    let by_file = candidate.file.score * FILE_WEIGHT;
    let by_part = candidate.parts.iter().map(|part| part.score - by_file);
    let by_part: Vec<f64> = by_part.collect();
    let score_at = |at: Option<usize>| at.and_then(|at| by_part.get(at)).copied().unwrap_or(0.0);
    for (at, part) in candidate.parts.iter_mut().enumerate() {
        let next = score_at(at.checked_sub(1)) + score_at(at.checked_add(1));
        part.score += NEXT_WEIGHT * next;
    }
}

impl CountedPart {
    fn score(&self, weights: &[f64], usual: f64) -> f64 {
        let words = self.counts.iter().zip(weights);
        words
            .map(|(often, weight)| weight * saturate(*often, self.length / usual, PART_LENGTH))
            .sum()
    }
}

/// Returns the wanted lines of the parts, or the parts as they are if no lines are wanted. A large range stays cut into parts, so
/// that some of it can be shown if all of it does not fit.
fn limit_parts(parts: Vec<TextPart>, wanted: &[LineRange]) -> Vec<TextPart> {
    if wanted.is_empty() {
        return parts;
    }
    let wanted = merge_ranges(wanted);
    let mut limited = Vec::new();
    for part in &parts {
        for range in &wanted {
            let (first, last) = (part.first_line.max(range.first), part.last_line.min(range.last));
            if first <= last {
                let above = part.headers.iter().copied().filter(|line| *line < first);
                limited.push(TextPart {
                    first_line: first,
                    last_line: last,
                    headers: above.collect(),
                });
            }
        }
    }
    limited
}

/// Returns the ranges in their order, those that overlap as one.
fn merge_ranges(ranges: &[LineRange]) -> Vec<LineRange> {
    let mut sorted = ranges.to_vec();
    sorted.sort_by_key(|range| (range.first, range.last));
    let mut merged: Vec<LineRange> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.first <= last.last => last.last = last.last.max(range.last),
            Some(_) | None => merged.push(range),
        }
    }
    merged
}

fn add_to(counts: &mut [f64], at: usize, weight: f64) {
    if let Some(count) = counts.get_mut(at) {
        *count += weight;
    }
}
