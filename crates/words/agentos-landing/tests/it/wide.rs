//! Many edits of real files under many kinds of damage: the result is the right one, or there is none.
//!
//! Owns: the count by class. The sources are the vendored corpus, and with `AGENTOS_LANDING_SOURCES` set when
//! this is compiled, every text file below that folder. Never: forgives a wrong result.

mod damage;
mod edits;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use agentos_landing::{LandError, LandOptions, land};

use damage::{Expect, classes};
use edits::{Random, case};

/// Files of one project.
type Project = Vec<(String, String)>;

#[derive(Default)]
struct Score {
    exact: u32,
    refused: u32,
    wrong: u32,
    shown: u32,
}

#[test]
fn damage_of_any_kind_makes_the_right_result_or_none() {
    let (projects, rounds) = match option_env!("AGENTOS_LANDING_SOURCES") {
        Some(folder) => (outside(Path::new(folder)), rounds()),
        None => (corpus(), 40),
    };
    let mut table: BTreeMap<&str, Score> = BTreeMap::new();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for round in 0..rounds {
        let project = &projects[round % projects.len()];
        let Some(case) = case(&mut random, project).filter(|case| !case.files.is_empty()) else {
            continue;
        };
        for (name, expect, damage) in classes() {
            let Some(text) = damage(&mut random, &case) else {
                continue;
            };
            let score = table.entry(name).or_default();
            match land(text.as_bytes(), &case.base, &LandOptions::default()) {
                Ok(landed) if case.base.after(&landed.change) == case.expected => score.exact += 1,
                Ok(landed) => {
                    score.wrong += 1;
                    if score.wrong <= 2 {
                        println!(
                            "WRONG {name} round {round}\n{text}\nGOT\n{}",
                            String::from_utf8_lossy(landed.change.canonical_diff())
                        );
                    }
                }
                Err(LandError::Refused(report)) => {
                    score.refused += 1;
                    if *expect == Expect::Land
                        && score.shown < 3
                        && report
                            .refusal
                            .as_ref()
                            .is_some_and(|refusal| refusal.code.as_str() != "ambiguous")
                    {
                        score.shown += 1;
                        println!("refused {name} round {round}: {:?}", report.refusal);
                    }
                }
                Err(LandError::Base(error)) => panic!("{error}"),
            }
        }
    }
    let mut wrong = 0;
    for (name, score) in &table {
        println!(
            "{name:22} exact {:5} refused {:5} WRONG {:3}",
            score.exact, score.refused, score.wrong
        );
        wrong += score.wrong;
    }
    let exact: u32 = table.values().map(|score| score.exact).sum();
    let refused: u32 = table.values().map(|score| score.refused).sum();
    println!("all: exact {exact} refused {refused} wrong {wrong}");
    assert_eq!(wrong, 0);
}

fn rounds() -> usize {
    option_env!("AGENTOS_LANDING_ROUNDS")
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(2_000)
}

/// The bases of the public corpus.
fn corpus() -> Vec<Project> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for row in crate::landing::rows("blobs.jsonl") {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        texts.insert(text("sha"), text("text"));
    }
    let bases = crate::landing::rows("bases.jsonl");
    let mut projects = Vec::new();
    for base in &bases {
        let files: Project = base["base"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, entry)| entry[0] == "100644")
            .filter_map(|(path, entry)| Some((path.clone(), texts.get(entry[1].as_str()?)?.clone())))
            .filter(|(_, text)| text.len() > 200)
            .collect();
        if !files.is_empty() {
            projects.push(files);
        }
    }
    projects
}

/// Text files below a folder, some at a time.
fn outside(folder: &Path) -> Vec<Project> {
    let mut files: Project = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let mut entries: Vec<_> = std::fs::read_dir(&next).into_iter().flatten().flatten().collect();
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path)
                && (200..60_000).contains(&text.len())
                && let Some(name) = path.strip_prefix(folder).ok().and_then(Path::to_str)
            {
                files.push((name.to_owned(), text));
            }
        }
    }
    files.chunks(4).map(<[_]>::to_vec).collect()
}
