//! Reading and creating entries one by one.
//!
//! Owns: every kind of entry. Never: removes trees.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use agentos_beneath::{EntryKind, OpenFolder, TreeError};
use agentos_testkit::repo::{make_dir, make_link, write_file};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};

fn opened(top: &tempfile::TempDir) -> OpenFolder {
    OpenFolder::open_root(top.path()).unwrap()
}

#[test]
fn every_kind_of_entry_is_told_apart_and_only_regular_files_are_opened() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    write_file(&at("file"), "text");
    make_dir(&at("folder"));
    make_link(&at("link"), "file");
    mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    mknodat(CWD, at("socket"), FileType::Socket, Mode::RWXU, 0).unwrap();
    let folder = opened(&top);
    let seen = |name: &str| {
        folder
            .inspect_entry(OsStr::new(name))
            .unwrap()
            .map(|found| found.kind)
    };
    let cases = [
        ("file", Some(EntryKind::File)),
        ("folder", Some(EntryKind::Folder)),
        ("link", Some(EntryKind::Link)),
        ("fifo", Some(EntryKind::Special)),
        ("socket", Some(EntryKind::Special)),
        ("none", None),
    ];
    for (name, kind) in cases {
        assert_eq!(seen(name), kind, "{name}");
        // A FIFO would be waited for if it were opened: nobody writes into it.
        let read = folder.read_file(OsStr::new(name), 99);
        match kind {
            Some(EntryKind::File) => assert_eq!(read.unwrap().bytes, b"text"),
            Some(_) => assert!(matches!(read, Err(TreeError::NotAFile(_))), "{name}"),
            None => assert!(read.unwrap_err().is_missing(), "{name}"),
        }
    }
    assert_eq!(
        folder.read_names(6).unwrap(),
        ["fifo", "file", "folder", "link", "socket"]
    );
    assert!(matches!(folder.read_names(4), Err(TreeError::TooMany(4))));
    assert_eq!(folder.read_link(OsStr::new("link")).unwrap(), "file");
}

#[test]
fn a_root_that_is_a_link_is_refused() {
    let top = tempfile::tempdir().unwrap();
    make_dir(&top.path().join("real"));
    make_link(&top.path().join("link"), "real");
    let opened = OpenFolder::open_root(&top.path().join("link"));
    assert!(matches!(opened, Err(TreeError::NotAFolder(_))));
}

#[test]
fn a_file_that_grows_while_it_is_read_ends_at_the_limit() {
    let top = tempfile::tempdir().unwrap();
    write_file(&top.path().join("growing"), "x");
    let flags = OFlags::WRONLY | OFlags::APPEND;
    let mut growing = File::from(open(top.path().join("growing"), flags, Mode::empty()).unwrap());
    let stop = std::sync::atomic::AtomicBool::new(false);
    let read = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Well past the limit, and not more than a disk takes.
            for _ in 0..4_000 {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                growing.write_all(&[b'x'; 64 << 10]).unwrap();
            }
        });
        let folder = opened(&top);
        let read = loop {
            match folder.read_file(OsStr::new("growing"), 1 << 20) {
                Ok(content) => assert!(content.bytes.len() <= 1 << 20),
                Err(error) => break error,
            }
        };
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        read
    });
    assert!(matches!(read, TreeError::TooLarge(1_048_576)), "{read}");
}

/// Linux's `/proc/self/stat` and the like have length 0 and bytes all the same, as a file that grew has.
#[test]
#[cfg(target_os = "linux")]
fn what_a_file_says_of_its_length_is_not_believed() {
    let folder = OpenFolder::open_root(std::path::Path::new("/proc/self/task")).unwrap();
    let own = folder.read_names(999).unwrap().remove(0);
    let own = folder.open_folder(&own).unwrap();
    let (name, limit) = (OsStr::new("status"), 16);
    assert_eq!(own.inspect_entry(name).unwrap().unwrap().length, 0);
    assert!(matches!(own.read_file(name, limit), Err(TreeError::TooLarge(16))));
}

#[test]
fn nothing_is_created_over_or_through_what_is_there() {
    let top = tempfile::tempdir().unwrap();
    let (inside, outside) = (top.path().join("inside"), top.path().join("outside"));
    make_dir(&inside);
    write_file(&outside, "kept");
    for name in ["file", "folder", "lock"] {
        make_link(&inside.join(name), "../outside");
    }
    make_link(&inside.join("dangling"), "../new");
    let folder = OpenFolder::open_root(&inside).unwrap();
    assert!(
        folder
            .create_file(OsStr::new("file"), 0o600)
            .unwrap_err()
            .is_taken()
    );
    assert!(
        folder
            .create_file(OsStr::new("dangling"), 0o600)
            .unwrap_err()
            .is_taken()
    );
    assert!(
        folder
            .create_folder(OsStr::new("folder"), 0o700)
            .unwrap_err()
            .is_taken()
    );
    assert!(matches!(
        folder.open_lock(OsStr::new("lock")),
        Err(TreeError::NotAFile(_))
    ));
    assert!(matches!(
        folder.open_lock(OsStr::new("dangling")),
        Err(TreeError::NotAFile(_))
    ));
    assert!(matches!(
        folder.create_file(OsStr::new("../x"), 0o600),
        Err(TreeError::BadName(_))
    ));
    assert_eq!(std::fs::read(&outside).unwrap(), b"kept");
    assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 2);
}

#[test]
fn a_tree_is_copied_with_its_links_and_modes_and_without_what_is_no_file() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    write_file(&at("from/a/b/text"), "text");
    write_file(&at("from/run"), "#!/bin/sh\n");
    agentos_testkit::repo::set_mode(&at("from/run"), 0o4755);
    make_link(&at("from/a/link"), "../../secret");
    mknodat(CWD, at("from/fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    make_dir(&at("to"));
    let folder = |name: &str| OpenFolder::open_root(&at(name)).unwrap();
    folder("to").copy_tree(&folder("from"), None).unwrap();
    assert_eq!(std::fs::read(at("to/a/b/text")).unwrap(), b"text");
    assert_eq!(
        std::fs::read_link(at("to/a/link")).unwrap(),
        std::path::Path::new("../../secret")
    );
    let mode = std::fs::metadata(at("to/run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(folder("to").read_names(9).unwrap(), ["a", "run"]);
    let again = folder("to").copy_tree(&folder("from"), None).unwrap_err();
    assert!(again.is_taken(), "{again}");
}
