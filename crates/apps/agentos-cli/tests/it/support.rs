//! What the tests share: the program, a small repository, answers.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agentos_testkit::cli::{Cli, CliOutput, program};
use agentos_testkit::redact::Redactor;
use agentos_testkit::repo::TestRepo;
use agentos_testkit::server::{FakeServer, Reply};
use serde_json::{Value, json};

/// The source file of the small repository.
pub const LIB: &str = "\
//! A small library.

/// The sum of two numbers.
pub fn add(a: i64, b: i64) -> i64 {
    a - b
}

/// The product of two numbers.
pub fn multiply(a: i64, b: i64) -> i64 {
    a * b
}
";

/// The same file after the intended change.
pub const LIB_FIXED: &str = "\
//! A small library.

/// The sum of two numbers.
pub fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// The product of two numbers.
pub fn multiply(a: i64, b: i64) -> i64 {
    a * b
}
";

/// A model's reply that means that change: prose, a fence, no prefixes, wrong line numbers and counts.
pub const SLOPPY_FIX: &str = "\
You are right, `add` subtracts. Here is the fix:

```diff
--- src/lib.rs
+++ src/lib.rs
@@ -90,9 +90,9 @@
 pub fn add(a: i64, b: i64) -> i64 {
-    a - b
+    a + b
 }
```

Anything else?
";

/// A change to CI, which the built-in policy asks about.
pub const WORKFLOW_EDIT: &str = "\
--- /dev/null
+++ b/.github/workflows/ci.yml
@@ -0,0 +1 @@
+on: [push]
";

/// The program under test in a world of its own.
pub fn agentos() -> Cli {
    Cli::new(env!("CARGO_BIN_EXE_agentos")).unwrap()
}

/// Can the kernel hold a tool here? Says on screen what is skipped where it cannot.
pub fn sandbox_holds() -> bool {
    let report: serde_json::Value = agentos().run(&["doctor", "--json"]).unwrap().json().unwrap();
    let checks = report["checks"].as_array().unwrap();
    let sandbox = checks.iter().find(|check| check["name"] == "sandbox").unwrap();
    let holds = sandbox["status"] == "ok";
    if !holds {
        eprintln!("skipped: no sandbox on this machine: {}", sandbox["details"]);
    }
    holds
}

/// A repository with one source file, committed.
pub fn small_repo() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/lib.rs", LIB);
    repo.write("README.md", "# small\n");
    repo.commit_all("first");
    repo
}

/// The program of somebody who has a key to sign with.
pub fn signing(repo: &TestRepo) -> Cli {
    let cli = agentos().in_dir(repo.path());
    let made = cli
        .run(&["evidence", "key", "rotate", "--store", "file"])
        .unwrap();
    assert_eq!(made.code, Some(0), "{made}");
    cli
}

/// Runs the program in a repository.
pub fn run_in(repo: &TestRepo, args: &[&str]) -> CliOutput {
    agentos().in_dir(repo.path()).run(args).unwrap()
}

/// The user's cache, for tests in which several calls share one or look at what a run left there.
pub fn cache_of(repo: &TestRepo) -> PathBuf {
    repo.outside().join("cache")
}

/// Folders of runs in a cache.
pub fn runs_in(cache: &Path) -> Vec<PathBuf> {
    let list = |place: PathBuf| {
        let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|place| place.is_dir())
    };
    let below = list(cache.join("agentos/copies")).flat_map(list);
    let is_run = |place: &PathBuf| {
        place
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("run-"))
    };
    below.filter(is_run).collect()
}

/// Runs the program in a repository with an answer on standard input.
pub fn pipe_in(repo: &TestRepo, args: &[&str], answer: &str) -> CliOutput {
    agentos()
        .in_dir(repo.path())
        .run_with_input(args, answer.as_bytes())
        .unwrap()
}

/// What a person sees, with what differs from run to run replaced.
pub fn seen(output: &CliOutput, repo: &TestRepo) -> String {
    let text = Redactor::new()
        .unwrap()
        .path(repo.path(), "[REPO]")
        .redact(&output.to_string());
    // Where a built-in rule stands in its file is not what these tests are about.
    let mut parts = text.split("default.toml:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |seen, part| {
        seen + "default.toml:[LINE]" + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

/// Everything in a repository that a refusal must leave as it is.
pub fn state(repo: &TestRepo) -> Vec<String> {
    vec![
        repo.git(&["rev-parse", "HEAD"]),
        repo.git(&["for-each-ref"]),
        repo.git(&["status", "--porcelain=v2", "--ignored", "--untracked-files=all"]),
        repo.git(&["ls-files", "--stage"]),
        String::from_utf8_lossy(&repo.read("src/lib.rs")).into_owned(),
    ]
}

/// The text of a blob of a repository's evidence, by the `sha256:…` of a record. `None` if there is none.
pub fn find_blob(repo: &TestRepo, sha256: &str) -> Option<String> {
    let digest = sha256.trim_start_matches("sha256:");
    find_below(&repo.path().join(".git/agentos/blobs"), digest)
}

fn find_below(folder: &Path, digest: &str) -> Option<String> {
    std::fs::read_dir(folder).unwrap().find_map(|entry| {
        let place = entry.unwrap().path();
        if place.is_dir() {
            return find_below(&place, digest);
        }
        let whole: String = place
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        whole
            .contains(digest)
            .then(|| std::fs::read_to_string(&place).unwrap())
    })
}

/// Bodies of a repository's records of one kind, in their order.
pub fn list_bodies(repo: &TestRepo, kind: &str) -> Vec<Value> {
    let tape = String::from_utf8(repo.read(".git/agentos/tape.jsonl")).unwrap();
    let records = tape
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    records
        .filter(|record| record["kind"] == kind)
        .map(|record| record["body"].clone())
        .collect()
}

/// A server that speaks just enough of the OpenAI chat wire: one model, and this answer to every task. `during`
/// runs while the answer is being made.
pub fn chat_server(answer: &str, during: impl Fn() + Send + Sync + 'static) -> FakeServer {
    let answer = answer.to_owned();
    FakeServer::start(move |request| {
        if request.path.ends_with("/models") {
            return Reply::json(200, &json!({ "object": "list", "data": [{ "id": "tiny-coder", "object": "model" }] }));
        }
        during();
        Reply::json(
            200,
            &json!({
                "id": "chatcmpl-1", "object": "chat.completion", "model": "tiny-coder",
                "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": answer } }],
                "usage": { "prompt_tokens": 11, "completion_tokens": 7 },
            }),
        )
    })
    .unwrap()
}

/// The flags that point `openai` at a server.
pub fn openai_at(url: &str) -> Vec<String> {
    [
        "-p",
        "openai",
        "--base-url",
        &format!("{url}/v1"),
        "--model",
        "tiny-coder",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Makes the call of a shell's line on a terminal of its own, as `script` (util-linux) makes one. `None`, with a word on screen,
/// if there is no `script`.
pub fn call_on_terminal(
    cli: &Cli,
    dir: &Path,
    (columns, rows): (usize, usize),
    line: &str,
) -> Option<Command> {
    if !Path::new("/usr/bin/script").exists() {
        eprintln!("skipped: no `script` here to make a terminal with");
        return None;
    }
    let line = format!("stty cols {columns} rows {rows}; {line}");
    let mut command = program("script");
    command
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .current_dir(dir)
        .env_clear()
        .envs(cli.world())
        .env("SHELL", "/bin/sh")
        .env("TERM", "xterm");
    Some(command)
}

/// Makes the call of a shell's line on a terminal of its own and types a line at each `question`. Returns the exit code and the
/// screen. `None`, with a word on screen, if no terminal can be made.
pub fn answer_on_terminal(
    cli: &Cli,
    dir: &Path,
    size: (usize, usize),
    call: &str,
    question: &str,
    lines: &[&str],
) -> Option<(Option<i32>, String)> {
    let mut child = call_on_terminal(cli, dir, size, call)?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut seen, mut answered) = (Vec::new(), 0);
    let mut piece = [0; 1024];
    for line in lines {
        // Only what came after the last answer: the question before is on the screen too.
        while !String::from_utf8_lossy(&seen[answered..]).contains(question) {
            let length = screen.read(&mut piece).unwrap();
            assert!(length > 0, "{line}: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&piece[..length]);
        }
        answered = seen.len();
        keys.write_all(line.as_bytes()).unwrap();
    }
    screen.read_to_end(&mut seen).unwrap();
    Some((
        child.wait().unwrap().code(),
        String::from_utf8_lossy(&seen).into_owned(),
    ))
}
