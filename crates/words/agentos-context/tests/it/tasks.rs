//! Tasks and the files they are about.

use agentos_context::{
    ContextBudget, FileId, FileRanker, FileText, LineRange, PastCommit, PickedFiles, RankReason, RankedFile,
    TaskQuery, divide_window, pick_parts,
};
use std::collections::HashMap;

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
        ("correct the guide", "docs/guide.md"),
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
fn the_area_in_front_of_a_task_decides_between_files_with_the_same_words() {
    let files = [
        ("unix/pipe.c", "int close_pipe(int handle);"),
        ("win/pipe.c", "int close_pipe(int handle);"),
    ];
    for (task, first) in [
        ("win: close the pipe", "win/pipe.c"),
        ("fix(unix): close the pipe", "unix/pipe.c"),
        // A word later in the task is an ordinary word.
        ("[unix] close the pipe. It works on win.", "unix/pipe.c"),
    ] {
        let found = ranked(task, &files);
        assert_eq!(
            found.first().map(|(path, _)| path.as_str()),
            Some(first),
            "{task}"
        );
    }
}

#[test]
fn code_comes_before_lists_and_settings_with_the_same_words() {
    let files = [
        ("AUTHORS", "payment payment payment"),
        ("settings.yml", "payment: payment"),
        ("tests/shop.rs", "fn payment() {}"),
        ("src/shop.rs", "fn payment() {}"),
    ];
    let found = ranked("the payment is lost", &files);
    assert_eq!(
        found.first().map(|(path, _)| path.as_str()),
        Some("src/shop.rs"),
        "{found:?}"
    );
}

#[test]
fn a_part_next_to_a_good_part_comes_before_others() {
    let files = [("shop.py", large_file())];
    // Each method is a part. `clean` and `greet` are next to `pay`; all methods but `pay` have the same words.
    let picked = picked("the payment is lost", &files, &[], tokens(640));
    assert_eq!(shown(&picked), ["shop.py:1-3,41-76"]);
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
    let place = |path: &str| found.iter().position(|(found, _)| found == path);
    for path in ["src/basket.rs", "src/price.rs", "src/http/server.rs"] {
        assert!(place("Cargo.lock") > place(path), "{path}: {found:?}");
    }
}

#[test]
fn words_that_every_task_has_lead_nowhere() {
    assert_eq!(ranked("please fix the bug in this code", FILES), []);
}

/// Picks from these files; the lines of the second list are all that the user wants of a file.
fn picked(
    task: &str,
    files: &[(&str, String)],
    wanted: &[(&str, LineRange)],
    budget: ContextBudget,
) -> PickedFiles {
    let query = TaskQuery::from_task(task);
    let mut ranker = FileRanker::new(&query);
    let mut texts: HashMap<FileId, FileText> = HashMap::new();
    for (path, text) in files {
        let id = ranker.add_path(path);
        ranker.add_text(id, text.as_bytes());
        let lines = wanted.iter().filter(|(limited, _)| limited == path);
        let wanted: Vec<LineRange> = lines.map(|(_, range)| *range).collect();
        if !wanted.is_empty() {
            ranker.mark_named(id);
        }
        texts.insert(id, FileText::measure(text, wanted));
    }
    let candidates = ranker.rank_parts(|file| texts.get(&file.file).cloned());
    pick_parts(&candidates, budget)
}

fn tokens(tokens: u64) -> ContextBudget {
    ContextBudget {
        tokens,
        whole_only: false,
    }
}

/// Returns the paths with their lines, as `path:1-3,7-9`; a whole file has no lines.
fn shown(picked: &PickedFiles) -> Vec<String> {
    let files = picked.files.iter().map(|file| {
        let ranges = file
            .ranges
            .iter()
            .map(|range| format!("{}-{}", range.first, range.last));
        let ranges: Vec<String> = ranges.collect();
        match ranges.is_empty() {
            true => file.path.clone(),
            false => format!("{}:{}", file.path, ranges.join(",")),
        }
    });
    files.collect()
}

/// A file with a class of many methods, of which only `pay` is about payment.
fn large_file() -> String {
    let mut text = String::from("import bank\n\n\nclass Shop:\n");
    for name in ["open", "close", "clean", "pay", "greet", "count"] {
        text.push_str(&format!("    def {name}(self):\n"));
        let word = if name == "pay" { "payment" } else { "thing" };
        for line in 0..16 {
            text.push_str(&format!("        self.{word}_{line} = bank.look_up({line})\n"));
        }
        text.push('\n');
    }
    text
}

#[test]
fn small_files_are_picked_whole() {
    let files: Vec<(&str, String)> = FILES
        .iter()
        .map(|(path, text)| (*path, (*text).to_owned()))
        .collect();
    let all = picked("total of each item", &files, &[], tokens(10_000));
    assert_eq!(shown(&all), ["src/basket.rs", "tests/basket.rs", "Cargo.lock"]);
    let first = picked("total of each item", &files, &[], tokens(70));
    assert_eq!(shown(&first), ["src/basket.rs"]);
    let none = picked("total in src/basket.rs", &files, &[], tokens(10));
    assert_eq!(
        (none.files.len(), none.too_large),
        (0, vec!["src/basket.rs".to_owned()])
    );
}

#[test]
fn of_a_large_file_the_parts_are_picked_that_the_task_is_about() {
    let files = [("shop.py", large_file()), ("readme.txt", "a shop\n".to_owned())];
    let part = picked("the payment is lost", &files, &[], tokens(330));
    assert_eq!(shown(&part), ["shop.py:1-3,59-76"]);
    // A named file is shown in part as well, before anything else.
    let named = picked("see shop.py: the payment is lost", &files, &[], tokens(330));
    assert_eq!(shown(&named), ["shop.py:1-3,59-76"]);
    let wanted = [("shop.py", LineRange { first: 4, last: 7 })];
    let limited = picked("the payment is lost", &files, &wanted, tokens(9000));
    assert_eq!(shown(&limited), ["shop.py:4-7"]);
    // A tool that answers with whole files cannot use a part.
    let whole_only = ContextBudget {
        tokens: 330,
        whole_only: true,
    };
    assert_eq!(
        shown(&picked("the payment is lost", &files, &[], whole_only)),
        [""; 0]
    );
    let named = picked("see shop.py", &files, &[], whole_only);
    assert_eq!(shown(&named), ["shop.py"]);
}

#[test]
fn earlier_commits_lead_to_the_files_that_they_changed() {
    let query = TaskQuery::from_task("the discount of a coupon is wrong");
    let mut ranker = FileRanker::new(&query);
    for (path, text) in [
        ("src/a.rs", "fn a() {}"),
        ("src/b.rs", "fn b() {}"),
        ("src/c.rs", "fn c() {}"),
    ] {
        let id = ranker.add_path(path);
        ranker.add_text(id, text.as_bytes());
    }
    let commit = |subject: &str, path: &str| PastCommit {
        subject: subject.to_owned(),
        paths: vec![path.to_owned()],
    };
    ranker.add_history(&[
        commit("tidy up", "src/a.rs"),
        commit("coupon: round the discount", "src/b.rs"),
        commit("gone", "src/gone.rs"),
    ]);
    let found = ranker.rank_files();
    let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["src/b.rs", "src/a.rs"]);
    assert!(
        found.iter().all(|file| file.why == RankReason::History),
        "{found:?}"
    );
}

#[test]
fn a_window_always_leaves_room_for_files() {
    let context = |window, limit| divide_window(window, 300, limit).context;
    let cases = [
        (8_192, None, 8_192 - 2_048 - 256 - 300),
        // However long the answer may become, half of the window is left for the rest.
        (8_192, Some(8_000), 8_192 - 4_096 - 256 - 300),
        (8_192, Some(1_000_000), 8_192 - 4_096 - 256 - 300),
        (8_192, Some(256), 8_192 - 256 - 256 - 300),
        (1 << 20, None, 48_000),
        (256, None, 0),
    ];
    for (window, limit, expected) in cases {
        assert_eq!(context(window, limit), expected, "{window} {limit:?}");
    }
}

#[test]
fn imported_files_and_tests_of_a_good_file_are_candidates_without_a_word() {
    let files = [
        (
            "src/cart.py",
            "from .money import round_up\ndef checkout():\n    return round_up(3)\n",
        ),
        ("src/money.py", "def round_up(value):\n    return value\n"),
        ("src/other.py", "def nothing():\n    pass\n"),
        ("tests/test_cart.py", "def test_it():\n    assert True\n"),
    ];
    let query = TaskQuery::from_task("checkout is slow");
    let mut ranker = FileRanker::new(&query);
    for (path, text) in files {
        let id = ranker.add_path(path);
        ranker.add_text(id, text.as_bytes());
    }
    let read = |file: &RankedFile| {
        let (_, text) = files.iter().find(|(path, _)| *path == file.path)?;
        Some(FileText::measure(text, Vec::new()))
    };
    let candidates = ranker.rank_parts(read);
    let found: Vec<(&str, &RankReason)> = candidates
        .iter()
        .map(|candidate| (candidate.file.path.as_str(), &candidate.file.why))
        .collect();
    let near = RankReason::Near("src/cart.py".to_owned());
    let words = RankReason::Words(vec!["checkout".to_owned()]);
    assert_eq!(
        found,
        [
            ("src/cart.py", &words),
            ("src/money.py", &near),
            ("tests/test_cart.py", &near)
        ]
    );
}
