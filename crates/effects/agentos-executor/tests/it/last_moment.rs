//! What a user saves between the last look at a file and the step that replaces or removes it.
//!
//! Owns: every kind of step, with a save right before it and right after it.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

use agentos_executor::{FailPoints, TargetSpec};
use agentos_testkit::repo::{
    TestRepo, make_dir, make_link, move_path, open_in_place, remove_file, set_mode, write_file,
};

use crate::support::{Edit, Sink, accept, assert_sound, example, land_in, open, program, text};

/// The name under which the first file of a change waits.
pub const TEMP: &str = ".agentos-run-1-0.tmp";

/// The work of somebody else, in a repository.
pub type Work = fn(&Path);

pub fn save(path: &Path) {
    write_file(path, "theirs\n");
}

/// As most editors save: another file takes the name.
fn save_by_rename(root: &Path) {
    save(&root.join("new"));
    move_path(&root.join("new"), &root.join("a.txt"));
}

/// Lands with somebody else at work whenever a place is reached.
pub fn land_meeting(
    repo: &TestRepo,
    edits: &[Edit<'_>],
    place: &'static str,
    work: impl Fn() + Send + Sync + 'static,
) -> Result<Vec<String>, String> {
    let repository = open(repo).with_fail_points(FailPoints::meeting(place, work));
    let landed = land_in(&repository, &TargetSpec::CurrentBranch, edits, &mut Sink(accept));
    landed
        .map(|receipt| receipt.kept)
        .map_err(|error| error.code().to_owned())
}

#[test]
fn a_save_right_before_the_step_stays_and_is_reported() {
    let change = || text("x\n");
    let cases: [(&str, &str, Edit<'_>, Work, &str); 9] = [
        (
            "changed, saved in place",
            "room made",
            ("a.txt", change()),
            |root| save(&root.join("a.txt")),
            "theirs\n",
        ),
        (
            "changed, saved by rename",
            "room made",
            ("a.txt", change()),
            save_by_rename,
            "theirs\n",
        ),
        (
            "changed, removed",
            "room made",
            ("a.txt", change()),
            |root| remove_file(&root.join("a.txt")),
            "",
        ),
        (
            "changed, made a link",
            "room made",
            ("a.txt", change()),
            |root| {
                remove_file(&root.join("a.txt"));
                make_link(&root.join("a.txt"), "dir/b.txt");
            },
            "b\n",
        ),
        (
            "changed, made a program",
            "room made",
            ("a.txt", change()),
            |root| set_mode(&root.join("a.txt"), 0o755),
            "one\ntwo\nthree\n",
        ),
        (
            "made a program, saved",
            "room made",
            ("a.txt", program("one\ntwo\nthree\n")),
            |root| save(&root.join("a.txt")),
            "theirs\n",
        ),
        (
            "removed, saved in place",
            "file to be removed",
            ("a.txt", None),
            |root| save(&root.join("a.txt")),
            "theirs\n",
        ),
        (
            "removed, saved by rename",
            "file to be removed",
            ("a.txt", None),
            save_by_rename,
            "theirs\n",
        ),
        (
            "made, saved",
            "room made",
            ("a.txt/n", text("n\n")),
            |root| save(&root.join("a.txt/n")),
            "",
        ),
    ];
    for (name, place, edit, work, content) in cases {
        let repo = example();
        let path = edit.0;
        let mut edits = vec![edit];
        if path != "a.txt" {
            edits.insert(0, ("a.txt", None));
        }
        let root = repo.path().to_owned();
        let kept = land_meeting(&repo, &edits, place, move || work(&root)).unwrap();
        assert_eq!(kept, [path], "{name}");
        if path == "a.txt" && !content.is_empty() {
            assert_eq!(repo.read("a.txt"), content.as_bytes(), "{name}");
        }
        assert_ne!(repo.status(), "", "{name}");
        assert_sound(&repo);
    }
}

#[test]
fn a_folder_that_comes_in_a_files_place_stays() {
    let repo = example();
    let root = repo.path().to_owned();
    let work = move || {
        remove_file(&root.join("a.txt"));
        save(&root.join("a.txt/own.txt"));
    };
    let kept = land_meeting(&repo, &[("a.txt", text("x\n"))], "room made", work).unwrap();
    assert_eq!(kept, ["a.txt"]);
    assert_eq!(repo.read("a.txt/own.txt"), b"theirs\n");
    assert_sound(&repo);
}

/// A file that must make room for a folder, and the other way round: the change is made, and what stands in its way is
/// reported; nothing of it is lost.
#[test]
fn a_save_where_room_must_be_made_stops_the_rest() {
    for (edits, saved) in [
        ([("a.txt", None), ("a.txt/n", text("n\n"))], "a.txt"),
        ([("dir", text("d\n")), ("dir/b.txt", None)], "dir/b.txt"),
    ] {
        let repo = example();
        let theirs = repo.path().join(saved);
        let code = land_meeting(&repo, &edits, "file to be removed", move || save(&theirs)).unwrap_err();
        assert_eq!(
            (code.as_str(), repo.read(saved)),
            ("unfinished", b"theirs\n".to_vec())
        );
        move_path(&repo.path().join(saved), &repo.outside().join("saved"));
        open(&repo).recover().unwrap().unwrap();
        assert_eq!(repo.status(), "", "{saved}");
        assert_sound(&repo);
    }
}

/// A program that opened the file before the landing and writes into it after it was taken out of its place.
#[test]
fn a_file_that_is_being_written_in_place_goes_back() {
    for (place, edit) in [
        ("names exchanged", ("a.txt", text("x\n"))),
        ("file moved aside", ("a.txt", None)),
    ] {
        for when in [place, "checked"] {
            let repo = example();
            let writer = Mutex::new(open_in_place(&repo.path().join("a.txt")));
            let work = move || drop(writer.lock().unwrap().write_all(b"THEIRS"));
            let kept = land_meeting(&repo, std::slice::from_ref(&edit), when, work).unwrap();
            assert_eq!(kept, ["a.txt"], "{when}");
            assert!(repo.read("a.txt").starts_with(b"THEIRS"), "{when}");
            assert_sound(&repo);
        }
    }
}

/// Only on systems with leases: nothing was written yet, but somebody is about to.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_somebody_is_about_to_write_goes_back() {
    for edit in [("a.txt", text("x\n")), ("a.txt", None)] {
        let repo = example();
        let mut writer = open_in_place(&repo.path().join("a.txt"));
        let kept = land_meeting(&repo, &[edit], "never", || {}).unwrap();
        writer.write_all(b"THEIRS").unwrap();
        assert_eq!(kept, ["a.txt"]);
        assert!(repo.read("a.txt").starts_with(b"THEIRS"));
        assert_sound(&repo);
    }
}

#[test]
fn two_saves_in_the_last_moment_are_both_there() {
    for (place, edit) in [
        ("names exchanged", ("a.txt", text("x\n"))),
        ("file moved aside", ("a.txt", None)),
    ] {
        let repo = example();
        let path = repo.path().join("a.txt");
        let writer = Mutex::new(open_in_place(&path));
        let work = move || {
            let mut writer = writer.lock().unwrap();
            writer.seek(SeekFrom::Start(0)).unwrap();
            writer.write_all(b"THE OLDER SAVE\n").unwrap();
            write_file(&path.with_file_name("new"), "the newer save\n");
            move_path(&path.with_file_name("new"), &path);
        };
        let kept = land_meeting(&repo, &[edit], place, work).unwrap();
        assert_eq!(kept, ["a.txt", "a.txt.agentos-saved-1"], "{place}");
        assert_eq!(repo.read("a.txt"), b"the newer save\n");
        assert_eq!(repo.read("a.txt.agentos-saved-1"), b"THE OLDER SAVE\n");
        assert_sound(&repo);
    }
}

/// Git must look at what was saved after the step, however young the index is.
#[test]
fn a_save_right_after_the_step_is_seen_by_git() {
    for place in ["file in place", "index written"] {
        let repo = example();
        let theirs = repo.path().join("a.txt");
        // As long as the landed content, so that its size says nothing.
        let work = move || write_file(&theirs, "y\n");
        let kept = land_meeting(&repo, &[("a.txt", text("x\n"))], place, work).unwrap();
        assert_eq!(kept, Vec::<String>::new());
        assert_eq!(
            (repo.read("a.txt"), repo.status()),
            (b"y\n".to_vec(), " M a.txt".to_owned())
        );
        assert_sound(&repo);
    }
}

/// A folder that is removed with everything in it, our names too, is no reason to stop.
#[test]
fn a_folder_that_is_removed_in_the_last_moment_is_reported() {
    for place in ["room made", "names exchanged"] {
        let repo = example();
        let root = repo.path().to_owned();
        let work = move || {
            remove_file(&root.join("dir/b.txt"));
            let temp = root.join("dir").join(TEMP);
            remove_file(&temp);
            make_dir(&root.join("elsewhere"));
            move_path(&root.join("dir"), &root.join("elsewhere/dir"));
        };
        let landed = land_meeting(&repo, &[("dir/b.txt", text("x\n"))], place, work);
        assert!(landed.is_ok(), "{place}: {landed:?}");
        assert!(!repo.has("dir"), "{place}");
        assert!(repo.status().contains(" D dir/b.txt"), "{place}");
        assert_sound(&repo);
    }
}
