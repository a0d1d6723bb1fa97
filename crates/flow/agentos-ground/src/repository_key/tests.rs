//! Tests of entries: moved, copied and planted repositories.

use agentos_testkit::repo::{TestRepo, make_dir, move_path, read_file, write_file};

use super::*;
use crate::environment::Environment;
use crate::repository;

fn key_of(folder: &Path) -> RepositoryKey {
    let ground = Ground::new(Environment::new([], folder.to_owned()));
    RepositoryKey::of(&ground, &repository::open(&ground).unwrap())
}

/// Returns the entry of a repository after it was counted once more.
fn count(key: &RepositoryKey, file: &mut (BTreeMap<String, u32>, KnownFolders)) -> u32 {
    let entry = key.claim(&mut file.0, &mut file.1);
    *entry += 1;
    *entry
}

#[test]
fn an_entry_follows_the_repository_and_an_entry_of_its_folder_stays_readable() {
    let (repo, parent) = (TestRepo::new(), tempfile::tempdir().unwrap());
    let key = key_of(repo.path());
    let mut file = (BTreeMap::from([(key.folder(), 3)]), KnownFolders::new());
    assert_eq!(key.find(&file.0, &file.1), Some(&3));
    assert_eq!(count(&key, &mut file), 4);
    assert_eq!(file.0, BTreeMap::from([(key.id.clone(), 4)]));
    let moved = parent.path().join("moved");
    move_path(repo.path(), &moved);
    let key = key_of(&moved);
    assert_eq!(key.find(&file.0, &file.1), Some(&4));
    assert_eq!(count(&key, &mut file), 5);
    // Another repository in the first folder has no entry.
    let other = TestRepo::new();
    move_path(other.path(), repo.path());
    assert_eq!(key_of(repo.path()).find(&file.0, &file.1), None);
    assert!(key.remove(&mut file.0, &mut file.1) && !key.remove(&mut file.0, &mut file.1));
    assert_eq!(file, (BTreeMap::new(), KnownFolders::new()));
}

#[test]
fn a_repository_that_brings_the_id_of_another_one_does_not_have_its_entry() {
    let (repo, planted) = (TestRepo::new(), TestRepo::new());
    let place = |repo: &TestRepo| repo.path().join(".git/agentos/repository.json");
    let key = key_of(repo.path());
    let mut file = (BTreeMap::new(), KnownFolders::new());
    count(&key, &mut file);
    // The file of the id claims to have been written here: its author knows where the archive is unpacked.
    let text = String::from_utf8(read_file(&place(&repo))).unwrap();
    make_dir(&planted.path().join(".git/agentos"));
    let folder = planted.path().join(".git").canonicalize().unwrap();
    write_file(
        &place(&planted),
        text.replace(&key.folder(), folder.to_str().unwrap()),
    );
    let other = key_of(planted.path());
    assert_eq!(other.id, key.id);
    assert_eq!(other.find(&file.0, &file.1), None);
    assert!(!other.remove(&mut file.0, &mut file.1));
    assert_eq!((count(&other, &mut file), count(&key, &mut file)), (1, 2));
}

#[test]
fn an_archive_that_is_unpacked_where_a_repository_was_does_not_have_its_entry() {
    let (repo, away) = (TestRepo::new(), tempfile::tempdir().unwrap());
    let place = repo.path().join(".git/agentos/repository.json");
    let key = key_of(repo.path());
    let mut file = (BTreeMap::new(), KnownFolders::new());
    count(&key, &mut file);
    let text = read_file(&place);
    let moved = away.path().join("moved");
    move_path(repo.path(), &moved);
    let planted = TestRepo::new();
    move_path(planted.path(), repo.path());
    make_dir(&repo.path().join(".git/agentos"));
    write_file(&place, text);
    let other = key_of(repo.path());
    assert_eq!((&other.id, other.folder()), (&key.id, key.folder()));
    assert_eq!(other.find(&file.0, &file.1), None);
    // The moved repository has the entry.
    assert_eq!(key_of(&moved).find(&file.0, &file.1), Some(&1));
}

#[test]
fn a_file_with_paths_alone_is_read() {
    let old = r#"{"a":"/x/.git","b":{"path":"/y/.git","mark":"5:6"}}"#;
    let folders: KnownFolders = serde_json::from_str(old).unwrap();
    insta::assert_snapshot!(serde_json::to_string(&folders).unwrap(), @r#"{"a":{"path":"/x/.git"},"b":{"path":"/y/.git","mark":"5:6"}}"#);
}
