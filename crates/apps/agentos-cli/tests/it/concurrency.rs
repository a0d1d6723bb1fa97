//! Many processes land on one branch at once: the history is linear and nothing is lost.
//!
//! Owns: the count. The normal run is small; `AGENTOS_LAND_ALL=1` is 32 processes and 1,000 changes, with the
//! figures on screen.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use agentos_testkit::repo::TestRepo;

use crate::support::agentos;

fn addition(number: usize) -> String {
    format!(
        "diff --git a/f/{number}.txt b/f/{number}.txt\nnew file mode 100644\n--- /dev/null\n+++ b/f/{number}.txt\n@@ -0,0 +1 @@\n+{number}\n"
    )
}

fn land_all(repo: &TestRepo, processes: usize, changes: usize, target: &[&str]) -> f64 {
    let next = AtomicUsize::new(0);
    let begun = SystemTime::now();
    std::thread::scope(|scope| {
        for _ in 0..processes {
            scope.spawn(|| {
                let cli = agentos().in_dir(repo.path());
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= changes {
                        return;
                    }
                    let mut args = vec!["apply", "-", "--quiet"];
                    args.extend(target);
                    let output = cli.run_with_input(&args, addition(number).as_bytes()).unwrap();
                    assert_eq!(output.code, Some(0), "{number}: {output}");
                }
            });
        }
    });
    let seconds = begun.elapsed().unwrap().as_secs_f64();
    let count = |range: &str, more: &[&str]| {
        let args = [&["rev-list", "--count"][..], more, &[range]].concat();
        repo.git(&args)
    };
    assert_eq!(count("main", &[]), (changes + 1).to_string());
    assert_eq!(count("main", &["--merges"]), "0");
    let there = repo.git(&["ls-tree", "-r", "--name-only", "main", "f/"]);
    assert_eq!(there.lines().count(), changes);
    repo.git(&["fsck", "--strict", "--full", "--no-dangling"]);
    let verified = agentos()
        .in_dir(repo.path())
        .run(&["evidence", "verify"])
        .unwrap();
    assert_eq!(verified.code, Some(0), "{verified}");
    seconds
}

#[test]
fn every_change_of_many_processes_lands_one_after_the_other() {
    let every = std::env::vars_os().any(|(name, _)| name == "AGENTOS_LAND_ALL");
    let (processes, changes) = if every { (32, 1_000) } else { (8, 24) };
    let work = TestRepo::new();
    work.write("README.md", "# many\n");
    work.commit_all("first");
    let bare = TestRepo::bare();
    work.git(&["push", "--quiet", bare.path().to_str().unwrap(), "main"]);
    for (repo, what, target) in [
        (&bare, "on a branch", &["--branch", "main"][..]),
        (&work, "with the work tree", &[]),
    ] {
        let seconds = land_all(repo, processes, changes, target);
        let rate = f64::from(u32::try_from(changes).unwrap()) / seconds;
        eprintln!(
            "{processes} processes, {changes} changes {what}: {seconds:.1} s, {rate:.1} changes a second"
        );
    }
    assert_eq!(work.status(), "");
}
