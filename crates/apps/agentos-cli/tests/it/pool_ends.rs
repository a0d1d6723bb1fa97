//! Pools where a turn ends or is done again: what is never passed on, retries, stated needs, spent budgets, kinds of tasks, and what
//! discarded attempts cost.

use std::process::Stdio;

use agentos_schema::SchemaName;
use agentos_testkit::cli::{Cli, interrupt};
use agentos_testkit::repo::{TestRepo, read_file, write_file};
use agentos_testkit::server::{FakeServer, Reply, closed_port, head};
use serde_json::{Value, json};

use crate::pool::{add_pool, add_profile, answering, call, call_json, count_chats, two_members};
use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, small_repo};

const STALE: &str = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1 +1 @@\n-no such line\n+another\n";
const RUN: [&str; 6] = ["run", "fix add", "-p", "mine", "--file", "src/lib.rs"];

fn in_repo() -> (TestRepo, Cli) {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    (repo, cli)
}

/// A server that begins an answer and then says nothing.
fn hanging() -> FakeServer {
    let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
    bytes.extend_from_slice(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"I\"}}]}\n\n");
    FakeServer::start(move |_| Reply::Hang(bytes.clone())).unwrap()
}

#[test]
fn ctrl_c_asks_no_other_member() {
    let second = answering(SLOPPY_FIX, true);
    let calls: [&[&str]; 4] = [
        &RUN,
        &["run", "fix add", "-p", "mine", "--explore"],
        &["chat", "send", "-p", "mine", "Hello"],
        &["chat", "send", "-p", "mine", "-c", "kept", "Hello"],
    ];
    for args in calls {
        let (_repo, cli) = in_repo();
        let first = hanging();
        two_members(&cli, &first.url(), &second.url(), json!({}));
        let mut child = cli
            .command(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while count_chats(&first) == 0 {
            assert!(child.try_wait().unwrap().is_none(), "{args:?}");
        }
        assert!(interrupt(&child));
        assert_eq!(child.wait().unwrap().code(), Some(130), "{args:?}");
        assert_eq!(count_chats(&second), 0, "{args:?}");
    }
}

#[test]
fn a_refused_diff_is_asked_again_where_it_came_from() {
    for (attempts, expected) in [("1", 1), ("2", 2)] {
        let (_repo, cli) = in_repo();
        let (first, second) = (answering(STALE, true), answering(SLOPPY_FIX, true));
        two_members(&cli, &first.url(), &second.url(), json!({}));
        let run = call(&cli, &[&RUN[..], &["--attempts", attempts]].concat());
        assert_eq!(run.code, Some(6), "{run}");
        assert_eq!((count_chats(&first), count_chats(&second)), (expected, 0));
    }
}

#[test]
fn a_retry_asks_the_pool_again() {
    let (repo, cli) = in_repo();
    let (first, second) = (answering(STALE, true), answering(SLOPPY_FIX, true));
    two_members(&cli, &first.url(), &second.url(), json!({}));
    let refused = call(&cli, &[&RUN[..], &["--attempts", "1"]].concat());
    assert_eq!(refused.code, Some(6), "{refused}");
    // The first member is gone now, so that only the pool can find somebody.
    let gone = closed_port().unwrap();
    two_members(&cli, &gone, &second.url(), json!({}));
    let landed = call(&cli, &["retry", "@"]);
    assert_eq!(landed.code, Some(0), "{landed}");
    assert!(landed.stderr.contains("`second` is asked now"), "{landed}");
    assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
    let shown = call(&cli, &["evidence", "show", "--json"]).json().unwrap();
    let records = shown["records"].as_array().unwrap();
    let begun = records.iter().find(|record| record["kind"] == "task").unwrap();
    assert_eq!(begun["body"]["options"]["pool"], "mine");
    let id = begun["run"].as_str().unwrap();
    let replay = call(&cli, &["pool", "replay", id]);
    assert_eq!(
        (replay.code, replay.stdout.as_str()),
        (Some(0), "the same 2 choices, the last one: second\n"),
        "{replay}"
    );
    // Another provider than the pool is taken at its word.
    let named = call(&cli, &["retry", "@", "-p", "one"]);
    assert_eq!(named.code, Some(5), "{named}");
    assert_eq!(count_chats(&second), 1);
}

#[test]
fn needs_that_are_stated_choose_in_every_verb() {
    let (_repo, cli) = in_repo();
    let (first, second) = (answering("First.", true), answering("Second.", true));
    two_members(&cli, &first.url(), &second.url(), json!({}));
    let members = json!([{ "alias": "first", "model": "one" },
        { "alias": "second", "model": "two", "abilities": { "job": "sql" } }]);
    add_pool(&cli, "mine", &json!({ "members": members }));
    let calls: [&[&str]; 3] = [
        &RUN,
        &["chat", "send", "-p", "mine", "Hello"],
        &["chat", "send", "-p", "mine", "-c", "kept", "Hello"],
    ];
    for (position, args) in calls.into_iter().enumerate() {
        let asked = call(&cli, &[args, &["--require", "job=sql"]].concat());
        assert!(count_chats(&second) > position, "{asked}");
        let refused = call(&cli, &[args, &["--require", "job=poetry"]].concat());
        assert_eq!(refused.code, Some(5), "{refused}");
        assert!(
            refused.stderr.contains("job is sql, poetry is needed"),
            "{refused}"
        );
        let named: Vec<&str> = args
            .iter()
            .map(|word| if *word == "mine" { "two" } else { word })
            .collect();
        let useless = call(&cli, &[&named[..], &["--require", "job=sql"]].concat());
        assert_eq!(useless.code, Some(2), "{useless}");
        assert!(useless.stderr.contains("`two` is no pool of models"), "{useless}");
    }
    assert_eq!(count_chats(&first), 0);
}

#[test]
fn a_long_conversation_goes_to_a_member_that_can_read_it() {
    let cli = agentos();
    let (first, second) = (answering("First.", true), answering("Second.", true));
    let set_windows = |one: u64, two: u64| {
        for (name, url, window) in [("one", first.url(), one), ("two", second.url(), two)] {
            let profile = json!({ "adapter": "openai", "model": "tiny", "base_url": format!("{url}/v1"), "requires_key": false,
                "capabilities": { "context_window": window } });
            add_profile(&cli, name, &profile);
        }
    };
    set_windows(20_000, 200_000);
    let members = json!([{ "alias": "first", "model": "one" }, { "alias": "second", "model": "two" }]);
    add_pool(&cli, "mine", &json!({ "members": members }));
    let send = |text: &str| {
        let sent = call(
            &cli,
            &["chat", "send", "-p", "mine", "-c", "kept", "--json", text],
        );
        assert_eq!(sent.code, Some(0), "{sent}");
        let choice = sent.json().unwrap()["turn"]["choice"].clone();
        (choice["alias"].clone(), choice["input"]["needs"].clone())
    };
    let (nothing, large) = (
        json!({}),
        |chars: u64| json!({ "min_context_window": { "value": 32_000.0, "origin": { "inferred": format!("the context has {chars} characters") } } }),
    );
    assert_eq!(send("Hello"), (json!("first"), nothing.clone()));
    assert_eq!(send(&"word ".repeat(11_000)), (json!("first"), nothing.clone()));
    assert_eq!(send("And now?"), (json!("second"), large(55_017)));
    // Nobody can read all of it: earlier messages are summarized, and that is no reason to refuse the turn.
    set_windows(20_000, 20_000);
    assert_eq!(send("And now?"), (json!("first"), nothing));
}

#[test]
fn a_spent_budget_of_one_member_leads_to_the_next_one() {
    let (repo, cli) = in_repo();
    let (first, second) = (answering(SLOPPY_FIX, true), answering(SLOPPY_FIX, true));
    two_members(&cli, &first.url(), &second.url(), json!({}));
    let set = call(&cli, &["budget", "set", "0.000001usd/day", "--provider", "one"]);
    assert_eq!(set.code, Some(0), "{set}");
    let sent = call(&cli, &["chat", "send", "-p", "mine", "Hello"]);
    assert_eq!(sent.code, Some(0), "{sent}");
    let sent = call(&cli, &["chat", "send", "-p", "mine", "-c", "kept", "Hello"]);
    assert_eq!(sent.code, Some(0), "{sent}");
    let run = call(&cli, &RUN);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(
        run.stderr
            .contains("`first` failed (budget-spent): `second` is asked now"),
        "{run}"
    );
    assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
    assert_eq!((count_chats(&first), count_chats(&second)), (0, 3));
    // A budget of all providers stops both, and nothing is sent.
    let set = call(&cli, &["budget", "set", "0.000001usd/day"]);
    assert_eq!(set.code, Some(0), "{set}");
    let stopped = call(&cli, &RUN);
    assert_eq!(stopped.code, Some(9), "{stopped}");
    assert_eq!((count_chats(&first), count_chats(&second)), (0, 3));
}

/// Returns what a budget counts as spent, in millionths of a dollar.
fn read_spent(cli: &Cli) -> f64 {
    let list = call(cli, &["budget", "list", "--json"]).json().unwrap();
    let row = &list["budgets"][0];
    let number = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.as_f64(), |text| text.parse().ok())
    };
    assert_eq!(number(&row["reserved_usd"]), Some(0.0), "{list}");
    number(&row["spent_usd"]).unwrap() * 1e6
}

/// A member that gives SLOPPY_FIX with usage: 100 and 1,000 tokens.
fn counting() -> FakeServer {
    let pieces = [
        json!({"model": "tiny", "choices": [{"index": 0, "delta": {"content": SLOPPY_FIX}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 1_000}}),
    ];
    let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
    for piece in pieces {
        bytes.extend_from_slice(format!("data: {piece}\n\n").as_bytes());
    }
    FakeServer::start(move |_| Reply::Bytes(bytes.clone())).unwrap()
}

/// The rule: an attempt that certainly gave nothing costs nothing, and every other one keeps what was reserved for it.
#[test]
fn discarded_attempts_are_settled_by_one_rule() {
    let second = counting();
    let busy = FakeServer::start(|_| Reply::http(503, &[("retry-after", "0")], b"{}")).unwrap();
    let limited =
        FakeServer::start(|_| Reply::json(429, &json!({ "error": { "message": "slow down" } }))).unwrap();
    let too_long = FakeServer::start(|_| {
        let error =
            json!({ "message": "maximum context length is 10 tokens", "code": "context_length_exceeded" });
        Reply::json(400, &json!({ "error": error }))
    })
    .unwrap();
    let broken = answering("I am the fir", false);
    // (first member, number of its sendings whose reservation is kept: one, since the second member is asked at once)
    let cases = [
        (closed_port().unwrap(), 0),
        (limited.url(), 0),
        (too_long.url(), 0),
        (busy.url(), 1),
        (broken.url(), 1),
    ];
    let calls: [&[&str]; 3] = [
        &RUN,
        &["chat", "send", "-p", "mine", "Hello"],
        &["chat", "send", "-p", "mine", "-c", "kept", "Hello"],
    ];
    for (first, kept) in &cases {
        for args in calls {
            let (_repo, cli) = in_repo();
            for (name, url) in [("one", first), ("two", &second.url())] {
                let profile = json!({ "adapter": "openai", "model": "tiny", "base_url": format!("{url}/v1"), "requires_key": false,
                    "price": { "input": 1, "output": 1 }, "params": { "max_tokens": 5_000 }, "capabilities": { "context_window": 32_000 } });
                add_profile(&cli, name, &profile);
            }
            let members =
                json!([{ "alias": "first", "model": "one" }, { "alias": "second", "model": "two" }]);
            add_pool(&cli, "mine", &json!({ "members": members }));
            let set = call(&cli, &["budget", "set", "1usd/day"]);
            assert_eq!(set.code, Some(0), "{set}");
            let output = call(&cli, args);
            assert_eq!(output.code, Some(0), "{first} {args:?}: {output}");
            let spent = read_spent(&cli);
            // The second one's 1,100 tokens, and of each kept sending at least its longest answer.
            let kept = f64::from(*kept);
            let (least, most) = (1_100.0 + kept * 5_000.0, 1_100.0 + kept * 9_000.0);
            assert!(
                (least - 0.01..most + 0.01).contains(&spent),
                "{args:?}: {spent} {output}"
            );
        }
    }
}

#[test]
fn best_learns_by_the_kind_of_the_task() {
    let server = answering(SLOPPY_FIX, true);
    let (_repo, cli) = in_repo();
    two_members(&cli, &server.url(), &server.url(), json!({ "selector": "best" }));
    // Both stay once and are undone once; what differs is the kind.
    for (provider, words, is_undone) in [
        ("one", "fix add", false),
        ("one", "document add", true),
        ("two", "fix add", true),
        ("two", "document add", false),
    ] {
        let run = call(&cli, &["run", words, "-p", provider, "--file", "src/lib.rs"]);
        assert_eq!(run.code, Some(0), "{run}");
        let undone = call(&cli, &["undo", "--yes"]);
        assert_eq!(undone.code, Some(0), "{undone}");
        if !is_undone {
            let again = call(&cli, &["undo", "--yes"]);
            assert_eq!(again.code, Some(0), "{again}");
            // The next run needs the text of before, so a person takes it back by hand.
            assert!(_repo.git(&["revert", "--no-edit", "HEAD"]).contains("Revert"));
        }
    }
    for (message, expected, kind) in [
        ("fix the sum", "first", "fix"),
        ("document the sum", "second", "docs"),
        ("rename the sum", "first", "refactor"),
    ] {
        let (code, choice) = call_json(
            &cli,
            SchemaName::PoolChoice,
            &["pool", "select", "--message", message],
        );
        assert_eq!(
            (code, &choice["alias"], &choice["input"]["kind"]),
            (Some(0), &json!(expected), &json!(kind)),
            "{choice}"
        );
        let all = &choice["input"]["records"][expected];
        assert_eq!(
            (&all["stayed"], &all["rejected"]),
            (&json!(1), &json!(1)),
            "{choice}"
        );
    }
}

/// The choices of all selectors, for turns with and without needs and after failures, in a ledger whose file is taken to another home
/// folder without the pool, its providers or its statistics.
#[test]
fn every_recorded_choice_replays_on_another_machine() {
    let (_repo, cli) = in_repo();
    let (first, second) = (answering("First.", true), answering(SLOPPY_FIX, true));
    let selectors = [
        "default",
        "capability",
        "cheapest",
        "fastest",
        "resources",
        "best",
        "split",
    ];
    let gone = closed_port().unwrap();
    for (selector, url) in selectors
        .iter()
        .flat_map(|name| [(*name, first.url()), (*name, gone.clone())])
    {
        two_members(&cli, &url, &second.url(), json!({ "selector": selector }));
        let args = [
            "chat",
            "send",
            "-p",
            "mine",
            "-c",
            "kept",
            "--require",
            "runs_locally=true",
            "Describe it.",
        ];
        let sent = call(&cli, &args);
        assert_eq!(sent.code, Some(0), "{sent}");
    }
    two_members(&cli, &gone, &second.url(), json!({ "selector": "best" }));
    let run = call(&cli, &RUN);
    assert_eq!(run.code, Some(0), "{run}");
    let ledger = cli.home().join(".local/state/agentos/ledger");
    let elsewhere = agentos();
    let mut choices = 0;
    for file in list_tape(&ledger) {
        let (code, replay) = call_json(
            &elsewhere,
            SchemaName::PoolReplay,
            &["pool", "replay", file.to_str().unwrap()],
        );
        assert_eq!((code, &replay["differences"]), (Some(0), &json!([])), "{replay}");
        choices += replay["choices"].as_u64().unwrap();
    }
    // Seven selectors with two states of the first server, and a run with a member that failed.
    assert!(choices >= 16, "{choices}");
    // A changed record is found.
    let file = list_tape(&ledger).remove(0);
    let text = String::from_utf8(read_file(&file)).unwrap();
    let changed = elsewhere.home().join("changed.jsonl");
    write_file(
        &changed,
        text.replace("\"alias\":\"first\",\"input\"", "\"alias\":\"other\",\"input\""),
    );
    let replay = call(&elsewhere, &["pool", "replay", changed.to_str().unwrap()]);
    assert_eq!(replay.code, Some(7), "{replay}");
}

fn list_tape(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort();
    files
}

#[test]
fn a_hard_task_goes_to_a_large_member_and_its_choice_replays() {
    let cli = agentos();
    let member = |alias: &str, tier: &str, price: f64| json!({ "alias": alias, "model": format!("openai/{alias}"), "abilities": { "tier": tier }, "price": { "input": price, "output": price } });
    let pool = json!({ "provider": "mine", "adapter": "pool", "pool": { "selector": "complexity", "members": [
        member("big", "large", 9.0), member("tiny", "small", 1.0), member("middle", "medium", 3.0)] } });
    write_file(
        &cli.home().join(".config/agentos/profiles/mine.json"),
        pool.to_string(),
    );
    let select = |more: &[&str]| {
        let output = cli
            .run(&[&["pool", "select", "-p", "mine", "--json"], more].concat())
            .unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        output.json().unwrap()
    };
    let hard = "Fix the race: redesign the protocol for concurrency";
    let cases: [(&[&str], &str, &str); 4] = [
        (&["--message", "hello"], "tiny", "simple"),
        (&["--message", "fix the race"], "middle", "moderate"),
        (&["--message", hard], "big", "complex"),
        // The conversation counts too.
        (
            &["--message", "fix it", "--context-size", "200000"],
            "big",
            "complex",
        ),
    ];
    for (words, alias, level) in cases {
        let choice = select(words);
        let found = (&choice["alias"], &choice["input"]["complexity"]["level"]);
        assert_eq!(found, (&json!(alias), &json!(level)), "{choice}");
        let file = cli.home().join("choice.json");
        write_file(&file, choice.to_string());
        let replayed = cli.run(&["pool", "replay", file.to_str().unwrap()]).unwrap();
        assert_eq!(replayed.code, Some(0), "{replayed}");
    }
    let shown = cli
        .run(&["pool", "select", "-p", "mine", "--message", "fix the race"])
        .unwrap();
    assert!(
        shown
            .stdout
            .contains("the task is moderate: `race`, a task of the kind `fix`; the smallest `tier` for it"),
        "{shown}"
    );
}
