//! `budget`: a call that could overrun a budget is refused before it is sent, and what was spent comes from the ledger.

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Recorded, Reply, head};
use serde_json::{Value, json};

use crate::support::{agentos, small_repo};

/// A server that answers with a word for 100 and 1,000 tokens: 0.0011 US dollars at a dollar for a million.
fn start_server() -> FakeServer {
    let pieces = [
        json!({"model": "tiny", "choices": [{"index": 0, "delta": {"content": "Hm."}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 1_000}}),
    ];
    let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
    for piece in pieces {
        bytes.extend_from_slice(format!("data: {piece}\n\n").as_bytes());
    }
    FakeServer::start(move |_| Reply::Bytes(bytes.clone())).unwrap()
}

fn add_profile(cli: &Cli, name: &str, server: &FakeServer, more: &Value) {
    let mut profile = json!({ "provider": name, "name": name, "adapter": "openai", "model": "tiny",
        "base_url": format!("{}/v1", server.url()), "requires_key": false, "params": { "max_tokens": 1_000 },
        "capabilities": { "context_window": 32_000 } });
    for (key, value) in more.as_object().unwrap() {
        profile[key] = value.clone();
    }
    let file = cli.home().join(format!(".config/agentos/profiles/{name}.json"));
    write_file(&file, profile.to_string());
}

fn budget(cli: &Cli, args: &[&str]) -> Value {
    let output = cli.run(&[&["budget"], args, &["--json"]].concat()).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let report = output.json().unwrap();
    validate_value(SchemaName::Budgets, &report).unwrap();
    report
}

/// Returns the requests for an answer. Others only ask which models there are.
fn asked(server: &FakeServer) -> Vec<Value> {
    let requests = server.requests();
    let asked = requests
        .iter()
        .filter(|request| request.path.ends_with("/chat/completions"));
    asked.map(Recorded::json).collect()
}

fn refusal(output: &CliOutput) -> (Option<i32>, Value) {
    let document = output.json().unwrap();
    let places = ["/error/code", "/turn/end/code", "/code"];
    let code = places.iter().find_map(|place| document.pointer(place));
    (output.code, code.cloned().unwrap_or_default())
}

#[test]
fn a_call_that_could_overrun_a_budget_is_not_sent() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let server = start_server();
    add_profile(
        &cli,
        "mine",
        &server,
        &json!({ "price": { "input": 1.0, "output": 1.0 } }),
    );
    add_profile(
        &cli,
        "far",
        &server,
        &json!({ "capabilities": { "execution_mode": "cloud" } }),
    );
    // Less than the longest answer costs: 1,000 tokens at a dollar for a million.
    budget(&cli, &["set", "0.0005usd/day"]);
    let calls: [&[&str]; 4] = [
        &["chat", "send", "-p", "mine", "Hello", "--json"],
        &["chat", "send", "-p", "mine", "--session", "a", "Hello", "--json"],
        &["run", "-p", "mine", "Fix add.", "--json"],
        &["run", "-p", "mine", "--explore", "Fix add.", "--json"],
    ];
    for call in calls {
        let output = cli.run(call).unwrap();
        assert_eq!(
            refusal(&output),
            (Some(9), json!("budget-spent")),
            "{call:?} {output}"
        );
    }
    for call in calls {
        let far: Vec<&str> = call
            .iter()
            .map(|word| if *word == "mine" { "far" } else { *word })
            .collect();
        let output = cli.run(&far).unwrap();
        assert_eq!(
            refusal(&output),
            (Some(9), json!("budget-no-price")),
            "{far:?} {output}"
        );
    }
    assert_eq!(asked(&server).len(), 0, "no request left");
}

#[test]
fn spent_amounts_come_from_the_ledger_and_survive_a_rebuild() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let server = start_server();
    add_profile(
        &cli,
        "mine",
        &server,
        &json!({ "price": { "input": 1.0, "output": 1.0 } }),
    );
    let send = |more: &[&str]| {
        cli.run(&[&["chat", "send", "-p", "mine", "Hello", "--json"], more].concat())
            .unwrap()
    };
    // Before a budget is set: the ledger has it all the same.
    assert_eq!(send(&[]).code, Some(0));
    budget(&cli, &["set", "0.005/month"]);
    let spent = |report: &Value| report["budgets"][0]["spent_usd"].clone();
    assert_eq!(spent(&budget(&cli, &["list"])), json!("0.0011"));
    assert_eq!(send(&["--session", "a"]).code, Some(0));
    let output = cli.run(&["run", "-p", "mine", "Fix add.", "--json"]).unwrap();
    // Its first answer is no change, and the second attempt would not fit: 0.0017 are left, and it can cost 0.0024.
    assert_eq!(refusal(&output), (Some(9), json!("budget-spent")), "{output}");
    let listed = budget(&cli, &["list"]);
    assert_eq!(
        (spent(&listed), &listed["budgets"][0]["reserved_usd"]),
        (json!("0.0033"), &json!("0"))
    );
    // The limit on the answer is part of the request, because nothing more is reserved.
    assert_eq!(asked(&server)[1]["max_tokens"], json!(1_000));
    let rebuilt = cli.run(&["store", "rebuild"]).unwrap();
    assert_eq!(rebuilt.code, Some(0), "{rebuilt}");
    assert_eq!(spent(&budget(&cli, &["list"])), json!("0.0033"));
    // One more call can cost 0.0014, and 0.0017 are left.
    assert_eq!(send(&[]).code, Some(0));
    let before = asked(&server).len();
    assert_eq!(refusal(&send(&[])), (Some(9), json!("budget-spent")));
    assert_eq!(asked(&server).len(), before, "no request left");
    let cost = cli.run(&["cost", "--json"]).unwrap().json().unwrap();
    assert_eq!(cost["cost_usd"], json!("0.0044"), "each call counts once: {cost}");
}

#[test]
fn budgets_are_set_listed_and_removed() {
    let cli = agentos();
    budget(&cli, &["set", "5usd/day", "--zone", "+09:00"]);
    budget(&cli, &["set", "1/day", "--provider", "openai"]);
    budget(&cli, &["set", "2/day", "--provider", "openai"]);
    let both = budget(&cli, &["set", "20/month", "--session", "review"]);
    let shown: Vec<String> = both["budgets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["limit"].to_string())
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    {"amount_usd":"5","period":"day","scope":{},"zone":"+09:00"}
    {"amount_usd":"2","period":"day","scope":{"provider":"openai"},"zone":"+00:00"}
    {"amount_usd":"20","period":"month","scope":{"session":"conversation:review"},"zone":"+00:00"}
    "#);
    assert_eq!(
        budget(&cli, &["remove", "--provider", "openai"])["budgets"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let wrong = cli
        .run(&["budget", "remove", "day", "--provider", "openai", "--json"])
        .unwrap();
    assert_eq!(refusal(&wrong), (Some(2), json!("usage")));
    let wrong = cli.run(&["budget", "set", "5", "--json"]).unwrap();
    assert_eq!(refusal(&wrong), (Some(2), json!("usage")));
    let table = cli.run(&["budget", "list"]).unwrap();
    assert!(
        table.stdout.contains("20/month") && table.stdout.contains("session conversation:review"),
        "{table}"
    );
}

/// Starts a server that answers as [`start_server`] does, but refuses messages with a word.
fn start_refusing_server(word: &'static str) -> FakeServer {
    let answer = "data: {\"model\":\"tiny\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hm.\"},\"finish_reason\":\"stop\"}],\
                  \"usage\":{\"prompt_tokens\":40,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
    FakeServer::start(move |request| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        match text.contains(word) {
            true => Reply::json(403, &json!({ "error": { "message": "not yours" } })),
            false => {
                let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
                bytes.extend_from_slice(answer.as_bytes());
                Reply::Bytes(bytes)
            }
        }
    })
    .unwrap()
}

#[test]
fn calls_are_counted_and_those_that_were_refused_cost_nothing() {
    let cli = agentos();
    let server = start_refusing_server("refuse");
    // Nobody states a price, and none is needed.
    add_profile(
        &cli,
        "far",
        &server,
        &json!({ "capabilities": { "execution_mode": "cloud", "context_window": 32_000 } }),
    );
    budget(&cli, &["set", "3calls/day"]);
    let send = |text: &str| cli.run(&["chat", "send", "-p", "far", text, "--json"]).unwrap();
    let refused = send("refuse");
    assert_eq!(refusal(&refused).1, json!("forbidden"), "{refused}");
    assert_eq!((send("one").code, send("two").code), (Some(0), Some(0)));
    let before = asked(&server).len();
    let output = send("three");
    assert_eq!(refusal(&output), (Some(9), json!("budget-spent")), "{output}");
    assert_eq!(asked(&server).len(), before, "no request left");
    let error = output.json().unwrap();
    assert_eq!(
        error["error"]["message"],
        "the budget 3 calls/day has 0 calls left (3 calls spent, 0 calls reserved for calls that are waiting), and this would be one more"
    );
    // In tokens: two answers of 42, and a call can have as many as its limit on the answer.
    let listed = budget(&cli, &["set", "1080tokens/month", "--provider", "far"]);
    let used: Vec<&Value> = listed["budgets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["spent"])
        .collect();
    assert_eq!(used, [&json!(3), &json!(84)]);
    budget(&cli, &["remove", "day"]);
    assert_eq!(
        send("four").code,
        Some(9),
        "1,000 tokens of an answer do not fit any more"
    );
    let table = cli.run(&["budget", "list"]).unwrap();
    assert!(
        table.stdout.contains("1080 tokens/month  provider far  84"),
        "{table}"
    );
    let rebuilt = cli.run(&["store", "rebuild"]).unwrap();
    assert_eq!(rebuilt.code, Some(0), "{rebuilt}");
    assert_eq!(budget(&cli, &["list"])["budgets"][0]["spent"], json!(84));
}

#[test]
fn each_guild_has_its_own_calls_and_a_spent_one_leads_to_the_next_member() {
    let cli = agentos();
    let (first, second) = (start_refusing_server("never"), start_refusing_server("never"));
    add_profile(&cli, "first", &first, &json!({}));
    add_profile(&cli, "second", &second, &json!({}));
    let pool = json!({ "provider": "mine", "adapter": "pool", "pool": { "members": [
        { "alias": "a", "model": "first" }, { "alias": "b", "model": "second" }] } });
    write_file(
        &cli.home().join(".config/agentos/profiles/mine.json"),
        pool.to_string(),
    );
    budget(
        &cli,
        &["set", "1call/day", "--provider", "first", "--each", "guild"],
    );
    let send = |session: &str| {
        let output = cli
            .run(&[
                "chat",
                "send",
                "-p",
                "mine",
                "--session",
                session,
                "Hello",
                "--json",
            ])
            .unwrap();
        assert_eq!(output.code, Some(0), "{output}");
    };
    send("channel:red.general");
    send("channel:red.general");
    send("channel:red.other");
    send("channel:blue.general");
    assert_eq!((asked(&first).len(), asked(&second).len()), (2, 2));
    let listed = budget(&cli, &["list"]);
    let rows: Vec<String> = listed["budgets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{} {} {}", row["limit"]["each"], row["group"], row["spent"]))
        .collect();
    assert_eq!(rows, [r#""guild" "blue" 1"#, r#""guild" "red" 1"#]);
    let table = cli.run(&["budget", "list"]).unwrap();
    assert!(
        table
            .stdout
            .contains("1 call/day  provider first, each guild: blue  1"),
        "{table}"
    );
    // One guild alone, and names that no session can have there.
    budget(&cli, &["set", "5calls/minute", "--guild", "red"]);
    budget(&cli, &["remove", "--guild", "red"]);
    for wrong in [["--guild", "a.b"], ["--guild", ""]] {
        let output = cli
            .run(&[&["budget", "set", "1call/day", "--json"], &wrong[..]].concat())
            .unwrap();
        assert_eq!(refusal(&output), (Some(2), json!("usage")), "{output}");
    }
    let both = cli
        .run(&[
            "budget",
            "set",
            "1call/day",
            "--guild",
            "a",
            "--each",
            "guild",
            "--json",
        ])
        .unwrap();
    assert_eq!(both.code, Some(2), "{both}");
}

#[test]
fn processes_at_once_make_no_call_too_many() {
    let cli = agentos();
    let server = start_refusing_server("never");
    add_profile(&cli, "mine", &server, &json!({}));
    budget(&cli, &["set", "5calls/month", "--provider", "mine"]);
    let ends: Vec<Option<i32>> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..12)
            .map(|_| {
                scope.spawn(|| {
                    cli.run(&["chat", "send", "-p", "mine", "Hello", "--json"])
                        .unwrap()
                        .code
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    let count = |code: i32| ends.iter().filter(|end| **end == Some(code)).count();
    assert_eq!((count(0), count(9)), (5, 7), "{ends:?}");
    assert_eq!(asked(&server).len(), 5, "no request more left");
    let listed = budget(&cli, &["list"]);
    assert_eq!(
        (&listed["budgets"][0]["spent"], &listed["budgets"][0]["reserved"]),
        (&json!(5), &json!(0))
    );
}
