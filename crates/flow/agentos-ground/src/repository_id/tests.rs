//! Tests of ids: worktrees, moved and copied folders, and files of an unpacked archive.

use agentos_testkit::repo::{
    TestRepo, make_dir, make_link, move_path, read_file as read_bytes, remove_file, write_file,
};

use super::*;
use crate::environment::Environment;

fn identify_folder(folder: &Path) -> String {
    let ground = Ground::new(Environment::new([], folder.to_owned()));
    let known = ground.known_repository().unwrap();
    let repo = repository::open(&ground).unwrap();
    assert_eq!(read_id(&repo).as_ref(), Some(&known.id));
    known.id
}

#[test]
fn worktrees_share_an_id_and_a_moved_folder_keeps_it() {
    let repo = TestRepo::new();
    repo.write("a.txt", "one\n");
    repo.commit_all("Begin");
    let id = identify_folder(repo.path());
    assert_eq!(identify_folder(repo.path()), id);
    let parent = tempfile::tempdir().unwrap();
    let tree = parent.path().join("tree");
    repo.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    assert_eq!(identify_folder(&tree), id);
    let other = TestRepo::new();
    assert_ne!(identify_folder(other.path()), id);

    let copy = parent.path().join("copy");
    let moved = parent.path().join("moved");
    copy_folder(other.path(), &copy);
    let of_copy = identify_folder(&copy);
    assert_ne!(
        of_copy,
        identify_folder(other.path()),
        "a copy has an id of its own"
    );
    move_path(&copy, &moved);
    assert_eq!(identify_folder(&moved), of_copy);
}

#[test]
fn a_copy_of_a_repository_that_has_moved_away_gets_another_id() {
    let (repo, parent) = (TestRepo::new(), tempfile::tempdir().unwrap());
    let id = identify_folder(repo.path());
    let (copy, moved) = (parent.path().join("copy"), parent.path().join("moved"));
    copy_folder(repo.path(), &copy);
    move_path(repo.path(), &moved);
    assert_ne!(identify_folder(&copy), id);
    assert_eq!(identify_folder(&moved), id);
}

#[test]
fn a_session_belongs_to_the_repository_that_it_names() {
    let known = |id: &str| KnownRepository {
        id: id.to_owned(),
        name: "shop".to_owned(),
        ..KnownRepository::default()
    };
    let (own, other) = (
        known("1f0c9a7b5e3d24681f0c9a7b5e3d2468"),
        known("1f0c9a7b5e3d24691f0c9a7b5e3d2468"),
    );
    let session = own.session().unwrap();
    assert_eq!(session.as_str(), "repository:shop.1f0c9a7b5e3d2468");
    assert!(own.owns_session(&session) && !is_foreign(&session, &own));
    assert!(!other.owns_session(&session) && is_foreign(&session, &other));
    assert_eq!(KnownRepository::default().session(), None);
    assert!(!KnownRepository::default().owns_session(&SessionKey::default()));
}

#[test]
fn a_planted_file_names_no_other_repository_and_leads_nowhere() {
    let repo = TestRepo::new();
    let folder = repo.path().join(".git").join(FOLDER);
    make_dir(&folder);
    for text in [
        "",
        "{}",
        "{\"version\":1,\"id\":\"../../x\",\"name\":\"a\",\"path\":\"/\"}",
    ] {
        write_file(&folder.join(FILE), text);
        assert_eq!(identify_folder(repo.path()).len(), ID_LENGTH, "{text}");
        assert_eq!(read_bytes(&folder.join(FILE)), text.as_bytes());
        remove_file(&folder.join(FILE));
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_in_gits_folder() {
    let repo = TestRepo::new();
    let outside = tempfile::tempdir().unwrap();
    make_link(
        &repo.path().join(".git").join(FOLDER),
        outside.path().to_str().unwrap(),
    );
    assert_eq!(identify_folder(repo.path()).len(), ID_LENGTH);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

fn copy_folder(from: &Path, to: &Path) {
    make_dir(to);
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => write_file(&target, read_bytes(&entry.path())),
        }
    }
}
