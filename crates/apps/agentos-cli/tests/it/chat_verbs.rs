//! Verbs about one session: title, export, summary on request and its return; and the commands of a conversation for them.

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::Cli;
use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Reply, head};
use serde_json::{Value, json};

use crate::sessions::{add_provider, counting_server, ok, say};
use crate::support::agentos;

/// Words of a message that is longer than its summary.
const LONG: &str = "Please remember that the tulip is red, the rose is white and the grass is green, all of it until tomorrow. \
                    The oak is old, the birch is young, and nobody knows where the beech stands that was planted last year.";

fn change_of(cli: &Cli, args: &[&str]) -> Value {
    let change = ok(cli, &[args, &["--json"]].concat()).json().unwrap();
    validate_value(SchemaName::ChatChange, &change).unwrap();
    change
}

#[test]
fn a_session_is_summarized_by_command_and_restored() {
    let cli = agentos();
    let server = counting_server(&cli);
    say(&cli, "a", LONG);
    say(&cli, "a", "Two.");
    let summarized = change_of(&cli, &["chat", "summarize", "a"]);
    let receipt = &summarized["receipt"];
    assert_eq!(
        (
            &summarized["change"],
            receipt["replaced"].as_array().unwrap().len()
        ),
        (&json!("summarized"), 4)
    );
    assert!(
        receipt["tokens_after"].as_u64() < receipt["tokens_before"].as_u64(),
        "{receipt}"
    );
    // The summary and the new question, which one message has on this wire.
    assert_eq!(say(&cli, "a", "Three.").stdout, "1 messages\n");
    let sent = server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(
        sent.contains("Summary of the earlier part") && !sent.contains("tulip"),
        "{sent}"
    );
    let dropped = ok(&cli, &["chat", "show", "a", "--dropped"]).stdout;
    assert!(
        dropped.contains("tulip") && !dropped.contains("Three."),
        "{dropped}"
    );
    let restored = change_of(&cli, &["chat", "restore", "a"]);
    assert_eq!(restored["receipt"], *receipt);
    assert_eq!(say(&cli, "a", "Four.").stdout, "7 messages\n");
    let again = cli.run(&["chat", "restore", "a"]).unwrap();
    assert_eq!(again.code, Some(2), "{again}");
    assert!(again.stderr.contains("no summary is in use"), "{again}");
    // The call for the summary was paid like every other one.
    assert_eq!(ok(&cli, &["cost", "--json"]).json().unwrap()["calls"], json!(5));
    ok(&cli, &["evidence", "verify", "--ledger"]);
}

#[test]
fn a_summary_that_fails_changes_nothing_and_its_call_is_counted() {
    let cli = agentos();
    let _server = counting_server(&cli);
    say(&cli, "a", LONG);
    let broken = FakeServer::start(|_| {
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
        bytes.extend_from_slice(format!("data: {end}\n\n").as_bytes());
        Reply::Bytes(bytes)
    })
    .unwrap();
    add_provider(&cli, "broken", &broken);
    let failed = cli.run(&["chat", "summarize", "a", "-p", "broken"]).unwrap();
    assert_eq!(failed.code, Some(5), "{failed}");
    let story = ok(&cli, &["chat", "show", "a", "--json"]).json().unwrap();
    assert_eq!(
        (
            &story["summary"],
            story["messages"].as_array().unwrap().len(),
            &story["totals"]["calls"]
        ),
        (&Value::Null, 2, &json!(2))
    );
    let missing = cli.run(&["chat", "summarize", "none", "-p", "mine"]).unwrap();
    assert_eq!(missing.code, Some(2), "{missing}");
}

#[test]
fn an_export_has_authors_times_and_costs() {
    let cli = agentos();
    let _server = counting_server(&cli);
    say(&cli, "a", "Hello");
    assert_eq!(
        change_of(&cli, &["chat", "title", "a", "A", "short  talk"])["title"],
        "A short talk"
    );
    let export = ok(&cli, &["chat", "export", "a", "--format", "json"])
        .json()
        .unwrap();
    validate_value(SchemaName::ChatExport, &export).unwrap();
    let turn = &export["turns"][0];
    assert_eq!(
        (
            &export["title"],
            &turn["cost_usd"],
            &turn["messages"][1]["author"]["model"]
        ),
        (&json!("A short talk"), &json!("0.000012"), &json!("tiny"))
    );
    assert!(turn["time"].as_str().unwrap().ends_with('Z'), "{turn}");
    let text = ok(&cli, &["chat", "export", "a"]).stdout;
    assert!(
        text.starts_with("# A short talk\n\n- Session: `conversation:a`\n"),
        "{text}"
    );
    assert!(text.contains("\nHello\n") && text.contains("## tiny ("), "{text}");

    let file = cli.home().join("a.json");
    ok(&cli, &["chat", "export", "a", "-o", file.to_str().unwrap()]);
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(written, export);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    let list = ok(&cli, &["chat", "list", "--json"]).json().unwrap();
    assert_eq!(list["sessions"][0]["title"], "A short talk");
    let search = ok(&cli, &["chat", "search", "Hello", "--json"]).json().unwrap();
    validate_value(SchemaName::ChatSearch, &search).unwrap();
    assert_eq!(
        change_of(&cli, &["chat", "fork", "a", "b"])["fork"],
        "conversation:a"
    );
    assert_eq!(change_of(&cli, &["chat", "clear", "b"])["change"], "cleared");
}

#[test]
fn a_title_goes_with_its_session() {
    let cli = agentos();
    let _server = counting_server(&cli);
    say(&cli, "a", "Hello");
    ok(&cli, &["chat", "title", "a", "A secret tulip"]);
    assert!(ok(&cli, &["chat", "list"]).stdout.contains("A secret tulip"));
    assert_eq!(change_of(&cli, &["chat", "delete", "a"])["change"], "deleted");
    let state = cli.home().join(".local/state/agentos");
    for folder in [state.clone(), state.join("ledger"), state.join("ledger/blobs")] {
        for entry in std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            let bytes = if entry.is_file() {
                std::fs::read(&entry).unwrap()
            } else {
                Vec::new()
            };
            assert!(
                !String::from_utf8_lossy(&bytes).contains("tulip"),
                "{}",
                entry.display()
            );
        }
    }
    ok(&cli, &["evidence", "verify", "--ledger"]);
}

#[test]
fn commands_of_a_conversation_title_compact_retry_export_and_count() {
    let cli = agentos();
    let server = counting_server(&cli);
    write_file(&cli.home().join("one.png"), b"\x89PNG\r\n\x1a\nrest");
    let image = cli.home().join("one.png");
    let file = cli.home().join("talk.md");
    let typed = format!(
        "{LONG}\n/title About flowers\n/compact\n/retry\n/image {}\n/image none.png\nLook\n/cost\n/export {}\n/image\n",
        image.display(),
        file.display()
    );
    let talk = cli
        .run_with_input(&["chat", "-p", "mine", "-c", "talk"], typed.as_bytes())
        .unwrap();
    assert_eq!(talk.stdout, "1 messages\n1 messages\n3 messages\n", "{talk}");
    assert_eq!(talk.code, Some(2), "{talk}");
    for words in [
        "the title is `About flowers`",
        "2 messages of before become a summary",
        "1 image will be sent with the next message",
        "mine/tiny",
        "$0.000048 for 4 calls",
        "which only you can read",
        "type `/image FILE`",
    ] {
        assert!(talk.stderr.contains(words), "{words}: {talk}");
    }
    let last = server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(last.contains("image_url") && last.contains("tulip"), "{last}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# About flowers\n") && text.contains("[image, image/png]"),
        "{text}"
    );
}
