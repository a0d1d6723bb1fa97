//! The public landing corpus: model texts with named damage, each with its one right result or none.
//!
//! Owns: the score. Never: forgives a wrong result.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use agentos_landing::{LandError, LandOptions, land};
use serde_json::Value;

use crate::memory::{Memory, Tree};

pub fn rows(name: &str) -> Vec<Value> {
    let path = format!(
        "{}/../../dev/agentos-testkit/fixtures/landing/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).expect(&path);
    text.split('\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

struct Corpus {
    blobs: HashMap<String, String>,
    bases: HashMap<String, Value>,
}

impl Corpus {
    fn read() -> Self {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        Self {
            blobs: rows("blobs.jsonl")
                .iter()
                .map(|row| (text(&row["sha"]), text(&row["text"])))
                .collect(),
            bases: rows("bases.jsonl")
                .into_iter()
                .map(|row| (text(&row["id"]), row))
                .collect(),
        }
    }

    fn base(&self, id: &str) -> Memory {
        let row = &self.bases[id];
        let mut memory = Memory::default();
        for (path, entry) in row["base"].as_object().expect("a base") {
            let content = &self.blobs[entry[1].as_str().expect("an id")];
            memory.put(path, entry[0].as_str().expect("a mode"), content.as_bytes());
        }
        for (_, entry) in row["seen"].as_object().into_iter().flatten() {
            memory.know(self.blobs[entry[1].as_str().expect("an id")].as_bytes());
        }
        memory
    }

    fn expected(&self, base: &Memory, delta: &Value) -> Tree {
        let mut tree = base.tree.clone();
        for (path, entry) in delta.as_object().into_iter().flatten() {
            match entry.as_array() {
                Some(entry) => {
                    let content = &self.blobs[entry[1].as_str().expect("an id")];
                    let mode = entry[0].as_str().expect("a mode").to_owned();
                    tree.insert(path.clone(), (mode, Arc::from(content.as_bytes())));
                }
                None => {
                    tree.remove(path);
                }
            }
        }
        tree
    }
}

#[derive(Default)]
struct Score {
    exact: u32,
    refused: u32,
    wrong: u32,
}

/// Shows every answer of the corpus with its base.
pub fn each_answer(show: &mut dyn FnMut(&[u8], &Memory)) {
    let corpus = Corpus::read();
    for row in rows("inputs.jsonl") {
        let base = corpus.base(row["base_id"].as_str().expect("an id"));
        let input = row["input"].as_str().expect("a text");
        show(input.replace("{{OUTER}}", "/outer").as_bytes(), &base);
    }
}

#[test]
fn the_public_corpus_lands_where_it_was_meant_or_not_at_all() {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let corpus = Corpus::read();
    let mut table: BTreeMap<(String, String), Score> = BTreeMap::new();
    let mut failures = Vec::new();
    for row in rows("inputs.jsonl") {
        let base = corpus.base(row["base_id"].as_str().expect("an id"));
        let expect = text(&row["expect"]);
        let input = text(&row["input"]).replace("{{OUTER}}", "/outer");
        let score = table.entry((text(&row["class"]), expect.clone())).or_default();
        match land(input.as_bytes(), &base, &LandOptions::default()) {
            Ok(landed) => {
                let good =
                    expect != "refuse" && base.after(&landed.change) == corpus.expected(&base, &row["delta"]);
                if good {
                    score.exact += 1;
                } else {
                    score.wrong += 1;
                    failures.push(format!("WRONG {}", row["id"]));
                }
            }
            Err(LandError::Refused(report)) => {
                score.refused += 1;
                if expect == "land" {
                    let refusal = report.refusal.expect("a refusal");
                    failures.push(format!("refused {}: {}: {refusal}", row["id"], refusal.code));
                }
            }
            Err(LandError::Base(error)) => panic!("{error}"),
        }
    }
    println!("{}", failures.join("\n"));
    judge(&table);
}

/// Prints the table and holds it against the bar.
fn judge(table: &BTreeMap<(String, String), Score>) {
    for ((class, expect), score) in table {
        println!(
            "{class:24} {expect:7} exact {} refused {} wrong {}",
            score.exact, score.refused, score.wrong
        );
    }
    let sum = |pick: fn(&Score) -> u32, expect: &str, clean: bool| -> u32 {
        table
            .iter()
            .filter(|((class, expected), _)| expected == expect && class.starts_with("clean") == clean)
            .map(|(_, score)| pick(score))
            .sum()
    };
    let wrong: u32 = table.values().map(|score| score.wrong).sum();
    assert_eq!(wrong, 0);
    assert_eq!(
        sum(|score| score.refused, "land", true),
        0,
        "every clean diff lands"
    );
    let (exact, refused) = (
        sum(|score| score.exact, "land", false),
        sum(|score| score.refused, "land", false),
    );
    println!("damaged, one right answer: {exact} of {}", exact + refused);
    assert!(exact * 100 >= (exact + refused) * 97);
}
