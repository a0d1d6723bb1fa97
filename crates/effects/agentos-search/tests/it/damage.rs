//! Damaged, foreign and unwritable files: the index is made again, or is not used.

use std::fs;

use agentos_search::{SavedLists, TextIndex};
#[cfg(unix)]
use agentos_testkit::repo::make_link;
use agentos_testkit::repo::{make_dir, write_file};

use crate::support::{ask, list_names, make_files, rank_answer, rank_texts};

const TASK: &str = "word3_4 and word20_7 in part2";

#[test]
fn a_damaged_segment_is_made_again_wherever_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let files = make_files(6, 12);
    ask(&mut TextIndex::open(folder.path()), TASK, &files).unwrap();
    let name = list_names(folder.path(), "segment-").pop().unwrap();
    let path = folder.path().join(&name);
    let whole = fs::read(&path).unwrap();
    let expected = rank_texts(TASK, &files);
    for at in (0..whole.len()).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        write_file(&path, &damaged);
        let answer = ask(&mut TextIndex::open(folder.path()), TASK, &files).unwrap();
        assert_eq!(rank_answer(TASK, &files, &answer), expected, "byte {at}");
    }
    for length in (0..whole.len()).step_by(101) {
        write_file(&path, &whole[..length]);
        let answer = ask(&mut TextIndex::open(folder.path()), TASK, &files).unwrap();
        assert_eq!(answer.read, files.len(), "cut at {length}");
        assert_eq!(rank_answer(TASK, &files, &answer), expected, "cut at {length}");
    }
    // Whatever was found, the file is whole in the end.
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[test]
fn numbers_that_claim_more_than_the_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = make_files(3, 5);
    ask(&mut TextIndex::open(folder.path()), TASK, &files).unwrap();
    let name = list_names(folder.path(), "segment-").pop().unwrap();
    let path = folder.path().join(&name);
    let whole = fs::read(&path).unwrap();
    // The numbers of texts, buckets' bits and words, and the length of the uses, each with a right checksum.
    for (at, bytes) in [(8, 4), (12, 4), (16, 4), (24, 8)] {
        for value in [u64::MAX, 31, 1 << 30] {
            let mut hostile = whole.clone();
            hostile[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            let sum = agentos_context::hash_bytes(&hostile[..56]);
            hostile[56..64].copy_from_slice(&sum.to_le_bytes());
            write_file(&path, &hostile);
            let answer = ask(&mut TextIndex::open(folder.path()), TASK, &files).unwrap();
            assert_eq!(answer.read, 3, "{value} at {at}");
        }
    }
}

#[test]
fn any_file_in_the_folder_is_read_without_harm() {
    let folder = tempfile::tempdir().unwrap();
    let files = make_files(3, 5);
    for (number, content) in [b"".as_slice(), &[0; 64], &[0xFF; 200], b"AOSseg\0\x01 and more"]
        .iter()
        .enumerate()
    {
        write_file(&folder.path().join(format!("segment-{number}")), content);
    }
    make_dir(&folder.path().join("segment-folder"));
    write_file(&folder.path().join("notes.txt"), "kept");
    #[cfg(unix)]
    make_link(&folder.path().join("segment-link"), "/dev/zero");
    let answer = ask(&mut TextIndex::open(folder.path()), TASK, &files).unwrap();
    assert_eq!(rank_answer(TASK, &files, &answer), rank_texts(TASK, &files));
    assert_eq!(fs::read(folder.path().join("notes.txt")).unwrap(), b"kept");
}

#[test]
fn without_a_folder_to_write_there_is_no_index() {
    let dir = tempfile::tempdir().unwrap();
    let files = make_files(3, 5);
    // A file, and a folder below it, where the folder of the index should be: this fails for root, too.
    let taken = dir.path().join("search");
    write_file(&taken, "a file");
    for folder in [taken.clone(), taken.join("below")] {
        assert_eq!(ask(&mut TextIndex::open(&folder), TASK, &files), None);
        let lists = SavedLists::open(&folder);
        lists.save_withheld("tree", "scope", &[true]);
        assert_eq!(lists.load_withheld("tree", "scope"), None);
    }
    assert_eq!(fs::read(&taken).unwrap(), b"a file");
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_folder_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = dir.path().join("elsewhere");
    make_dir(&elsewhere);
    write_file(&elsewhere.join("segment-theirs"), "theirs");
    let folder = dir.path().join("search");
    make_link(&folder, elsewhere.to_str().unwrap());
    assert_eq!(ask(&mut TextIndex::open(&folder), TASK, &make_files(3, 5)), None);
    assert_eq!(list_names(&elsewhere, ""), ["segment-theirs"]);
}
