//! Git and we read the same entries out of an index that both accept.

use std::fs;
use std::path::PathBuf;

use agentos_index::IndexFile;
use agentos_testkit::repo::{TestRepo, write_file};

use super::corpus::inputs;

/// What `git ls-files --stage -z` would say of an index.
fn listed(index: &IndexFile) -> String {
    let lines = index.list_entries().map(|entry| {
        let path = String::from_utf8_lossy(entry.path());
        let (mode, id, stage) = (entry.mode(), entry.blob_id(), entry.stage());
        format!("{mode:06o} {id} {stage}\t{path}\0")
    });
    lines.collect()
}

#[test]
fn git_reads_the_same_entries() {
    let repo = TestRepo::new();
    let place = repo.path().join(".git/index");
    let mut compared = 0;
    // Of those that a fuzzer found, git reads some beyond the end of an entry, and gives other bytes each time.
    // Git replaces the folders of a sparse index by the files of their trees, and these trees are in no repository.
    let is_named = |input: &PathBuf| {
        let name = input.file_name();
        name.is_some_and(|name| name.len() != 40 && name != "sparse")
    };
    for input in inputs("git-index").into_iter().filter(is_named) {
        // Git leaves the checksum out as well (git-config(1), `index.skipHash`).
        let bytes = [fs::read(&input).unwrap(), vec![0; 20]].concat();
        let Ok(index) = IndexFile::parse(bytes.clone()) else {
            continue;
        };
        write_file(&place, &bytes);
        let list = ["ls-files", "--stage", "-z"];
        if !repo.git_ok(&list) {
            continue;
        }
        let name = input.display();
        assert_eq!(repo.git(&list).trim_end(), listed(&index).trim_end(), "{name}");
        let mut written = Vec::new();
        index.write_to(&mut written).unwrap();
        write_file(&place, written);
        assert_eq!(
            repo.git(&list).trim_end(),
            listed(&index).trim_end(),
            "{name}, written again"
        );
        compared += 1;
    }
    assert!(compared >= 10, "git accepts only {compared}");
}
