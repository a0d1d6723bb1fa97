//! Evidence after ordinary work with git: moved commits are noted, and commits with another change are found.
//!
//! Every case is judged by both verifiers, which must agree on the faults and on where each change is now.

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::TestRepo;
use serde_json::Value;

use crate::evidence_outside::{python, script};
use crate::support::agentos;

/// What is done to a history by hand, in one repository.
type Work = fn(&World);

/// A repository with one file of 40 numbered lines, `f`, on `main`.
struct World {
    repo: TestRepo,
    cli: Cli,
}

impl World {
    fn new() -> Self {
        let repo = TestRepo::new();
        let lines: String = (1..=40).map(|line| format!("{line}\n")).collect();
        repo.write("f", &lines);
        repo.commit_all("first");
        let cli = agentos().in_dir(repo.path());
        Self { repo, cli }
    }

    fn git(&self, args: &[&str]) -> String {
        self.repo.git(args)
    }

    /// Lands a change of one line, whose neighbours are its context.
    fn land(&self, line: u32) {
        let (above, below) = (line - 1, line + 1);
        let diff = format!(
            "--- a/f\n+++ b/f\n@@ -{above},3 +{above},3 @@\n {above}\n-{line}\n+{line} by a run\n {below}\n"
        );
        let output = self.cli.run_with_input(&["apply"], diff.as_bytes()).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
    }

    /// Changes a line by hand, without a commit.
    fn edit(&self, line: &str, to: &str) {
        let text = String::from_utf8(self.repo.read("f")).unwrap();
        self.repo.write(
            "f",
            text.replacen(&format!("\n{line}\n"), &format!("\n{to}\n"), 1),
        );
    }

    /// Puts a commit by hand on `main`, starting from another branch.
    fn meanwhile(&self, work: impl Fn(&Self)) {
        self.git(&["checkout", "--quiet", "main"]);
        work(self);
        self.repo.commit_all("meanwhile");
        self.git(&["checkout", "--quiet", "feat"]);
    }

    /// The message of a commit.
    fn message(&self, commit: &str) -> String {
        self.git(&["log", "-1", "--format=%B", commit])
    }

    /// Adds everything to the last commit.
    fn amend(&self, more: &[&str]) {
        self.git(&["add", "--all"]);
        self.git(&[&["commit", "--quiet", "--amend"], more].concat());
    }
}

fn one_run(world: &World) {
    world.land(10);
}

fn runs_on_a_branch(world: &World) {
    world.git(&["checkout", "--quiet", "-b", "feat"]);
    world.land(10);
    world.land(30);
}

fn run_on_a_branch(world: &World) {
    world.git(&["checkout", "--quiet", "-b", "feat"]);
    world.land(10);
}

fn reword(world: &World) {
    world.amend(&["--message", "better words"]);
}

fn by_hand(world: &World) {
    world.repo.write("notes.txt", "by hand\n");
    world.repo.commit_all("by hand");
}

fn forget(world: &World) {
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["prune", "--expire=now"]);
}

fn squash(world: &World) {
    world.git(&["checkout", "--quiet", "main"]);
    world.git(&["merge", "--quiet", "--squash", "feat"]);
    world.git(&["commit", "--quiet", "--message", "squashed"]);
    world.git(&["branch", "--quiet", "-D", "feat"]);
}

/// Squashes as forges do: the message ends with the last commit's, and so with its trailers.
fn squash_with_trailers(world: &World) {
    let message = world.message("feat");
    world.git(&["checkout", "--quiet", "main"]);
    world.git(&["merge", "--quiet", "--squash", "feat"]);
    world.git(&["commit", "--quiet", "--message", &message]);
    world.git(&["branch", "--quiet", "-D", "feat"]);
}

/// Makes a commit on `main` that claims the run of `feat`, from what is in the working tree.
fn claim(world: &World) {
    let message = world.message("feat");
    world.repo.commit_all(&message);
}

fn on_main(world: &World) {
    world.git(&["checkout", "--quiet", "main"]);
}

#[test]
fn ordinary_git_moves_commits_and_both_verifiers_say_where() {
    let cases: [(&str, &[Work], &[&str]); 20] = [
        ("untouched", &[one_run], &[]),
        ("more by hand", &[one_run, by_hand], &[]),
        ("a tag", &[one_run, |world| drop(world.git(&["tag", "v1"]))], &[]),
        (
            "reset",
            &[one_run, |world| {
                drop(world.git(&["reset", "--quiet", "--hard", "HEAD~1"]))
            }],
            &[],
        ),
        (
            // The last run makes the opposite of what the undo made, and the same as the first run: both are its own.
            "undone, reset, and a run of its own",
            &[
                one_run,
                |world| drop(world.cli.run(&["undo"]).unwrap()),
                |world| drop(world.git(&["reset", "--quiet", "--hard", "HEAD~2"])),
                one_run,
            ],
            &[],
        ),
        (
            "reset, other work, pruned",
            &[
                one_run,
                |world| drop(world.git(&["reset", "--quiet", "--hard", "HEAD~1"])),
                by_hand,
                forget,
            ],
            &[],
        ),
        ("other words", &[one_run, reword], &["reworded message"]),
        (
            "other words, then more by hand",
            &[one_run, reword, by_hand],
            &["reworded message"],
        ),
        (
            "other words, the old commit pruned",
            &[one_run, reword, forget],
            &["rebased ?"],
        ),
        (
            "another author",
            &[one_run, |world| {
                world.amend(&["--no-edit", "--author", "B <b@example.com>"])
            }],
            &["reworded"],
        ),
        (
            "picked",
            &[
                run_on_a_branch,
                |world| world.meanwhile(|world| world.repo.write("g", "g\n")),
                on_main,
                |world| {
                    world.git(&["cherry-pick", "-x", "feat"]);
                },
            ],
            &["picked base message"],
        ),
        (
            "rebased",
            &[
                run_on_a_branch,
                |world| world.meanwhile(|world| world.repo.write("g", "g\n")),
                |world| {
                    world.git(&["rebase", "--quiet", "main"]);
                },
            ],
            &["rebased base"],
        ),
        (
            "rebased onto changes of the same file",
            &[
                runs_on_a_branch,
                |world| world.meanwhile(|world| world.edit("20", "20\n20.5")),
                |world| {
                    world.git(&["rebase", "--quiet", "main"]);
                },
            ],
            &["rebased base", "rebased base"],
        ),
        (
            "squashed",
            &[runs_on_a_branch, squash],
            &["squashed message", "squashed base message"],
        ),
        (
            "squashed with work by hand",
            &[runs_on_a_branch, by_hand, squash],
            &["squashed message", "squashed base message"],
        ),
        (
            "squashed, and pruned",
            &[runs_on_a_branch, by_hand, squash, forget],
            &["squashed ?", "squashed ?"],
        ),
        (
            "one run squashed onto changes of the same file",
            &[
                run_on_a_branch,
                |world| world.meanwhile(|world| world.edit("20", "20.5")),
                squash,
            ],
            &["rebased base message"],
        ),
        (
            "squashed by a forge",
            &[runs_on_a_branch, squash_with_trailers],
            &["squashed base", "squashed message"],
        ),
        (
            "two runs made one",
            &[runs_on_a_branch, |world| {
                world.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
                world.git(&["commit", "--quiet", "--amend", "--no-edit"]);
            }],
            &["squashed", "squashed base message"],
        ),
        (
            "merged with the trailers in the message",
            &[run_on_a_branch, |world| {
                let message = world.message("feat");
                world.git(&["checkout", "--quiet", "main"]);
                world.git(&["merge", "--quiet", "--no-ff", "-m", &message, "feat"]);
            }],
            &["picked base"],
        ),
    ];
    for (name, work, moved) in cases {
        judge(name, work, &[], moved);
    }
}

#[test]
fn a_commit_with_another_change_is_found_by_both_verifiers() {
    let cases: [(&str, &[Work], &str); 12] = [
        (
            "more in it",
            &[one_run, |world| {
                world.repo.write("notes.txt", "slipped in\n");
                world.amend(&["--no-edit"]);
            }],
            "commit-rewritten",
        ),
        (
            "another line",
            &[one_run, |world| {
                world.edit("10 by a run", "10 by a run, and by hand");
                world.amend(&["--no-edit"]);
            }],
            "commit-rewritten",
        ),
        (
            "another line and other words",
            &[one_run, |world| {
                world.edit("10 by a run", "10 by a run, and by hand");
                reword(world);
            }],
            "commit-rewritten",
        ),
        (
            "a blank more",
            &[one_run, |world| {
                world.edit("10 by a run", "10 by a run ");
                world.amend(&["--no-edit"]);
            }],
            "commit-rewritten",
        ),
        (
            "executable",
            &[one_run, |world| {
                world.git(&["update-index", "--chmod=+x", "f"]);
                world.git(&["commit", "--quiet", "--amend", "--no-edit"]);
            }],
            "commit-rewritten",
        ),
        (
            "the same lines elsewhere",
            &[run_on_a_branch, on_main, |world| {
                world.edit("20", "10 by a run");
                claim(world);
            }],
            "commit-rewritten",
        ),
        (
            "a copy of the trailers",
            &[run_on_a_branch, on_main, |world| {
                world.repo.write("notes.txt", "in its name\n");
                claim(world);
            }],
            "commit-rewritten",
        ),
        (
            "a copy on the same branch",
            &[one_run, by_hand, |world| {
                world.repo.write("notes.txt", "in its name\n");
                world.repo.commit_all(&world.message("HEAD~1"));
            }],
            "commit-rewritten",
        ),
        (
            "the change taken back in its name",
            &[one_run, |world| {
                world.edit("10 by a run", "10");
                world.repo.commit_all(&world.message("HEAD"));
            }],
            "commit-rewritten",
        ),
        (
            "squashed by a forge with work by hand",
            &[
                runs_on_a_branch,
                |world| {
                    world.repo.write("notes.txt", "by hand\n");
                    let message = world.message("feat");
                    world.repo.commit_all(&message);
                },
                squash_with_trailers,
            ],
            "commit-rewritten",
        ),
        (
            "merged with more",
            &[run_on_a_branch, |world| {
                let message = world.message("feat");
                world.git(&["checkout", "--quiet", "main"]);
                world.git(&["merge", "--quiet", "--no-ff", "--no-commit", "feat"]);
                world.repo.write("notes.txt", "slipped in\n");
                world.git(&["add", "--all"]);
                world.git(&["commit", "--quiet", "-m", &message]);
            }],
            "commit-rewritten",
        ),
        (
            "evidence of nothing",
            &[one_run, |world| {
                world.repo.write("notes.txt", "by hand\n");
                world
                    .repo
                    .commit_all(&format!("by hand\n\nAgentOS-Evidence: sha256:{}", "0".repeat(64)));
            }],
            "commit-without-record",
        ),
    ];
    for (name, work, found) in cases {
        judge(name, work, &[found], &[]);
    }
}

/// Builds a repository and lets both verifiers judge it: the kinds of faults, and how each commit moved and what differs.
fn judge(name: &str, work: &[Work], findings: &[&str], moved: &[&str]) {
    let world = World::new();
    for step in work {
        step(&world);
    }
    let ours = world.cli.run(&["evidence", "verify", "--json"]).unwrap();
    let report = ours.json().unwrap();
    let list = |of: &Value, part: &str| of[part].as_array().cloned().unwrap_or_default();
    let kinds = |of: &Value| -> Vec<String> {
        list(of, "findings")
            .iter()
            .map(|finding| finding["tampering"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut found: Vec<String> = list(&report, "moved").iter().map(describe).collect();
    found.sort();
    assert_eq!(kinds(&report), findings, "{name}: {ours}");
    assert_eq!(
        ours.code,
        Some(if findings.is_empty() { 0 } else { 7 }),
        "{name}: {ours}"
    );
    if findings.is_empty() {
        let mut moved = moved.to_vec();
        moved.sort_unstable();
        assert_eq!(found, moved, "{name}: {ours}");
    }
    let Some(python) = python("cryptography") else {
        return;
    };
    let (dir, at) = (world.repo.path().join(".git/agentos"), world.repo.path());
    let args = [dir.to_str().unwrap(), "--repo", at.to_str().unwrap()];
    let (_, theirs) = script(&python, "verify.py", &args);
    assert_eq!(kinds(&theirs), findings, "{name}: {theirs}");
    let places: serde_json::Map<String, Value> = list(&report, "moved")
        .iter()
        .map(|moved| (moved["commit"].as_str().unwrap().to_owned(), moved["to"].clone()))
        .collect();
    assert_eq!(theirs["moved"], Value::Object(places), "{name}: {ours} {theirs}");
}

#[test]
fn a_note_says_what_a_moved_commit_differs_in() {
    let world = World::new();
    world.land(10);
    world.amend(&["--message", "better words", "--author", "B <b@example.com>"]);
    let output = world.cli.run(&["evidence", "verify"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let end = "which makes the same change; another author or date and message";
    assert!(output.stdout.contains(end), "{output}");
    let quiet = world.cli.run(&["evidence", "verify", "--quiet"]).unwrap();
    assert!(
        quiet.stdout.contains("verified") && !quiet.stdout.contains("note"),
        "{quiet}"
    );
}

/// One move in words: how, and what differs; a question mark if that is not known. The author's time is that of the run,
/// so whether it differs depends on the clock.
fn describe(moved: &Value) -> String {
    let mut words = vec![moved["how"].as_str().unwrap()];
    match moved["differs"].as_array() {
        Some(parts) => words.extend(
            parts
                .iter()
                .map(|part| part.as_str().unwrap())
                .filter(|part| *part != "author"),
        ),
        None => words.push("?"),
    }
    words.join(" ")
}
