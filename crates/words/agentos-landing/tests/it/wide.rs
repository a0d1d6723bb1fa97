//! Many edits of real files under many kinds of damage: the result is the right one, or there is none.
//!
//! Owns: the count by class. The sources are the vendored corpus, and with `AGENTOS_LANDING_SOURCES` set when
//! this is compiled, every text file below those folders (`:` between them). Never: forgives a wrong result.

mod damage;
pub mod edits;
mod shares;
mod vary;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use agentos_landing::{HunkStatus, LandError, LandOptions, RefusalCode, land};

use damage::{Expect, classes};
use edits::{Case, Random, case};

use crate::memory::{Memory, Tree};

/// Files of one project.
pub type Project = Vec<(String, String)>;

/// Outcome of one input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Exact,
    Refused,
    /// Other content.
    Wrong,
    /// The right content, but for blanks that no reader sees.
    WrongBlanks,
    /// "The file has this already" about a file that has not.
    WrongClaim,
}

#[derive(Default)]
struct Score {
    exact: u32,
    refused: u32,
    wrong: u32,
    blanks: u32,
    claims: u32,
    shown: u32,
}

impl Score {
    fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Exact => &mut self.exact,
            Outcome::Refused => &mut self.refused,
            Outcome::Wrong => &mut self.wrong,
            Outcome::WrongBlanks => &mut self.blanks,
            Outcome::WrongClaim => &mut self.claims,
        } += 1;
    }
}

#[test]
fn damage_of_any_kind_makes_the_right_result_or_none() {
    let (projects, rounds) = match option_env!("AGENTOS_LANDING_SOURCES") {
        Some(folders) => (
            folders
                .split(':')
                .flat_map(|folder| outside(Path::new(folder)))
                .collect(),
            rounds(),
        ),
        None => (corpus(), 24),
    };
    let mut table: BTreeMap<&str, Score> = BTreeMap::new();
    for round in 0..rounds {
        let mut random = Random::for_round(seed(), round, "");
        if option_env!("AGENTOS_LANDING_ROUND").is_some_and(|only| only != round.to_string()) {
            continue;
        }
        let project = &projects[random.below(projects.len())];
        let Some(case) = case(&mut random, project).filter(|case| !case.files.is_empty()) else {
            continue;
        };
        for (name, expect, damage) in classes() {
            if option_env!("AGENTOS_LANDING_CLASS").is_some_and(|only| only != *name) {
                continue;
            }
            // Each class has numbers of its own, so that one class gives the same inputs alone as among all.
            let mut random = Random::for_round(seed(), round, name);
            let Some(text) = damage(&mut random, &case) else {
                continue;
            };
            let score = table.entry(name).or_default();
            let outcome = judged(&case, &text, (name, *expect, round), &mut score.shown);
            score.count(outcome);
        }
        table
            .entry("applied_before")
            .or_default()
            .count(applied(&case, round));
    }
    let mut all = Score::default();
    for (name, score) in &table {
        let Score {
            exact,
            refused,
            wrong,
            blanks,
            claims,
            ..
        } = score;
        println!(
            "{name:22} exact {exact:5} refused {refused:5} WRONG {wrong:3} BLANKS {blanks:3} CLAIMS {claims:3}"
        );
        all.exact += exact;
        all.refused += refused;
        all.wrong += wrong;
        all.blanks += blanks;
        all.claims += claims;
    }
    let Score {
        exact,
        refused,
        wrong,
        blanks,
        claims,
        ..
    } = all;
    let count = exact + refused + wrong + blanks + claims;
    println!("all {count}: exact {exact} refused {refused} WRONG {wrong} BLANKS {blanks} CLAIMS {claims}");
    assert_eq!((wrong, blanks, claims), (0, 0, 0));
}

/// Shows damaged answers of some rounds with their bases.
pub fn each_answer(rounds: usize, show: &mut dyn FnMut(&[u8], &Memory)) {
    let projects = corpus();
    for round in 0..rounds {
        let mut random = Random::for_round(seed(), round, "");
        let project = &projects[random.below(projects.len())];
        let Some(case) = case(&mut random, project).filter(|case| !case.files.is_empty()) else {
            continue;
        };
        for (name, _, damage) in classes() {
            let mut random = Random::for_round(seed(), round, name);
            if let Some(text) = damage(&mut random, &case) {
                show(text.as_bytes(), &case.base);
            }
        }
    }
}

/// Lands a damaged answer and compares with the right result.
fn judged(case: &Case, text: &str, (name, expect, round): (&str, Expect, usize), shown: &mut u32) -> Outcome {
    let print = |kind: &str, detail: &str| println!("{kind} {name} round {round}\n{text}\nGOT\n{detail}");
    match land(text.as_bytes(), &case.base, &LandOptions::default()) {
        Ok(landed) => {
            let after = case.base.after(&landed.change);
            if after == case.expected {
                return Outcome::Exact;
            }
            let outcome = match plain_tree(&after) == plain_tree(&case.expected) {
                true => Outcome::WrongBlanks,
                false => Outcome::Wrong,
            };
            *shown += 1;
            if *shown <= 3 {
                let kind = if outcome == Outcome::Wrong {
                    "WRONG"
                } else {
                    "BLANKS"
                };
                let diff = String::from_utf8_lossy(landed.change.canonical_diff());
                print(
                    kind,
                    &format!("{diff}\nDIFFERS\n{}", first_difference(&after, &case.expected)),
                );
            }
            outcome
        }
        Err(LandError::Refused(report)) => {
            let there = |status: HunkStatus| status == HunkStatus::AlreadyThere;
            let hunks = report.files.iter().flat_map(|file| &file.hunks);
            let refusal = report.refusal.as_ref().map(|refusal| refusal.code);
            // Of two edits one after the other, the second may undo the first: its result is in the base.
            let in_turn = name.starts_with("seq_");
            if refusal == Some(RefusalCode::Empty) || !in_turn && hunks.clone().any(|hunk| there(hunk.status))
            {
                *shown += 1;
                if *shown <= 3 {
                    print(
                        "CLAIM",
                        &format!("{:?}\n{}", report.refusal, String::from_utf8_lossy(&case.diff)),
                    );
                }
                return Outcome::WrongClaim;
            }
            if expect == Expect::Land && refusal != Some(RefusalCode::Ambiguous) {
                *shown += 1;
                if *shown <= 3 {
                    println!("refused {name} round {round}: {:?}", report.refusal);
                }
            }
            Outcome::Refused
        }
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

/// Describes the first line of each file in which two trees differ, for a person.
pub fn first_difference(got: &Tree, expected: &Tree) -> String {
    let mut out = String::new();
    for (path, (mode, content)) in expected {
        let Some((other_mode, other)) = got.get(path) else {
            out.push_str(&format!("{path}: missing\n"));
            continue;
        };
        if (mode, content) == (other_mode, other) {
            continue;
        }
        let lines = |content: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(content).into_owned();
            text.split_inclusive('\n')
                .map(|line| format!("{line:?}"))
                .collect()
        };
        let (right, wrong) = (lines(content), lines(other));
        let at = right.iter().zip(&wrong).take_while(|(a, b)| a == b).count();
        out.push_str(&format!(
            "{path}:{} of {} expected {:?} got {:?}\n",
            at + 1,
            right.len(),
            right.get(at),
            wrong.get(at)
        ));
    }
    out
}

/// Lands the right diff, with its true `index` lines, on its own result: nothing may change.
fn applied(case: &Case, round: usize) -> Outcome {
    let mut base = Memory::default();
    for (path, (mode, content)) in &case.expected {
        base.put(path, mode, content);
    }
    match land(&case.diff, &base, &LandOptions::default()) {
        Ok(landed) => {
            let diff = String::from_utf8_lossy(landed.change.canonical_diff());
            println!(
                "TWICE round {round}\n{}\nGOT\n{diff}",
                String::from_utf8_lossy(&case.diff)
            );
            Outcome::Wrong
        }
        Err(LandError::Refused(report)) => match report.refusal.map(|refusal| refusal.code) {
            Some(RefusalCode::Empty) => Outcome::Exact,
            Some(_) | None => Outcome::Refused,
        },
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

/// The tree without what no reader sees: blanks at the end of lines, marks, line ends, empty lines at the end.
pub fn plain_tree(tree: &Tree) -> BTreeMap<&str, (&str, String)> {
    let plain = |content: &[u8]| {
        let text = String::from_utf8_lossy(content);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let lines: Vec<&str> = text.split('\n').map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    };
    tree.iter()
        .map(|(path, (mode, content))| (path.as_str(), (mode.as_str(), plain(content))))
        .collect()
}

fn seed() -> u64 {
    option_env!("AGENTOS_LANDING_SEED")
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0x9E37_79B9_7F4A_7C15)
}

fn rounds() -> usize {
    option_env!("AGENTOS_LANDING_ROUNDS")
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(2_000)
}

/// The bases of the public corpus.
pub fn corpus() -> Vec<Project> {
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
pub fn outside(folder: &Path) -> Vec<Project> {
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
