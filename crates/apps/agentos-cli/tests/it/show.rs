//! `agentos show`: the story of a run, and the texts that it recorded.

use agentos_testkit::repo::TestRepo;
use agentos_testkit::server::FakeServer;

use crate::support::{
    SLOPPY_FIX, WORKFLOW_EDIT, agentos, chat_server, openai_at, pipe_in, run_in, sandbox_holds, small_repo,
};

/// Runs a task on a server that gives this answer, and returns the server too, which ends when it is dropped.
fn run_task(repo: &TestRepo, answer: &str, flags: &[&str], code: i32) -> FakeServer {
    let server = chat_server(answer, || {});
    let mut args = vec!["run".to_owned()];
    args.extend(openai_at(&server.url()));
    args.extend(["add must add\n\nIt subtracts.", "--file", "src/lib.rs"].map(str::to_owned));
    args.extend(flags.iter().map(|flag| (*flag).to_owned()));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let cli = agentos()
        .in_dir(repo.path())
        .env("AGENTOS_OPENAI_API_KEY", "sk-for-tests");
    let output = cli.run(&args).unwrap();
    assert_eq!(output.code, Some(code), "{output}");
    server
}

#[test]
fn a_run_is_shown_as_a_story() {
    let repo = small_repo();
    run_task(&repo, SLOPPY_FIX, &[], 0);
    let shown = run_in(&repo, &["show"]);
    for part in [
        "task     add must add\n",
        "         It subtracts.\n",
        "by       openai, tiny-coder, ",
        "branch   main at ",
        "shown    src/lib.rs\n",
        "11 tokens in, 7 out",
        "files    src/lib.rs  +1 -1  exact moved\n",
        "policy   allow: ",
        " add must add\nresult   landed ",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {shown}");
    }
}

#[test]
fn what_was_asked_answered_and_changed_is_printed_byte_for_byte() {
    let repo = small_repo();
    run_task(&repo, SLOPPY_FIX, &[], 0);
    assert_eq!(run_in(&repo, &["show", "--answer"]).stdout, SLOPPY_FIX);
    let prompt = run_in(&repo, &["show", "@", "--prompt"]).stdout;
    for part in [
        "You propose changes",
        "add must add\n\nIt subtracts.",
        "File `src/lib.rs`",
        "a - b",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let diff = run_in(&repo, &["show", "--diff"]).stdout;
    assert_eq!(
        diff.lines().filter(|line| *line == "+    a + b").count(),
        1,
        "{diff}"
    );
    let repo = small_repo();
    repo.write("fix.patch", &diff);
    repo.git(&["apply", "fix.patch"]);
}

#[test]
fn a_refusal_is_shown_with_its_reason_and_the_next_step() {
    let repo = small_repo();
    run_task(&repo, "I cannot do that.", &["--attempts", "2"], 6);
    let shown = run_in(&repo, &["show"]);
    for part in ["attempt 1 of 2", "attempt 2 of 2", "refused no-diff", "next "] {
        assert!(shown.stdout.contains(part), "{part}: {shown}");
    }
    let asked = pipe_in(&repo, &["apply"], WORKFLOW_EDIT);
    assert_eq!(asked.code, Some(4), "{asked}");
    let shown = run_in(&repo, &["show"]);
    for part in [
        ".github/workflows/ci.yml",
        "+1",
        "ask: ",
        "nobody was asked",
        "waits for you",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {shown}");
    }
    let story = run_in(&repo, &["show", "@-", "--json"]).json().unwrap();
    assert_eq!(story["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(story["refusal"]["code"], "no-diff");
    assert_eq!(story["run"]["result"]["kind"], "refused");
}

#[test]
fn what_no_run_recorded_is_an_error_that_names_the_run() {
    let repo = small_repo();
    let none = run_in(&repo, &["show"]);
    assert_eq!(
        (none.code, none.stderr.contains("no runs")),
        (Some(2), true),
        "{none}"
    );
    let applied = pipe_in(&repo, &["apply"], SLOPPY_FIX);
    assert_eq!(applied.code, Some(0), "{applied}");
    for (flag, missing) in [("--prompt", "no prompt"), ("--output", "no output")] {
        let output = run_in(&repo, &["show", flag]);
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(missing), "{output}");
    }
    let both = run_in(&repo, &["show", "--answer", "--json"]);
    assert_eq!(both.code, Some(2), "{both}");
}

#[test]
fn local_time_follows_the_zone_and_untrusted_text_is_escaped() {
    let repo = small_repo();
    repo.write("fix\u{1b}[2J.md", SLOPPY_FIX);
    let cli = agentos().in_dir(repo.path()).env("TZ", "XYZ-5:30");
    let output = cli.run(&["apply", "fix\u{1b}[2J.md"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let shown = cli.run(&["show"]).unwrap();
    assert!(shown.stdout.contains(" +0530, agentos apply"), "{shown}");
    assert!(!shown.stdout.contains('\u{1b}'), "{shown}");
}

#[test]
fn the_output_of_a_program_and_of_its_check_can_be_read() {
    if !sandbox_holds() {
        return;
    }
    let repo = small_repo();
    let script = "echo HELLO; echo more >> README.md";
    let output = run_in(
        &repo,
        &[
            "run",
            "-p",
            "command",
            "--check",
            "echo CHECKED; exit 3",
            "--",
            "sh",
            "-c",
            script,
        ],
    );
    assert_eq!(output.code, Some(6), "{output}");
    let shown = run_in(&repo, &["show", "--output"]).stdout;
    for part in [
        "== attempt 1: the tool ==\nHELLO",
        "the check `echo CHECKED; exit 3` ==\nCHECKED",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let output = run_in(
        &repo,
        &["run", "-p", "command", "--", "sh", "-c", "echo HELLO; exit 3"],
    );
    assert_eq!(output.code, Some(5), "{output}");
    assert!(output.stderr.contains("| HELLO\n"), "{output}");
    assert!(output.stderr.contains("`agentos show --output`"), "{output}");
    assert_eq!(run_in(&repo, &["show", "--output"]).stdout, "HELLO\n");
    let script = "seq 1 20; printf 'a\\033[2Jb\\n'; exit 3";
    let args = ["run", "-p", "command", "--json", "--", "sh", "-c", script];
    let lines = run_in(&repo, &args).json().unwrap()["output"].clone();
    let expected: Vec<String> = (12..=20)
        .map(|n| n.to_string())
        .chain(["a\u{1b}[2Jb".to_owned()])
        .collect();
    assert_eq!(lines, serde_json::json!(expected));
    let output = run_in(&repo, &["run", "-p", "command", "--", "sh", "-c", script]);
    assert!(output.stderr.contains("| a\\u{1b}[2Jb\n"), "{output}");
}
