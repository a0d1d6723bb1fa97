//! Repositories with an index of each version, and entries to put into it.
//!
//! Owns: the examples. Never: asserts.

use agentos_index::{EntryStat, IndexFile, NewEntry};
use agentos_testkit::repo::{TestRepo, read_file};

/// Creates an index of files deep and shallow, and one with a name that its length field cannot hold.
pub fn example(version: &str) -> TestRepo {
    let repo = small(version);
    let long = format!("{}/x", vec!["n".repeat(200); 21].join("/"));
    let entry = format!("100644,{},{long}", repo.git(&["rev-parse", ":a"]));
    repo.git(&["update-index", "--add", "--cacheinfo", &entry]);
    repo.git(&["write-tree"]);
    repo
}

/// Creates an index of short names only.
pub fn small(version: &str) -> TestRepo {
    let repo = TestRepo::new();
    for path in ["a", "a.b", "dir/a", "dir/b", "dir/deep/c", "dir.x", "z/last"] {
        repo.write(path, path);
    }
    repo.commit_all("base");
    repo.git(&["update-index", "--index-version", version]);
    repo
}

/// Parses the index of a repository.
pub fn parse(repo: &TestRepo) -> IndexFile {
    IndexFile::parse(read_file(&repo.path().join(".git/index"))).unwrap()
}

/// Returns the bytes of an index file.
pub fn written(index: &IndexFile) -> Vec<u8> {
    let mut bytes = Vec::new();
    index.write_to(&mut bytes).unwrap();
    bytes
}

/// Returns an executable file's entry with a size that no file of the examples has.
pub fn entry<'a>(path: &'a str, id: &str) -> NewEntry<'a> {
    NewEntry {
        path,
        mode: 0o100_755,
        id: decode_id(id),
        stat: EntryStat {
            size: 1000,
            ..EntryStat::default()
        },
        skip_worktree: false,
    }
}

fn decode_id(hex: &str) -> [u8; 20] {
    let pair = |at: usize| u8::from_str_radix(hex.get(at * 2..at * 2 + 2).unwrap(), 16).unwrap();
    std::array::from_fn(pair)
}
