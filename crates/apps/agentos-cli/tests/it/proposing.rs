//! Conversations about a repository: they read, propose, and never write.

use std::process::Stdio;
use std::time::{Duration, SystemTime};

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::TestRepo;
use agentos_testkit::server::{FakeServer, Reply, head};
use serde_json::{Value, json};

use crate::kill_random::{Random, number, seed};
use crate::sessions::{add_provider, ok};
use crate::support::{LIB, LIB_FIXED, agentos, small_repo};

/// Replies with calls of tools, one in each answer, and then with a text.
fn calling_server(calls: Vec<(&'static str, Value)>) -> FakeServer {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    FakeServer::start(move |_| {
        let at = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let (delta, finish) = match calls.get(at) {
            Some((name, arguments)) => {
                let function = json!({ "name": name, "arguments": arguments.to_string() });
                (
                    json!({ "tool_calls": [{ "index": 0, "id": format!("c{at}"), "function": function }] }),
                    "tool_calls",
                )
            }
            None => (json!({ "content": "It waits for you." }), "stop"),
        };
        let piece = json!({"model": "tiny", "choices": [{"index": 0, "delta": delta}]});
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2}});
        let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
        bytes.extend_from_slice(format!("data: {piece}\n\ndata: {end}\n\n").as_bytes());
        Reply::Bytes(bytes)
    })
    .unwrap()
}

/// The calls of a conversation that reads two files, proposes a diff that does not land, and then a better one.
pub fn correcting_calls() -> Vec<(&'static str, Value)> {
    let diff = |from: &str, to: &str| {
        format!("--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -5 +5 @@\n-    {from}\n+    {to}\n")
    };
    let propose = |answer: String| {
        (
            "propose_change",
            json!({ "answer": answer, "message": "Add numbers" }),
        )
    };
    vec![
        ("read_file", json!({ "path": "src/lib.rs" })),
        ("read_file", json!({ "path": "README.md" })),
        propose(diff("x - y", "x + y")),
        propose(diff("a - b", "a + b")),
    ]
}

/// Has the conversation of [`correcting_calls`] in one `chat`: what waits lands when the person says so, and is undone.
pub fn talk_land_undo(cli: &Cli, repo: &TestRepo) -> CliOutput {
    let before = repo.git(&["rev-parse", "HEAD"]);
    let typed = "Fix add.\n/land\n/undo\n";
    let talk = cli
        .run_with_input(&["chat", "-p", "mine", "-c", "fix", "--tools"], typed.as_bytes())
        .unwrap();
    assert_eq!(
        (talk.code, talk.stdout.lines().next()),
        (Some(0), Some("It waits for you.")),
        "{talk}"
    );
    let log = repo.git(&["log", "--format=%s", &format!("{}..HEAD", before.trim())]);
    assert_eq!(log.lines().count(), 2, "{log}: {talk}");
    assert!(log.ends_with("Add numbers"), "{log}");
    assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB.trim_end());
    // The ledger names the runs of the turn, and the repository's tape verifies with its commits.
    let story = ok(cli, &["chat", "show", "fix", "--json"]).json().unwrap();
    let messages = story["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 10);
    // The model learned why its first diff does not land.
    let reason = messages[6]["message"].to_string();
    assert!(
        reason.contains("does-not-apply") && reason.contains("x - y"),
        "{reason}"
    );
    ok(cli, &["evidence", "verify", "--ledger"]);
    ok(cli, &["evidence", "verify"]);
    // What a conversation proposed is computed again from its record, as any run.
    ok(cli, &["evidence", "replay"]);
    talk
}

#[test]
fn a_conversation_reads_proposes_corrects_lands_and_undoes() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let server = calling_server(correcting_calls());
    add_provider(&cli, "mine", &server);
    talk_land_undo(&cli, &repo);
    assert_eq!(server.requests().len(), 5);
}

/// A conversation proposes and nothing else: without a person, the repository stays as it is.
#[test]
fn a_proposal_of_a_conversation_waits_in_the_queue() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let answer = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -5 +5 @@\n-    a - b\n+    a + b\n";
    let server = calling_server(vec![
        ("approve", json!({})),
        (
            "propose_change",
            json!({ "answer": answer, "message": "Add numbers" }),
        ),
    ]);
    add_provider(&cli, "mine", &server);
    let before = repo.git(&["rev-parse", "HEAD"]);
    let sent = ok(
        &cli,
        &["chat", "send", "-p", "mine", "-c", "fix", "--tools", "Fix add."],
    );
    assert!(sent.stderr.contains("waits for you: `agentos approve`"), "{sent}");
    assert_eq!(
        (repo.git(&["rev-parse", "HEAD"]), repo.status()),
        (before, String::new())
    );
    let open = ok(&cli, &["approve", "--list", "--json"]).json().unwrap();
    let run = open["requests"][0]["run"].as_str().unwrap().to_owned();
    ok(&cli, &["approve", &run, "--yes"]);
    assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
}

/// A server that proposes a new file of each number, and an endless supply of them.
fn proposing_server() -> FakeServer {
    FakeServer::start(move |request| {
        let sent = request.json();
        let messages = sent["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        let (delta, finish) = match last["role"].as_str() {
            Some("user") => {
                let name = last["content"].as_str().unwrap();
                let answer = format!("diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+{name}\n");
                let arguments = json!({ "answer": answer, "message": format!("Add {name}") }).to_string();
                let function = json!({ "name": "propose_change", "arguments": arguments });
                (
                    json!({ "tool_calls": [{ "index": 0, "id": "c", "function": function }] }),
                    "tool_calls",
                )
            }
            Some(_) | None => (json!({ "content": "It waits for you." }), "stop"),
        };
        let piece = json!({"model": "tiny", "choices": [{"index": 0, "delta": delta}]});
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2}});
        let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
        bytes.extend_from_slice(format!("data: {piece}\n\ndata: {end}\n\n").as_bytes());
        Reply::Bytes(bytes)
    })
    .unwrap()
}

/// Runs a command and kills it after so long, if a time is given. True if it ended by itself, with success.
fn run_killed(cli: &Cli, args: &[&str], after: Option<Duration>) -> bool {
    let mut child = cli
        .command(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    if let Some(after) = after {
        // The random moment: nothing is waited for.
        std::thread::sleep(after);
        child.kill().unwrap();
    }
    child.wait().unwrap().success()
}

/// Names of the open requests' runs.
fn open_runs(cli: &Cli) -> Vec<String> {
    let open = ok(cli, &["approve", "--list", "--json"]).json().unwrap();
    let requests = open["requests"].as_array().unwrap().iter();
    requests
        .map(|request| request["run"].as_str().unwrap().to_owned())
        .collect()
}

/// Turns that propose, and approvals, are killed at random moments. `AGENTOS_KILL_TURNS` is the number of turns.
#[test]
fn killed_at_a_random_moment_no_proposal_is_lost_or_lands_twice() {
    let (turns, mut random) = (number("AGENTOS_KILL_TURNS", 10), Random::new(seed()));
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let server = proposing_server();
    add_provider(&cli, "mine", &server);
    let say = |name: &str, after| {
        run_killed(
            &cli,
            &["chat", "send", "-c", "a", "-p", "mine", "--tools", name],
            after,
        )
    };
    let (mut whole, mut killed, mut longest) = (Vec::new(), 0, 0);
    for turn in 0..turns {
        // Now and then one is not killed: the longer the evidence is, the longer a turn takes.
        let is_measured = turn % 10 == 0;
        let limit = longest + longest / 4;
        let mut moment = || (!is_measured).then(|| Duration::from_micros(random.below(limit)));
        let name = format!("f{turn}.txt");
        let begun = SystemTime::now();
        match say(&name, moment()) {
            true => whole.push(name),
            false => killed += 1,
        }
        if is_measured {
            longest = u64::try_from(begun.elapsed().unwrap().as_micros()).unwrap();
        }
        // A window that grows with each turn would be summarized: that is not what is tested here.
        if turn % 20 == 0 {
            ok(&cli, &["chat", "clear", "a"]);
        }
        if turn % 3 == 0 {
            for run in open_runs(&cli).iter().take(2) {
                run_killed(&cli, &["approve", run, "--yes"], moment());
            }
        }
    }
    eprintln!("killed {killed} of {turns} turns");
    ok(&cli, &["recover"]);
    ok(&cli, &["evidence", "verify", "--ledger"]);
    ok(&cli, &["evidence", "verify"]);
    // Whole turns only: a question, its call, the call's result and the answer; and each turn that was reported is there.
    let messages = read_said(&cli);
    let turns = messages.chunks(4).map(|turn| {
        let roles: Vec<&str> = turn.iter().map(|(role, _)| role.as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "user", "assistant"], "{messages:?}");
        &turn[0].1
    });
    let asked: Vec<&String> = turns.collect();
    assert!(
        whole.iter().all(|name| asked.contains(&name)),
        "{whole:?} {asked:?}"
    );
    // Whatever is still open lands now; then every proposal that a turn names landed exactly once.
    for run in open_runs(&cli) {
        ok(&cli, &["approve", &run, "--yes"]);
        let again = cli.run(&["approve", &run, "--yes"]).unwrap();
        assert_ne!(again.code, Some(0), "{again}");
    }
    let added = repo.git(&["log", "--format=", "--name-only", "--diff-filter=A"]);
    for name in asked {
        let times = added.lines().filter(|line| line == name).count();
        assert_eq!(times, 1, "{name}: {added}");
    }
    ok(&cli, &["evidence", "verify"]);
}

/// Reads who said what in all turns of the session `a`, also in those before it was cleared.
fn read_said(cli: &Cli) -> Vec<(String, String)> {
    let tape = std::fs::read_to_string(cli.home().join(".local/state/agentos/ledger/tape.jsonl")).unwrap();
    let blobs = cli.home().join(".local/state/agentos/ledger/blobs");
    let mut said = Vec::new();
    for line in tape.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let messages = record["body"]["messages"].as_array().cloned().unwrap_or_default();
        for message in messages {
            let hash = message["message_sha256"].as_str().unwrap();
            let text = std::fs::read(blobs.join(hash.trim_start_matches("sha256:"))).unwrap();
            let text: Value = serde_json::from_slice(&text).unwrap();
            let first = text["parts"][0]["text"].as_str().unwrap_or_default();
            said.push((message["role"].as_str().unwrap().to_owned(), first.to_owned()));
        }
    }
    said
}
