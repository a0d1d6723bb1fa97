//! A user who saves files and switches branches while many processes land: no save and no landing is lost.
//!
//! Owns: the race of one large change with saves of its last files, and 16 processes beside a user. The normal run is
//! small; `AGENTOS_RACES` is the number of races, and `AGENTOS_STORM` the number of epochs of the storm.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{TestRepo, move_path, read_file, write_file};

use crate::kill::leftovers;
use crate::kill_random::{Random, number, seed};
use crate::support::agentos;

fn path_of(number: u64) -> String {
    format!("src/f{number}")
}

/// A repository with so many files of one line.
fn many_files(files: u64) -> TestRepo {
    let repo = TestRepo::new();
    for number in 1..=files {
        repo.write(&path_of(number), format!("base {number}\n"));
    }
    repo.commit_all("first");
    repo
}

/// A change of one file.
fn hunk(number: u64, old: &str, text: &str) -> String {
    let path = path_of(number);
    format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{text} {number}\n")
}

/// Saves a file as editors do: into the file itself, or another file takes its name.
fn save(path: &Path, content: &str, in_place: bool) {
    if in_place {
        write_file(path, content);
        return;
    }
    let beside = path.with_extension("swp");
    write_file(&beside, content);
    move_path(&beside, path);
}

/// Is what was saved in its file, or under a name next to it?
fn is_there(path: &Path, content: &str) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    let holds = |place: &Path| std::fs::read(place).is_ok_and(|found| found == content.as_bytes());
    holds(path) || (1..10).any(|at| holds(&path.with_file_name(format!("{name}.agentos-saved-{at}"))))
}

/// The review's race: 400 files in one change, and one of the last is saved once the first is replaced.
#[test]
fn a_save_while_a_large_change_lands_is_never_lost() {
    let (races, mut random) = (number("AGENTOS_RACES", 2), Random::new(seed()));
    let (mut lost, mut kept) = (0, 0);
    for race in 0..races {
        let repo = many_files(400);
        let change = (1..=400).map(|number| hunk(number, &format!("base {number}"), "landed"));
        let change: String = change.collect();
        let (chosen, in_place) = (400 - random.below(300), race % 2 == 0);
        let theirs = repo.path().join(path_of(chosen));
        let ended = AtomicBool::new(false);
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                let first = repo.path().join(path_of(1));
                while read_file(&first) != b"landed 1\n" && !ended.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
                save(&theirs, "theirs\n", in_place);
            });
            let cli = agentos().in_dir(repo.path());
            let output = cli
                .run_with_input(&["apply", "-", "--json"], change.as_bytes())
                .unwrap();
            ended.store(true, Ordering::SeqCst);
            output
        });
        assert_eq!(output.code, Some(0), "{output}");
        lost += u64::from(!is_there(&theirs, "theirs\n"));
        kept += output.json().unwrap()["kept"].as_array().map_or(0, Vec::len);
        let seen = repo.status();
        assert_eq!(seen.trim(), format!("M {}", path_of(chosen)), "{output}");
    }
    eprintln!("{races} races: {lost} saves lost, {kept} kept back");
    assert_eq!(lost, 0);
}

/// One of the processes: a change of some files, as they are at the tip.
fn land(repo: &TestRepo, cli: &Cli, random: &mut Random, files: u64, landing: u64) -> Option<String> {
    let count = 1 + random.below(20);
    let first = 1 + random.below(files - count);
    let change = (first..first + count).map(|number| {
        let old = repo.git(&["show", &format!("HEAD:{}", path_of(number))]);
        hunk(number, &old, &format!("landing {landing},"))
    });
    let change: String = change.collect();
    let output = cli
        .run_with_input(&["apply", "-", "--json"], change.as_bytes())
        .unwrap();
    // Others may have landed on the same files, or the user works on them: that is refused.
    let json = output.json().unwrap();
    json["commit"]
        .as_str()
        .filter(|_| output.code == Some(0))
        .map(str::to_owned)
}

/// What the user does for as long as the others land: saves files, each once, and switches branches.
fn work(repo: &TestRepo, random: &mut Random, files: u64, goes_on: &AtomicBool) -> BTreeMap<u64, String> {
    let mut saved = BTreeMap::new();
    while goes_on.load(Ordering::SeqCst) {
        let number = 1 + random.below(files);
        if !saved.contains_key(&number) && saved.len() < 60 {
            let content = format!("saved by the user, {} {number}\n", random.below(1000));
            save(&repo.path().join(path_of(number)), &content, random.below(2) == 0);
            saved.insert(number, content);
        }
        if random.below(4) == 0 {
            let branch = if random.below(2) == 0 { "main" } else { "other" };
            // Refused while somebody lands, and where it would overwrite a save.
            let _ = repo.git_ok(&["checkout", "--quiet", branch]);
        }
    }
    saved
}

#[test]
fn sixteen_processes_and_a_user_lose_nothing() {
    const FILES: u64 = 200;
    let (epochs, seed) = (number("AGENTOS_STORM", 1), seed());
    let repo = many_files(FILES);
    repo.git(&["branch", "other"]);
    let acknowledged = Mutex::new(Vec::new());
    let (mut saves, mut lost) = (0, Vec::new());
    for epoch in 0..epochs {
        let (goes_on, running) = (AtomicBool::new(true), AtomicUsize::new(16));
        let saved = std::thread::scope(|scope| {
            for process in 0..16 {
                let (repo, acknowledged, goes_on, running) = (&repo, &acknowledged, &goes_on, &running);
                scope.spawn(move || {
                    let cli = agentos().in_dir(repo.path());
                    let mut random = Random::new(seed + epoch * 100 + process);
                    for round in 0..3 {
                        let landing = epoch * 1000 + process * 10 + round;
                        let landed = land(repo, &cli, &mut random, FILES, landing);
                        acknowledged.lock().unwrap().extend(landed);
                    }
                    if running.fetch_sub(1, Ordering::SeqCst) == 1 {
                        goes_on.store(false, Ordering::SeqCst);
                    }
                });
            }
            work(&repo, &mut Random::new(seed + epoch * 100 + 99), FILES, &goes_on)
        });
        let recovered = agentos().in_dir(repo.path()).run(&["recover"]).unwrap();
        assert_eq!(recovered.code, Some(0), "{recovered}");
        let status = repo.git(&["status", "--porcelain", "--untracked-files=all"]);
        for (number, content) in &saved {
            let path = repo.path().join(path_of(*number));
            // What git does not see is overwritten by the next switch of branches.
            let is_seen = status
                .lines()
                .any(|line| line.trim_start() == format!("M {}", path_of(*number)));
            if !is_there(&path, content) || !is_seen {
                lost.push(format!("epoch {epoch}: {} is_seen {is_seen}", path_of(*number)));
            }
        }
        saves += saved.len();
        // Nothing but the saves differs from the commit.
        let torn = status
            .lines()
            .filter(|line| !line.contains(".agentos-saved-"))
            .count();
        assert_eq!(torn, saved.len(), "epoch {epoch}: {status}");
        repo.git(&["fsck", "--strict", "--full", "--no-dangling"]);
        let mut left = Vec::new();
        leftovers(repo.path(), &mut left);
        assert_eq!(left, Vec::<std::path::PathBuf>::new());
        repo.git(&["reset", "--quiet", "--hard"]);
    }
    let all = repo.git(&["rev-list", "--branches"]);
    let acknowledged = acknowledged.into_inner().unwrap();
    let missing = acknowledged
        .iter()
        .filter(|commit| !all.lines().any(|found| found == commit.as_str()));
    let missing: Vec<_> = missing.collect();
    let verified = agentos()
        .in_dir(repo.path())
        .run(&["evidence", "verify"])
        .unwrap();
    assert_eq!(verified.code, Some(0), "{verified}");
    eprintln!(
        "{epochs} epochs: {} landings acknowledged, {} missing; {saves} saves, {} lost",
        acknowledged.len(),
        missing.len(),
        lost.len()
    );
    assert_eq!((missing.len(), lost), (0, Vec::<String>::new()));
}
