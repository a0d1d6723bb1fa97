//! Each rung, repair, dialect and other reading has an answer in the corpora that needs it.
//!
//! Owns: the list of what was needed. Never: counts what only a test of its own needs: without an answer here it is to be deleted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_landing::{LandOptions, LandingReport, land};

use crate::memory::Memory;

/// Rounds of the generator: as many as the rarest kind needs.
const ROUNDS: usize = 14;

#[derive(Default)]
struct Needs(BTreeMap<String, u32>);

impl Needs {
    fn add(&mut self, kind: &str, what: &str) {
        *self.0.entry(format!("{kind}: {what}")).or_default() += 1;
    }

    fn add_report(&mut self, report: &LandingReport) {
        let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        for note in report
            .notes
            .iter()
            .filter(|note| note.starts_with("the answer was read"))
        {
            self.add("reading", note);
        }
        for file in &report.files {
            self.add("dialect", &word(serde_json::json!(file.dialect)));
            for repair in file
                .repairs
                .iter()
                .chain(file.hunks.iter().flat_map(|hunk| &hunk.repairs))
            {
                self.add("repair", &repair.kind);
            }
            for rung in file.hunks.iter().filter_map(|hunk| hunk.rung) {
                self.add("rung", &word(serde_json::json!(rung)));
            }
        }
    }
}

#[test]
fn every_rung_repair_and_reading_is_needed_by_an_answer() {
    let mut needs = Needs::default();
    let mut show = |answer: &[u8], base: &Memory| {
        if let Ok(landed) = land(answer, base, &LandOptions::default()) {
            needs.add_report(&landed.report);
        }
    };
    crate::landing::each_answer(&mut show);
    crate::styles::each_answer(&mut show);
    crate::wide::each_answer(ROUNDS, &mut show);
    for (what, count) in &needs.0 {
        println!("{count:6} {what}");
    }
    let missing: Vec<String> = stated_kinds()
        .into_iter()
        .filter(|kind| !needs.0.contains_key(kind))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// Lists the rungs, dialects, repairs and readings that the source names.
fn stated_kinds() -> Vec<String> {
    let mut kinds = Vec::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in source_files(&source) {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let mut literals = |before: &str, kind: &str| {
            for (at, _) in text.match_indices(before) {
                let (_, rest) = text.split_at(at + before.len());
                if let Some((word, _)) = rest
                    .trim_start()
                    .strip_prefix('"')
                    .and_then(|rest| rest.split_once('"'))
                {
                    kinds.push(format!("{kind}: {word}"));
                }
            }
        };
        literals("new_repair(", "repair");
        if file.ends_with("readings.rs") {
            literals("note: ", "reading");
        }
    }
    let dialects = [
        "unified-diff",
        "search-replace",
        "patch-envelope",
        "whole-file",
        "json-edits",
    ];
    kinds.extend(dialects.map(|dialect| format!("dialect: {dialect}")));
    let rungs = [
        "exact-stated",
        "exact-moved",
        "trailing-blanks",
        "indentation",
        "blanks",
        "typography",
        "merged",
        "whole-file",
    ];
    kinds.extend(rungs.map(|rung| format!("rung: {rung}")));
    assert!(kinds.len() > 30, "{kinds:?}");
    kinds
}

fn source_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the source");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                source_files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
