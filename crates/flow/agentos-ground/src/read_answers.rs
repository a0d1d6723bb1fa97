//! Answers about texts that were decided before, for the next turn of the same process.
//!
//! Owns: their number, and what an answer depends on: the rules that are selected for the reader as it is now, the path, and the id of the
//! text. Never: keeps an answer that was given because a text or a commit is gone, or one over the end of the process.
//!
//! A changed policy, profile, address or base selects other rules, or has other paths and ids, so no entry needs to be removed. A question with
//! other rules is decided again.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_policy::ReadPolicy;

/// Most answers. A session of 1,000 reads has about as many, for each reader.
const MOST_ANSWERS: usize = 100_000;

/// The answers. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ReadAnswers(Arc<Mutex<KnownAnswers>>);

#[derive(Debug, Default)]
struct KnownAnswers {
    count: usize,
    /// Answers by the selected rules, the id of the text, and the path.
    tables: HashMap<String, HashMap<String, HashMap<String, bool>>>,
}

/// Key of the rules that are selected for a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesKey(Rc<str>);

impl RulesKey {
    /// Makes the key of today's rules and of the rules of the commit that was read, if these differ.
    pub fn new(now: &ReadPolicy<'_>, then: Option<&ReadPolicy<'_>>) -> Self {
        let then = then.map(ReadPolicy::cache_key).unwrap_or_default();
        Self(format!("{} {then}", now.cache_key()).into())
    }
}

impl ReadAnswers {
    /// Returns an answer. `None` if it is not known.
    pub fn find(&self, rules: &RulesKey, path: &str, id: &str) -> Option<bool> {
        let known = self.lock();
        known.tables.get(rules.0.as_ref())?.get(id)?.get(path).copied()
    }

    /// Keeps an answer.
    pub fn keep(&self, rules: &RulesKey, path: &str, id: &str, answer: bool) {
        let mut known = self.lock();
        if known.count >= MOST_ANSWERS {
            *known = KnownAnswers::default();
        }
        known.count += 1;
        let table = known.tables.entry(rules.0.as_ref().to_owned()).or_default();
        table
            .entry(id.to_owned())
            .or_default()
            .insert(path.to_owned(), answer);
    }

    fn lock(&self) -> MutexGuard<'_, KnownAnswers> {
        // An entry is complete when it is added, and a count that is too high only empties the tables earlier.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_for_its_rules_path_and_text_alone() {
        let answers = ReadAnswers::default();
        let key = |text: &str| RulesKey(text.into());
        answers.keep(&key("rules"), "a", "1", true);
        answers.keep(&key("rules"), "b", "1", false);
        for (rules, path, id, expected) in [
            ("rules", "a", "1", Some(true)),
            ("rules", "b", "1", Some(false)),
            ("rules", "a", "2", None),
            ("rules", "c", "1", None),
            ("other", "a", "1", None),
        ] {
            assert_eq!(
                answers.find(&key(rules), path, id),
                expected,
                "{rules} {path} {id}"
            );
        }
        for at in 0..MOST_ANSWERS {
            answers.keep(&key("many"), "a", &at.to_string(), true);
        }
        assert!(answers.lock().count <= MOST_ANSWERS);
        assert_eq!(
            answers.find(&key("many"), "a", &(MOST_ANSWERS - 1).to_string()),
            Some(true)
        );
    }
}
