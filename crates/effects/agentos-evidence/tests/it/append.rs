//! Appending: the chain, other processes, and what a crash leaves.

use agentos_api::NextStep;
use agentos_evidence::{EvidenceError, RecordKind, Store, VerifyChecks};
use agentos_testkit::repo::{make_dir, make_link, move_path, read_file, remove_file, write_file};
use serde_json::json;

use crate::support::{TS, Tape};

#[test]
fn records_form_a_chain_that_verifies() {
    let tape = Tape::example();
    let report = tape.store.verify(&VerifyChecks::default()).unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!((report.records, report.blobs), (5, 1));
    let records: Vec<_> = tape.store.records().unwrap().map(Result::unwrap).collect();
    assert!(records.windows(2).all(|pair| pair[1].prev == pair[0].hash));
    assert_eq!(report.head.as_deref(), Some(records[4].hash.as_str()));
}

#[test]
fn an_empty_store_is_sound_and_leaves_no_trace() {
    let tape = Tape::new();
    let dir = tape.folder.path().join("none");
    let store = Store::open(&dir).unwrap();
    assert!(store.verify(&VerifyChecks::default()).unwrap().ok);
    assert_eq!(store.runs().unwrap(), []);
    assert!(!dir.exists());
}

#[test]
fn a_record_whose_note_cannot_be_written_is_taken_back() {
    // A folder in the way stands for a disk that is full right after the record.
    let tape = Tape::new();
    let folder = tape.folder.path();
    for (at, records) in [("first", 0), ("later", 2)] {
        let way = folder.join("head.json.tmp");
        make_dir(&way);
        let head = folder.join("head.json");
        if head.exists() {
            // One as long as the next would be written over.
            write_file(&head, read_file(&head).trim_ascii_end());
        }
        for _ in 0..2 {
            assert!(tape.store.append(at, RecordKind::Task, json!({}), TS).is_err());
            let report = tape.store.verify(&VerifyChecks::default()).unwrap();
            assert!(report.ok && report.records == records, "{at}: {report:?}");
        }
        move_path(&way, &folder.join(at));
        for _ in 0..2 {
            tape.store.append(at, RecordKind::Task, json!({}), TS).unwrap();
        }
        let report = tape.store.verify(&VerifyChecks::default()).unwrap();
        assert!(report.ok && report.records == records + 2, "{at}: {report:?}");
    }
}

#[test]
fn a_record_with_a_place_comes_to_the_tape_with_the_next_sync() {
    let tape = Tape::new();
    let count = || tape.store.verify(&VerifyChecks::default()).unwrap().records;
    tape.store.note("r", RecordKind::Task, json!({}), TS).unwrap();
    let first = tape.store.write("r", RecordKind::Intent, json!({}), TS).unwrap();
    // A blob in between does not wait for the lock that the record holds.
    let blob = tape.store.put_blob(b"late").unwrap();
    let body = json!({ "answer_sha256": blob });
    let second = tape.store.write("r", RecordKind::Receipt, body, TS).unwrap();
    assert_eq!((first.seq, second.seq), (2, 3));
    tape.store.sync().unwrap();
    assert_eq!(count(), 3);
    assert_eq!(
        tape.store
            .append("r", RecordKind::Task, json!({}), TS)
            .unwrap()
            .seq,
        4
    );
    tape.store.sync().unwrap();
    let report = tape.store.verify(&VerifyChecks::default()).unwrap();
    assert!(
        report.ok && report.records == 4 && report.blobs == 1,
        "{report:?}"
    );
}

#[test]
fn what_cannot_be_synced_has_no_place_and_what_was_noted_stays_noted() {
    let tape = Tape::new();
    let way = tape.folder.path().join("head.json.tmp");
    make_dir(&way);
    tape.store.note("r", RecordKind::Task, json!({}), TS).unwrap();
    assert!(tape.store.append("r", RecordKind::Intent, json!({}), TS).is_err());
    move_path(&way, &tape.folder.path().join("aside"));
    assert_eq!(
        tape.store
            .append("r", RecordKind::Refusal, json!({}), TS)
            .unwrap()
            .seq,
        2
    );
    let kinds: Vec<_> = tape
        .store
        .records()
        .unwrap()
        .map(|record| record.unwrap().kind)
        .collect();
    assert_eq!(kinds, [RecordKind::Task, RecordKind::Refusal]);
}

#[test]
fn many_writers_make_one_chain() {
    let tape = Tape::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let dir = tape.folder.path();
            scope.spawn(move || {
                let store = Store::open(dir).unwrap();
                for n in 0..10 {
                    store.put_blob(format!("same {n}").as_bytes()).unwrap();
                    store
                        .append(&format!("run-{writer}"), RecordKind::Task, json!({ "n": n }), TS)
                        .unwrap();
                }
            });
        }
    });
    let report = tape.store.verify(&VerifyChecks::default()).unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(report.records, 40);
    assert_eq!(
        tape.store
            .runs()
            .unwrap()
            .iter()
            .map(|run| run.records)
            .collect::<Vec<_>>(),
        [10; 4]
    );
}

#[test]
fn a_torn_last_line_is_put_aside_and_told() {
    let tape = Tape::example();
    let mut bytes = read_file(&tape.path());
    bytes.extend_from_slice(b"{\"body\":{\"half");
    write_file(&tape.path(), bytes);
    let store = Store::open(tape.folder.path()).unwrap();
    // Nothing rests on it, so readers see the tape without it. The verification reports it.
    let before: Result<Vec<_>, _> = store.records().unwrap().collect();
    assert_eq!(before.unwrap().len(), 5);
    assert_eq!(store.newest_runs(9).unwrap().all, store.runs().unwrap().len());
    assert!(!store.verify(&VerifyChecks::default()).unwrap().ok);
    store.append("run-2", RecordKind::Task, json!({}), TS).unwrap();
    let report = store.verify(&VerifyChecks::default()).unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(
        report.notes,
        ["line 6: the state that a crash left was repaired (torn-line)"]
    );
    let told = store.run("run-2").unwrap();
    let kept = told[0].body["fragment_sha256"].as_str().unwrap();
    assert_eq!(store.get_blob(kept).unwrap(), b"{\"body\":{\"half");
}

#[test]
fn a_torn_first_line_is_put_aside_too() {
    let tape = Tape::new();
    write_file(&tape.path(), "{\"bo");
    tape.add(RecordKind::Task, json!({}));
    assert!(tape.store.verify(&VerifyChecks::default()).unwrap().ok);
    assert_eq!(tape.lines().len(), 2);
}

#[test]
fn a_head_that_a_crash_left_behind_is_put_right_and_told() {
    let tape = Tape::new();
    tape.add(RecordKind::Task, json!({}));
    let head = read_file(&tape.folder.path().join("head.json"));
    tape.add(RecordKind::Landing, json!({}));
    write_file(&tape.folder.path().join("head.json"), head);
    assert_eq!(tape.findings(), []);
    let store = Store::open(tape.folder.path()).unwrap();
    store.append("run-2", RecordKind::Task, json!({}), TS).unwrap();
    assert_eq!(
        store.run("run-2").unwrap()[0].body,
        json!({ "what": "head-behind", "head": 1, "tape": 2 })
    );
}

#[test]
fn killed_right_after_its_first_records_a_tape_is_whole() {
    let tape = Tape::new();
    tape.store.note("run-1", RecordKind::Task, json!({}), TS).unwrap();
    tape.add(RecordKind::Answer, json!({}));
    let genesis = format!("sha256:{}", "0".repeat(64));
    let first = json!({ "v": 1, "seq": 0, "hash": genesis });
    write_file(&tape.folder.path().join("head.json"), first.to_string());
    assert_eq!(tape.findings(), []);
    let store = Store::open(tape.folder.path()).unwrap();
    store.append("run-2", RecordKind::Task, json!({}), TS).unwrap();
    assert_eq!(
        store.run("run-2").unwrap()[0].body,
        json!({ "what": "head-behind", "head": 0, "tape": 2 })
    );
}

#[test]
fn killed_twice_before_there_was_a_head_a_tape_goes_on() {
    let tape = Tape::new();
    let head = tape.folder.path().join("head.json");
    for run in ["run-1", "run-2"] {
        let store = Store::open(tape.folder.path()).unwrap();
        store.append(run, RecordKind::Task, json!({}), TS).unwrap();
        remove_file(&head);
    }
    let store = Store::open(tape.folder.path()).unwrap();
    store.append("run-3", RecordKind::Task, json!({}), TS).unwrap();
    assert_eq!(tape.findings(), []);
    let told = |run: &str| store.run(run).unwrap()[0].body.clone();
    assert_eq!(
        told("run-2"),
        json!({ "what": "head-behind", "head": 0, "tape": 1 })
    );
    assert_eq!(
        told("run-3"),
        json!({ "what": "head-behind", "head": 0, "tape": 3 })
    );
}

#[test]
fn nothing_is_appended_to_a_tape_that_is_not_whole() {
    let cut = Tape::example();
    cut.set_lines(&cut.lines()[..4]);
    let spoiled = Tape::example();
    let mut lines = spoiled.lines();
    lines[4] = lines[4].replace("stale", "empty");
    spoiled.set_lines(&lines);
    for (tape, code) in [(cut, "evidence-cut-off"), (spoiled, "evidence-broken")] {
        let before = read_file(&tape.path());
        let store = Store::open(tape.folder.path()).unwrap();
        let error = store
            .append("run-2", RecordKind::Task, json!({}), TS)
            .unwrap_err();
        assert_eq!(error.code(), code);
        assert_eq!(error.next_steps(), [NextStep::VerifyEvidence { set_aside: true }]);
        assert_eq!(read_file(&tape.path()), before);
    }
}

#[test]
fn what_cannot_be_recorded_leaves_the_tape_as_it_was() {
    let tape = Tape::example();
    let before = read_file(&tape.path());
    let large = json!({ "text": "x".repeat(1 << 20) });
    for body in [large, json!({ "n": u64::MAX })] {
        let error = tape
            .store
            .append("run-1", RecordKind::Task, body, TS)
            .unwrap_err();
        assert_eq!(error.code(), "evidence-invalid-record");
        assert_eq!(read_file(&tape.path()), before);
    }
    tape.add(RecordKind::Task, json!({}));
    assert_eq!(tape.findings(), []);
}

#[test]
fn a_record_of_any_size_below_the_limit_can_be_followed() {
    let tape = Tape::new();
    for size in [10, 70_000, 1_000_000, 10] {
        tape.add(RecordKind::Task, json!({ "text": "x".repeat(size) }));
        let store = Store::open(tape.folder.path()).unwrap();
        store.append("run-2", RecordKind::Task, json!({}), TS).unwrap();
    }
    assert_eq!(tape.findings(), []);
    assert_eq!(tape.lines().len(), 8);
}

#[test]
fn evidence_is_not_written_through_a_link() {
    for part in ["", "tape.jsonl", "head.json", "blobs"] {
        let tape = Tape::new();
        let outside = tape.folder.path().join("outside");
        make_dir(&outside);
        let dir = tape.folder.path().join("agentos");
        let place = if part.is_empty() {
            dir.clone()
        } else {
            dir.join(part)
        };
        make_dir(place.parent().unwrap());
        make_link(&place, outside.to_str().unwrap());
        assert!(
            matches!(Store::open(&dir), Err(EvidenceError::Io { action: "use", .. })),
            "{part}"
        );
    }
}

#[test]
fn a_blob_is_found_where_versions_before_put_it() {
    let tape = Tape::new();
    let id = tape.store.put_blob(b"old").unwrap();
    let body = json!({ "answer_sha256": id });
    tape.store.append("r", RecordKind::Answer, body, TS).unwrap();
    let (first, rest) = id.strip_prefix("sha256:").unwrap().split_at(2);
    let folder = tape.folder.path().join("blobs").join(first);
    make_dir(&folder);
    move_path(&tape.blob_path(&id), &folder.join(rest));
    assert_eq!(tape.store.get_blob(&id).unwrap(), b"old");
    assert!(tape.store.verify(&VerifyChecks::default()).unwrap().ok);
    assert_eq!(tape.findings(), []);
    write_file(&folder.join(rest), "new");
    assert!(!tape.store.verify(&VerifyChecks::default()).unwrap().ok);
}
