//! Two users of one index at once.

use std::sync::Barrier;

use agentos_search::TextIndex;
use agentos_testkit::repo::remove_file;

use crate::support::{ask, list_names, make_files, rank_answer, rank_texts};

const TASK: &str = "word3_4 and word20_7 in part2";

#[test]
fn an_open_index_outlives_the_files_that_another_one_removes() {
    let folder = tempfile::tempdir().unwrap();
    let files = make_files(60, 20);
    for count in 1..=20 {
        ask(&mut TextIndex::open(folder.path()), TASK, &files[..count]).unwrap();
    }
    let mut first = TextIndex::open(folder.path());
    for name in list_names(folder.path(), "") {
        remove_file(&folder.path().join(name));
    }
    // Another process starts from nothing, and the first one goes on.
    ask(&mut TextIndex::open(folder.path()), TASK, &files[10..40]).unwrap();
    let answer = ask(&mut first, TASK, &files).unwrap();
    assert_eq!(rank_answer(TASK, &files, &answer), rank_texts(TASK, &files));
}

#[test]
fn several_writers_at_once_get_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let files = make_files(90, 20);
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (files, folder, start) = (&files, folder.path(), &start);
            scope.spawn(move || {
                start.wait();
                for count in (1..=files.len()).step_by(writer + 1) {
                    let asked = &files[..count];
                    let answer = ask(&mut TextIndex::open(folder), TASK, asked).unwrap();
                    assert_eq!(
                        rank_answer(TASK, asked, &answer),
                        rank_texts(TASK, asked),
                        "{writer} {count}"
                    );
                }
            });
        }
    });
    assert_eq!(list_names(folder.path(), "unfinished-"), [""; 0]);
    let answer = ask(&mut TextIndex::open(folder.path()), TASK, &files).unwrap();
    assert_eq!(rank_answer(TASK, &files, &answer), rank_texts(TASK, &files));
}
