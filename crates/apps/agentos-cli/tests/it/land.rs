//! `agentos land`: the recorded answer of an earlier run lands, and no tool is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentos_testkit::repo::TestRepo;
use serde_json::Value;

use crate::support::{
    LIB_FIXED, SLOPPY_FIX, WORKFLOW_EDIT, agentos, chat_server, openai_at, pipe_in, run_in, small_repo,
};

/// A server that gives this answer, the number of its answers, and the flags that name it.
struct CountedServer {
    _server: agentos_testkit::server::FakeServer,
    answers: Arc<AtomicUsize>,
    flags: Vec<String>,
}

impl CountedServer {
    fn start(answer: &str) -> Self {
        let answers = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&answers);
        let server = chat_server(answer, move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        Self {
            flags: openai_at(&server.url()),
            _server: server,
            answers,
        }
    }

    fn run(&self, repo: &TestRepo, args: &[&str]) -> agentos_testkit::cli::CliOutput {
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        let base = ["run", "fix add()", "--file", "README.md", "--attempts", "1"];
        run_in(repo, &[&base[..], &flags, args].concat())
    }

    fn count(&self) -> usize {
        self.answers.load(Ordering::SeqCst)
    }
}

fn story(repo: &TestRepo, run: &str) -> Value {
    run_in(repo, &["show", run, "--json"]).json().unwrap()
}

/// Everything recorded so far verifies, and derives to the same again.
fn assert_evidence_holds(repo: &TestRepo) {
    for verb in ["verify", "replay"] {
        let args = match verb {
            "replay" => vec!["evidence", verb, "--all"],
            _ => vec!["evidence", verb],
        };
        let output = run_in(repo, &args);
        assert_eq!(output.code, Some(0), "{output}");
    }
}

#[test]
fn an_answer_that_uncommitted_work_refused_lands_later_without_a_second_call() {
    let repo = small_repo();
    let server = CountedServer::start(SLOPPY_FIX);
    repo.write("src/lib.rs", LIB_FIXED.replace("a + b", "b - a"));
    let refused = server.run(&repo, &["-m", "Add instead of subtracting"]);
    assert_eq!(refused.code, Some(8), "{refused}");
    assert!(
        refused
            .stderr
            .contains("lands the answer without asking the tool again"),
        "{refused}"
    );
    let asked = server.count();
    repo.git(&["checkout", "-q", "--", "src/lib.rs"]);
    let landed = run_in(&repo, &["land", "@", "--json"]);
    assert_eq!(landed.code, Some(0), "{landed}");
    assert_eq!(server.count(), asked, "the model was asked again");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.starts_with("Add instead of subtracting\n"), "{message}");
    assert!(
        message.contains("\nAssisted-by: openai:tiny-coder\n"),
        "{message}"
    );
    let shown = story(&repo, "@");
    assert_eq!(shown["answer_of"], story(&repo, "@-")["run"]["run"]);
    assert_eq!(
        (&shown["run"]["verb"], &shown["run"]["provider"]),
        (&"land".into(), &"openai".into())
    );
    let text = run_in(&repo, &["show"]).stdout;
    assert!(text.contains("the recorded one of run "), "{text}");
    assert_evidence_holds(&repo);
}

#[test]
fn dry_denied_and_waiting_answers_land_as_policy_says_now() {
    let repo = small_repo();
    let server = CountedServer::start(SLOPPY_FIX);
    assert_eq!(server.run(&repo, &["--dry-run"]).code, Some(0));
    let dry = run_in(&repo, &["land", "@", "--dry-run"]);
    assert_eq!((dry.code, repo.status()), (Some(0), String::new()), "{dry}");
    let branch = run_in(&repo, &["land", "@-", "--branch", "ai/fix"]);
    assert_eq!(branch.code, Some(0), "{branch}");
    assert_eq!(repo.git(&["log", "-1", "--format=%s", "ai/fix"]), "fix add()");
    assert_eq!(pipe_in(&repo, &["apply"], WORKFLOW_EDIT).code, Some(4));
    let asked = story(&repo, "@")["run"]["run"].as_str().unwrap().to_owned();
    let waits = run_in(&repo, &["land", &asked]);
    assert_eq!(waits.code, Some(4), "consent belongs to each landing: {waits}");
    let landed = run_in(&repo, &["land", &asked, "--yes"]);
    assert_eq!(landed.code, Some(0), "{landed}");
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(!message.contains("Assisted-by"), "a person brought it: {message}");
    assert_eq!(story(&repo, &asked)["run"]["result"]["kind"], "approved");
    let open = run_in(&repo, &["approve", "--json"]).json().unwrap();
    let open: Vec<&Value> = open["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["run"])
        .collect();
    assert!(
        !open.contains(&&Value::from(asked.as_str())),
        "its request is answered: {open:?}"
    );
    assert_evidence_holds(&repo);
}

#[test]
fn a_landed_run_lands_once_more_only_when_told_to() {
    let repo = small_repo();
    assert_eq!(pipe_in(&repo, &["apply"], SLOPPY_FIX).code, Some(0));
    let again = run_in(&repo, &["land", "@"]);
    assert_eq!(again.code, Some(2), "{again}");
    assert!(again.stderr.contains("landed already, as commit"), "{again}");
    assert!(again.stderr.contains("`--again`"), "{again}");
    assert_eq!(run_in(&repo, &["undo"]).code, Some(0));
    let undone = run_in(&repo, &["land", "@"]);
    assert_eq!(undone.code, Some(2), "an undo has no answer of its own: {undone}");
    let again = run_in(&repo, &["land", "@-", "--again", "-m", "Once more"]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "Once more");
    assert_evidence_holds(&repo);
}

#[test]
fn an_answer_that_was_cut_off_never_lands() {
    let repo = small_repo();
    let server = agentos_testkit::server::FakeServer::start(|request| {
        if request.path.ends_with("/models") {
            return agentos_testkit::server::Reply::json(
                200,
                &serde_json::json!({ "data": [{ "id": "tiny-coder" }] }),
            );
        }
        let message = serde_json::json!({ "role": "assistant", "content": SLOPPY_FIX });
        let choice = serde_json::json!({ "index": 0, "finish_reason": "length", "message": message });
        agentos_testkit::server::Reply::json(
            200,
            &serde_json::json!({ "model": "tiny-coder", "choices": [choice] }),
        )
    })
    .unwrap();
    let flags = openai_at(&server.url());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let cut = run_in(
        &repo,
        &[&["run", "fix", "--file", "src/lib.rs"][..], &flags].concat(),
    );
    assert_eq!(cut.code, Some(9), "{cut}");
    let output = run_in(&repo, &["land", "@", "--json"]);
    assert_eq!(output.code, Some(5), "{output}");
    assert_eq!(output.json().unwrap()["code"], "unfinished-answer", "{output}");
}

#[test]
fn a_run_without_an_answer_and_a_wrong_name_are_told_apart() {
    let repo = small_repo();
    let output = run_in(&repo, &["land", "@"]);
    assert_eq!(output.code, Some(2), "{output}");
    let failed = run_in(
        &repo,
        &[
            "run",
            "-p",
            "openai",
            "--base-url",
            "http://127.0.0.1:9",
            "--model",
            "x",
            "t",
        ],
    );
    assert_eq!(failed.code, Some(5), "{failed}");
    let output = agentos().in_dir(repo.path()).run(&["land", "@"]).unwrap();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("recorded no answer"), "{output}");
}

#[test]
fn the_author_of_a_mail_is_kept() {
    let repo = small_repo();
    repo.git(&["checkout", "-q", "-b", "work"]);
    repo.write("src/lib.rs", LIB_FIXED);
    repo.commit_all("Add instead of subtracting");
    repo.git(&[
        "commit",
        "-q",
        "--amend",
        "--no-edit",
        "--author",
        "Ines <ines@example.org>",
    ]);
    let mail = repo.git(&["format-patch", "-1", "--stdout"]);
    repo.git(&["checkout", "-q", "main"]);
    repo.write("src/lib.rs", LIB_FIXED.replace("a + b", "b - a"));
    let refused = pipe_in(&repo, &["apply"], &format!("{mail}\n"));
    assert_eq!(refused.code, Some(8), "{refused}");
    repo.git(&["checkout", "-q", "--", "src/lib.rs"]);
    let landed = run_in(&repo, &["land", "@"]);
    assert_eq!(landed.code, Some(0), "{landed}");
    let author = repo.git(&["log", "-1", "--format=%an <%ae> %s"]);
    assert_eq!(author, "Ines <ines@example.org> Add instead of subtracting");
}
