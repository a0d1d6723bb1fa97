//! Parts that the best ones call.
//!
//! Owns: which parts define what the best parts use, and how much that adds to their scores. Never: knows the grammar of a
//! language: any use of a name that one or two parts define counts as a call.

use std::collections::HashMap;

use crate::parts::{CandidateFile, FileText};
use crate::signature::read_signature;
use crate::words::for_each_identifier;

/// Share of the score of a part that is added to the score of a part that it calls.
const CALL_WEIGHT: f64 = 0.1;
/// Number of the best parts whose calls count.
const MOST_CALLERS: usize = 10;
/// Number of the best files whose definitions are known. Looking for those of all candidates costs three times as much, and
/// finds no more of what a task needs.
const MOST_FILES: usize = 12;
/// Maximum number of parts that define a name. A name with more, such as `new`, means none of them.
const MOST_PLACES: usize = 2;
/// Minimum length of a name. Shorter ones are also those of variables.
const SHORTEST: usize = 3;

/// Part of a candidate: the numbers of both.
type PartPlace = (usize, usize);

/// Adds to the scores of the parts that the best parts call. `texts` are those of the candidates.
pub(crate) fn raise_called(candidates: &mut [CandidateFile], texts: &[FileText]) {
    let places = find_definitions(candidates, texts);
    let mut raised: HashMap<PartPlace, f64> = HashMap::new();
    for (score, caller) in find_callers(candidates) {
        for_each_identifier(text_of(candidates, texts, caller).as_bytes(), |name, _| {
            let Some(places) = places.get(name).filter(|places| places.len() <= MOST_PLACES) else {
                return;
            };
            for place in places.iter().filter(|place| **place != caller) {
                // Callers come best first. Several calls count once, or a part would win by its size.
                raised.entry(*place).or_insert(score * CALL_WEIGHT);
            }
        });
    }
    for ((file, part), adds) in raised {
        let candidate = candidates.get_mut(file);
        if let Some(part) = candidate.and_then(|candidate| candidate.parts.get_mut(part)) {
            part.score += adds;
        }
    }
}

/// Returns the best parts with their scores, best first.
fn find_callers(candidates: &[CandidateFile]) -> Vec<(f64, PartPlace)> {
    let mut parts: Vec<(f64, PartPlace)> = Vec::new();
    for (file, candidate) in candidates.iter().enumerate() {
        let scores = candidate.parts.iter().enumerate();
        parts.extend(scores.map(|(at, part)| (part.score, (file, at))));
    }
    parts.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    parts.truncate(MOST_CALLERS);
    parts
}

/// Returns the parts that define each name, in their order.
fn find_definitions<'t>(
    candidates: &[CandidateFile],
    texts: &'t [FileText],
) -> HashMap<&'t [u8], Vec<PartPlace>> {
    let mut places: HashMap<&[u8], Vec<PartPlace>> = HashMap::new();
    for (file, (candidate, source)) in candidates.iter().zip(texts).enumerate().take(MOST_FILES) {
        for (at, part) in candidate.parts.iter().enumerate() {
            let lines = source
                .shape
                .slice_lines(&source.text, part.part.first_line, part.part.last_line);
            for line in lines.split_inclusive('\n') {
                let found = read_signature(line, !line.starts_with([' ', '\t']));
                if let Some(found) = found.filter(|found| !found.extends && found.name.len() >= SHORTEST) {
                    places.entry(found.name.as_bytes()).or_default().push((file, at));
                }
            }
        }
    }
    places
}

fn text_of<'t>(candidates: &[CandidateFile], texts: &'t [FileText], (file, part): PartPlace) -> &'t str {
    let part = candidates
        .get(file)
        .and_then(|candidate| candidate.parts.get(part));
    let lines = texts.get(file).zip(part).map(|(source, ranked)| {
        let part = &ranked.part;
        source
            .shape
            .slice_lines(&source.text, part.first_line, part.last_line)
    });
    lines.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::parts::{CandidateFile, FileText, RankedPart};
    use crate::{FileRanker, TaskQuery, TextPart};

    use super::raise_called;

    /// Makes a candidate of one part for each of these texts.
    fn make_candidate(parts: &[(&str, f64)]) -> (CandidateFile, FileText) {
        let query = TaskQuery::from_task("a.rs");
        let mut ranker = FileRanker::new(&query);
        ranker.add_path("a.rs");
        let mut line = 0;
        let ranked = parts.iter().map(|(text, score)| {
            let first_line = line + 1;
            line += text.lines().count();
            RankedPart {
                part: TextPart {
                    first_line,
                    last_line: line,
                    headers: Vec::new(),
                },
                score: *score,
                tokens: 1,
                header_tokens: 0,
            }
        });
        let text: String = parts.iter().map(|(text, _)| *text).collect();
        let candidate = CandidateFile {
            file: ranker.rank_files().remove(0),
            parts: ranked.collect(),
            is_limited: false,
            lines: line,
            tokens: 9,
        };
        (candidate, FileText::measure(&text, Vec::new()))
    }

    #[test]
    fn a_part_that_the_best_part_calls_moves_up_and_a_common_name_does_not() {
        let many = "fn new() {}\n";
        let (one, text) = make_candidate(&[
            ("fn land() {\n    place_hunk();\n    new();\n}\n", 1.0),
            (many, 0.1),
            ("fn other() {}\n", 0.1),
            (many, 0.1),
        ]);
        let (two, second) = make_candidate(&[("fn place_hunk() {}\n", 0.1), (many, 0.1)]);
        let mut candidates = [one, two];
        raise_called(&mut candidates, &[text, second]);
        let scores: Vec<Vec<f64>> = candidates
            .iter()
            .map(|candidate| candidate.parts.iter().map(|part| part.score).collect())
            .collect();
        assert_eq!(scores, [vec![1.0, 0.1, 0.1, 0.1], vec![0.2, 0.1]]);
    }
}
