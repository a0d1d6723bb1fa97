//! What stands around and between good edits changes nothing, or the answer is refused.
//!
//! Owns: the comparison, and the count by kind of insertion. `AGENTOS_READING_ROUNDS` sets the number of answers and
//! `AGENTOS_READING_SEED` the seed (a number, or `fresh` for a new one), both when this is compiled.

use std::collections::BTreeMap;

use super::files::{SOURCES, base};
use super::forms::{Edit, FORMS};
use super::insertions::{Effect, KINDS, Kind};
use super::{Outcome, outcome, seed};
use crate::memory::Memory;
use crate::wide::edits::Random;

/// Outcomes of the answers with one kind of insertion.
#[derive(Default)]
struct Count {
    same: u32,
    refused: u32,
    /// Another change than that of the good answer.
    other: u32,
    /// The same result where it must be refused, or a refusal where the result must be the same.
    unwanted: u32,
}

/// An answer with insertions, and the result of its good edits.
struct Answer {
    text: String,
    wanted: Outcome,
    effect: Effect,
}

fn rounds() -> usize {
    option_env!("AGENTOS_READING_ROUNDS")
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(3_000)
}

/// Joins edits of one dialect and insertions between them.
fn compose(random: &mut Random, edits: &[Edit], form: usize, kinds: &[&Kind]) -> Answer {
    let (_, write) = FORMS[form];
    let mut slots = vec![String::new(); edits.len() + 1];
    for kind in kinds {
        let at = if kind.first_only {
            0
        } else {
            random.below(slots.len())
        };
        let text = (kind.write)(random, edits);
        let slot = &mut slots[at];
        if !slot.is_empty() {
            slot.push('\n');
        }
        slot.push_str(&text);
    }
    let mut parts = Vec::new();
    for (at, slot) in slots.into_iter().enumerate() {
        parts.extend(Some(slot).filter(|slot| !slot.is_empty()));
        parts.extend(edits.get(at).map(write));
    }
    let files: Vec<(&str, &str)> = edits
        .iter()
        .map(|edit| (edit.path, edit.after.as_str()))
        .collect();
    let all = |effect: Effect| kinds.iter().all(|kind| kind.effect == effect);
    let effect = if all(Effect::Same) {
        Effect::Same
    } else if kinds.iter().any(|kind| kind.effect == Effect::Refused) {
        Effect::Refused
    } else {
        Effect::SameOrRefused
    };
    Answer {
        text: parts.join("\n"),
        wanted: Outcome::of(&files),
        effect,
    }
}

/// Edits of one file, or of two where the dialect can stand twice in an answer.
fn good_edits(random: &mut Random, is_twice: bool) -> Vec<Edit> {
    let first = random.below(SOURCES.len());
    let second = (first + 1 + random.below(SOURCES.len() - 1)) % SOURCES.len();
    let count = if is_twice && random.one_in(2) { 2 } else { 1 };
    [first, second]
        .into_iter()
        .take(count)
        .map(|at| Edit::of(&SOURCES[at], random.below(4), 101 + random.below(899)))
        .collect()
}

/// Returns the dialects in which two edits land from one answer without anything around them.
fn dialects_that_stand_twice(base: &Memory) -> Vec<bool> {
    let edits = [Edit::of(&SOURCES[0], 0, 42), Edit::of(&SOURCES[1], 0, 42)];
    let stands_twice = |form| {
        let answer = compose(&mut Random(1), &edits, form, &[]);
        outcome(&answer.text, base) == answer.wanted
    };
    (0..FORMS.len()).map(stands_twice).collect()
}

#[test]
fn what_stands_around_edits_changes_nothing_or_refuses() {
    let base = base();
    let twice = dialects_that_stand_twice(&base);
    // A mark without end may take what another insertion says with it, so such kinds stand alone.
    let combined: Vec<&Kind> = KINDS
        .iter()
        .filter(|kind| !kind.first_only && kind.effect != Effect::Refused)
        .collect();
    let seed = seed();
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut shown = Vec::new();
    let mut many_shown: BTreeMap<&str, u32> = BTreeMap::new();
    for round in 0..rounds() {
        let mut random = Random::for_round(seed, round, "reading");
        let form = random.below(FORMS.len());
        let edits = good_edits(&mut random, twice[form]);
        let (name, kinds) = match KINDS.get(round % (KINDS.len() + 3)) {
            Some(kind) => (kind.name, vec![kind]),
            None => {
                let count = 2 + random.below(3);
                (
                    "several of them",
                    (0..count)
                        .map(|_| combined[random.below(combined.len())])
                        .collect(),
                )
            }
        };
        let answer = compose(&mut random, &edits, form, &kinds);
        let got = outcome(&answer.text, &base);
        let count = counts.entry(name).or_default();
        let is_same = got == answer.wanted;
        let fault = if is_same && answer.effect == Effect::Refused {
            Some("LANDS, AND MUST BE REFUSED")
        } else if got.is_refused() && answer.effect == Effect::Same {
            Some("REFUSED, AND MUST LAND")
        } else if is_same || got.is_refused() {
            None
        } else {
            Some("OTHER CHANGE")
        };
        *match (&fault, is_same) {
            (Some("OTHER CHANGE"), _) => &mut count.other,
            (Some(_), _) => &mut count.unwanted,
            (None, true) => &mut count.same,
            (None, false) => &mut count.refused,
        } += 1;
        if let Some(fault) = fault {
            let many = many_shown.entry(name).or_default();
            *many += 1;
            if *many <= 2 {
                shown.push(format!(
                    "=== {fault}: {name}, {}, seed {seed}, round {round}\n{}\n--- GOT {got:?}\n",
                    FORMS[form].0, answer.text
                ));
            }
        }
    }
    let mut failing = 0;
    for (name, count) in &counts {
        let Count {
            same,
            refused,
            other,
            unwanted,
        } = count;
        println!("{name:40} same {same:5} refused {refused:5} OTHER {other:5} UNWANTED {unwanted:5}");
        failing += other + unwanted;
    }
    assert_eq!(failing, 0, "\n{}", shown.join("\n"));
}
