//! Every kind of tampering is found, and named.

use agentos_evidence::{RecordKind, Tampering};
use agentos_testkit::repo::{read_file, remove_file, write_file};
use proptest::prelude::*;
use serde_json::json;

use crate::support::Tape;

/// Spoils the lines of the example tape.
type Spoil = fn(&mut Vec<String>);

#[test]
fn spoiled_lines_are_named() {
    let cases: [(&str, Spoil, Tampering, u64); 12] = [
        (
            "a word",
            |l| l[2] = l[2].replace("hunks", "hunk5"),
            Tampering::Mutated,
            3,
        ),
        (
            "a number",
            |l| l[2] = l[2].replace("\"seq\":3", "\"seq\":4"),
            Tampering::Mutated,
            3,
        ),
        ("a blank", |l| l[2].push(' '), Tampering::Mutated, 3),
        (
            "an empty line",
            |l| l.insert(1, String::new()),
            Tampering::Mutated,
            2,
        ),
        (
            "the last line",
            |l| l[4] = l[4].replace("stale", "state"),
            Tampering::Mutated,
            5,
        ),
        ("first dropped", |l| drop(l.remove(0)), Tampering::Dropped, 1),
        ("one dropped", |l| drop(l.remove(2)), Tampering::Dropped, 3),
        ("two dropped", |l| drop(l.drain(1..3)), Tampering::Dropped, 2),
        ("two swapped", |l| l.swap(1, 2), Tampering::Reordered, 2),
        ("one moved up", |l| l.swap(3, 0), Tampering::Reordered, 1),
        (
            "one twice",
            |l| l.insert(2, l[1].clone()),
            Tampering::Duplicated,
            3,
        ),
        ("the last cut", |l| drop(l.pop()), Tampering::CutOff, 5),
    ];
    for (name, spoil, tampering, line) in cases {
        let tape = Tape::example();
        let mut lines = tape.lines();
        spoil(&mut lines);
        tape.set_lines(&lines);
        assert_eq!(tape.first(), Some((tampering, Some(line))), "{name}");
    }
}

#[test]
fn a_record_of_another_tape_is_a_splice() {
    let (tape, other) = (Tape::example(), Tape::new());
    for _ in 0..5 {
        other.add(RecordKind::Task, json!({}));
    }
    let mut lines = tape.lines();
    lines[2] = other.lines()[2].clone();
    tape.set_lines(&lines);
    assert_eq!(tape.first(), Some((Tampering::Spliced, Some(3))));
}

#[test]
fn every_fault_is_told_and_the_first_is_first() {
    let tape = Tape::example();
    let mut lines = tape.lines();
    lines[0] = lines[0].replace("hello", "hullo");
    lines.remove(3);
    tape.set_lines(&lines);
    let found: Vec<_> = tape
        .findings()
        .into_iter()
        .map(|f| (f.tampering, f.line))
        .collect();
    assert_eq!(
        found,
        [(Tampering::Mutated, Some(1)), (Tampering::Dropped, Some(4))]
    );
}

#[test]
fn a_tape_cut_within_its_last_line_is_torn_or_cut() {
    let tape = Tape::example();
    let bytes = read_file(&tape.path());
    write_file(&tape.path(), &bytes[..bytes.len() - 1]);
    assert_eq!(tape.first(), Some((Tampering::TornTail, Some(5))));
}

#[test]
fn a_tape_cut_to_nothing_is_found() {
    let tape = Tape::example();
    write_file(&tape.path(), "");
    assert_eq!(tape.first(), Some((Tampering::CutOff, Some(1))));
    remove_file(&tape.path());
    assert_eq!(tape.first(), Some((Tampering::CutOff, Some(1))));
}

#[test]
fn a_lost_or_changed_note_of_the_head_is_found() {
    let tape = Tape::example();
    let head = tape.folder.path().join("head.json");
    let text = String::from_utf8(read_file(&head)).unwrap();
    for spoiled in ["", "{}", &text.replace("\"seq\":5", "\"seq\":4")] {
        write_file(&head, spoiled);
        assert_eq!(tape.first(), Some((Tampering::HeadChanged, None)), "{spoiled}");
    }
    remove_file(&head);
    assert_eq!(tape.first(), Some((Tampering::HeadChanged, None)));
}

#[test]
fn a_lost_or_changed_blob_is_found_at_the_record_that_names_it() {
    let tape = Tape::example();
    let records = tape.store.run("run-1").unwrap();
    let blob = tape.blob_path(records[1].body["answer_sha256"].as_str().unwrap());
    write_file(&blob, "another answer");
    assert_eq!(tape.first(), Some((Tampering::BlobChanged, Some(2))));
    remove_file(&blob);
    assert_eq!(tape.first(), Some((Tampering::BlobMissing, Some(2))));
}

#[test]
fn a_drill_spoils_a_copy_and_finds_it() {
    let tape = Tape::example();
    let before = read_file(&tape.path());
    let copy = tape.folder.path().join("drill");
    let report = tape.store.drill(&copy, 1_000_003).unwrap();
    assert!(!report.ok);
    assert_eq!(read_file(&tape.path()), before);
    assert_ne!(read_file(&copy.join("tape.jsonl")), before);
    assert_eq!(tape.findings(), []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_changed_byte_is_found(at in 0_usize..10_000, mask in 1_u8..=255) {
        let tape = Tape::example();
        let mut bytes = read_file(&tape.path());
        let at = at % bytes.len();
        bytes[at] ^= mask;
        write_file(&tape.path(), &bytes);
        let line = 1 + bytes[..at].iter().filter(|b| **b == b'\n').count() as u64;
        let (tampering, first) = tape.first().unwrap();
        prop_assert_eq!(first, Some(line));
        prop_assert!(matches!(tampering, Tampering::Mutated | Tampering::TornTail));
    }

    #[test]
    fn any_cut_is_found(at in 0_usize..10_000) {
        let tape = Tape::example();
        let bytes = read_file(&tape.path());
        write_file(&tape.path(), &bytes[..at % bytes.len()]);
        prop_assert!(tape.first().is_some());
    }
}
