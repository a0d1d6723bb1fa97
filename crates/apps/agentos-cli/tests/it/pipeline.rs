//! `agentos run`: from a task to a commit, with recorded answers and with a server.

use agentos_testkit::cli::program;
use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Reply, head};
use serde_json::json;

use crate::support::{
    LIB, LIB_FIXED, SLOPPY_FIX, WORKFLOW_EDIT, agentos, chat_server, openai_at, run_in, seen, small_repo,
};

fn replayed(
    answer: &str,
    extra: &[&str],
) -> (agentos_testkit::repo::TestRepo, agentos_testkit::cli::CliOutput) {
    let repo = small_repo();
    let recording = repo.outside().join("answer.md");
    write_file(&recording, answer);
    let mut args = vec![
        "run",
        "-p",
        "replay",
        "--replay",
        recording.to_str().unwrap(),
        "make add add",
        "--file",
        "src/lib.rs",
    ];
    args.extend(extra);
    let output = agentos().in_dir(repo.path()).run(&args).unwrap();
    (repo, output)
}

#[test]
fn a_replayed_answer_lands_like_any_other() {
    let (repo, output) = replayed(SLOPPY_FIX, &[]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "make add add");
    assert!(
        repo.git(&["log", "-1", "--format=%B"])
            .contains("Assisted-by: replay:recorded")
    );
}

#[test]
fn the_tape_tells_every_station_in_order() {
    let (repo, _) = replayed(SLOPPY_FIX, &[]);
    let json = run_in(&repo, &["evidence", "show", "--json"]).json().unwrap();
    let kinds: Vec<&str> = json["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "task",
            "attempt",
            "answer",
            "tool_result",
            "landing",
            "decision",
            "intent",
            "receipt",
            "checkpoint"
        ]
    );
}

#[test]
fn consent_is_a_station_of_its_own() {
    let (repo, output) = replayed(WORKFLOW_EDIT, &["--yes"]);
    assert_eq!(output.code, Some(0), "{output}");
    let json = run_in(&repo, &["evidence", "show", "--json"]).json().unwrap();
    let consent = json["records"]
        .as_array()
        .unwrap()
        .iter()
        .find(|record| record["kind"] == "consent")
        .unwrap()["body"]
        .clone();
    assert_eq!(consent["given"], true);
    assert_eq!(consent["consent"]["how"], "--yes");
    assert_eq!(consent["hashes"]["target_ref"], "refs/heads/main");
}

#[test]
fn an_answer_that_does_not_land_is_asked_for_again_with_the_reason() {
    let repo = small_repo();
    let server = chat_server(
        "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,1 +1,1 @@\n-no such line\n+x\n",
        || {},
    );
    let flags = openai_at(&server.url());
    let mut args = vec!["run", "fix add", "--file", "src/lib.rs", "--json"];
    args.extend(flags.iter().map(String::as_str));
    let output = agentos().in_dir(repo.path()).run(&args).unwrap();
    assert_eq!(output.code, Some(6), "{output}");
    let json = output.json().unwrap();
    assert_eq!(json["code"], "does-not-apply");
    assert_eq!(json["attempts"], 2);
    // The model was told how to answer. A person reads the answer, and asks again.
    let hint = json["hint"].as_str().unwrap();
    assert!(
        hint.contains("--answer") && hint.contains("agentos retry"),
        "{hint}"
    );
    let asked: Vec<String> = server
        .requests()
        .iter()
        .filter(|request| request.path.ends_with("/chat/completions"))
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    assert_eq!(asked.len(), 2);
    assert!(!asked[0].contains("no such line"));
    assert!(
        asked[1].contains("no such line"),
        "the second request says what was wrong: {}",
        asked[1]
    );
}

#[test]
fn the_tool_sees_the_commit_not_the_users_unfinished_work() {
    let repo = small_repo();
    repo.write("src/lib.rs", "secret plans\n");
    let server = chat_server("I would rather not.", || {});
    let flags = openai_at(&server.url());
    let mut args = vec!["tool", "run", "fix add", "--file", "src/lib.rs"];
    args.extend(flags.iter().map(String::as_str));
    let output = agentos().in_dir(repo.path()).run(&args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let requests = server.requests();
    let asked = requests
        .iter()
        .find(|request| request.path.ends_with("/chat/completions"))
        .unwrap();
    let body = String::from_utf8_lossy(&asked.body);
    assert!(body.contains("The sum of two numbers"));
    assert!(!body.contains("secret plans"));
    // A tool is given text, never the repository's place.
    assert!(!body.contains(repo.path().to_str().unwrap()));
}

#[test]
fn tool_run_prints_the_verdict_and_lands_nothing() {
    let repo = small_repo();
    let server = chat_server(SLOPPY_FIX, || {});
    let flags = openai_at(&server.url());
    let mut args = vec!["tool", "run", "fix add", "--file", "src/lib.rs"];
    args.extend(flags.iter().map(String::as_str));
    let output = agentos().in_dir(repo.path()).run(&args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    insta::assert_snapshot!(seen(&output, &repo), @r"
    exit: 0
    --- stdout
    diff --git a/src/lib.rs b/src/lib.rs
    index [OID]..[OID] 100644
    --- a/src/lib.rs
    +++ b/src/lib.rs
    @@ -2,7 +2,7 @@
     
     /// The sum of two numbers.
     pub fn add(a: i64, b: i64) -> i64 {
    -    a - b
    +    a + b
     }
     
     /// The product of two numbers.
    --- stderr
    success  openai tiny-coder at 127.0.0.1:[PORT], 11 tokens in, 7 out, [DURATION]
      src/lib.rs: there is no `diff --git` line
      src/lib.rs: the names lack the prefixes `a/` and `b/`
      src/lib.rs: the header counts 9 old and 9 new lines; the hunk has other numbers
    ");
    args.push("--json");
    let result = agentos().in_dir(repo.path()).run(&args).unwrap().json().unwrap();
    assert_eq!(result["output_kind"], "diff");
    assert_eq!(result["status"], "success");
    assert_eq!(result["model_id"], "tiny-coder");
    assert_eq!(result["files_touched"], serde_json::json!(["src/lib.rs"]));
    assert_eq!(result["endpoint"], server.url().trim_start_matches("http://"));
    assert_eq!(
        result["usage"],
        serde_json::json!({ "input_tokens": 11, "output_tokens": 7 })
    );
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "1");
    assert_eq!(repo.read("src/lib.rs"), LIB.as_bytes());
}

#[test]
fn a_piped_diff_and_json_hold_the_bytes_that_were_judged() {
    let repo = small_repo();
    repo.write("dos.txt", "one\r\ntwo\r\n");
    repo.commit_all("dos");
    let server = chat_server(
        "--- a/dos.txt\n+++ b/dos.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+t\u{7f}wo\n",
        || {},
    );
    let flags = openai_at(&server.url());
    let mut args = vec!["tool", "run", "x", "--file", "dos.txt"];
    args.extend(flags.iter().map(String::as_str));
    let piped = agentos().in_dir(repo.path()).run(&args).unwrap().stdout;
    assert!(piped.contains("+t\u{7f}wo\r\n"), "{piped:?}");
    args.push("--json");
    let result = agentos().in_dir(repo.path()).run(&args).unwrap().json().unwrap();
    assert_eq!(result["diff"].as_str().unwrap(), piped);
    write_file(&repo.path().join("piped.diff"), piped);
    assert!(repo.git_ok(&["apply", "--check", "piped.diff"]));
}

#[test]
fn words_are_an_answer_but_no_diff() {
    let repo = small_repo();
    let server = chat_server("ok", || {});
    let flags = openai_at(&server.url());
    let mut args = vec!["tool", "run", "Say 'ok'.", "--json"];
    args.extend(flags.iter().map(String::as_str));
    let output = agentos().in_dir(repo.path()).run(&args).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let result = output.json().unwrap();
    assert_eq!(result["output_kind"], "explanation");
    assert_eq!(result["diff_validation"]["code"], "no-diff");
    assert!(result.get("diff").is_none());
}

#[test]
fn a_file_that_is_not_committed_cannot_be_shown() {
    let repo = small_repo();
    let (_, output) = {
        let output = agentos()
            .in_dir(repo.path())
            .run(&[
                "run",
                "-p",
                "replay",
                "--replay",
                "README.md",
                "x",
                "--file",
                "nope.rs",
            ])
            .unwrap();
        ((), output)
    };
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("nope.rs"), "{output}");
}

/// A stream of the answer, line by line.
fn streaming_server() -> FakeServer {
    let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
    let pieces = SLOPPY_FIX.split_inclusive('\n');
    for piece in pieces {
        let event = json!({ "choices": [{ "delta": { "content": piece } }] });
        bytes.extend_from_slice(format!("data: {event}\n\n").as_bytes());
    }
    let end = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
    bytes.extend_from_slice(format!("data: {end}\n\n").as_bytes());
    FakeServer::start(move |_| Reply::Bytes(bytes.clone())).unwrap()
}

#[test]
fn the_answer_arrives_on_a_terminal_and_nowhere_else() {
    let server = streaming_server();
    let flags = openai_at(&server.url());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let run = [&["run", "make add add", "--file", "src/lib.rs"], &flags[..]].concat();
    let is_shown = |text: &str| text.contains(" tokens, ");
    for extra in [&[][..], &["--json"], &["-q"]] {
        let repo = small_repo();
        let output = run_in(&repo, &[&run[..], extra].concat());
        assert_eq!(output.code, Some(0), "{output}");
        assert!(
            !is_shown(&output.to_string()) && !output.to_string().contains('\r'),
            "{output}"
        );
    }
    if program("script").arg("--version").output().is_err() {
        eprintln!("skipped: the part on a terminal, since the program `script` is not installed");
        return;
    }
    for (extra, shown) in [(&["--yes"][..], true), (&["--yes", "-q"], false)] {
        let repo = small_repo();
        let cli = agentos().in_dir(repo.path());
        let words = [&[env!("CARGO_BIN_EXE_agentos")], &run[..], extra].concat();
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let output = program("script")
            .args(["-qefc", &quoted.join(" "), "/dev/null"])
            .current_dir(repo.path())
            .env_clear()
            .envs(cli.world())
            // Every terminal says what it is; on one that does not, no line can be drawn again.
            .env("TERM", "xterm")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        assert_eq!(
            text.contains("searching the repository") || is_shown(&text),
            shown,
            "{text}"
        );
        assert_eq!(text.contains("+    a + b\r\n"), shown, "{text}");
        assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
    }
}
