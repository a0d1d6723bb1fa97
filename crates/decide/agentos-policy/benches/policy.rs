//! What a decision costs: loading 200 rules, deciding 5,000 paths by them, and comparing a change with withheld lines.
//!
//! Owns: what is measured. Never: judges a time; the numbers are for people: `cargo bench -p agentos-policy`.

use std::hint::black_box;

use agentos_landing::{Change, FileState, RepoPath, ResultFacts};
use agentos_policy::{Layer, PolicySet, PolicySource, TakenSearch, ToolFacts};
use agentos_tool::{Enforcement, ExecutionMode, Timestamp};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    let usable = PolicySet::load(&rules()).is_ok() && change(1).is_some();
    assert!(usable, "the rules or the change of the bench are wrong");
    divan::main();
}

/// Paths of the change that is decided.
const PATHS: usize = 5000;

/// A repository's policy of 200 rules, of the kinds that people write.
fn rules() -> Vec<PolicySource> {
    let mut text = "version = 1\npreset = \"none\"\n".to_owned();
    for n in 0..200 {
        let (effect, conditions) = match n % 5 {
            0 => (
                "allow",
                "action = [\"create\", \"modify\", \"delete\", \"rename\", \"land\"]\nmax_lines = 100000"
                    .to_owned(),
            ),
            1 => ("ask", format!("paths = [\"crates/c{n}/**\", \"docs/*{n}.md\"]")),
            2 => (
                "deny",
                format!("paths = [\"**/secret{n}.*\"]\nexecution_mode = \"cloud\""),
            ),
            3 => (
                "ask",
                format!("paths = [\"infra{n}/**/*.tf\"]\nmax_added = 10\nprovider = [\"open*\"]"),
            ),
            _ => (
                "deny",
                "touches = [\"ci\", \"hooks\"]\nexecution_mode = \"cloud\"".to_owned(),
            ),
        };
        text.push_str(&format!(
            "[[rule]]\nid = \"r{n}\"\neffect = \"{effect}\"\nwhy = \"w\"\n{conditions}\n"
        ));
    }
    vec![PolicySource {
        layer: Layer::Repository,
        name: "bench.toml".to_owned(),
        text,
    }]
}

fn change(paths: usize) -> Option<Change> {
    let file = |n: usize| {
        let path = RepoPath::new(&format!("crates/c{}/src/module{}/file{n}.rs", n % 40, n % 7)).ok()?;
        let text = |text: &str| Some(FileState::regular(text.as_bytes()));
        Some((path, text("one\ntwo\n"), text("one\n2\n")))
    };
    let files: Option<Vec<_>> = (0..paths).map(file).collect();
    Change::new(files?).ok()
}

fn tool() -> ToolFacts {
    ToolFacts {
        provider: "openai".to_owned(),
        model: Some("gpt-4o".to_owned()),
        execution_mode: ExecutionMode::Cloud,
        enforcement: Enforcement::Observed,
        attempt: 1,
        at: Timestamp::from_unix_seconds(0),
        context_bytes: 0,
        target_ref: Some("refs/heads/main".to_owned()),
        checked: false,
    }
}

#[divan::bench]
fn load_the_default(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| black_box(PolicySet::builtin().is_ok()));
}

#[divan::bench]
fn load_200_rules(bencher: Bencher<'_, '_>) {
    let sources = rules();
    bencher.bench_local(|| black_box(PolicySet::load(&sources).is_ok()));
}

#[divan::bench]
fn decide_5000_paths_by_200_rules(bencher: Bencher<'_, '_>) {
    let (Ok(set), Some(change)) = (PolicySet::load(&rules()), change(PATHS)) else {
        return;
    };
    let tool = tool();
    bencher
        .counter(ItemsCount::new(PATHS))
        .bench_local(|| black_box(set.decide(&change, &ResultFacts::default(), &tool).effect()));
}

#[divan::bench]
fn find_what_5000_paths_add(bencher: Bencher<'_, '_>) {
    let Some(change) = change(PATHS) else { return };
    bencher
        .counter(ItemsCount::new(PATHS))
        .bench_local(|| black_box(agentos_landing::scan_change(&change)));
}

#[divan::bench]
fn decide_one_read(bencher: Bencher<'_, '_>) {
    let Ok(set) = PolicySet::load(&rules()) else {
        return;
    };
    let tool = tool();
    bencher.bench_local(|| {
        black_box(
            set.decide_read("crates/c1/src/lib.rs", b"fn a() {}\n", &tool)
                .effect(),
        )
    });
}

/// Lines of the withheld files that are compared.
const WITHHELD_LINES: usize = 100_000;

#[divan::bench]
fn compare_300_lines_with_100000_withheld_lines(bencher: Bencher<'_, '_>) {
    let line = |n: usize| format!("    let value_{n} = compute_value({n}, other_{});\n", n % 977);
    let withheld: String = (0..WITHHELD_LINES).map(line).collect();
    // Half of the added lines are lines of the withheld files.
    let added: String = (0..300).map(|n| line(n * 666)).collect();
    let Ok(path) = RepoPath::new("src/new.rs") else {
        return;
    };
    let Ok(change) = Change::new(vec![(path, None, Some(FileState::regular(added.as_bytes())))]) else {
        return;
    };
    bencher.counter(ItemsCount::new(WITHHELD_LINES)).bench_local(|| {
        let mut search = TakenSearch::new(&change, |_| false);
        search.add_withheld("private/old.rs", withheld.as_bytes());
        search.add_readable(withheld.as_bytes());
        black_box(search.into_findings().len())
    });
}
