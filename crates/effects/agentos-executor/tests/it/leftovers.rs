//! What a landing that ends between two steps leaves under its temporary names.
//!
//! Owns: every row of the table in the module of that name.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agentos_testkit::repo::{move_path, read_file, remove_file, write_file};

use crate::last_moment::{TEMP, Work, land_meeting, save};
use crate::support::{Edit, assert_sound, example, open, text};

/// What lies where when the landing ends at a place, and what is there after the recovery.
struct Crash {
    name: &'static str,
    place: &'static str,
    edit: Edit<'static>,
    work: Work,
    /// Content of `a.txt`; empty if there is none.
    left: &'static str,
    kept: &'static [&'static str],
}

fn crashes() -> Vec<Crash> {
    const BASE: &str = "one\ntwo\nthree\n";
    let crash = |name, place, edit, work: Work, left, kept| Crash {
        name,
        place,
        edit,
        work,
        left,
        kept,
    };
    let changed = || ("a.txt", text("x\n"));
    let removed = || ("a.txt", None);
    vec![
        crash("exchanged", "names exchanged", changed(), |_| {}, "x\n", &[]),
        crash(
            "a save came out",
            "names exchanged",
            changed(),
            |root| save(&root.join(TEMP)),
            "theirs\n",
            &["a.txt"],
        ),
        crash(
            "a save came out that is empty",
            "names exchanged",
            changed(),
            |root| write_file(&root.join(TEMP), ""),
            "x\n",
            &[],
        ),
        crash(
            "a save came out, and another one",
            "names exchanged",
            changed(),
            |root| {
                save(&root.join(TEMP));
                write_file(&root.join("a.txt"), "newer\n");
            },
            "newer\n",
            &["a.txt", "a.txt.agentos-saved-1"],
        ),
        crash(
            "a save came out, the file was removed",
            "names exchanged",
            changed(),
            |root| {
                save(&root.join(TEMP));
                remove_file(&root.join("a.txt"));
            },
            "theirs\n",
            &["a.txt"],
        ),
        crash(
            "a folder came out",
            "names exchanged",
            changed(),
            |root| {
                remove_file(&root.join(TEMP));
                save(&root.join(TEMP).join("own"));
            },
            "folder",
            &["a.txt"],
        ),
        crash("moved aside", "file moved aside", removed(), |_| {}, "", &[]),
        crash(
            "moved aside, a save came out",
            "file moved aside",
            removed(),
            |root| save(&root.join(TEMP)),
            "theirs\n",
            &["a.txt"],
        ),
        crash(
            "moved aside, and saved again",
            "file moved aside",
            removed(),
            |root| save(&root.join("a.txt")),
            "theirs\n",
            &["a.txt"],
        ),
        crash(
            "moved aside, two saves",
            "file moved aside",
            removed(),
            |root| {
                save(&root.join(TEMP));
                write_file(&root.join("a.txt"), "newer\n");
            },
            "newer\n",
            &["a.txt", "a.txt.agentos-saved-1"],
        ),
        crash(
            "between the steps of an exchange",
            "room made",
            changed(),
            |root| {
                move_path(&root.join("a.txt"), &root.join(".agentos-run-1-0-spare.tmp"));
            },
            "x\n",
            &[],
        ),
        crash(
            "between the steps, a save",
            "room made",
            changed(),
            |root| {
                save(&root.join(".agentos-run-1-0-spare.tmp"));
                remove_file(&root.join("a.txt"));
            },
            "theirs\n",
            &["a.txt"],
        ),
        crash(
            "between the steps, saved meanwhile",
            "room made",
            changed(),
            |root| {
                move_path(&root.join("a.txt"), &root.join(".agentos-run-1-0-spare.tmp"));
                save(&root.join("a.txt"));
            },
            "theirs\n",
            &["a.txt"],
        ),
        crash(
            "after the second step",
            "names exchanged",
            changed(),
            |root| {
                move_path(&root.join(TEMP), &root.join(".agentos-run-1-0-spare.tmp"));
            },
            "x\n",
            &[],
        ),
        crash(
            "after the second step, a save",
            "names exchanged",
            changed(),
            |root| {
                remove_file(&root.join(TEMP));
                save(&root.join(".agentos-run-1-0-spare.tmp"));
            },
            "theirs\n",
            &["a.txt"],
        ),
        crash(
            "staged in part",
            "staged",
            changed(),
            |root| write_file(&root.join(TEMP), ""),
            BASE,
            &[],
        ),
    ]
}

#[test]
fn what_came_out_survives_the_end_of_the_landing() {
    for Crash {
        name,
        place,
        edit,
        work,
        left,
        kept,
    } in crashes()
    {
        let repo = example();
        let root = repo.path().to_owned();
        let ends_here = move || {
            work(&root);
            panic!("the landing ends here");
        };
        let ended = catch_unwind(AssertUnwindSafe(|| {
            land_meeting(&repo, &[edit], place, ends_here)
        }));
        assert!(ended.is_err(), "{name}");
        let recovered = open(&repo).recover().unwrap().unwrap();
        assert_eq!(recovered.kept, kept, "{name}");
        if left == "folder" {
            assert_eq!(repo.read("a.txt/own"), b"theirs\n", "{name}");
        } else {
            assert_eq!(repo.has("a.txt"), !left.is_empty(), "{name}");
        }
        if repo.has("a.txt") && left != "folder" {
            assert_eq!(repo.read("a.txt"), left.as_bytes(), "{name}");
        }
        if kept.len() > 1 {
            assert_eq!(repo.read(kept[1]), b"theirs\n", "{name}");
        }
        assert_eq!(open(&repo).recover().unwrap(), None, "{name}");
        assert_sound(&repo);
    }
}

/// Whatever became of the branch, a save is not ours to remove.
#[test]
fn what_came_out_survives_a_branch_that_was_moved_back() {
    let ways: [&[&[&str]]; 2] = [
        &[&["reset", "--quiet", "--soft", "HEAD^"], &["reset", "--quiet"]],
        &[&["checkout", "--quiet", "--force", "-B", "main", "HEAD^"]],
    ];
    for way in ways {
        for logs in [true, false] {
            let repo = example();
            let root = repo.path().to_owned();
            let ends_here = move || {
                save(&root.join(TEMP));
                panic!("the landing ends here");
            };
            let edits = [("a.txt", text("x\n"))];
            let landing = || land_meeting(&repo, &edits, "names exchanged", ends_here);
            catch_unwind(AssertUnwindSafe(landing)).unwrap_err();
            for command in way {
                repo.git(command);
            }
            if !logs {
                for log in [".git/logs/refs/heads/main", ".git/logs/HEAD"] {
                    remove_file(&repo.path().join(log));
                }
            }
            let recovered = open(&repo).recover().unwrap().unwrap();
            let place = recovered.kept.last().unwrap();
            assert_eq!(read_file(&repo.path().join(place)), b"theirs\n", "{way:?}");
            assert_sound(&repo);
        }
    }
}
