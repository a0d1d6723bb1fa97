//! What holds for every task and every repository.

use agentos_context::{ContextBudget, FileRanker, IgnorePatterns, RankedFile, TaskQuery, pick_files};
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
    fn what_is_picked_fits(task in "[a-d ]{0,40}", files in any_files(), bytes in 0_u64..200, most in 0_usize..6) {
        let found = ranked(&task, &files);
        let size = |file: &RankedFile| {
            files.iter().find(|(path, _)| *path == file.path).map(|(_, text)| text.len() as u64)
        };
        let picked = pick_files(found, ContextBudget { bytes, files: most }, size);
        let sum: u64 = picked.files.iter().filter_map(size).sum();
        prop_assert_eq!(sum, picked.bytes);
        prop_assert!(picked.bytes <= bytes && picked.files.len() <= most);
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
