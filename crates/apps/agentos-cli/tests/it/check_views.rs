//! `run --check` on real projects: the folders that a check sees besides the commit, and the command that is chosen.

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, write_file};
use serde_json::json;

use crate::support::{SLOPPY_FIX, agentos, run_in, sandbox_holds, small_repo};

/// Lands the fix from a recording, after a check.
fn run_as(cli: Cli, repo: &TestRepo, flags: &[&str]) -> CliOutput {
    let answer = repo.outside().join("answer.md");
    write_file(&answer, SLOPPY_FIX);
    let recorded = ["run", "fix add()", "-p", "replay", "--json", "--replay"];
    let args = [&recorded, &[answer.to_str().unwrap()][..], flags].concat();
    cli.in_dir(repo.path()).run(&args).unwrap()
}

fn run(repo: &TestRepo, flags: &[&str]) -> CliOutput {
    run_as(agentos(), repo, flags)
}

fn undo(repo: &TestRepo) {
    let undone = run_in(repo, &["undo", "--yes"]);
    assert_eq!(undone.code, Some(0), "{undone}");
}

#[test]
fn a_check_may_write_to_a_shared_folder_and_nothing_of_it_stays() {
    if !sandbox_holds() {
        return;
    }
    let repo = small_repo();
    repo.write(".gitignore", "/target/\n");
    repo.commit_all("ignore");
    repo.write("target/deep/old", "old\n");
    let check = "grep -q old target/deep/old && echo new > target/deep/old && mkdir target/made && touch target/made/x";
    let output = run(&repo, &["--share", "target", "--check", check]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.read("target/deep/old"), b"old\n");
    assert!(!repo.path().join("target/made").exists());
}

#[test]
fn what_the_users_own_rules_ignore_can_be_shared() {
    if !sandbox_holds() {
        return;
    }
    let check = ["--share", ".venv", "--check", "test -f .venv/marker"];
    let with_venv = || {
        let repo = small_repo();
        repo.write(".venv/marker", "x");
        repo
    };
    let refused = run(&with_venv(), &check);
    assert!(refused.stdout.contains("not-ignored"), "{refused}");

    let repo = with_venv();
    write_file(&repo.path().join(".git/info/exclude"), ".venv\n");
    let excluded = run(&repo, &check);
    assert_eq!(excluded.code, Some(0), "{excluded}");

    let (repo, cli) = (with_venv(), agentos());
    let patterns = cli.home().join("patterns");
    write_file(&patterns, ".venv/\n");
    let settings = cli.home().join(".gitconfig");
    let text = format!(
        "[user]\n\tname = Test\n\temail = t@example.com\n[core]\n\texcludesFile = {}\n",
        patterns.display()
    );
    write_file(&settings, text);
    let global = run_as(cli, &repo, &check);
    assert_eq!(global.code, Some(0), "{global}");

    // Not what the commit has, whatever the rules say.
    let repo = with_venv();
    repo.commit_all("tracked");
    write_file(&repo.path().join(".git/info/exclude"), ".venv\n");
    let tracked = run(&repo, &check);
    assert!(tracked.stdout.contains("not-ignored"), "{tracked}");
}

#[test]
fn a_cargo_command_gets_the_build_results_and_no_source_that_seems_older() {
    if !sandbox_holds() {
        return;
    }
    let repo = small_repo();
    repo.write(".gitignore", "/target/\n");
    repo.commit_all("ignore");
    let check =
        ": cargo && test -w target && test src/lib.rs -nt target/built && test README.md -nt target/built";
    for _ in 0..2 {
        // Built after the copy of the commit was made, from whatever the working tree had.
        repo.write("target/built", "x");
        let output = run(&repo, &["--check", check]);
        assert_eq!(output.code, Some(0), "{output}");
        undo(&repo);
    }
    // Another command gets nothing of the working tree.
    let output = run(&repo, &["--check", "test ! -e target"]);
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn a_check_is_chosen_by_the_committed_files() {
    if !sandbox_holds() {
        return;
    }
    let repo = small_repo();
    let none = run(&repo, &["--check", "auto"]);
    assert_eq!(none.code, Some(2), "{none}");
    assert!(
        none.stdout.contains("no committed file suggests a check"),
        "{none}"
    );

    // Not committed, not chosen.
    repo.write("go.mod", "module x\n");
    assert_eq!(run(&repo, &["--check", "auto"]).code, Some(2));

    repo.write("Makefile", "check:\n\tgrep -q 'a + b' src/lib.rs\n");
    repo.git(&["add", "Makefile"]);
    repo.git(&["commit", "-q", "-m", "make"]);
    let output = run(&repo, &["--check", "auto"]);
    assert!(
        output
            .stderr
            .contains("the check is `make check`, because of Makefile"),
        "{output}"
    );
    assert_eq!(output.json().unwrap()["check"]["command"], json!("make check"));
}
