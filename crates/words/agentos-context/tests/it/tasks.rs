//! Tasks and the files they are about.

use agentos_context::{ContextBudget, FileRanker, PickedFiles, RankReason, TaskQuery, pick_files};

const FILES: &[(&str, &str)] = &[
    (
        "src/basket.rs",
        "pub fn total(items: &[Item]) -> u64 { items.iter().map(|item| item.price).sum() }",
    ),
    (
        "src/price.rs",
        "pub struct Price { cents: u64 } impl Price { pub fn discount(&self) -> Price { todo() } }",
    ),
    (
        "src/http/server.rs",
        "pub fn listen(port: u16) { bind(port) } fn parse_header(line: &str) {}",
    ),
    (
        "tests/basket.rs",
        "fn the_total_is_a_sum() { let items = [3, 4]; assert_eq!(total(&items), 7) }",
    ),
    (
        "docs/guide.md",
        "How to run the shop: start the server, open the basket.",
    ),
    (
        "Cargo.lock",
        "total total total total discount discount server server basket basket",
    ),
    ("README.md", "# A small shop"),
];

fn ranked(task: &str, files: &[(&str, &str)]) -> Vec<(String, RankReason)> {
    let query = TaskQuery::from_task(task);
    let mut ranker = FileRanker::new(&query);
    for (path, text) in files {
        let id = ranker.add_path(path);
        ranker.add_text(id, text.as_bytes());
    }
    ranker
        .rank_files()
        .into_iter()
        .map(|file| (file.path, file.why))
        .collect()
}

#[test]
fn a_task_leads_to_the_files_that_its_words_are_in() {
    let cases = [
        ("total() ignores the count of each item", "src/basket.rs"),
        ("give `discount` an upper limit", "src/price.rs"),
        ("parse_header must trim blanks", "src/http/server.rs"),
        ("listening on a port of the server fails", "src/http/server.rs"),
        ("mend the guide", "docs/guide.md"),
    ];
    for (task, first) in cases {
        let found = ranked(task, FILES);
        assert_eq!(
            found.first().map(|(path, _)| path.as_str()),
            Some(first),
            "{task}: {found:?}"
        );
    }
}

#[test]
fn a_file_that_is_named_comes_first_whatever_its_words() {
    let found = ranked("the server is slow, see README.md and http/server.rs:12", FILES);
    let mut named: Vec<&str> = found
        .iter()
        .filter(|(_, why)| *why == RankReason::Named)
        .map(|(path, _)| path.as_str())
        .collect();
    named.sort_unstable();
    assert_eq!(named, ["README.md", "src/http/server.rs"]);
    assert!(
        found.iter().take(2).all(|(_, why)| *why == RankReason::Named),
        "{found:?}"
    );
    // Half a name is no name.
    assert!(
        ranked("see ADME.md", FILES)
            .iter()
            .all(|(_, why)| *why != RankReason::Named)
    );
}

#[test]
fn what_programs_write_comes_after_what_people_write() {
    let found = ranked("total discount server basket", FILES);
    assert_eq!(
        found.last().map(|(path, _)| path.as_str()),
        Some("Cargo.lock"),
        "{found:?}"
    );
}

#[test]
fn words_that_every_task_has_lead_nowhere() {
    assert_eq!(ranked("please fix the bug in this code", FILES), []);
}

fn picked(task: &str, bytes: u64) -> PickedFiles {
    let query = TaskQuery::from_task(task);
    let mut ranker = FileRanker::new(&query);
    for (path, text) in FILES {
        let id = ranker.add_path(path);
        ranker.add_text(id, text.as_bytes());
    }
    let size = |path: &str| {
        let found = FILES.iter().find(|(known, _)| *known == path).unwrap();
        Some(found.1.len() as u64)
    };
    pick_files(ranker.rank_files(), ContextBudget { bytes, files: 12 }, |file| {
        size(&file.path)
    })
}

#[test]
fn whole_files_are_picked_as_long_as_they_fit_and_have_to_do_with_it() {
    let all = picked("total of each item", 10_000);
    let paths: Vec<&str> = all.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["src/basket.rs", "tests/basket.rs"]);
    let first = picked("total of each item", 100);
    assert_eq!(first.files.len(), 1);
    let none = picked("total in src/basket.rs", 10);
    assert_eq!(
        (none.files.len(), none.too_large),
        (0, vec!["src/basket.rs".to_owned()])
    );
}
