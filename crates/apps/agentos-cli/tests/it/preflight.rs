//! No model is called, and none is paid, for an answer that could not land.

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, remove_file, set_mode, write_file};
use agentos_testkit::server::FakeServer;

use crate::support::{
    LIB_FIXED, SLOPPY_FIX, agentos, chat_server, openai_at, pipe_in, run_in, seen, small_repo, state,
};

/// Calls of the model, besides the questions about the server itself.
fn count_calls(server: &FakeServer) -> usize {
    let requests = server.requests();
    requests
        .iter()
        .filter(|request| request.path.ends_with("/chat/completions"))
        .count()
}

fn run(repo: &TestRepo, server: &FakeServer, args: &[&str]) -> CliOutput {
    run_as(agentos(), repo, server, args)
}

fn run_as(cli: Cli, repo: &TestRepo, server: &FakeServer, args: &[&str]) -> CliOutput {
    let at = openai_at(&server.url());
    let at = at.iter().map(String::as_str);
    let args: Vec<&str> = ["run"]
        .into_iter()
        .chain(at)
        .chain(args.iter().copied())
        .collect();
    cli.in_dir(repo.path())
        .env("AGENTOS_OPENAI_API_KEY", "sk-for-tests")
        .run(&args)
        .unwrap()
}

fn fixing_server() -> FakeServer {
    chat_server(SLOPPY_FIX, || {})
}

fn commit_policy(repo: &TestRepo, text: &str) {
    repo.write(".agentos/policy/own.toml", text);
    repo.commit_all("rules");
}

fn add_conflict(repo: &TestRepo) {
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("src/lib.rs", "other\n");
    repo.commit_all("other");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("src/lib.rs", "ours\n");
    repo.commit_all("ours");
    assert!(!repo.git_ok(&["merge", "-q", "other"]));
}

type Prepare = fn(&TestRepo);

#[test]
fn what_cannot_land_is_refused_before_the_call() {
    let strict: Prepare = |repo| commit_policy(repo, "version = 1\npreset = \"strict\"\n");
    let agents: Prepare = |repo| {
        repo.write("CLAUDE.md", "be brief\n");
        commit_policy(repo, "version = 1\npreset = \"strict\"\n");
        repo.git(&["checkout", "-q", "-b", "topic"]);
    };
    let deleted: Prepare = |repo| remove_file(&repo.path().join("src/lib.rs"));
    let detached: Prepare = |repo| drop(repo.git(&["checkout", "-q", "--detach"]));
    let elsewhere: Prepare = |repo| {
        let at = repo.outside().join("elsewhere");
        repo.git(&["worktree", "add", "-q", "-b", "busy", at.to_str().unwrap()]);
    };
    let nothing: Prepare = |_| {};
    let cases: [(&str, Prepare, &[&str], i32, &str); 9] = [
        (
            "the branch is protected",
            strict,
            &["fix add()"],
            3,
            "protected-path",
        ),
        (
            "the named file may not change",
            agents,
            &["shorten it", "--file", "CLAUDE.md"],
            3,
            "protected-path",
        ),
        (
            "the named file was deleted",
            deleted,
            &["fix add()", "--file", "src/lib.rs"],
            8,
            "dirty-overlap",
        ),
        (
            "a merge is in progress",
            add_conflict,
            &["fix add()"],
            8,
            "merge-in-progress",
        ),
        (
            "no branch is checked out",
            detached,
            &["fix add()"],
            8,
            "detached-head",
        ),
        (
            "the branch is checked out elsewhere",
            elsewhere,
            &["fix add()", "--branch", "busy"],
            8,
            "branch-checked-out",
        ),
        ("the task is empty", nothing, &[""], 2, "usage"),
        ("the task is blank", nothing, &[" \n\t"], 2, "usage"),
        (
            "the commit message is empty",
            nothing,
            &["fix add()", "-m", ""],
            2,
            "usage",
        ),
    ];
    for (what, prepare, args, exit, code) in cases {
        let (repo, server) = (small_repo(), fixing_server());
        prepare(&repo);
        let before = repo.git(&["status", "--porcelain=v2"]);
        let args = [args, &["--json"]].concat();
        let output = run(&repo, &server, &args);
        assert_eq!(output.code, Some(exit), "{what}: {output}");
        let report = output.json().unwrap();
        let found = report.get("error").unwrap_or(&report)["code"].clone();
        assert_eq!(found, code, "{what}: {output}");
        assert_eq!(count_calls(&server), 0, "{what}");
        assert_eq!(repo.git(&["status", "--porcelain=v2"]), before, "{what}");
    }
}

#[test]
fn a_missing_identity_is_found_before_the_call() {
    let (repo, server) = (small_repo(), fixing_server());
    for name in ["user.name", "user.email"] {
        let _ = repo.git_ok(&["config", "--unset-all", name]);
    }
    let nobody = agentos().without_identity().unwrap();
    let output = run_as(nobody, &repo, &server, &["fix add()", "--json"]);
    assert_eq!(
        (output.code, output.json().unwrap()["code"].clone()),
        (Some(8), "no-identity".into()),
        "{output}"
    );
    assert_eq!(count_calls(&server), 0);
}

#[test]
fn the_refusal_says_that_nothing_was_called_and_is_on_the_tape() {
    let (repo, server) = (small_repo(), fixing_server());
    commit_policy(&repo, "version = 1\npreset = \"strict\"\n");
    let output = run(&repo, &server, &["fix add()"]);
    let text = seen(&output, &repo);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("run [RUN]") && !line.contains("keyring"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    exit: 3
    --- stdout
    --- stderr
    note: this repository's policy names the preset `strict`; the preset `default` stays active besides it, and the stricter answer wins
      next: review the repository's policy with `agentos trust`
    context: src/lib.rs (184 B); `--context show` explains the selection
    denied [protected-path] by policy, whatever the change would be; no tool was called
      deny tools do not land on branches that are released or started from (strict.protected-branches)
      next: land it on a branch of its own, with `--branch NAME`, and merge that by hand
    ");
    let shown = run_in(&repo, &["evidence", "show"]).stdout;
    assert!(shown.contains("so no tool was called"), "{shown}");
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
    let replayed = run_in(&repo, &["evidence", "replay"]);
    assert_eq!(replayed.code, Some(0), "{replayed}");
}

#[test]
fn files_that_are_only_shown_do_not_end_a_run() {
    let (repo, server) = (small_repo(), fixing_server());
    remove_file(&repo.path().join("README.md"));
    let named = ["fix add()", "--file", "README.md"];
    assert_eq!(run(&repo, &server, &named).code, Some(8));
    assert_eq!(count_calls(&server), 0);
    let output = run(&repo, &server, &[&named[..], &["--context", "none"]].concat());
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
}

#[test]
fn work_beside_the_change_is_only_mentioned() {
    let (repo, server) = (small_repo(), fixing_server());
    let work = String::from_utf8(repo.read("src/lib.rs")).unwrap() + "\n// mine\n";
    repo.write("src/lib.rs", &work);
    let output = run(&repo, &server, &["fix add()", "--file", "src/lib.rs"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(
        output.stderr.contains("`src/lib.rs` has uncommitted work"),
        "{output}"
    );
    assert_eq!(
        repo.read("src/lib.rs"),
        format!("{LIB_FIXED}\n// mine\n").as_bytes()
    );
}

#[test]
fn a_task_can_come_on_standard_input() {
    let (repo, server) = (small_repo(), fixing_server());
    let at = openai_at(&server.url());
    let args: Vec<&str> = ["run", "-"]
        .into_iter()
        .chain(at.iter().map(String::as_str))
        .collect();
    let call = |input: &[u8]| {
        let cli = agentos().in_dir(repo.path());
        cli.env("AGENTOS_OPENAI_API_KEY", "sk-for-tests")
            .run_with_input(&args, input)
            .unwrap()
    };
    let before = state(&repo);
    for (input, exit, words) in [
        (&b" \n"[..], 2, "the task is empty"),
        (&b"\xff\xfe"[..], 2, "not UTF-8"),
        (&vec![b'x'; (1 << 20) + 1][..], 6, "larger than"),
    ] {
        let output = call(input);
        assert_eq!(output.code, Some(exit), "{output}");
        assert!(output.stderr.contains(words), "{output}");
    }
    assert_eq!((state(&repo), count_calls(&server)), (before, 0));
    let output = call(b"fix add()\n\nIt must add.\n");
    assert_eq!(output.code, Some(0), "{output}");
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.starts_with("fix add()\n\nIt must add.\n"), "{message}");
}

#[test]
fn a_commit_without_a_message_is_refused() {
    let repo = small_repo();
    let before = state(&repo);
    let output = pipe_in(&repo, &["apply", "-", "-m", " "], SLOPPY_FIX);
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("the commit message is empty"), "{output}");
    assert_eq!(state(&repo), before);
}

/// Runs a task that an editor, a shell script, writes.
#[cfg(unix)]
fn run_edited(repo: &TestRepo, server: &FakeServer, script: &str, args: &[&str]) -> CliOutput {
    let editor = repo.outside().join("editor");
    write_file(&editor, format!("#!/bin/sh\n{script}\n"));
    set_mode(&editor, 0o755);
    let cli = agentos().env("VISUAL", editor.to_str().unwrap());
    run_as(cli, repo, server, args)
}

#[cfg(unix)]
#[test]
fn a_task_can_be_written_in_an_editor() {
    let (repo, server) = (small_repo(), fixing_server());
    for (script, args) in [
        ("exit 0", &["-e"][..]),
        ("exit 0", &["-e", "fix add()"][..]),
        ("echo '# nothing' > \"$1\"", &["--edit"][..]),
        ("echo 'fix add()' > \"$1\"; exit 1", &["--edit"][..]),
    ] {
        let output = run_edited(&repo, &server, script, args);
        assert_eq!(output.code, Some(2), "{script} {args:?} {output}");
    }
    assert_eq!(count_calls(&server), 0);
    let script =
        "grep -q 'file: src/lib.rs' \"$1\" && printf 'fix add()\\n# no\\n\\nIt must add.\\n' > \"$1\"";
    let output = run_edited(&repo, &server, script, &["-e", "--file", "src/lib.rs"]);
    assert_eq!(output.code, Some(0), "{output}");
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.starts_with("fix add()\n\nIt must add.\n"), "{message}");
}
