//! The reading stage against its specification: an edit exists only where its form claims it.
//!
//! Owns: the base of these tests, edits of its files with a known result, and the dialects that write them.
//! Never: reads `src` to find out what is right.

mod files;
mod forms;
mod good;
mod insertions;
mod metamorphic;
mod newer_forms;
mod on_purpose;
mod result_checks;
mod still_lands;
mod trap_calls;
mod traps;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use agentos_landing::{LandError, LandOptions, land};

use crate::memory::Memory;

/// What an answer does to a base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The files that differ afterwards, with their new text. `None` means that the file is deleted.
    Lands(BTreeMap<String, Option<String>>),
    /// Code and message of the refusal.
    Refused(String),
}

impl Outcome {
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// The outcome in which exactly these files have a new text.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let text = |(path, text): &(&str, &str)| ((*path).to_owned(), Some((*text).to_owned()));
        Self::Lands(files.iter().map(text).collect())
    }
}

/// Reads and lands an answer.
pub fn outcome(answer: &str, base: &Memory) -> Outcome {
    match land(answer.as_bytes(), base, &LandOptions::default()) {
        Ok(landed) => {
            let after = base.after(&landed.change);
            let text = |content: &[u8]| String::from_utf8_lossy(content).into_owned();
            let mut changed: BTreeMap<String, Option<String>> = after
                .iter()
                .filter(|(path, now)| base.tree.get(*path) != Some(now))
                .map(|(path, (_, content))| (path.clone(), Some(text(content))))
                .collect();
            let gone = base.tree.keys().filter(|path| !after.contains_key(*path));
            changed.extend(gone.map(|path| (path.clone(), None)));
            Outcome::Lands(changed)
        }
        Err(LandError::Refused(report)) => {
            let refusal = report.refusal.expect("a refused answer has its reason");
            Outcome::Refused(format!("{}: {}", refusal.code, refusal.message))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Rows of a table whose outcome is not the expected one.
#[derive(Default)]
pub struct Failures {
    rows: Vec<String>,
    count: usize,
}

impl Failures {
    /// Counts one row, and keeps it if it fails.
    pub fn check(&mut self, holds: bool, name: &str, answer: &str, got: &Outcome) {
        self.count += 1;
        if !holds {
            self.rows.push(format!("--- {name}\n{answer}\n--- GOT {got:?}\n"));
        }
    }

    /// Fails if a row failed, or if there were fewer rows than stated. Shows the first names and answers.
    pub fn assert_none(&self, at_least: usize) {
        let mut names: Vec<&str> = self.rows.iter().filter_map(|row| row.lines().next()).collect();
        names.dedup();
        names.truncate(100);
        let shown = self.rows.iter().take(8).cloned().collect::<String>();
        println!("{} of {} fail", self.rows.len(), self.count);
        assert!(
            self.rows.is_empty(),
            "{} of {} fail:\n{}\n\n{shown}",
            self.rows.len(),
            self.count,
            names.join("\n")
        );
        assert!(self.count >= at_least, "{} rows, {at_least} expected", self.count);
    }
}

/// Seed of the generated tests, which is printed: that of `AGENTOS_READING_SEED` when this was compiled, a new one if
/// that is `fresh`, or a fixed one.
pub fn seed() -> u64 {
    let seed = match option_env!("AGENTOS_READING_SEED") {
        Some("fresh") => RandomState::new().hash_one(0),
        Some(seed) => seed.parse().expect("AGENTOS_READING_SEED is a number or `fresh`"),
        None => 45,
    };
    println!("AGENTOS_READING_SEED={seed}");
    seed
}
