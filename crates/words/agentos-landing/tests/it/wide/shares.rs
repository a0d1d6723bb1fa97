//! Damage in the kinds and shares of the public set, on edits of real files: what is clear lands, and nothing lands wrong.
//!
//! Owns: the seeds and the count. A new seed is drawn and printed at each run. Never: forgives a wrong result.
//!
//! These variables are read when this is compiled:
//!
//! | variable | meaning |
//! |---|---|
//! | `AGENTOS_SHARES` | number of inputs for each seed; 50,000 is the long run |
//! | `AGENTOS_SHARES_SEEDS` | seeds, with `,` between them, to repeat a run; or a number below 100 of new ones |
//! | `AGENTOS_SHARES_KIND` | only this kind |
//! | `AGENTOS_SHARES_SOURCES` | folders with further text files, with `:` between them |

mod clear;
mod cut;
mod draft;
mod kinds;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::thread;

use agentos_landing::{LandError, LandOptions, RefusalCode, land};

use super::edits::{Case, Random, case, case_of};
use super::{Project, corpus, first_difference, outside, plain_tree};
use clear::{Expect, fits_another_place, judged};
use draft::Draft;
use kinds::{FORMS, KINDS};

/// Counts of one kind.
#[derive(Default, Clone)]
struct Tally {
    /// Clear inputs, and those of them that landed as they must.
    clear: usize,
    exact: usize,
    /// Inputs that are not clear, and those of them with the right result.
    other: usize,
    other_exact: usize,
    /// Results with other content; with other blanks; and right ones of texts that fit several places.
    wrong: usize,
    blanks: usize,
    lucky: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.clear += other.clear;
        self.exact += other.exact;
        self.other += other.other;
        self.other_exact += other.other_exact;
        self.wrong += other.wrong;
        self.blanks += other.blanks;
        self.lucky += other.lucky;
    }
}

type Table = BTreeMap<&'static str, Tally>;

fn new_seed(number: u64) -> u64 {
    RandomState::new().hash_one(number)
}

fn seeds() -> Vec<u64> {
    let given = option_env!("AGENTOS_SHARES_SEEDS").unwrap_or("1");
    let numbers: Vec<u64> = given
        .split(',')
        .filter_map(|seed| seed.trim().parse().ok())
        .collect();
    match numbers.as_slice() {
        [count] if *count < 100 => (0..*count).map(new_seed).collect(),
        _ => numbers,
    }
}

#[test]
fn clear_answers_land_and_no_answer_lands_wrong() {
    let inputs = option_env!("AGENTOS_SHARES")
        .and_then(|count| count.parse().ok())
        .unwrap_or(300);
    let folders = option_env!("AGENTOS_SHARES_SOURCES").unwrap_or_default();
    let folders = folders.split(':').filter(|folder| !folder.is_empty());
    let projects: Vec<Project> = folders
        .flat_map(|folder| outside(Path::new(folder)))
        .chain(corpus())
        .collect();
    let mut all = Tally::default();
    for seed in seeds() {
        println!("seed {seed}");
        let mut table = Table::new();
        // Two halves of the inputs side by side; each input has numbers of its own.
        let halves = thread::scope(|scope| {
            let projects = &projects;
            let half = |first: usize| scope.spawn(move || tally(projects, seed, (first..inputs).step_by(2)));
            let halves = [half(0), half(1)];
            halves.map(|half| half.join().expect("a table"))
        });
        for (name, tally) in halves.into_iter().flatten() {
            table.entry(name).or_default().add(&tally);
        }
        show(&table);
        table.values().for_each(|tally| all.add(tally));
    }
    println!("{}", line("all seeds", &all));
    assert_eq!((all.wrong, all.lucky), (0, 0));
    // A small sample may have some of the few that are refused.
    let refused = all.clear - all.exact;
    assert!(refused <= 3.max(all.clear / 200), "{refused} of {}", all.clear);
}

fn line(name: &str, tally: &Tally) -> String {
    let Tally {
        clear,
        exact,
        other,
        other_exact,
        wrong,
        blanks,
        lucky,
    } = tally;
    let share = 100.0 * *exact as f64 / (*clear).max(1) as f64;
    format!(
        "{name:22} clear {clear:6} exact {exact:6} {share:6.2} % other {other:6} exact {other_exact:6} WRONG {wrong} BLANKS {blanks} LUCKY {lucky}"
    )
}

fn show(table: &Table) {
    let mut all = Tally::default();
    for (name, tally) in table {
        println!("{}", line(name, tally));
        all.add(tally);
    }
    println!("{}", line("all", &all));
}

fn tally(projects: &[Project], seed: u64, inputs: impl Iterator<Item = usize>) -> Table {
    let mut table = Table::new();
    let only = option_env!("AGENTOS_SHARES_KIND");
    let shares: Vec<&'static str> = KINDS
        .iter()
        .map(|(name, share, _)| (*name, *share))
        .chain(FORMS.iter().map(|(name, share, _, _)| (*name, *share)))
        .flat_map(|(name, share)| std::iter::repeat_n(name, share))
        .collect();
    for input in inputs {
        let mut random = Random::for_round(seed, input, "shares");
        let kind = shares[random.below(shares.len())];
        if only.is_some_and(|only| only != kind) {
            continue;
        }
        // Some kinds fit few cases.
        let made = (0..40).find_map(|_| input_of(&mut random, projects, kind));
        if let Some((case, text, expect)) = made {
            count(
                table.entry(kind).or_default(),
                &case,
                &text,
                (kind, expect, seed, input),
            );
        }
    }
    table
}

/// Makes an input of this kind. `None` if the kind does not fit the case that was drawn.
fn input_of(random: &mut Random, projects: &[Project], kind: &str) -> Option<(Case, String, Expect)> {
    let project = &projects[random.below(projects.len())];
    let crlf =
        |(path, text): &(String, String)| (path.clone(), text.replace("\r\n", "\n").replace('\n', "\r\n"));
    let case = match (kind, random.below(6)) {
        ("eol_crlf_file", _) => case_of(random, &project.iter().map(crlf).collect::<Vec<_>>())?,
        // Files that mix tabs and spaces by lines are no case for damage to just these.
        (kind, 0) if !kind.contains("tabs") && kind != "fmt_codex_ws" => case(random, project)?,
        (_, _) => case_of(random, project)?,
    };
    let mut draft = Draft::of(&case);
    // A file of binary content has no hunks.
    if draft.files.is_empty() || draft.files.iter().any(|file| file.hunks.is_empty()) {
        return None;
    }
    if let Some((_, _, damage)) = KINDS.iter().find(|(name, _, _)| *name == kind) {
        let expect = damage(random, &mut draft).then(|| judged(&draft))?;
        let text = draft.text(random);
        return Some((case, text, expect));
    }
    let (_, _, damage, write) = FORMS.iter().find(|(name, _, _, _)| *name == kind)?;
    (draft.is_numbered, draft.is_shuffled) =
        (false, kind.starts_with("fmt_sr") || kind == "fmt_search_replace");
    if !damage(random, &mut draft) || fits_another_place(&draft) {
        return None;
    }
    let expect = match kind {
        "fmt_whole_file" => Expect::Either,
        _ => judged(&draft),
    };
    let case = Case {
        files: draft.files,
        ..case
    };
    let text = write(&case)?;
    Some((case, text, expect))
}

/// Lands an input and counts the outcome.
fn count(
    tally: &mut Tally,
    case: &Case,
    text: &str,
    (kind, expect, seed, input): (&str, Expect, u64, usize),
) {
    let print = |what: &str, detail: &str| {
        println!("{what} {kind} seed {seed} input {input}\n{text}\nGOT\n{detail}\nEND");
    };
    let clear = expect == Expect::Land;
    tally.clear += usize::from(clear);
    tally.other += usize::from(!clear);
    match land(text.as_bytes(), &case.base, &LandOptions::default()) {
        Ok(landed) => {
            let after = case.base.after(&landed.change);
            let diff = String::from_utf8_lossy(landed.change.canonical_diff());
            if after == case.expected {
                tally.exact += usize::from(clear);
                tally.other_exact += usize::from(!clear);
                if expect == Expect::Refuse {
                    tally.lucky += 1;
                    print("LUCKY", &diff);
                }
            } else if plain_tree(&after) == plain_tree(&case.expected) {
                tally.blanks += 1;
                print("BLANKS", &first_difference(&after, &case.expected));
            } else {
                tally.wrong += 1;
                print(
                    "WRONG",
                    &format!("{diff}\n{}", first_difference(&after, &case.expected)),
                );
            }
        }
        Err(LandError::Refused(report)) => {
            let refusal = report.refusal.as_ref();
            let code = refusal.map(|refusal| refusal.code);
            if clear {
                print(
                    "REFUSED",
                    &format!(
                        "{:?} {}",
                        code,
                        refusal.map(|one| one.message.as_str()).unwrap_or_default()
                    ),
                );
            } else if code == Some(RefusalCode::Empty) {
                tally.wrong += 1;
                print("CLAIM", "empty");
            }
        }
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}
