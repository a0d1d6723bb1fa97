//! The index changes nothing but the time.

use agentos_context::{IndexedText, TextSource};
use agentos_search::TextIndex;
use proptest::prelude::*;

use crate::support::{ask, make_files, object_of, rank_answer, rank_texts};

fn any_files() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    let path = "[a-c]{1,3}(/[a-dA-D_]{1,6}){0,3}(\\.rs|\\.md)?";
    let text = prop_oneof![
        "([a-dA-D_0-9]{1,4}[ (.]){0,40}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..80),
    ];
    proptest::collection::btree_map(path, text, 0..12).prop_map(|files| files.into_iter().collect())
}

proptest! {
    #[test]
    fn files_are_ranked_the_same_with_an_index_and_without(
        task in "([a-dA-D_]{1,5} ?){0,8}",
        first in any_files(),
        second in any_files(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (mut all, mut read) = (first.clone(), 0);
        all.extend(second.clone());
        // The index grows by what is new, and a part of its texts is asked for afterwards.
        for files in [&first, &all, &second] {
            let mut index = TextIndex::open(folder.path());
            let answer = ask(&mut index, &task, files).unwrap();
            prop_assert_eq!(rank_answer(&task, files, &answer), rank_texts(&task, files));
            read += answer.read;
        }
        let mut objects: Vec<String> = all.iter().map(|(_, content)| object_of(content)).collect();
        objects.sort();
        objects.dedup();
        prop_assert_eq!(read, objects.len(), "each content is read once");
    }
}

#[test]
fn what_cannot_be_read_now_is_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = 0;
    for _ in 0..2 {
        let mut index = TextIndex::open(folder.path());
        let objects = [object_of(b"one"), object_of(b"two")];
        let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
        let answer = index.count_words(&objects, &[], &mut |at| {
            asked += 1;
            Some(match at {
                0 => TextSource::Unknown,
                _ => TextSource::TooLarge(50 << 20),
            })
        });
        let large = IndexedText {
            length: None,
            bytes: 50 << 20,
        };
        assert_eq!(answer.unwrap().texts, [IndexedText::default(), large]);
    }
    assert_eq!(asked, 3);
}

#[test]
fn a_reader_that_stops_leaves_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = TextIndex::open(folder.path());
    let object = object_of(b"one");
    assert_eq!(index.count_words(&[&object], &[], &mut |_| None), None);
    // An id of another form is not known here.
    assert_eq!(index.count_words(&["abc"], &[], &mut |_| None), None);
}

#[test]
fn many_small_segments_are_joined_and_old_texts_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let segments = || crate::support::list_names(folder.path(), "segment-").len();
    let files = make_files(120, 20);
    // A commit at a time, as a person works.
    for count in 1..=files.len() {
        let mut index = TextIndex::open(folder.path());
        assert_eq!(ask(&mut index, "word3", &files[..count]).unwrap().read, 1);
        assert!(segments() <= 25, "{count}: {}", segments());
    }
    let answer = ask(&mut TextIndex::open(folder.path()), "word3_4 of part2", &files).unwrap();
    assert_eq!(answer.read, 0);
    assert_eq!(
        rank_answer("word3_4 of part2", &files, &answer),
        rank_texts("word3_4 of part2", &files)
    );
}
