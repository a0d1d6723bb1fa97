//! Which files are opened at all, and how much of one is read.

use super::*;
use agentos_testkit::repo::{make_dir, make_link, write_file};

#[test]
fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    write_file(&at("file"), "text");
    make_link(&at("link"), "file");
    make_dir(&at("folder"));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let opens = [open_regular, open_to_overwrite, open_to_append, open_to_lock];
    for (number, open) in opens.into_iter().enumerate() {
        assert!(open(&at("file")).is_ok(), "{number}");
        for odd in ["link", "folder", "fifo"] {
            assert!(is_odd(&open(&at(odd)).unwrap_err()), "{number} {odd}");
        }
    }
    assert!(open_user_file(&at("link")).is_ok());
    assert!(is_odd(&open_user_file(&at("fifo")).unwrap_err()));
}

#[test]
fn no_part_below_the_folder_may_be_a_link() {
    let folder = tempfile::tempdir().unwrap();
    write_file(&folder.path().join("a/b/file"), "text");
    make_link(&folder.path().join("a/l"), "b");
    assert!(open_below(folder.path(), &["a", "b"], "file").is_ok());
    assert!(is_odd(
        &open_below(folder.path(), &["a", "l"], "file").unwrap_err()
    ));
    assert!(is_odd(
        &open_below(folder.path(), &["a", "b", "file"], "x").unwrap_err()
    ));
}

#[test]
fn a_file_over_the_limit_is_neither_read_nor_hashed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write_file(&path, "12345");
    let open = || open_regular(&path).unwrap();
    assert_eq!(read_limited(open(), 5).unwrap(), b"12345");
    let digest = agentos_chain::hash_bytes(b"12345");
    assert_eq!(digest_file(open(), 7).unwrap(), (digest, 2));
    for error in [
        read_limited(open(), 4).map(drop).unwrap_err(),
        digest_file(open(), 4).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
