//! A tape in several files, and records that are written together.

use agentos_evidence::{RecordKind, Store, Tampering, VerifyChecks};
use agentos_testkit::repo::{read_file, remove_file, write_file};
use serde_json::json;
use tempfile::TempDir;

use crate::support::TS;

fn small_files(dir: &std::path::Path) -> Store {
    Store::open(dir).unwrap().full_at(1500)
}

fn files(dir: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".jsonl"))
        .collect();
    names.sort();
    names
}

fn filled() -> TempDir {
    let folder = TempDir::new().unwrap();
    for n in 0..12 {
        // A store of its own each time: the place is found again in the files.
        let store = small_files(folder.path());
        store
            .append("run-1", RecordKind::Task, json!({ "n": n }), TS)
            .unwrap();
    }
    folder
}

#[test]
fn a_full_file_is_put_aside_and_the_chain_goes_on() {
    let folder = filled();
    assert_eq!(
        files(folder.path()),
        ["tape.000001.jsonl", "tape.000002.jsonl", "tape.jsonl"]
    );
    let store = small_files(folder.path());
    let report = store.verify(&VerifyChecks::default()).unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(report.records, 12);
    assert_eq!(store.run("run-1").unwrap().len(), 12);
}

#[test]
fn a_tape_goes_on_where_a_crash_came_between_two_files() {
    let folder = filled();
    let current = folder.path().join("tape.jsonl");
    let aside = folder.path().join("tape.000003.jsonl");
    write_file(&aside, read_file(&current));
    remove_file(&current);
    let store = small_files(folder.path());
    store.append("run-1", RecordKind::Task, json!({}), TS).unwrap();
    let report = store.verify(&VerifyChecks::default()).unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(report.records, 13);
}

#[test]
fn a_lost_swapped_or_shortened_file_is_found() {
    type Spoil = fn(&std::path::Path);
    let cases: [(&str, Spoil, Tampering); 4] = [
        (
            "first lost",
            |dir| remove_file(&dir.join("tape.000001.jsonl")),
            Tampering::Dropped,
        ),
        (
            "last lost",
            |dir| remove_file(&dir.join("tape.jsonl")),
            Tampering::CutOff,
        ),
        (
            "swapped",
            |dir| {
                let (one, two) = (dir.join("tape.000001.jsonl"), dir.join("tape.000002.jsonl"));
                let (first, second) = (read_file(&one), read_file(&two));
                write_file(&one, second);
                write_file(&two, first);
            },
            Tampering::Reordered,
        ),
        (
            "shortened",
            |dir| {
                let one = dir.join("tape.000001.jsonl");
                let bytes = read_file(&one);
                let (_, lines) = bytes.split_last().unwrap();
                let end = lines.iter().rposition(|byte| *byte == b'\n').unwrap();
                write_file(&one, &bytes[..=end]);
            },
            Tampering::Dropped,
        ),
    ];
    for (name, spoil, tampering) in cases {
        let folder = filled();
        spoil(folder.path());
        let report = small_files(folder.path())
            .verify(&VerifyChecks::default())
            .unwrap();
        assert_eq!(
            report.first().map(|finding| finding.tampering),
            Some(tampering),
            "{name}"
        );
    }
}

#[test]
fn what_is_noted_is_written_with_the_next_record_in_its_order() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for n in 0..3 {
        store
            .note("run-1", RecordKind::Landing, json!({ "n": n }), TS)
            .unwrap();
    }
    assert!(
        !folder.path().join("tape.jsonl").exists(),
        "nothing is written yet"
    );
    let last = store
        .append("run-1", RecordKind::Intent, json!({ "n": 3 }), TS)
        .unwrap();
    assert_eq!(last.seq, 4);
    let told: Vec<_> = store
        .run("run-1")
        .unwrap()
        .iter()
        .map(|record| record.body["n"].clone())
        .collect();
    assert_eq!(told, [0, 1, 2, 3]);
    assert!(store.verify(&VerifyChecks::default()).unwrap().ok);
}

#[test]
fn writers_with_notes_do_not_lose_each_others_records_in_small_files() {
    let folder = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let dir = folder.path();
            scope.spawn(move || {
                let store = small_files(dir);
                let run = format!("run-{writer}");
                for n in 0..10 {
                    store
                        .note(&run, RecordKind::Landing, json!({ "n": n }), TS)
                        .unwrap();
                    store
                        .append(&run, RecordKind::Intent, json!({ "n": n }), TS)
                        .unwrap();
                }
            });
        }
    });
    let report = Store::open(folder.path())
        .unwrap()
        .verify(&VerifyChecks::default())
        .unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(report.records, 80);
}
