//! Names that are exchanged or given, and files that somebody writes.

use std::fs::File;
use std::io::ErrorKind;

use agentos_durable::{exchange_names, has_writer, rename_to_free_name};
use agentos_testkit::repo::{make_dir, open_in_place, read_file, write_file};

/// Says on screen what is skipped where the system has no such call.
fn is_missing(done: &std::io::Result<()>) -> bool {
    let is_missing = done
        .as_ref()
        .is_err_and(|error| error.kind() == ErrorKind::Unsupported);
    if is_missing {
        eprintln!("skipped: names cannot be exchanged here");
    }
    is_missing
}

#[test]
fn exchanged_names_lead_to_each_others_content() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    write_file(&one, "1");
    write_file(&other, "2");
    let done = exchange_names(&one, &other);
    if is_missing(&done) {
        return;
    }
    done.unwrap();
    assert_eq!(
        (read_file(&one), read_file(&other)),
        (b"2".to_vec(), b"1".to_vec())
    );
    // A file and a folder, too.
    let inner = folder.path().join("folder");
    make_dir(&inner);
    exchange_names(&one, &inner).unwrap();
    assert!(one.is_dir() && inner.is_file());
    let missing = folder.path().join("missing");
    assert_eq!(
        exchange_names(&one, &missing).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(one.is_dir() && !missing.exists());
}

#[test]
fn a_name_that_is_taken_is_not_given() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    write_file(&from, "1");
    write_file(&to, "2");
    let done = rename_to_free_name(&from, &to);
    if is_missing(&done) {
        return;
    }
    assert_eq!(done.unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!((read_file(&from), read_file(&to)), (b"1".to_vec(), b"2".to_vec()));
    rename_to_free_name(&from, &folder.path().join("free")).unwrap();
    assert!(!from.exists());
}

#[test]
fn a_file_has_a_writer_while_somebody_has_it_open_for_writing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write_file(&path, "1");
    let reader = File::open(&path).unwrap();
    let before = has_writer(&reader);
    if before.is_none() {
        eprintln!("skipped: leases cannot be had here");
        return;
    }
    let writer = open_in_place(&path);
    assert_eq!((before, has_writer(&reader)), (Some(false), Some(true)));
    drop(writer);
    assert_eq!(has_writer(&reader), Some(false));
}
