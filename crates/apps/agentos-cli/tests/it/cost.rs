//! `cost`, the ledger behind it, and the database that is made from its tape.

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{make_dir, read_file, remove_file, write_file};
use agentos_testkit::server::{FakeServer, Reply, head};
use serde_json::{Value, json};

use crate::support::{agentos, small_repo};

/// A server that answers every request with this text and these tokens.
fn server_with(text: &str, prompt: u64, answer: u64) -> FakeServer {
    let pieces = [
        json!({"model": "tiny-coder-2", "choices": [{"index": 0, "delta": {"content": text}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": answer}}),
    ];
    let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
    for piece in pieces {
        bytes.extend_from_slice(format!("data: {piece}\n\n").as_bytes());
    }
    FakeServer::start(move |_| Reply::Bytes(bytes.clone())).unwrap()
}

/// A profile for a server, with prices in US dollars per million tokens.
fn add_profile(cli: &Cli, name: &str, server: &FakeServer, price: Option<(f64, f64)>) {
    let mut profile = json!({ "provider": name, "name": name, "adapter": "openai", "model": "tiny-coder",
        "base_url": format!("{}/v1", server.url()), "requires_key": false });
    if let Some((input, output)) = price {
        profile["price"] = json!({ "input": input, "output": output });
    }
    let file = cli.home().join(format!(".config/agentos/profiles/{name}.json"));
    write_file(&file, profile.to_string());
}

fn cost(cli: &Cli, more: &[&str]) -> Value {
    let shown = cli.run(&[&["cost", "--json"], more].concat()).unwrap();
    assert_eq!(shown.code, Some(0), "{shown}");
    let report = shown.json().unwrap();
    validate_value(SchemaName::Cost, &report).unwrap();
    report
}

fn verify(cli: &Cli) -> CliOutput {
    cli.run(&["evidence", "verify", "--ledger"]).unwrap()
}

// LB-35: tokens and cost of a session.
#[test]
fn the_cost_of_a_scripted_session_is_the_sum_by_hand() {
    let cli = agentos();
    let priced = server_with("Good day.", 200, 360);
    let free = server_with("Hm.", 7, 2);
    add_profile(&cli, "priced", &priced, Some((3.0, 15.0)));
    // It may be a proxy to a vendor, so its cost is unknown although it is on this machine.
    add_profile(&cli, "unpriced", &free, None);
    let mut profile: Value = serde_json::from_slice(&read_file(
        &cli.home().join(".config/agentos/profiles/priced.json"),
    ))
    .unwrap();
    profile["provider"] = json!("failing");
    profile["name"] = json!("failing");
    profile["base_url"] = json!("http://127.0.0.1:9/v1");
    write_file(
        &cli.home().join(".config/agentos/profiles/failing.json"),
        profile.to_string(),
    );

    for (provider, code) in [("priced", 0), ("priced", 0), ("unpriced", 0), ("failing", 5)] {
        let sent = cli.run(&["chat", "send", "-p", provider, "Hello"]).unwrap();
        assert_eq!(sent.code, Some(code), "{sent}");
    }
    // 200 tokens at $3 and 360 at $15 per million are $0.006, twice.
    let report = cost(&cli, &[]);
    let rows: Vec<String> = report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(describe_row)
        .collect();
    assert_eq!(
        rows,
        [
            "priced/tiny-coder-2 2 0 0.012 0",
            "failing/tiny-coder 1 1 null 1",
            "unpriced/tiny-coder-2 1 0 null 1"
        ]
    );
    assert_eq!(
        (&report["cost_usd"], &report["calls"], &report["unknown"]),
        (&json!("0.012"), &json!(4), &json!(2))
    );

    let shown = cli.run(&["cost", "--by", "provider"]).unwrap();
    insta::assert_snapshot!(shown.stdout, @r"
    PROVIDER  CALLS  FAILED  PROMPT  CACHED  ANSWER  COST (USD)
    priced    2      0       400     0       720     0.012
    failing   1      1       0       0       0       unknown
    unpriced  1      0       7       0       2       unknown

    $0.012 for 2 calls, and 2 calls of unknown cost.
    ");
    let none = cost(&cli, &["--until", "2001-01-01"]);
    assert_eq!((&none["calls"], &none["rows"]), (&json!(0), &json!([])));
}

fn describe_row(row: &Value) -> String {
    let text = |name: &str| row[name].as_str().unwrap().to_owned();
    format!(
        "{} {} {} {} {}",
        text("name"),
        row["calls"],
        row["failed"],
        row["cost_usd"].as_str().unwrap_or("null"),
        row["unknown"]
    )
}

#[test]
fn a_run_is_in_the_ledger_without_its_text() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let server = server_with("no edits at all, only SECRETWORD", 50, 5);
    add_profile(&cli, "mine", &server, Some((1.0, 1.0)));
    let run = cli
        .run(&["run", "-p", "mine", "change the TASKWORD", "--attempts", "2"])
        .unwrap();
    assert_ne!(run.code, Some(0), "{run}");
    let report = cost(&cli, &["--by", "session"]);
    assert_eq!(
        report["rows"],
        json!([{ "name": null, "calls": 2, "failed": 0, "input_tokens": 100, "cached_tokens": 0,
        "output_tokens": 10, "cost_usd": "0.00011", "unknown": 0 }])
    );
    let tape = String::from_utf8(read_file(&tape_of(&cli))).unwrap();
    assert!(tape.contains("\"source\":\"run\""), "{tape}");
    for word in ["SECRETWORD", "TASKWORD"] {
        assert!(!tape.contains(word), "{word}");
    }
    assert!(!cli.home().join(".local/state/agentos/ledger/blobs").exists());
}

fn tape_of(cli: &Cli) -> std::path::PathBuf {
    cli.home().join(".local/state/agentos/ledger/tape.jsonl")
}

#[test]
fn the_database_is_made_again_from_the_tape() {
    let cli = agentos();
    let server = server_with("Good day.", 200, 360);
    add_profile(&cli, "priced", &server, Some((3.0, 15.0)));
    let send = || cli.run(&["chat", "send", "-p", "priced", "Hello"]).unwrap();
    send();
    let before = cost(&cli, &[]);
    remove_file(&cli.home().join(".local/state/agentos/ledger.sqlite"));
    assert_eq!(cost(&cli, &[]), before);
    write_file(
        &cli.home().join(".local/state/agentos/ledger.sqlite"),
        "no database".repeat(500),
    );
    assert_eq!(cost(&cli, &[]), before);

    let rebuilt = cli.run(&["store", "rebuild", "--json"]).unwrap().json().unwrap();
    validate_value(SchemaName::StoreRebuild, &rebuilt).unwrap();
    // A turn and its checkpoint.
    assert_eq!((&rebuilt["records"], &rebuilt["calls"]), (&json!(2), &json!(1)));
    send();
    assert_eq!(cost(&cli, &[])["calls"], json!(2));
}

#[test]
fn a_changed_ledger_is_found() {
    let cli = agentos();
    let nothing = verify(&cli);
    assert_eq!(nothing.code, Some(2), "{nothing}");
    let server = server_with("Good day.", 200, 360);
    add_profile(&cli, "priced", &server, Some((3.0, 15.0)));
    assert_eq!(
        cli.run(&["chat", "send", "-p", "priced", "Hello"]).unwrap().code,
        Some(0)
    );
    let sound = verify(&cli);
    assert_eq!(sound.code, Some(0), "{sound}");
    let tape = String::from_utf8(read_file(&tape_of(&cli))).unwrap();
    for (from, to) in [
        ("\"input_tokens\":200", "\"input_tokens\":201"),
        ("\"output\":\"15\"", "\"output\":\"14\""),
    ] {
        assert!(tape.contains(from), "{from}");
        write_file(&tape_of(&cli), tape.replacen(from, to, 1));
        let changed = verify(&cli);
        assert_eq!(changed.code, Some(7), "{from}: {changed}");
        assert!(changed.stdout.contains("rename the folder `ledger`"), "{changed}");
    }
}

#[test]
fn a_message_is_not_sent_if_its_cost_cannot_be_recorded() {
    let cli = agentos();
    let server = server_with("Good day.", 1, 1);
    add_profile(&cli, "mine", &server, None);
    // A file in the place of the folder.
    make_dir(&cli.home().join(".local/state"));
    write_file(&cli.home().join(".local/state/agentos"), "");
    let refused = cli.run(&["chat", "send", "-p", "mine", "Hello"]).unwrap();
    assert_eq!(refused.code, Some(7), "{refused}");
    assert!(server.requests().is_empty());
}
