//! The state that a killed landing left, as a row of the executor's table of crash states.
//!
//! Owns: reading the table, telling a repository's state, and comparing what recovery did with the row. Never: kills, or
//! recovers.

use std::collections::{BTreeMap, BTreeSet};

use agentos_testkit::cli::CliOutput;

use crate::kill::Place;

/// The table, in the documentation of the executor's recovery.
const TABLE: &str = include_str!("../../../../effects/agentos-executor/src/crash-states.md");
/// Tests that make the states which no kill leaves.
const EXECUTOR_TESTS: &str = include_str!("../../../../effects/agentos-executor/tests/it/recover.rs");

/// Everything of a repository that a landing can change, by name.
pub type Contents = BTreeMap<String, String>;

/// What is there of a landing, in the words of the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CrashState {
    landing: String,
    journal: String,
    branch: String,
    index: String,
    work_tree: String,
    tape: String,
}

/// One row of the table.
#[derive(Debug)]
struct Row {
    /// Landing, journal, ref, index, working tree and tape, each with its values.
    cells: [Vec<String>; 6],
    left_by: String,
    recovery: String,
}

impl Row {
    fn parse(line: &str) -> Self {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [
            "",
            landing,
            journal,
            branch,
            index,
            work_tree,
            tape,
            left_by,
            recovery,
            reason,
            "",
        ] = cells[..]
        else {
            panic!("not a row: {line}");
        };
        assert!(!reason.is_empty(), "{line}");
        let values = |cell: &str| cell.split(" or ").map(str::to_owned).collect();
        Self {
            cells: [landing, journal, branch, index, work_tree, tape].map(values),
            left_by: left_by.to_owned(),
            recovery: recovery.to_owned(),
        }
    }

    /// Returns every combination of its values.
    fn states(&self) -> Vec<CrashState> {
        let mut states = vec![Vec::new()];
        for values in &self.cells {
            let mut longer = Vec::new();
            for state in &states {
                longer.extend(
                    values
                        .iter()
                        .map(|value| [&state[..], &[value.as_str()]].concat()),
                );
            }
            states = longer;
        }
        let named = states.into_iter().map(|state: Vec<&str>| {
            let [landing, journal, branch, index, work_tree, tape] = state.try_into().unwrap();
            CrashState {
                landing: landing.to_owned(),
                journal: journal.to_owned(),
                branch: branch.to_owned(),
                index: index.to_owned(),
                work_tree: work_tree.to_owned(),
                tape: tape.to_owned(),
            }
        });
        named.collect()
    }
}

/// The rows of the table.
fn rows() -> Vec<Row> {
    let lines = TABLE.lines().filter(|line| line.starts_with("| "));
    lines.skip(1).map(Row::parse).collect()
}

/// The states that a kill leaves, what recovery makes of each, and which were met.
pub struct CrashTable {
    recoveries: BTreeMap<CrashState, String>,
    seen: BTreeSet<CrashState>,
}

impl CrashTable {
    pub fn read() -> Self {
        let mut recoveries = BTreeMap::new();
        for row in rows().into_iter().filter(|row| row.left_by == "kill") {
            for state in row.states() {
                let other = recoveries.insert(state.clone(), row.recovery.clone());
                assert_eq!(other, None, "two rows have {state:?}");
            }
        }
        assert!(recoveries.len() >= 20, "{recoveries:#?}");
        let seen = BTreeSet::new();
        Self { recoveries, seen }
    }

    /// Notes a state that a kill left, and returns what recovery shall make of it.
    pub fn meet(&mut self, state: &CrashState, what: &str) -> String {
        self.seen.insert(state.clone());
        let recovery = self.recoveries.get(state);
        recovery
            .unwrap_or_else(|| panic!("{what}: the table has no row for {state:#?}"))
            .clone()
    }

    /// Checks that recovery did with a state what its row says; returns whether the change is made now.
    pub fn check_recovery(&mut self, state: &CrashState, recovered: &CliOutput, what: &str) -> bool {
        let expected = self.meet(state, what);
        let json = recovered.json().unwrap();
        let outcome = json["recovered"]["outcome"].as_str().unwrap_or("nothing");
        assert_eq!(outcome, expected, "{what}: {state:#?}: {recovered}");
        match outcome {
            "finished" => true,
            "rolled-back" => false,
            _ => state.branch == "change" || state.index == "change",
        }
    }

    /// Checks that every state was met of which the table says that a kill leaves it.
    pub fn assert_all_met(&self) {
        let states = self.recoveries.keys();
        let missing: Vec<_> = states.filter(|state| !self.seen.contains(state)).collect();
        assert!(missing.is_empty(), "no kill left these states: {missing:#?}");
    }

    pub fn count_met(&self) -> (usize, usize) {
        (self.seen.len(), self.recoveries.len())
    }
}

/// A landing that may be killed, and the repository before and after it.
pub struct WatchedLanding<'a> {
    target: &'a [&'a str],
    before: &'a Contents,
    after: &'a Contents,
    /// Intents and receipts on the tape when it began.
    records: [usize; 2],
}

impl<'a> WatchedLanding<'a> {
    /// Begins to watch before the landing begins.
    pub fn new(place: &Place, target: &'a [&'a str], before: &'a Contents, after: &'a Contents) -> Self {
        let records = count_records(place);
        Self {
            target,
            before,
            after,
            records,
        }
    }

    /// Reads the state of the repository, and changes nothing.
    pub fn observe(&self, place: &Place) -> CrashState {
        let now = place.contents();
        let landing = match self.target {
            [] => "commit, working tree",
            ["--no-commit"] => "working tree",
            _ => "commit",
        };
        let index = self.side(&now, "index");
        let index = match place.index_lock() {
            Some(lock) if lock.starts_with("agentos landing ") => format!("{index}, locked"),
            Some(lock) => panic!("locked by another program: {lock}"),
            None => index.to_owned(),
        };
        let [intents, receipts] = count_records(place);
        let tape = match (intents > self.records[0], receipts > self.records[1]) {
            (_, true) => "receipt",
            (true, false) => "intent",
            (false, false) => "-",
        };
        CrashState {
            landing: landing.to_owned(),
            journal: read_journal(place).to_owned(),
            branch: self.side(&now, "refs").to_owned(),
            index,
            work_tree: self.files_side(&now).to_owned(),
            tape: tape.to_owned(),
        }
    }

    /// Tells on which side of the change refs or index are; `-` where it changes nothing there.
    fn side(&self, now: &Contents, name: &str) -> &'static str {
        let [before, after, now] = [self.before, self.after, now].map(|state| state.get(name));
        assert!(
            now == before || now == after,
            "{name} is on neither side: {now:?}"
        );
        match (before == after, now == after) {
            (true, _) => "-",
            (false, false) => "base",
            (false, true) => "change",
        }
    }

    /// Tells on which side of the change the files of the working tree are.
    fn files_side(&self, now: &Contents) -> &'static str {
        let changed: BTreeSet<&String> = (self.before.keys().chain(self.after.keys()))
            .filter(|name| !matches!(name.as_str(), "refs" | "index" | "status"))
            .filter(|name| self.before.get(*name) != self.after.get(*name))
            .collect();
        let are_as_in = |side: &Contents| changed.iter().all(|name| now.get(*name) == side.get(*name));
        let others = now
            .keys()
            .filter(|name| !self.before.contains_key(*name) && !changed.contains(name));
        let temporary = others.filter(|name| name.contains(".agentos-")).count();
        match (are_as_in(self.before), are_as_in(self.after)) {
            (true, true) => "-",
            (true, false) if temporary > 0 => "staged",
            (true, false) => "base",
            (false, true) => "change",
            (false, false) => "part",
        }
    }
}

fn read_journal(place: &Place) -> &'static str {
    let Ok(text) = std::fs::read(place.state_dir().join("journal.json")) else {
        return "none";
    };
    let journal: serde_json::Value = serde_json::from_slice(&text).unwrap();
    if journal["decided"] == true {
        "decided"
    } else {
        "written"
    }
}

/// Counts intents and receipts on the tape.
fn count_records(place: &Place) -> [usize; 2] {
    let tape = std::fs::read_to_string(place.state_dir().join("tape.jsonl")).unwrap_or_default();
    ["intent", "receipt"].map(|kind| {
        let member = format!("\"kind\":\"{kind}\"");
        tape.lines().filter(|line| line.contains(&member)).count()
    })
}

#[test]
fn a_state_that_no_kill_leaves_has_a_test_of_its_own() {
    let rows = rows();
    let others = rows.iter().filter(|row| row.left_by != "kill");
    for row in others {
        let name = row.left_by.split('`').nth(1);
        let name = name.unwrap_or_else(|| panic!("no test is named: {row:?}"));
        let is_there = EXECUTOR_TESTS.contains(&format!("#[test]\nfn {name}() {{"));
        assert!(is_there, "the executor has no test `{name}`");
    }
    let recoveries = BTreeSet::from_iter(rows.iter().map(|row| row.recovery.as_str()));
    assert_eq!(
        Vec::from_iter(recoveries),
        ["blocked", "finished", "nothing", "rolled-back", "superseded"]
    );
}
