//! When one sync of a file system stands for many files, and which kernels report a failed one.

use super::*;

const MEMINFO: &str =
    "MemTotal: 24576 kB\nDirty:              1036 kB\nWriteback:             4 kB\nAnonPages: 9 kB\n";

#[test]
fn files_of_one_file_system_take_one_wait_and_the_others_are_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let Some(whole) = WholeFileSystem::open(folder.path()) else {
        eprintln!("skipped: the folder for temporary files is on a file system that was not tried");
        return;
    };
    let mut paths = vec![folder.path().to_owned()];
    for name in ["a", "b"] {
        let path = folder.path().join(name);
        agentos_testkit::repo::write_file(&path, "text");
        paths.push(path);
    }
    // Another one, which cannot be synced at all.
    paths.push(PathBuf::from("/proc/self"));
    let others = |waiting| whole.sync_with_waiting(&paths, MissingFiles::AreFailures, || waiting);
    assert_eq!(others(Some(0)).unwrap(), [&paths[3]]);
    // With others' bytes in the way, or nobody to say how many, each is synced by itself.
    for waiting in [Some(u64::MAX), None] {
        assert_eq!(others(waiting).unwrap().len(), 4);
    }
}

#[test]
fn what_waits_for_the_disk_is_what_is_dirty_or_being_written() {
    let told = [
        (MEMINFO, Some(1040 * 1024)),
        ("Dirty: 1 kB\n", None),
        ("Dirty: many kB\nWriteback: 0 kB\n", None),
        ("Dirty: 18446744073709551615 kB\nWriteback: 1 kB\n", None),
        ("", None),
    ];
    for (text, expected) in told {
        assert_eq!(waiting_bytes(text), expected, "{text}");
    }
}

#[test]
fn a_release_is_its_first_two_numbers() {
    let told = [
        ("6.18.44-fc", Some((6, 18))),
        ("5.8\n", Some((5, 8))),
        ("5.10.0-28-amd64", Some((5, 10))),
        ("4.19", Some((4, 19))),
        ("rolling", None),
        ("7", None),
    ];
    for (text, expected) in told {
        assert_eq!(release_of(text), expected, "{text}");
    }
    assert!(release_of("5.16.20").is_some_and(|release| release < FIRST_RELIABLE));
}

#[test]
fn one_wait_for_all_stands_for_many_files_and_never_for_much_of_others() {
    let told = [
        (2, Some(0), false),
        (3, Some(0), true),
        (3, Some(3 << 20), true),
        (3, Some((3 << 20) + 1), false),
        (200, Some(200 << 20), true),
        (200, None, false),
    ];
    for (files, bytes, expected) in told {
        assert_eq!(
            is_worth_it(files, || bytes),
            expected,
            "{files} files, {bytes:?} bytes"
        );
    }
}
