//! Pools in runs and single messages: a member that fails is replaced by the next one, and what does not pass a failure on.

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::{FakeServer, Reply, closed_port, head};
use serde_json::{Value, json};

use agentos_schema::SchemaName;

use crate::pool::{add_pool, answering, call, call_json, count_chats, two_members};
use crate::support::{LIB_FIXED, SLOPPY_FIX, WORKFLOW_EDIT, agentos, small_repo};

const RUN: [&str; 6] = ["run", "make add add", "-p", "mine", "--file", "src/lib.rs"];

/// Lists the records of a kind of the last run.
fn list_records(cli: &Cli, kind: &str) -> Vec<Value> {
    let shown = call(cli, &["evidence", "show", "--json"]).json().unwrap();
    let records = shown["records"].as_array().unwrap().iter();
    records.filter(|record| record["kind"] == kind).cloned().collect()
}

fn in_repo() -> (TestRepo, Cli) {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    (repo, cli)
}

#[test]
fn a_run_goes_to_the_next_member_and_its_change_has_one_author() {
    let broken = answering(SLOPPY_FIX.split("+++").next().unwrap(), false);
    let busy = FakeServer::start(|_| Reply::http(503, &[("retry-after", "0")], b"{}")).unwrap();
    for (first, code) in [
        (closed_port().unwrap(), "refused"),
        (broken.url(), "broken-stream"),
        (busy.url(), "overloaded"),
    ] {
        let (repo, cli) = in_repo();
        let second = answering(SLOPPY_FIX, true);
        two_members(&cli, &first, &second.url(), json!({}));
        let run = call(&cli, &RUN);
        assert_eq!(run.code, Some(0), "{code}: {run}");
        assert!(run.stderr.contains("`second` is asked now"), "{run}");
        assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
        // Two results of one task, and the author of the change is the one who gave it.
        let results: Vec<(Value, Value)> = list_records(&cli, "tool_result")
            .iter()
            .map(|record| {
                let result = &record["body"]["result"];
                (result["task_id"].clone(), result["tool"].clone())
            })
            .collect();
        let task = results[0].0.clone();
        assert_eq!(
            results,
            [(task.clone(), json!("one")), (task, json!("two"))],
            "{code}"
        );
        let log = repo.git(&["log", "-1", "--format=%B"]);
        assert!(log.contains("Assisted-by: two"), "{log}");
        assert!(!log.contains("Assisted-by: one"), "{log}");
        assert_eq!(list_records(&cli, "refusal")[0]["body"]["code"], code);
        for args in [&["evidence", "verify"][..], &["evidence", "verify", "--ledger"]] {
            assert_eq!(call(&cli, args).code, Some(0), "{code} {args:?}");
        }
        // Both choices are recorded, and both can be made again.
        let id = list_records(&cli, "task")[0]["run"].as_str().unwrap().to_owned();
        let replay = call(&cli, &["pool", "replay", &id]);
        assert_eq!(
            (replay.code, replay.stdout.as_str()),
            (Some(0), "the same 2 choices, the last one: second\n"),
            "{replay}"
        );
    }
}

#[test]
fn a_run_ends_where_another_member_would_hide_the_fault() {
    let refused_key =
        FakeServer::start(|_| Reply::json(401, &json!({ "error": { "message": "no" } }))).unwrap();
    let prose = answering("I would rather not.", true);
    let denied = answering(WORKFLOW_EDIT, true);
    let cases = [
        (refused_key.url(), &[][..]),
        (prose.url(), &["--attempts", "1"]),
        (denied.url(), &["--attempts", "1"]),
        (closed_port().unwrap(), &[]),
    ];
    for (position, (first, more)) in cases.into_iter().enumerate() {
        let (_repo, cli) = in_repo();
        let second = answering(SLOPPY_FIX, true);
        // Last: a pool that names nobody for after a failure.
        let other = if position == 3 {
            json!({ "fallback": [] })
        } else {
            json!({})
        };
        two_members(&cli, &first, &second.url(), other);
        if position == 2 {
            let rules = "version = 1\n[[rule]]\nid = \"no-ci\"\neffect = \"deny\"\nwhy = \"CI\"\npaths = [\".github/**\"]\n";
            write_file(&cli.home().join(".config/agentos/policy/own.toml"), rules);
        }
        let run = call(&cli, &[&RUN, more].concat());
        assert_ne!(run.code, Some(0), "{run}");
        assert_eq!(count_chats(&second), 0, "{position}: {run}");
        assert_eq!(list_records(&cli, "tool_result").len(), 1, "{position}: {run}");
    }
}

#[test]
fn a_single_message_goes_to_the_next_member() {
    let second = answering("I am the second.", true);
    let broken = answering("I am the fir", false);
    for first in [closed_port().unwrap(), broken.url()] {
        let cli = agentos();
        two_members(&cli, &first, &second.url(), json!({}));
        let sent = call(&cli, &["chat", "send", "-p", "mine", "Hello"]);
        // Nothing of the discarded answer is in the pipe.
        assert_eq!(
            (sent.code, sent.stdout.as_str()),
            (Some(0), "I am the second.\n"),
            "{sent}"
        );
        assert!(sent.stderr.contains("`second` is asked now"), "{sent}");
        let report = call(&cli, &["chat", "send", "-p", "mine", "--json", "Hello"])
            .json()
            .unwrap();
        assert_eq!(
            (&report["provider"], &report["text"]),
            (&json!("two"), &json!("I am the second."))
        );
        let stats = call(&cli, &["pool", "stats", "--json"]).json().unwrap();
        let count = |at: usize| {
            (
                stats["members"][at]["calls"].as_u64(),
                stats["members"][at]["failed"].as_u64(),
            )
        };
        assert_eq!((count(0), count(1)), ((Some(2), Some(2)), (Some(2), Some(0))));
        // One task: both attempts have the id of the message.
        let verified = call(&cli, &["evidence", "verify", "--ledger"]);
        assert_eq!(verified.code, Some(0), "{verified}");
    }
    let refused_key =
        FakeServer::start(|_| Reply::json(401, &json!({ "error": { "message": "no" } }))).unwrap();
    // A gateway that has begun to stream before the server behind it refuses the key.
    let mut late = head(200, &[("content-type", "text/event-stream")], None);
    late.extend_from_slice(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"I\"}}]}\n\n");
    late.extend_from_slice(b"data: {\"error\":{\"message\":\"wrong key\",\"code\":401}}\n\n");
    let refused_late = FakeServer::start(move |_| Reply::Bytes(late.clone())).unwrap();
    for (first, session, code) in [
        (&refused_key, None, "key-required"),
        (&refused_late, None, "unauthorized"),
        (&refused_late, Some("kept"), "unauthorized"),
    ] {
        let cli = agentos();
        let before = count_chats(&second);
        two_members(&cli, &first.url(), &second.url(), json!({}));
        let mut args = vec!["chat", "send", "-p", "mine", "Hello"];
        args.extend(session.iter().flat_map(|name| ["-c", name]));
        let sent = call(&cli, &args);
        assert_eq!((sent.code, count_chats(&second)), (Some(5), before), "{sent}");
        assert!(sent.stderr.contains(&format!("error [{code}]")), "{sent}");
    }
}

#[test]
fn a_member_is_asked_once_while_another_one_can_answer() {
    // Settings of the pool, and the requests to a server that is overloaded.
    for (settings, expected) in [
        (json!({}), 1),
        (json!({ "retries": 2 }), 3),
        // No other member is asked: the pool's chain is empty, or the chain of the member.
        (json!({ "fallback": [] }), 4),
        (
            json!({ "members": [{ "alias": "first", "model": "one", "fallback": [] }, { "alias": "second", "model": "two" }] }),
            4,
        ),
    ] {
        let busy = FakeServer::start(|_| Reply::http(503, &[("retry-after", "0")], b"{}")).unwrap();
        let second = answering(SLOPPY_FIX, true);
        let (_repo, cli) = in_repo();
        two_members(&cli, &busy.url(), &second.url(), settings.clone());
        let sent = call(&cli, &["chat", "send", "-p", "mine", "Hello"]);
        assert_eq!(count_chats(&busy), expected, "{settings} {sent}");
    }
}

/// A server that is overloaded, counted in the ledger of all commands of the user.
#[test]
fn a_member_that_fails_again_and_again_is_left_out_for_a_while() {
    let busy = FakeServer::start(|_| Reply::http(503, &[("retry-after", "0")], b"{}")).unwrap();
    let second = answering(SLOPPY_FIX, true);
    let (_repo, cli) = in_repo();
    two_members(&cli, &busy.url(), &second.url(), json!({}));
    // Each way to ask counts.
    let ways: [&[&str]; 3] = [
        &["chat", "send", "-p", "mine", "Hello"],
        &["chat", "send", "-c", "kept", "-p", "mine", "Hello"],
        &RUN,
    ];
    for args in ways {
        let sent = call(&cli, args);
        assert!(sent.stderr.contains("`first` failed (overloaded)"), "{sent}");
        assert_eq!(sent.code, Some(0), "{sent}");
    }
    let before = count_chats(&busy);
    for args in [&ways[0], &ways[1]] {
        let sent = call(&cli, args);
        assert_eq!((sent.code, count_chats(&busy)), (Some(0), before), "{sent}");
        assert!(!sent.stderr.contains("failed"), "{sent}");
    }
    // The reason is shown, recorded, and part of the replay.
    let shown = call(&cli, &["pool", "select", "-p", "mine"]);
    assert!(
        shown
            .stdout
            .contains("3 calls in a row failed, the last one (overloaded)"),
        "{shown}"
    );
    let (code, choice) = call_json(&cli, SchemaName::PoolChoice, &["pool", "select", "-p", "mine"]);
    assert_eq!(
        (code, &choice["input"]["circuits"]["first"]["failures"]),
        (Some(0), &json!(3))
    );
    let file = cli.home().join("choice.json");
    write_file(&file, choice.to_string());
    let replay = call(&cli, &["pool", "replay", file.to_str().unwrap()]);
    assert_eq!(replay.code, Some(0), "{replay}");
    // Whoever needs what only this member has gets it, and the failure.
    let mut pool: Value = json!({ "members": [
        { "alias": "first", "model": "one", "abilities": { "job": "sql" } }, { "alias": "second", "model": "two" } ] });
    add_pool(&cli, "mine", &pool);
    let needed = call(&cli, &["pool", "select", "-p", "mine", "--require", "job=sql"]);
    assert!(needed.stdout.contains("first"), "{needed}");
    // Without a fallback nobody else is asked, however often it fails.
    pool["fallback"] = json!([]);
    add_pool(&cli, "mine", &pool);
    let alone = call(&cli, &["chat", "send", "-p", "mine", "Hello"]);
    assert_eq!(
        (alone.code, count_chats(&busy) > before),
        (Some(5), true),
        "{alone}"
    );
}

/// Two models that give the same change; a person undoes that of one of them.
#[test]
fn a_pool_learns_which_changes_stay() {
    for selector in ["best", "split"] {
        let server = answering(SLOPPY_FIX, true);
        let (_repo, cli) = in_repo();
        two_members(
            &cli,
            &server.url(),
            &server.url(),
            json!({ "selector": selector }),
        );
        for (provider, is_undone) in [("one", true), ("two", false)] {
            let run = call(
                &cli,
                &["run", "make add add", "-p", provider, "--file", "src/lib.rs"],
            );
            assert_eq!(run.code, Some(0), "{run}");
            if is_undone {
                let undone = call(&cli, &["undo", "--yes"]);
                assert_eq!(undone.code, Some(0), "{undone}");
            }
        }
        let (code, choice) = call_json(&cli, SchemaName::PoolChoice, &["pool", "select", "-p", "mine"]);
        assert_eq!(code, Some(0));
        let records = &choice["input"]["records"];
        let fate = |alias: &str| {
            (
                records[alias]["stayed"].clone(),
                records[alias]["rejected"].clone(),
            )
        };
        assert_eq!(fate("first"), (json!(0), json!(1)), "{choice}");
        assert_eq!(fate("second"), (json!(1), json!(0)), "{choice}");
        match selector {
            "best" => assert_eq!(
                (&choice["alias"], &choice["reason"]),
                (&json!("second"), &json!("1 of 1 changes landed and stayed"))
            ),
            _ => assert_eq!(
                choice["reason"],
                json!("the experiment goes on: a turn in 2 is for this model")
            ),
        }
        let file = cli.home().join("choice.json");
        write_file(&file, choice.to_string());
        let replay = call(&cli, &["pool", "replay", file.to_str().unwrap()]);
        assert_eq!(replay.code, Some(0), "{replay}");
        // In another folder the changes of this repository do not count.
        let (_repo, elsewhere) = in_repo();
        two_members(
            &elsewhere,
            &server.url(),
            &server.url(),
            json!({ "selector": selector }),
        );
        let (_, choice) = call_json(
            &elsewhere,
            SchemaName::PoolChoice,
            &["pool", "select", "-p", "mine"],
        );
        assert_eq!(choice["input"].get("records"), None);
    }
}
