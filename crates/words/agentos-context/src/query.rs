//! Words and paths of a task.
//!
//! Owns: which words count and how much, and which paths a task names. Never: guesses a path that is not written.

use std::collections::BTreeMap;

use crate::task_text::{drop_people_and_pages, end_of_first_sentence, list_area_words};
use crate::words::{for_each_identifier, for_each_part, stem_word};

/// Task, as words and paths to search for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskQuery {
    /// Words in the form that is compared, with their weight and their spelling in the task.
    pub(crate) terms: Vec<QueryTerm>,
    /// Texts that look like a path or a file name.
    pub(crate) paths: Vec<String>,
}

/// Word of a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryTerm {
    pub stem: Vec<u8>,
    pub weight: f64,
    pub written: String,
    /// True if the word is in the area in front of the task, such as `win` in `win: close the pipe`.
    pub is_area: bool,
}

/// Weight of a word that is written as an identifier. These are the best evidence, since prose does not contain them.
const IDENTIFIER_WEIGHT: f64 = 3.0;
/// Weight of a part of an identifier.
const PART_WEIGHT: f64 = 0.7;
/// Weight of any other word.
const WORD_WEIGHT: f64 = 1.0;
/// Factor for the words after the first sentence: it says what is wanted, the others explain it.
const LATER_FACTOR: f64 = 0.7;
/// Maximum number of words. More are a pasted text; the first ones state what is wanted.
const MAX_TERMS: usize = 256;

impl TaskQuery {
    /// Reads a task.
    #[must_use]
    pub fn from_task(task: &str) -> Self {
        let task = drop_people_and_pages(task);
        let (first, later) = task.split_at(end_of_first_sentence(&task));
        let mut found = FoundTerms::default();
        found.add_words(first, &task, 1.0);
        found.add_words(later, &task, LATER_FACTOR);
        let area = list_area_words(&task);
        let mut terms: Vec<_> = found.terms.into_iter().collect();
        terms.sort_by_key(|(_, (order, _, _))| *order);
        let terms = terms.into_iter().map(|(stem, (_, weight, written))| QueryTerm {
            stem,
            weight,
            is_area: area.iter().any(|word| word.eq_ignore_ascii_case(&written)),
            written,
        });
        Self {
            terms: terms.collect(),
            paths: find_paths(&task),
        }
    }

    /// Returns true if the task has no word or path to search for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.paths.is_empty()
    }
}

/// Words of a task found so far.
#[derive(Default)]
struct FoundTerms {
    /// For each compared form: its place in the task, its weight, and its spelling.
    terms: BTreeMap<Vec<u8>, (usize, f64, String)>,
    buffer: Vec<u8>,
}

impl FoundTerms {
    /// Adds the words of a part of a task.
    fn add_words(&mut self, part: &str, task: &str, factor: f64) {
        for_each_identifier(part.as_bytes(), |word, _| {
            let mut count = 0;
            for_each_part(word, |_| count += 1);
            if count > 1 || word.contains(&b'_') {
                self.add_word(word, IDENTIFIER_WEIGHT, factor);
                for_each_part(word, |part| self.add_word(part, PART_WEIGHT, factor));
            } else if is_marked(word, task) {
                self.add_word(word, IDENTIFIER_WEIGHT, factor);
            } else {
                self.add_word(word, WORD_WEIGHT, factor);
            }
        });
    }

    fn add_word(&mut self, word: &[u8], weight: f64, factor: f64) {
        // Single letters and bare numbers are in every file.
        let odd = word.len() < 2 || word.iter().all(u8::is_ascii_digit);
        let is_common = weight < IDENTIFIER_WEIGHT && is_common(word);
        if odd || is_common || !stem_word(word, &mut self.buffer) {
            return;
        }
        // `404s` has the stem `404`, and bare numbers are not counted in texts.
        if self.buffer.iter().all(u8::is_ascii_digit) {
            return;
        }
        let (next, weight) = (self.terms.len(), weight * factor);
        if next < MAX_TERMS || self.terms.contains_key(&self.buffer) {
            let written = String::from_utf8_lossy(word).into_owned();
            let known = self.terms.entry(self.buffer.clone());
            let known = known.or_insert((next, weight, written));
            known.1 = known.1.max(weight);
        }
    }
}

/// Finds texts that are written like a path: with a slash, or with a dot before a short extension. A line number such
/// as `:12` is cut off.
fn find_paths(task: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in
        task.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '@' | '\\')))
    {
        // Paths pasted from Windows name the same files.
        let word = word.replace('\\', "/");
        let word = word.trim_start_matches("./").trim_end_matches(['.', '/']);
        let ending = word.rsplit_once('.').map(|(stem, ending)| (stem, ending.len()));
        let is_file = ending.is_some_and(|(stem, len)| !stem.is_empty() && (1..=8).contains(&len));
        let is_path = word.split('/').filter(|part| !part.is_empty()).count() > 1;
        let is_dot_file = word.starts_with('.') && word.len() > 2;
        if (is_file || is_path || is_dot_file) && !found.iter().any(|known| known == word) {
            found.push(word.to_owned());
        }
    }
    found
}

/// Returns true if the word is written as code somewhere in the task: called, or between backticks.
fn is_marked(word: &[u8], task: &str) -> bool {
    let word = String::from_utf8_lossy(word);
    let forms = [
        format!("{word}("),
        format!("`{word}`"),
        format!("`{word}:"),
        format!("::{word}"),
    ];
    forms.iter().any(|form| task.contains(form.as_str()))
}

fn is_common(word: &[u8]) -> bool {
    let small = word.to_ascii_lowercase();
    COMMON
        .split_ascii_whitespace()
        .any(|common| common.as_bytes() == small)
}

/// Words that most tasks have and that do not point to a file.
const COMMON: &str = "\
a an and are as at be been by can could do does for from get gets given had has have how if in into is it its just like \
make makes me more must my need needs no not now of on one only or our out please same should so some such than that the \
their them then there these they this to too under up us use uses used using was we were what when where which while who \
why will with without would you your also any all each every add adds added change changes changed new old want wants \
fix fixes fixed let lets file files code bug instead here other own way works work before after about again because \
being both but down during few further he her him his i most nor off once over she through until very";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_names_paths_identifiers_and_words() {
        let query = TaskQuery::from_task(
            "Fix the off-by-one in `parse_hunk` (src/parse.rs:12), as Cargo.toml says it. See ./docs/",
        );
        assert_eq!(query.paths, ["src/parse.rs", "Cargo.toml"]);
        let words: Vec<(&str, f64)> = query
            .terms
            .iter()
            .map(|term| (term.written.as_str(), term.weight))
            .collect();
        assert!(words.contains(&("parse_hunk", IDENTIFIER_WEIGHT)), "{words:?}");
        assert!(words.contains(&("hunk", PART_WEIGHT)), "{words:?}");
        assert!(!words.iter().any(|(word, _)| *word == "the"), "{words:?}");
    }

    #[test]
    fn an_empty_task_asks_for_nothing() {
        assert!(TaskQuery::from_task("").is_empty());
        assert!(TaskQuery::from_task("fix the code, please").is_empty());
    }
}
