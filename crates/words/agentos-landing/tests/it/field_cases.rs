//! Answers of models and clients that one product or another placed wrongly: drafts, elisions, wrappers, names, calls.
//!
//! Owns: the outcome of each case, to the byte. A case without `after` is refused.

use std::collections::BTreeMap;

use agentos_landing::{LandError, LandOptions, land};
use serde::Deserialize;

use crate::memory::Memory;

const CASES: &str = include_str!("../../../../dev/agentos-testkit/fixtures/landing/cases.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldCase {
    id: String,
    title: String,
    answer: String,
    /// The answer is a file in UTF-16 with a byte order mark.
    #[serde(default)]
    is_utf16: bool,
    base: BTreeMap<String, String>,
    /// The files that the answer changes, as they are afterwards.
    after: Option<BTreeMap<String, String>>,
}

fn answer_of(case: &FieldCase) -> Vec<u8> {
    match case.is_utf16 {
        true => format!("\u{feff}{}", case.answer)
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect(),
        false => case.answer.clone().into_bytes(),
    }
}

/// Returns every file after the answer, or `None` if it is refused.
fn outcome(case: &FieldCase) -> Option<BTreeMap<String, String>> {
    let files: Vec<(&str, &[u8])> = case
        .base
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_bytes()))
        .collect();
    let base = Memory::of(&files);
    match land(&answer_of(case), &base, &LandOptions::default()) {
        Ok(landed) => Some(
            base.after(&landed.change)
                .into_iter()
                .map(|(path, (_, content))| (path, String::from_utf8_lossy(&content).into_owned()))
                .collect(),
        ),
        Err(LandError::Refused(_)) => None,
        Err(LandError::Base(error)) => panic!("{}: {error}", case.id),
    }
}

#[test]
fn every_answer_lands_as_it_is_meant_or_is_refused() {
    let cases: Vec<FieldCase> = serde_json::from_str(CASES).unwrap();
    assert_eq!(cases.len(), 43);
    let other: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let wanted = case.after.as_ref().map(|after| {
                let mut files = case.base.clone();
                files.extend(after.clone());
                files
            });
            let got = outcome(case);
            (got != wanted).then(|| format!("{} ({}): {got:?}", case.id, case.title))
        })
        .collect();
    assert!(other.is_empty(), "{}", other.join("\n"));
}
