//! Reading on from a mark, and texts of conversations that are removed.

use agentos_evidence::{EvidenceError, RecordKind, Store, Tampering, TapeMark, VerifyChecks};
use agentos_testkit::repo::{read_file, remove_file, write_file};
use serde_json::json;

use crate::support::{TS, Tape};

fn read_after(store: &Store, mark: &TapeMark) -> Result<(Vec<u64>, TapeMark), EvidenceError> {
    let mut records = store.records_after(mark)?;
    let mut found = Vec::new();
    while let Some(record) = records.next_record()? {
        found.push(record.seq);
    }
    Ok((found, records.mark().clone()))
}

#[test]
fn a_reader_goes_on_where_it_stopped_through_all_files() {
    let tape = Tape::new();
    let store = Store::open(tape.folder.path()).unwrap().full_at(1500);
    let (mut mark, mut all) = (TapeMark::default(), Vec::new());
    for n in 1..=12 {
        store
            .append("t-1", RecordKind::Turn, json!({ "n": n }), TS)
            .unwrap();
        // Every third time, so that a mark is in a file that became full in between.
        if n % 3 == 0 {
            let (found, next) = read_after(&store, &mark).unwrap();
            all.extend(found);
            mark = next;
        }
    }
    assert_eq!(all, (1..=12).collect::<Vec<u64>>());
    assert!(mark.file > 0);
    assert_eq!(read_after(&store, &mark).unwrap(), (Vec::new(), mark));
    assert_eq!(read_after(&store, &TapeMark::default()).unwrap().0, all);
}

#[test]
fn a_mark_of_another_tape_is_found() {
    let (tape, other) = (Tape::new(), Tape::new());
    for (at, tape) in [(1, &tape), (2, &other)] {
        tape.add(RecordKind::Turn, json!({ "n": at }));
    }
    let mark = read_after(&tape.store, &TapeMark::default()).unwrap().1;
    write_file(&tape.path(), read_file(&other.path()));
    write_file(
        &tape.folder.path().join("head.json"),
        read_file(&other.folder.path().join("head.json")),
    );
    tape.add(RecordKind::Turn, json!({ "n": 3 }));
    assert!(matches!(
        read_after(&tape.store, &mark),
        Err(EvidenceError::WrongMark)
    ));
    let gone = TapeMark { file: 4, ..mark };
    assert!(matches!(
        read_after(&tape.store, &gone),
        Err(EvidenceError::WrongMark)
    ));
}

fn remove(tape: &Tape, id: &String) {
    let ids = std::slice::from_ref(id);
    tape.store.note_removal("t-2", ids, TS).unwrap();
    tape.add(RecordKind::Session, json!({ "event": "deleted" }));
    tape.store.remove_texts(ids).unwrap();
}

#[test]
fn a_text_that_was_removed_on_purpose_is_no_fault() {
    let tape = Tape::new();
    let [gone, kept] = [b"gone", b"kept"].map(|text| tape.store.put_blob(text).unwrap());
    tape.add(
        RecordKind::Turn,
        json!({ "messages": [{ "message_sha256": gone }, { "message_sha256": kept }] }),
    );
    let verify = || tape.store.verify(&VerifyChecks::default()).unwrap();

    remove(&tape, &gone);
    assert!(!tape.blob_path(&gone).exists() && tape.blob_path(&kept).exists());
    let report = verify();
    assert!(report.ok, "{report:?}");
    assert_eq!(
        report.notes,
        ["texts of conversations that were removed on purpose: 1"]
    );

    // As after a crash between the record and the file.
    write_file(&tape.blob_path(&gone), "gone");
    assert_eq!(tape.store.finish_removals(|id| id == gone).unwrap(), 0);
    assert_eq!(tape.store.finish_removals(|_| false).unwrap(), 1);
    assert!(!tape.blob_path(&gone).exists() && verify().ok);

    remove_file(&tape.blob_path(&kept));
    let report = verify();
    assert_eq!(
        report.first().map(|found| found.tampering),
        Some(Tampering::BlobMissing)
    );
}

#[test]
fn a_text_that_is_needed_again_must_be_there_again() {
    for kind in [RecordKind::Turn, RecordKind::Task] {
        let tape = Tape::new();
        let text = tape.store.put_blob(b"text").unwrap();
        tape.add(RecordKind::Turn, json!({ "message_sha256": text }));
        remove(&tape, &text);
        tape.add(kind, json!({ "message_sha256": text }));
        let report = tape.store.verify(&VerifyChecks::default()).unwrap();
        assert_eq!(
            report.first().map(|found| (found.tampering, found.line)),
            Some((Tampering::BlobMissing, Some(4)))
        );
    }
}

#[test]
fn what_a_crash_left_of_a_record_ends_the_reading() {
    let tape = Tape::new();
    tape.add(RecordKind::Turn, json!({}));
    let mark = read_after(&tape.store, &TapeMark::default()).unwrap().1;
    let torn = [read_file(&tape.path()), b"{\"body\":".to_vec()].concat();
    write_file(&tape.path(), torn);
    assert_eq!(read_after(&tape.store, &TapeMark::default()).unwrap().0, [1]);
    assert_eq!(read_after(&tape.store, &mark).unwrap().0, [] as [u64; 0]);
    tape.add(RecordKind::Turn, json!({}));
    assert_eq!(read_after(&tape.store, &mark).unwrap().0, [2, 3]);
}

#[test]
fn an_answer_of_a_run_may_not_be_removed() {
    let tape = Tape::new();
    let text = tape.store.put_blob(b"text").unwrap();
    tape.add(
        RecordKind::Turn,
        json!({ "messages": [{ "message_sha256": text }] }),
    );
    tape.add(RecordKind::Answer, json!({ "answer_sha256": text }));
    remove(&tape, &text);
    let report = tape.store.verify(&VerifyChecks::default()).unwrap();
    assert_eq!(
        report.first().map(|found| (found.tampering, found.line)),
        Some((Tampering::BlobMissing, Some(2)))
    );
}
