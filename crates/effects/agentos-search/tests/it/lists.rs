//! Lists that are saved for a tree or a commit.

use std::fs;

use agentos_context::PastCommit;
use agentos_search::SavedLists;
use agentos_testkit::repo::write_file;
use proptest::prelude::*;

use crate::support::{list_names, object_of};

fn commit(subject: &str, paths: &[&str]) -> PastCommit {
    PastCommit {
        subject: subject.to_owned(),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
    }
}

proptest! {
    #[test]
    fn files_are_loaded_as_they_were_saved(paths in proptest::collection::btree_set("[a-c\u{e4}\u{20ac}/]{1,8}", 0..20)) {
        let folder = tempfile::tempdir().unwrap();
        let lists = SavedLists::open(folder.path());
        let files: Vec<(String, String)> = paths.into_iter().map(|path| (path.clone(), object_of(path.as_bytes()))).collect();
        lists.save_files("tree", &files);
        prop_assert_eq!(lists.load_files("tree"), Some(files));
        prop_assert_eq!(lists.load_files("other"), None);
    }
}

#[test]
fn the_history_is_loaded_as_it_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let lists = SavedLists::open(folder.path());
    let history = [
        commit("First", &["a.rs", "b.rs"]),
        commit("", &[]),
        commit("Third \u{1f980}", &["c"]),
    ];
    lists.save_history("head", &history);
    assert_eq!(lists.load_history("head").as_deref(), Some(&history[..]));
    assert_eq!(lists.load_history("hea"), None);
    // One kind of list is not another.
    assert_eq!(lists.load_files("head"), None);
}

#[test]
fn a_damaged_list_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let lists = SavedLists::open(folder.path());
    let history = [commit("First", &["a.rs", "b.rs"])];
    lists.save_history("head", &history);
    let path = folder
        .path()
        .join(list_names(folder.path(), "history-").pop().unwrap());
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        write_file(&path, &damaged);
        assert_eq!(lists.load_history("head"), None, "byte {at}");
        assert!(!path.exists(), "byte {at}");
        write_file(&path, &whole[..at]);
        assert_eq!(lists.load_history("head"), None, "cut at {at}");
    }
}

#[test]
fn only_the_newest_lists_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let lists = SavedLists::open(folder.path());
    for number in 0..30 {
        lists.save_withheld("tree", &number.to_string(), &[true, false]);
    }
    assert_eq!(list_names(folder.path(), "withheld-").len(), 8);
    assert_eq!(list_names(folder.path(), "unfinished-"), [""; 0]);
}
