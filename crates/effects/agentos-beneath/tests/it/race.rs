//! Somebody who swaps a folder for a link all the while.
//!
//! Owns: the swapping and what must never come of it. Never: waits for a particular moment.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use agentos_beneath::OpenFolder;
use agentos_testkit::repo::{make_dir, make_link, set_mode, write_file};
use rustix::fs::{CWD, Mode, RenameFlags, mkdir, renameat_with};

/// Fewest rounds of what is tested; the swapping goes on as long.
const ROUNDS: usize = 3_000;

/// Ends the other thread also when an assertion fails, so that the test fails and does not hang.
struct StopGuard<'a>(&'a AtomicBool);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Exchanges two entries until told to stop, and counts.
fn swap(one: &Path, other: &Path, stop: &AtomicBool, swapped: &AtomicU32) {
    while !stop.load(Ordering::Relaxed) {
        if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
            swapped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_folder_that_is_swapped_for_a_link_never_shows_what_the_link_leads_to() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path();
    write_file(&top.join("outside/deep/shadow"), "secret");
    write_file(&top.join("run/d/deep/shadow"), "placeholder");
    make_link(&top.join("run/l"), "../outside");
    let (stop, swapped) = (AtomicBool::new(false), AtomicU32::new(0));
    let run = OpenFolder::open_root(&top.join("run")).unwrap();
    let mut read = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| swap(&top.join("run/d"), &top.join("run/l"), &stop, &swapped));
        while swapped.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let _stop = StopGuard(&stop);
        // On a busy machine all rounds can pass while the other thread waits for its turn, with the
        // link in place: the test goes on until it met the folder and saw another exchange.
        let mut rounds = 0;
        while rounds < ROUNDS || read == 0 || swapped.load(Ordering::Relaxed) < 2 {
            rounds += 1;
            let steps = run
                .open_folder(OsStr::new("d"))
                .and_then(|folder| folder.open_folder(OsStr::new("deep")));
            for folder in [run.open_path(Path::new("d/deep")), steps].into_iter().flatten() {
                let content = folder.read_file(OsStr::new("shadow"), 99).unwrap();
                assert_eq!(content.bytes, b"placeholder");
                read += 1;
            }
            if rounds >= ROUNDS {
                std::thread::yield_now();
            }
        }
    });
}

#[test]
fn a_file_that_is_swapped_for_a_link_is_never_read_through_it() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path();
    write_file(&top.join("shadow"), "secret");
    write_file(&top.join("run/f"), "placeholder");
    make_link(&top.join("run/l"), "../shadow");
    let (stop, swapped) = (AtomicBool::new(false), AtomicU32::new(0));
    let run = OpenFolder::open_root(&top.join("run")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| swap(&top.join("run/f"), &top.join("run/l"), &stop, &swapped));
        let _stop = StopGuard(&stop);
        let (mut rounds, mut read) = (0, 0);
        while rounds < ROUNDS || read == 0 || swapped.load(Ordering::Relaxed) < 2 {
            rounds += 1;
            if let Ok(content) = run.read_file(OsStr::new("f"), 99) {
                assert_eq!(content.bytes, b"placeholder");
                read += 1;
            }
            if rounds >= ROUNDS {
                std::thread::yield_now();
            }
        }
    });
}

#[test]
fn removal_changes_and_removes_nothing_behind_a_link_that_is_swapped_in() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path();
    let canary = top.join("outside");
    for number in 0..40 {
        write_file(&canary.join(format!("{number}/kept")), "theirs");
        // A folder that lacks its owner's right to write is opened up before it is emptied.
        set_mode(&canary.join(format!("{number}")), 0o555);
    }
    for round in 0..20 {
        let run = top.join("run");
        for number in 0..40 {
            make_dir(&run.join(format!("d{number}/below")));
            set_mode(&run.join(format!("d{number}")), 0o555);
            make_link(&run.join(format!("l{number}")), &format!("../outside/{number}"));
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _stop = StopGuard(&stop);
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for number in 0..40 {
                        let (one, other) = (run.join(format!("d{number}")), run.join(format!("l{number}")));
                        let _ = renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
                    }
                }
            });
            let folder = OpenFolder::open_root(top).unwrap();
            folder.remove_tree(OsStr::new("run")).unwrap();
        });
        assert!(!run.exists(), "round {round}");
        for number in 0..40 {
            let place = canary.join(format!("{number}"));
            let mode = std::fs::metadata(&place).unwrap().permissions().mode() & 0o777;
            assert_eq!((number, mode), (number, 0o555));
            assert_eq!(std::fs::read(place.join("kept")).unwrap(), b"theirs");
        }
    }
    for number in 0..40 {
        set_mode(&canary.join(format!("{number}")), 0o755);
    }
}

#[test]
fn removal_ends_although_somebody_goes_on_adding_entries() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path();
    make_dir(&top.join("run/d"));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = StopGuard(&stop);
        scope.spawn(|| {
            for number in 0_u64.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                // Its folders vanish under it, and are made again.
                let place = top.join(format!("run/d/{}", number % 64));
                let _ = mkdir(&place, Mode::RWXU);
                let _ = mkdir(place.join("e"), Mode::RWXU);
            }
        });
        let folder = OpenFolder::open_root(top).unwrap();
        // It may succeed or give up; what counts is that it comes to an end.
        let _ = folder.remove_tree(OsStr::new("run"));
    });
    let folder = OpenFolder::open_root(top).unwrap();
    folder.remove_tree(OsStr::new("run")).unwrap();
    assert!(!top.join("run").exists());
}
