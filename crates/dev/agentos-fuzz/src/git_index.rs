//! Git's index: what is read is written back unchanged, and an edit changes only what it is meant to change.
//!
//! Owns: the claims about the file as bytes. Never: asks git; a test of the suite does.

use agentos_index::{EntryStat, IndexFile, NewEntry};

/// Checksum of an index that was written without one (`index.skipHash` of git-config(1)).
const NO_CHECKSUM: [u8; 20] = [0; 20];
/// Id of the blob that an edit sets.
const BLOB: [u8; 20] = [0xab; 20];

/// Fields of an entry that an edit must not change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EntryFields {
    path: Vec<u8>,
    stage: u16,
    mode: u32,
    blob_id: String,
}

/// Reads the bytes as an index without its checksum.
///
/// # Panics
/// If a claim does not hold.
pub fn check_git_index(data: &[u8]) {
    // A fuzzer cannot guess a SHA-1, so every input would end at the checksum.
    let bytes = [data, &NO_CHECKSUM].concat();
    let Ok(index) = IndexFile::parse(bytes) else {
        return;
    };
    let entries = list_fields(&index);
    for pair in entries.windows(2) {
        if let [first, second] = pair {
            assert!(
                (&first.path, first.stage) < (&second.path, second.stage),
                "out of order"
            );
        }
    }
    let written = write(&index);
    let again = parse(&written);
    assert_eq!(list_fields(&again), entries, "what is written has other entries");
    assert!(
        // Reading may normalise a damaged index once. After that it must be stable, or every landing would rewrite
        // the file.
        write(&again) == written,
        "what is written and read is written otherwise"
    );
    check_edit(&written, &entries);
}

/// Removes the first entry and sets two paths. Every other entry that can exist next to them must stay.
fn check_edit(written: &[u8], before: &[EntryFields]) {
    let gone = before
        .iter()
        .find(|entry| entry.stage == 0)
        .and_then(|entry| std::str::from_utf8(&entry.path).ok());
    let removed: Vec<&str> = gone.into_iter().filter(|path| !SET.contains(path)).collect();
    let mut index = parse(written);
    let added = SET.map(|path| NewEntry {
        path,
        mode: 0o100_755,
        id: BLOB,
        stat: EntryStat::default(),
        skip_worktree: false,
    });
    index.replace_entries(removed.iter().copied(), &[]);
    index.replace_entries(std::iter::empty(), &added);
    index.invalidate_trees(removed.iter().copied().chain(SET));
    let after = list_fields(&parse(&write(&index)));
    let expected = before.iter().filter(|entry| {
        let is_removed = entry.stage == 0 && removed.iter().any(|path| path.as_bytes() == entry.path);
        !is_removed && !SET.iter().any(|path| is_in_the_way(entry, path))
    });
    let kept: Vec<&EntryFields> = after
        .iter()
        .filter(|entry| !SET.iter().any(|path| path.as_bytes() == entry.path))
        .collect();
    assert_eq!(
        kept,
        expected.collect::<Vec<_>>(),
        "others than the edited paths changed"
    );
    for path in SET {
        let mut found = after.iter().filter(|entry| path.as_bytes() == entry.path);
        let set = found.next();
        assert!(found.next().is_none(), "`{path}` is there more than once");
        assert!(
            set.is_some_and(|entry| entry.stage == 0
                && entry.mode == 0o100_755
                && entry.blob_id == "ab".repeat(20)),
            "`{path}` is not what was set: {set:?}"
        );
    }
}

/// Paths that an edit sets.
const SET: [&str; 2] = ["dir/b", "m"];

/// Returns true if an entry has the same path, is a file where a folder of the path must be, or is below the path as
/// if that were a folder.
fn is_in_the_way(entry: &EntryFields, path: &str) -> bool {
    let below = |folder: &[u8], inner: &[u8]| {
        inner
            .strip_prefix(folder)
            .is_some_and(|rest| rest.first() == Some(&b'/'))
    };
    let is_above = entry.stage == 0 && below(&entry.path, path.as_bytes());
    path.as_bytes() == entry.path || is_above || below(path.as_bytes(), &entry.path)
}

fn list_fields(index: &IndexFile) -> Vec<EntryFields> {
    let fields = index.list_entries().map(|entry| EntryFields {
        path: entry.path().to_vec(),
        stage: entry.stage(),
        mode: entry.mode(),
        blob_id: entry.blob_id(),
    });
    fields.collect()
}

fn write(index: &IndexFile) -> Vec<u8> {
    let mut bytes = Vec::new();
    match index.write_to(&mut bytes) {
        Ok(()) => bytes,
        Err(error) => panic!("what was read cannot be written: {error}"),
    }
}

fn parse(bytes: &[u8]) -> IndexFile {
    match IndexFile::parse(bytes.to_vec()) {
        Ok(index) => index,
        Err(error) => panic!("what was written cannot be read: {error}"),
    }
}
