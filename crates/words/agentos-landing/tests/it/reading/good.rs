//! Good answers whose text looks like marks, or that stand between marks, or below words that take edits back
//! elsewhere: the result is that of the answer alone.
//!
//! Owns: wrappers around everything, and harmless sentences. Never: writes a sentence that speaks of the edit.

use super::files::{SOURCES, base};
use super::forms::{Edit, FORMS};
use super::{Failures, Outcome, outcome, seed};
use crate::wide::edits::Random;

/// Marks around a complete answer.
pub const WRAPPERS: &[(&str, &str)] = &[
    ("<answer>", "</answer>"),
    ("<response>", "</response>"),
    ("[RESULT]", "[/RESULT]"),
    ("<|begin|>", "<|end|>"),
    ("<final_answer>", "</final_answer>"),
    ("<solution lang=\"en\">", "</solution>"),
    ("<Output>", "</Output>"),
    ("[[reply]]", "[[/reply]]"),
    ("<|reply|>", "<|/reply|>"),
    ("<zzz>", "</zzz>"),
];

/// Every edit of every file in every dialect, which is more than 500 answers.
#[test]
fn good_answers_with_marks_in_their_text_land() {
    let base = base();
    let mut failures = Failures::default();
    for (form, write) in FORMS {
        for source in SOURCES {
            for swap in 0..source.swaps.len() {
                let edit = Edit::of(source, swap, 42);
                let got = outcome(&write(&edit), &base);
                let holds = got == Outcome::of(&[(edit.path, &edit.after)]);
                failures.check(
                    holds,
                    &format!("{form}, {} {swap}", edit.path),
                    &write(&edit),
                    &got,
                );
            }
        }
    }
    failures.assert_none(500);
}

#[test]
fn marks_around_everything_change_nothing() {
    let base = base();
    let mut failures = Failures::default();
    let mut turn = 0;
    for (form, write) in FORMS {
        for source in SOURCES {
            for swap in 0..source.swaps.len() {
                let edit = Edit::of(source, swap, 42);
                let alone = write(&edit);
                let (open, close) = WRAPPERS[turn % WRAPPERS.len()];
                turn += 1;
                let inner = if turn.is_multiple_of(3) {
                    format!("I change one line.\n\n{alone}\nDone.\n")
                } else {
                    alone
                };
                let answer = format!("{open}\n{inner}{close}\n");
                let got = outcome(&answer, &base);
                let holds = got == Outcome::of(&[(edit.path, &edit.after)]);
                failures.check(
                    holds,
                    &format!("{open} {form}, {} {swap}", edit.path),
                    &answer,
                    &got,
                );
            }
        }
    }
    failures.assert_none(500);
}

/// A mark without its other half is prose, and so is a pair in code spans, although edits stand between its marks.
#[test]
fn marks_that_are_no_pair_are_prose() {
    let base = base();
    let mut failures = Failures::default();
    let mut turn = 0;
    for (form, write) in FORMS {
        for source in SOURCES {
            let edit = Edit::of(source, turn, 42);
            let alone = write(&edit);
            // The end of gpt-oss's marks is a known word by itself.
            let (open, close) = WRAPPERS
                .iter()
                .cycle()
                .skip(turn)
                .find(|(_, end)| *end != "<|end|>")
                .expect("one");
            turn += 1;
            let answers = [
                format!("{open}\n{alone}"),
                format!("{alone}\n{open}\n"),
                format!("{alone}\n{close}\n"),
                format!("It was `{open}` before.\n\n{alone}\nAnd `{close}` ended it.\n"),
                format!("```text\n{open}\n```\n\n{alone}\n```text\n{close}\n```\n"),
            ];
            for answer in answers {
                let got = outcome(&answer, &base);
                let holds = got == Outcome::of(&[(edit.path, &edit.after)]);
                failures.check(holds, &format!("{open} {form}, {}", edit.path), &answer, &got);
            }
        }
    }
    failures.assert_none(1_000);
}

/// Edits inside and outside of an unknown pair: nothing shows which of them are the answer.
#[test]
fn edits_inside_and_outside_of_a_pair_are_refused() {
    let base = base();
    let mut failures = Failures::default();
    for (open, close) in WRAPPERS.iter().filter(|(_, end)| *end != "<|end|>") {
        for (form, write) in FORMS {
            let inside = write(&Edit::of(&SOURCES[0], 0, 42));
            let outside = write(&Edit::of(&SOURCES[1], 0, 42));
            for answer in [
                format!("{open}\n{inside}{close}\n\n{outside}"),
                format!("{outside}\n{open}\n{inside}{close}\n"),
            ] {
                let got = outcome(&answer, &base);
                failures.check(got.is_refused(), &format!("{open} {form}"), &answer, &got);
            }
        }
    }
    failures.assert_none(300);
}

/// Sentences that use the words of taking back about something else. `{n}` is a noun and `{v}` a verb.
const SENTENCES: &[&str] = &[
    "`lookup` returned the wrong {n}; use `fetch` instead.",
    "The old code did not {v} the {n}.",
    "Some callers, for example the {n} job, never {v} it.",
    "Instead of the {n}, the shop now has to {v} the row.",
    "Wait until the {n} is ready, then {v} it.",
    "It does not {v} the {n} any more.",
    "It was wrong to {v} the {n} twice.",
    "Do not {v} the {n} by hand, the shop does it.",
    "The {n} is not needed, so nothing has to {v} it.",
    "The {n} job forgot to apply the discount; do not {v} it again.",
    "Not every {n} can {v}, for example the first cannot.",
    "Wait, the {n} also has to {v}, which it does now.",
    "No other {n} is left to {v}.",
    "Users who {v} the {n} should ignore the old page.",
    "An {n} that fails to {v} is dropped, which was wrong before.",
    "The draft of a {n} is not sent until users {v} it.",
];
const NOUNS: &[&str] = &["value", "price", "total", "name", "session", "list"];
const VERBS: &[&str] = &["sort", "save", "check", "load", "count", "close"];

/// A harmless sentence with one of the words.
pub fn harmless(random: &mut Random) -> String {
    SENTENCES[random.below(SENTENCES.len())]
        .replace("{n}", NOUNS[random.below(NOUNS.len())])
        .replace("{v}", VERBS[random.below(VERBS.len())])
}

#[test]
fn words_that_take_back_elsewhere_change_nothing() {
    let base = base();
    let mut failures = Failures::default();
    let mut random = Random::for_round(seed(), 0, "harmless words");
    for round in 0..1_200 {
        let (form, write) = FORMS[round % FORMS.len()];
        let source = &SOURCES[random.below(SOURCES.len())];
        let edit = Edit::of(source, random.below(4), 101 + random.below(899));
        let (alone, sentence) = (write(&edit), harmless(&mut random));
        let answer = match random.below(5) {
            0 => format!("{sentence}\n\n{alone}"),
            1 => format!("{sentence} I change one line:\n\n{alone}"),
            2 => format!("{alone}\n{sentence}\n"),
            3 => format!(
                "- {sentence}\n- {}\n\n{alone}\n{sentence}\n",
                harmless(&mut random)
            ),
            _ => format!(
                "## What is wrong\n\n{sentence}\n\n## What changes\n\n{alone}\n## Notes\n\n{sentence}\n"
            ),
        };
        let got = outcome(&answer, &base);
        let holds = got == Outcome::of(&[(edit.path, &edit.after)]);
        failures.check(holds, &format!("{form}: {sentence}"), &answer, &got);
    }
    failures.assert_none(300);
}
