//! Trees that a program made to harm whoever reads them, and a program that is still there.

use std::ffi::OsStr;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use agentos_testkit::cli::program;
use agentos_testkit::repo::{make_dir, make_link, move_path};

use super::super::*;
use super::Trees;

#[test]
fn folders_deeper_than_the_limit_are_an_error_and_ignored_ones_are_not_read() {
    // Longer paths than a system call takes: made beneath an opened folder, one by one.
    let nest = |top: &Path| {
        let mut folder = OpenFolder::open_root(top).unwrap();
        for _ in 0..1_500 {
            folder = folder.create_folder(OsStr::new("d"), 0o700).unwrap();
        }
    };
    let trees = Trees::roomy();
    make_dir(&trees.at("upper/target"));
    nest(&trees.at("upper/target"));
    assert_eq!(
        trees.compare().notes,
        ["1 new files or folders were left out because the repository ignores them"]
    );
    nest(&trees.at("upper"));
    for shown in [CopyView::Overlaid, CopyView::Copied] {
        let error = trees.read(shown).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the tool nested folders more than 1024 levels deep, so its answer was discarded"
        );
    }
    trees.remove();
}

#[test]
fn fifos_are_named_and_never_opened() {
    let trees = Trees::new();
    trees.write("lower/was", "a file\n").write("upper/a", "text\n");
    let made = (0..20).all(|number| {
        let fifo = trees.at(&format!("upper/fifo{number:02}"));
        program("mkfifo")
            .arg(fifo)
            .status()
            .is_ok_and(|status| status.success())
    });
    assert!(made);
    assert!(
        program("mkfifo")
            .arg(trees.at("upper/was"))
            .status()
            .unwrap()
            .success()
    );
    let found = trees.compare();
    assert_eq!(found.notes.len(), 17);
    assert_eq!(
        found.notes.get(15..),
        Some(
            &[
                "`fifo15` is neither a file, a folder nor a link, and was left out".to_owned(),
                "5 more such entries were left out".to_owned()
            ][..]
        )
    );
    assert!(
        found.text.starts_with("diff --git a/a b/a\n") && !found.text.contains("was"),
        "{}",
        found.text
    );
}

#[test]
fn files_beyond_the_limit_are_an_error_also_when_they_grow_only_while_they_are_read() {
    let trees = Trees::new();
    let folder = OpenFolder::open_root(&trees.at("upper")).unwrap();
    folder
        .create_file(OsStr::new("sparse"), 0o600)
        .unwrap()
        .set_len(MAX_BYTES + 1)
        .unwrap();
    assert!(matches!(
        trees.read(CopyView::Overlaid),
        Err(AgentError::TooLarge(MAX_BYTES))
    ));
    // One that is ignored costs nothing.
    move_path(&trees.at("upper/sparse"), &trees.at("upper/sparse.log"));
    assert_eq!(trees.compare().text, "");

    let mut growing = folder.create_file(OsStr::new("growing"), 0o600).unwrap();
    growing.set_len(MAX_BYTES - (4 << 20)).unwrap();
    growing.seek(SeekFrom::End(0)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A little more than the limit.
            for _ in 0..16 {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                growing.write_all(&vec![b'x'; 1 << 20]).unwrap();
            }
        });
        loop {
            match trees.read(CopyView::Overlaid) {
                Ok(found) => assert!(found.text.len() as u64 <= 2 * MAX_BYTES),
                Err(error) => {
                    assert!(matches!(error, AgentError::TooLarge(MAX_BYTES)), "{error}");
                    break;
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_mark_of_the_programs_own_does_not_replace_a_folder_of_a_whole_copy() {
    let trees = Trees::new();
    trees.write("lower/d/x", "x\n").write("upper/d/x", "x\n");
    let set = program("setfattr")
        .args(["-n", "user.overlay.opaque", "-v", "y"])
        .arg(trees.at("upper/d"))
        .status();
    if !set.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no attribute can be set here");
        return;
    }
    assert_eq!(trees.read(CopyView::Copied).unwrap().text, "");
    trees.write("upper/d/y", "y\n").remove_file("upper/d/x");
    let text = trees.read(CopyView::Overlaid).unwrap().text;
    assert!(text.contains("--- a/d/x\n+++ /dev/null\n"), "{text}");
}

/// The exchange of a folder for a link to a folder outside that holds a file of the same name, which is how a program that
/// outlived its run had a file of the user's read.
#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_is_swapped_for_a_link_never_shows_what_the_link_leads_to() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let trees = Trees::new();
    trees
        .write("outside/deep/shadow", "secret\n")
        .write("lower/d/deep/shadow", "placeholder\n")
        .write("upper/d/deep/shadow", "changed\n")
        .write("upper/d/first", "text\n");
    make_dir(&trees.at("upper/.git"));
    make_link(&trees.at("upper/.git/l"), trees.at("outside").to_str().unwrap());
    let (one, other) = (trees.at("upper/d"), trees.at("upper/.git/l"));
    let (stop, swapped) = (AtomicBool::new(false), AtomicU32::new(0));
    let mut read = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                if renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).is_ok() {
                    swapped.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        while swapped.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        for round in 0..1_000 {
            let shown = if round % 2 == 0 {
                CopyView::Overlaid
            } else {
                CopyView::Copied
            };
            if let Ok(found) = trees.read(shown) {
                assert!(!found.text.contains("secret"), "{}", found.text);
                read += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(read > 0 && swapped.into_inner() > 1);
    drop(trees);
}

/// An exchange at the one moment that counts: after the folder was looked at, before it is read.
#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_becomes_a_link_after_it_was_looked_at_is_an_error() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let trees = Trees::new();
    trees
        .write("outside/shadow", "secret\n")
        .write("upper/new/shadow", "placeholder\n");
    make_link(&trees.at("link"), trees.at("outside").to_str().unwrap());
    for shown in [CopyView::Overlaid, CopyView::Copied] {
        let swap = |path: &str| {
            if path == "new/" {
                let (one, other) = (trees.at("upper/new"), trees.at("link"));
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
            false
        };
        let read = compare_trees(&trees.at("lower"), &trees.at("upper"), shown, &swap);
        let error = read.unwrap_err().to_string();
        assert!(error.ends_with("`new` is not a folder"), "{error}");
        // Back, for the next round.
        swap("new/");
    }
}
