//! Paths of every kind, brought to the disk.

use std::path::PathBuf;

use agentos_durable::{FileSystemSync, SyncError, sync_file, sync_folder};
use agentos_testkit::repo::write_file;

/// So many files in a folder, and the folder.
fn written(folder: &tempfile::TempDir, count: usize) -> Vec<PathBuf> {
    let mut paths = vec![folder.path().to_owned()];
    for number in 0..count {
        let path = folder.path().join(format!("file{number}"));
        write_file(&path, "text");
        paths.push(path);
    }
    paths
}

#[test]
fn files_and_folders_are_synced_few_or_many() {
    for count in [0, 1, 2, 40] {
        let folder = tempfile::tempdir().unwrap();
        let disk = FileSystemSync::open(folder.path());
        disk.sync(&written(&folder, count)).unwrap();
    }
}

#[test]
fn files_of_another_file_system_are_synced_too() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // Of a folder that is nowhere there is no file system: each file is synced by itself.
    for disk in [
        FileSystemSync::open(folder.path()),
        FileSystemSync::open(&folder.path().join("nowhere")),
    ] {
        let paths = [
            written(&folder, 4),
            written(&other, 4),
            vec![PathBuf::from("/proc/self")],
        ]
        .concat();
        disk.sync(&paths[..10]).unwrap();
        // A file system without a disk says that it cannot sync.
        let failed = disk.sync(&paths).unwrap_err();
        assert_eq!(failed.path, PathBuf::from("/proc/self"));
    }
}

#[test]
fn a_missing_file_is_a_failure_unless_it_may_be_missing() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    for count in [0, 40] {
        let paths = [written(&folder, count), vec![missing.clone()]].concat();
        let disk = FileSystemSync::open(folder.path());
        disk.sync_existing(&paths).unwrap();
        let SyncError { path, source } = disk.sync(&paths).unwrap_err();
        assert_eq!(
            (path, source.kind()),
            (missing.clone(), std::io::ErrorKind::NotFound)
        );
    }
    assert_eq!(
        sync_file(&missing).unwrap_err().to_string(),
        format!("cannot sync `{}`", missing.display())
    );
    sync_folder(folder.path()).unwrap();
}
