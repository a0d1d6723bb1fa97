//! What a task's words ask for.
//!
//! Owns: which words count and how much, and which paths a task names. Never: guesses a path that is not written.

use std::collections::BTreeMap;

use crate::words::{identifiers, parts, stem};

/// A task, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// Each word in its compared form, how much it counts, and how it was written.
    pub(crate) terms: Vec<Term>,
    /// What looks like a path or a file name.
    pub(crate) paths: Vec<String>,
}

/// One word of a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub stem: Vec<u8>,
    pub weight: f64,
    pub written: String,
}

/// A word of a task written as programs are.
const IDENTIFIER: f64 = 3.0;
/// A part of one.
const PART: f64 = 0.7;
/// Any other word.
const WORD: f64 = 1.0;
/// More words than this are a text that was pasted; the first ones say what is wanted.
const MOST_TERMS: usize = 256;

impl Query {
    /// Reads a task.
    #[must_use]
    pub fn of(task: &str) -> Self {
        let mut terms: BTreeMap<Vec<u8>, (usize, f64, String)> = BTreeMap::new();
        let mut buffer = Vec::new();
        let mut take = |word: &[u8], weight: f64| {
            let odd = word.len() < 2 || word.iter().all(u8::is_ascii_digit);
            if odd || (weight < IDENTIFIER && is_common(word)) || !stem(word, &mut buffer) {
                return;
            }
            let next = terms.len();
            if next < MOST_TERMS || terms.contains_key(&buffer) {
                let written = String::from_utf8_lossy(word).into_owned();
                let known = terms.entry(buffer.clone()).or_insert((next, weight, written));
                known.1 = known.1.max(weight);
            }
        };
        identifiers(task.as_bytes(), |word| {
            let mut count = 0;
            parts(word, |_| count += 1);
            if count > 1 || word.contains(&b'_') {
                take(word, IDENTIFIER);
                parts(word, |part| take(part, PART));
            } else if is_marked(word, task) {
                take(word, IDENTIFIER);
            } else {
                take(word, WORD);
            }
        });
        let mut terms: Vec<_> = terms.into_iter().collect();
        terms.sort_by_key(|(_, (order, _, _))| *order);
        let terms = terms.into_iter().map(|(stem, (_, weight, written))| Term {
            stem,
            weight,
            written,
        });
        Self {
            terms: terms.collect(),
            paths: paths(task),
        }
    }

    /// No word of it could be looked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.paths.is_empty()
    }
}

/// What is written like a path: with a slash, or with a dot before a short ending. A trailing `:12` is a line.
fn paths(task: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in
        task.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '@' | '\\')))
    {
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

/// Is it written as code somewhere in the task: called, or between backticks?
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

/// Words that every task has and that say nothing of a file.
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
        let query = Query::of(
            "Fix the off-by-one in `parse_hunk` (src/parse.rs:12), as Cargo.toml says it. See ./docs/",
        );
        assert_eq!(query.paths, ["src/parse.rs", "Cargo.toml"]);
        let words: Vec<(&str, f64)> = query
            .terms
            .iter()
            .map(|term| (term.written.as_str(), term.weight))
            .collect();
        assert!(words.contains(&("parse_hunk", IDENTIFIER)), "{words:?}");
        assert!(words.contains(&("hunk", PART)), "{words:?}");
        assert!(!words.iter().any(|(word, _)| *word == "the"), "{words:?}");
    }

    #[test]
    fn an_empty_task_asks_for_nothing() {
        assert!(Query::of("").is_empty());
        assert!(Query::of("fix the code, please").is_empty());
    }
}
