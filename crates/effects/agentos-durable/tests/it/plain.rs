//! Files that are none.

use std::io::{ErrorKind, Read};

use agentos_durable::{LinkRule, open_regular_file, read_regular_file};
use agentos_testkit::repo::{make_dir, make_link, write_file};

#[test]
fn a_regular_file_is_read_up_to_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write_file(&path, "12345");
    for links in [LinkRule::Followed, LinkRule::Refused] {
        assert_eq!(read_regular_file(&path, links, 5).unwrap(), b"12345");
        let error = read_regular_file(&path, links, 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "it is larger than 4 bytes");
        let missing = read_regular_file(&folder.path().join("missing"), links, 4).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    agentos_testkit::repo::make_fifo(&at("fifo"));
    make_dir(&at("folder"));
    write_file(&at("file"), "x");
    make_link(&at("to-file"), "file");
    make_link(&at("to-fifo"), "fifo");
    make_link(&at("to-zero"), "/dev/zero");
    for (name, followed, refused) in [
        ("fifo", "it is not a regular file", "it is not a regular file"),
        ("folder", "it is not a regular file", "it is not a regular file"),
        ("to-fifo", "it is not a regular file", "it is a symbolic link"),
        ("to-zero", "it is not a regular file", "it is a symbolic link"),
        ("to-file", "", "it is a symbolic link"),
    ] {
        for (links, expected) in [(LinkRule::Followed, followed), (LinkRule::Refused, refused)] {
            let told = match open_regular_file(&at(name), links) {
                Ok(mut file) => {
                    file.read_exact(&mut [0]).unwrap();
                    String::new()
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(told, expected, "{name} {links:?}");
        }
    }
}
