//! What holds for every task and every repository.

use agentos_context::{
    ContextBudget, FileRanker, FileText, IgnorePatterns, PickedFiles, RankedFile, TaskQuery, cut_text,
    estimate_tokens, pick_parts,
};
use proptest::prelude::*;

type Files = Vec<(String, Vec<u8>)>;

fn ranked(task: &str, files: &[(String, Vec<u8>)]) -> Vec<RankedFile> {
    let query = TaskQuery::from_task(task);
    let mut ranker = FileRanker::new(&query);
    let ids: Vec<_> = files.iter().map(|(path, _)| ranker.add_path(path)).collect();
    assert_eq!(ranker.reading_order().len(), files.len());
    for (id, (_, text)) in ids.into_iter().zip(files) {
        ranker.add_text(id, text);
    }
    ranker.rank_files()
}

fn any_files() -> impl Strategy<Value = Files> {
    let path = "[a-c]{1,3}(/[a-dA-D_]{1,6}){0,3}(\\.rs|\\.md)?";
    let text = prop_oneof![
        "[a-dA-D_ ]{0,80}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..80),
    ];
    proptest::collection::btree_map(path, text, 0..12).prop_map(|files| files.into_iter().collect())
}

/// Text with blocks, comments and blank lines, as a program's.
fn code() -> impl Strategy<Value = String> {
    const WORDS: [&str; 9] = [
        "fn a() {",
        "}",
        "// b",
        "let c = d;",
        "#if X",
        "out:",
        "else",
        "} else {",
        "",
    ];
    let line = (0_usize..4, proptest::sample::select(&WORDS[..]));
    let line = line.prop_map(|(depth, words)| format!("{}{words}\n", "    ".repeat(depth)));
    proptest::collection::vec(line, 0..80).prop_map(|lines| lines.concat())
}

fn any_code() -> impl Strategy<Value = Vec<(String, String)>> {
    proptest::collection::btree_map("[a-c]\\.(rs|md)", code(), 0..5)
        .prop_map(|files| files.into_iter().collect())
}

fn picked(task: &str, files: &[(String, String)], budget: u64) -> PickedFiles {
    let query = TaskQuery::from_task(task);
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
    let budget = ContextBudget {
        tokens: budget,
        whole_only: false,
    };
    pick_parts(&candidates, budget)
}

proptest! {
    #[test]
    fn a_ranking_is_sorted_finite_and_free_of_order(task in ".{0,80}", mut files in any_files()) {
        let first = ranked(&task, &files);
        prop_assert!(first.iter().all(|file| file.score.is_finite() && file.score >= 0.0));
        files.reverse();
        let again = ranked(&task, &files);
        let paths = |found: &[RankedFile]| found.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
        prop_assert_eq!(paths(&first), paths(&again));
    }

    #[test]
    fn more_of_a_word_never_makes_a_file_worse(files in any_files(), more in 1_usize..5) {
        let mut files = files;
        files.push(("x/one.rs".to_owned(), b"nothing here at all".to_vec()));
        let rank = |files: &[(String, Vec<u8>)]| {
            ranked("zebra", files).iter().position(|file| file.path == "x/one.rs")
        };
        prop_assert_eq!(rank(&files), None);
        files.last_mut().unwrap().1 = "zebra ".repeat(more).into_bytes();
        prop_assert_eq!(rank(&files), Some(0));
    }

    #[test]
    fn imports_of_any_text_are_read(text in "[a-c ./'\";:{}(),\n]{0,60}", word in "(use |import |from |#include |mod |import \\(\n)") {
        // The neighbours of the first file are looked for in whatever it holds.
        let text = format!("alpha\n{word}{text}");
        for ending in ["c", "go", "java", "py", "rs", "ts"] {
            let files = vec![(format!("a/b.{ending}"), text.clone()), (format!("a/c.{ending}"), String::new())];
            let found = picked("alpha", &files, 400);
            prop_assert_eq!(found.files.first().map(|file| file.path.clone()), Some(format!("a/b.{ending}")));
        }
    }

    #[test]
    fn what_is_picked_fits(task in "[a-d ]{0,40}", files in any_code(), budget in 0_u64..400) {
        let picked = picked(&task, &files, budget);
        let sum: u64 = picked.files.iter().map(|file| file.tokens).sum();
        prop_assert_eq!(sum, picked.tokens);
        prop_assert!(picked.tokens <= budget, "{} > {budget}", picked.tokens);
        for file in &picked.files {
            let mut last = 0;
            for range in &file.ranges {
                prop_assert!(range.first > last && range.first <= range.last && range.last <= file.lines);
                last = range.last;
            }
        }
        prop_assert_eq!(&picked.files, &self::picked(&task, &files, budget).files);
    }

    #[test]
    fn a_text_that_is_cut_has_as_many_tokens_as_before(text in "[ab \t\n\r={}]{0,90}", more in code()) {
        let text = format!("word\n{text}{more}\n \n\n{text}");
        let query = TaskQuery::from_task("word");
        let mut ranker = FileRanker::new(&query);
        let file = ranker.add_path("a.rs");
        ranker.add_text(file, text.as_bytes());
        let candidates = ranker.rank_parts(|_| Some(FileText::measure(&text, Vec::new())));
        let found: Vec<(u64, usize)> = candidates.iter().map(|found| (found.tokens, found.lines)).collect();
        prop_assert_eq!(found, [(estimate_tokens(&text), text.split_inclusive('\n').count())]);
    }

    #[test]
    fn the_parts_of_a_text_are_the_text(text in code(), ending in "(rs|md)") {
        let parts = cut_text(&format!("a.{ending}"), &text);
        let mut next = 1;
        for part in &parts {
            prop_assert_eq!(part.first_line, next);
            prop_assert!(part.last_line >= part.first_line);
            prop_assert!(part.headers.iter().all(|line| *line < part.first_line));
            next = part.last_line + 1;
        }
        prop_assert_eq!(next - 1, text.split_inclusive('\n').count());
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let pieces = parts.iter().map(|part| estimate_tokens(&lines[part.first_line - 1..part.last_line].concat()));
        prop_assert!(pieces.sum::<u64>() >= estimate_tokens(&text));
    }

    #[test]
    fn any_text_is_a_list_of_patterns(text in "[ab*?/!#\\\\\n]{0,60}", path in "[ab]{1,3}(/[ab]{1,3}){0,4}") {
        let ignore = IgnorePatterns::parse(&text);
        let _ = ignore.leaves_out(&path);
        // What is left out stays so when all is left out after it.
        let all = IgnorePatterns::parse(&(text + "\n**\n"));
        prop_assert!(all.leaves_out(&path));
    }
}
