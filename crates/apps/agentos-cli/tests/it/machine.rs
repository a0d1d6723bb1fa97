//! The machine: its state, models that servers load and unload, and pools that switch when memory runs short.

mod real;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::{Cli, interrupt};
use agentos_testkit::repo::{read_file, write_file};
use agentos_testkit::server::{FakeServer, Recorded, Reply, head};
use serde_json::{Value, json};

use crate::support::agentos;

const GIB: u64 = 1 << 30;

pub fn add_profile(cli: &Cli, name: &str, profile: &Value) {
    let mut profile = profile.clone();
    profile["provider"] = json!(name);
    let file = cli.home().join(format!(".config/agentos/profiles/{name}.json"));
    write_file(&file, profile.to_string());
}

/// Writes the script of a machine with 32 GiB: time in seconds and free GiB of each look.
pub fn script(cli: &Cli, looks: &[(u64, u64)]) -> String {
    let lines = looks.iter().map(|(seconds, free)| {
        let memory = json!({ "total_bytes": 32 * GIB, "free_bytes": free * GIB });
        json!({ "at_ms": (1_000 + seconds) * 1_000, "memory": memory, "processor": { "cores": 8, "used_percent": 5 } })
            .to_string()
    });
    let file = cli.home().join("machine.jsonl");
    write_file(&file, lines.collect::<Vec<_>>().join("\n"));
    file.display().to_string()
}

/// Runs a verb and returns its exit code and its JSON, which fits the schema.
pub fn call(cli: &Cli, schema: SchemaName, args: &[&str]) -> (Option<i32>, Value) {
    let output = cli.run(&[args, &["--json"]].concat()).unwrap();
    let value = output
        .json()
        .unwrap_or_else(|error| panic!("{args:?}: {error} {output}"));
    assert_eq!(validate_value(schema, &value), Ok(()), "{value}");
    (output.code, value)
}

/// A server with the models `a` and `b`, of which `a` can be loaded and unloaded; it speaks the wires of four kinds of servers.
struct Loadable {
    server: FakeServer,
    loads: Arc<AtomicUsize>,
    is_loaded: Arc<AtomicBool>,
}

fn loadable() -> Loadable {
    let (loads, is_loaded) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (counted, state) = (Arc::clone(&loads), Arc::clone(&is_loaded));
    let server = FakeServer::start(move |request| {
        let load = |now: bool| {
            counted.fetch_add(usize::from(now), Ordering::SeqCst);
            state.store(now, Ordering::SeqCst);
            Reply::json(200, &json!({ "success": true }))
        };
        let sent = request.json();
        match request.path.as_str() {
            "/api/v1/models/load" | "/models/load" => {
                assert_eq!(sent, json!({ "model": "a" }));
                load(true)
            }
            "/api/v1/models/unload" => {
                assert_eq!(sent, json!({ "instance_id": "a:1" }));
                load(false)
            }
            "/models/unload" => load(false),
            "/api/generate" => {
                assert!(sent.get("prompt").is_none(), "nothing is generated: {sent}");
                load(sent["keep_alive"] != json!(0))
            }
            "/upstream/a/health" => load(true),
            "/api/models/unload/a" => {
                load(false);
                Reply::http(200, &[("content-type", "text/plain")], b"OK")
            }
            path => list_models(path, state.load(Ordering::SeqCst)),
        }
    })
    .unwrap();
    Loadable {
        server,
        loads,
        is_loaded,
    }
}

/// The documents of these servers about their models.
fn list_models(path: &str, is_loaded: bool) -> Reply {
    let instances = if is_loaded {
        json!([{ "id": "a:1", "config": { "context_length": 4096 } }])
    } else {
        json!([])
    };
    let status = if is_loaded { "loaded" } else { "unloaded" };
    let running = if is_loaded {
        json!([{ "name": "a", "context_length": 4096, "size": 5 }])
    } else {
        json!([])
    };
    let swapped = if is_loaded {
        json!([{ "model": "a", "state": "ready" }])
    } else {
        json!([])
    };
    let answer = match path {
        "/api/v1/models" => json!({ "models": [
            { "type": "llm", "key": "a", "size_bytes": 5, "loaded_instances": instances },
            { "type": "llm", "key": "b", "loaded_instances": [] } ] }),
        "/v1/models" => json!({ "data": [
            { "id": "a", "status": { "value": status }, "meta": { "n_ctx": 4096 } },
            { "id": "b", "status": { "value": "unloaded" } } ] }),
        "/props" => json!({ "role": "router", "default_generation_settings": { "n_ctx": 0 } }),
        "/health" => json!({ "status": "ok" }),
        "/api/version" => json!({ "version": "0.30.0" }),
        "/api/tags" => json!({ "models": [{ "name": "a" }, { "name": "b:latest" }] }),
        "/api/ps" => json!({ "models": running }),
        "/running" => json!({ "running": swapped }),
        _ => return Reply::json(404, &json!({ "error": "not found" })),
    };
    Reply::json(200, &answer)
}

#[test]
fn each_kind_of_server_loads_and_unloads_the_model_that_is_named() {
    // The fakes follow the servers' documents. `real` has the same with llama.cpp's own router.
    let cases = [
        ("lmstudio", "/v1", "/api/v1/models/load", "/api/v1/models/unload"),
        ("ollama", "", "/api/generate", "/api/generate"),
        ("llamacpp", "", "/models/load", "/models/unload"),
        ("openai", "/v1", "/upstream/a/health", "/api/models/unload/a"),
    ];
    for (adapter, path, load, unload) in cases {
        let cli = agentos();
        let fake = loadable();
        let url = format!("{}{path}", fake.server.url());
        add_profile(
            &cli,
            "mine",
            &json!({ "adapter": adapter, "base_url": url, "requires_key": false }),
        );
        let act = |verb: &str| {
            let (code, report) = call(&cli, SchemaName::ModelAction, &["model", verb, "mine/a"]);
            assert_eq!(
                (code, &report["model"]),
                (Some(0), &json!("a")),
                "{adapter} {verb}"
            );
            report["was_so"].as_bool().unwrap()
        };
        assert_eq!([act("load"), act("load")], [false, true], "{adapter}");
        assert_eq!(fake.loads.load(Ordering::SeqCst), 1, "{adapter}");
        let (_, status) = call(&cli, SchemaName::Status, &["status"]);
        let loaded = &status["machine"]["models"];
        assert_eq!(loaded.as_array().unwrap().len(), 1, "{adapter}: {loaded}");
        assert_eq!(
            (&loaded[0]["provider"], &loaded[0]["model"]),
            (&json!("mine"), &json!("a"))
        );
        assert_eq!([act("unload"), act("unload")], [false, true], "{adapter}");
        let posted = fake.server.requests().into_iter().map(|request| request.path);
        let posted: Vec<String> = posted.filter(|path| path == load || path == unload).collect();
        assert_eq!(posted, [load, unload], "{adapter}");
        let wrong = cli.run(&["model", "load", "mine/nope"]).unwrap();
        assert_eq!(wrong.code, Some(5), "{adapter}: {wrong}");
        assert!(wrong.stderr.contains("[unknown-model]"), "{adapter}: {wrong}");
    }
}

#[test]
fn a_server_that_cannot_load_says_so() {
    let cli = agentos();
    let plain = FakeServer::start(|request| match request.path.as_str() {
        "/v1/models" => Reply::json(200, &json!({ "data": [{ "id": "a" }] })),
        _ => Reply::json(404, &json!({ "error": { "message": "not found" } })),
    })
    .unwrap();
    add_profile(
        &cli,
        "plain",
        &json!({ "adapter": "openai", "base_url": format!("{}/v1", plain.url()), "requires_key": false }),
    );
    let broken = FakeServer::start(|request| match request.path.as_str() {
        "/api/v1/models/load" => Reply::json(
            500,
            &json!({ "error": { "message": "Failed to load model \"a\"" } }),
        ),
        path => list_models(path, false),
    })
    .unwrap();
    add_profile(
        &cli,
        "broken",
        &json!({ "adapter": "lmstudio", "base_url": format!("{}/v1", broken.url()) }),
    );
    let cases = [
        (["model", "load", "plain/a"], 5, "[no-loading]"),
        (["model", "load", "broken/a"], 5, "[load-failed]"),
        (["model", "load", "openai/gpt-4o"], 5, "[no-loading]"),
        (["model", "load", "lmstudio"], 5, "[missing-model]"),
        (["model", "load", "qwen/qwen3"], 2, "write the provider before it"),
    ];
    for (args, code, said) in cases {
        let output = cli.run(&args).unwrap();
        assert_eq!(output.code, Some(code), "{args:?}: {output}");
        assert!(output.stderr.contains(said), "{args:?}: {output}");
    }
}

#[test]
fn parallel_calls_load_a_model_once() {
    let cli = agentos();
    let fake = loadable();
    add_profile(
        &cli,
        "mine",
        &json!({ "adapter": "lmstudio", "base_url": format!("{}/v1", fake.server.url()) }),
    );
    let children: Vec<_> = (0..32)
        .map(|_| {
            let mut command = cli.command(&["model", "load", "mine/a"]);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(fake.loads.load(Ordering::SeqCst), 1);
    assert!(fake.is_loaded.load(Ordering::SeqCst));
}

/// State of a server that loads a model with its first request, and a model for each request that comes before it is loaded.
#[derive(Default)]
struct LazyState {
    loads: usize,
    polls: usize,
    is_loaded: bool,
}

fn answer_chat(text: &str) -> Reply {
    let piece = json!({ "model": "a", "choices": [{ "index": 0, "delta": { "content": text } }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
    bytes.extend_from_slice(format!("data: {piece}\n\ndata: {end}\n\n").as_bytes());
    Reply::Bytes(bytes)
}

#[test]
fn parallel_first_requests_load_a_model_once() {
    const SENDERS: usize = 32;
    let state = Arc::new((Mutex::new(LazyState::default()), Condvar::new()));
    let shared = Arc::clone(&state);
    let server = FakeServer::start(move |request| {
        let (state, changed) = &*shared;
        let mut state = state.lock().unwrap();
        if request.path == "/v1/chat/completions" {
            if !state.is_loaded {
                state.loads += 1;
                // Loading lasts until every other sender has looked: without the lock, all of them would have sent by then.
                while state.polls < SENDERS {
                    state = changed.wait(state).unwrap();
                }
                state.is_loaded = true;
            }
            return answer_chat("ok");
        }
        if request.path == "/api/v1/models" {
            state.polls += 1;
            changed.notify_all();
        }
        list_models(&request.path, state.is_loaded)
    })
    .unwrap();
    let cli = agentos();
    add_profile(
        &cli,
        "mine",
        &json!({ "adapter": "lmstudio", "base_url": format!("{}/v1", server.url()), "model": "a" }),
    );
    let children: Vec<_> = (0..SENDERS)
        .map(|number| {
            let session = format!("s{number}");
            let mut command = cli.command(&["chat", "send", "-c", &session, "-p", "mine", "hi"]);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(state.0.lock().unwrap().loads, 1);
}

#[test]
fn nothing_is_loaded_that_nobody_asked_for() {
    let cli = agentos();
    let fake = loadable();
    add_profile(
        &cli,
        "mine",
        &json!({ "adapter": "lmstudio", "base_url": format!("{}/v1", fake.server.url()) }),
    );
    add_profile(
        &cli,
        "duo",
        &json!({ "adapter": "pool", "pool": { "selector": "resources", "members": [
        { "alias": "one", "model": "mine/a", "memory_bytes": 1024 }, { "alias": "two", "model": "mine/b" } ] } }),
    );
    for args in [
        &["status"][..],
        &["tool", "health", "-p", "mine"],
        &["models", "list", "--available"],
        &["pool", "select", "-p", "duo"],
        &["pool", "detect", "-p", "duo"],
        &["doctor"],
        &["model", "unload", "mine/a"],
    ] {
        cli.run(args).unwrap();
    }
    let changing = |request: &Recorded| request.method != "GET";
    let asked = fake.server.requests();
    assert!(!asked.is_empty() && !asked.iter().any(changing), "{asked:?}");
}

#[test]
fn the_state_of_the_machine_is_shown_and_watched() {
    let cli = agentos();
    let fake = loadable();
    fake.is_loaded.store(true, Ordering::SeqCst);
    add_profile(
        &cli,
        "mine",
        &json!({ "adapter": "lmstudio", "base_url": format!("{}/v1", fake.server.url()) }),
    );
    let file = script(&cli, &[(1, 12), (2, 4)]);
    let cli = cli.env("AGENTOS_MACHINE_SCRIPT", file);
    let shown = cli.run(&["status"]).unwrap();
    insta::assert_snapshot!(shown.stdout, @r"
    memory     12.0 GiB of 32.0 GiB free
    processor  5 % used, 8 cores
    gpu        none
    models     mine/a, window 4096 tokens, 0 MiB
    ");
    let mut watching = cli.command(&["status", "--watch=1", "--json"]);
    let mut child = watching
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for free in [12, 4, 4] {
        let report: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(validate_value(SchemaName::Machine, &report), Ok(()));
        assert_eq!(report["sample"]["memory"]["free_bytes"], json!(free * GIB));
    }
    assert!(interrupt(&child));
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Servers whose answers state how many messages they were sent, and a pool of them.
fn add_pool(cli: &Cli, large: &str, small: &str) {
    for (name, url) in [("big", large), ("little", small)] {
        let window = json!({ "context_window": 32_000 });
        add_profile(
            cli,
            name,
            &json!({ "adapter": "openai", "base_url": format!("{url}/v1"), "model": "tiny", "requires_key": false,
            "capabilities": window }),
        );
    }
    add_profile(
        cli,
        "duo",
        &json!({ "adapter": "pool", "pool": { "selector": "resources", "members": [
        { "alias": "large", "model": "big", "abilities": { "tier": "large" } },
        { "alias": "small", "model": "little", "memory_bytes": GIB } ] } }),
    );
}

/// Sends a message in the session `talk`, and returns the provider that answered, the answer, and the reason of the choice.
fn send(cli: &Cli, text: &str) -> (String, String, String) {
    let (code, turn) = call(
        cli,
        SchemaName::ChatTurn,
        &["chat", "send", "-c", "talk", "-p", "duo", text],
    );
    assert_eq!(code, Some(0), "{turn}");
    let choice = &turn["turn"]["choice"];
    let file = cli.home().join("choice.json");
    write_file(&file, turn.to_string());
    let (code, replay) = call(
        cli,
        SchemaName::PoolReplay,
        &["pool", "replay", file.to_str().unwrap()],
    );
    assert_eq!((code, &replay["differences"]), (Some(0), &json!([])), "{replay}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (
        text(&choice["alias"]),
        text(&turn["answer"]),
        text(&choice["reason"]),
    )
}

#[test]
fn a_talk_goes_on_with_a_smaller_model_while_memory_is_short() {
    let server = |name: &'static str| {
        FakeServer::start(move |request| {
            let sent = request.json()["messages"].as_array().cloned().unwrap_or_default();
            let knows = sent
                .iter()
                .any(|message| message["content"] == json!("My name is Ada."));
            answer_chat(&format!(
                "{name}, {} messages, knows the name: {knows}",
                sent.len()
            ))
        })
        .unwrap()
    };
    let (large, small) = (server("large"), server("small"));
    let cli = agentos();
    // Seconds and free GiB. Short for 40 s; then enough, of which the first 30 s are the cool-down.
    let looks = [
        (0, 20),
        (10, 20),
        (20, 2),
        (30, 20),
        (45, 20),
        (60, 20),
        (70, 2),
        (100, 2),
    ];
    let file = script(&cli, &looks);
    let cli = cli.env("AGENTOS_MACHINE_SCRIPT", file);
    add_pool(&cli, &large.url(), &small.url());
    let said: Vec<String> = ["My name is Ada.", "2", "3", "4", "5", "6", "7", "8"]
        .iter()
        .map(|text| {
            let (alias, answer, reason) = send(&cli, text);
            format!("{alias} | {answer} | {reason}")
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    large | large, 1 messages, knows the name: true | the largest model that can run: free memory is enough
    large | large, 3 messages, knows the name: true | it answered last, and nothing speaks against it
    small | small, 5 messages, knows the name: true | switched down from `large`: 93 % of the memory is used, in all looks of the last 5 s
    small | small, 7 messages, knows the name: true | the last switch was less than 30 s ago
    small | small, 9 messages, knows the name: true | the last switch was less than 30 s ago
    large | large, 11 messages, knows the name: true | switched up from `small`: memory for it was free in all looks of the last 5 s
    large | large, 13 messages, knows the name: true | the last switch was less than 30 s ago
    small | small, 15 messages, knows the name: true | switched down from `large`: 93 % of the memory is used, in all looks of the last 5 s
    ");
    let (_, status) = call(&cli, SchemaName::Status, &["status"]);
    let switch = &status["machine"]["switches"][0];
    assert_eq!(
        (&switch["pool"], &switch["from"], &switch["to"]),
        (&json!("duo"), &json!("large"), &json!("small"))
    );
    let shown = cli.run(&["status"]).unwrap();
    assert!(
        shown.stdout.contains("last switch  pool duo: large -> small at "),
        "{shown}"
    );
}

#[test]
fn a_switch_is_told_unless_the_pool_wants_silence() {
    for (notify, is_told) in [(None, true), (Some("notice"), true), (Some("silent"), false)] {
        let (large, small) = (
            FakeServer::start(|_| answer_chat("large")).unwrap(),
            FakeServer::start(|_| answer_chat("small")).unwrap(),
        );
        let cli = agentos();
        let file = script(&cli, &[(0, 20), (10, 2)]);
        let cli = cli.env("AGENTOS_MACHINE_SCRIPT", file);
        add_pool(&cli, &large.url(), &small.url());
        let path = cli.home().join(".config/agentos/profiles/duo.json");
        let mut profile: Value = serde_json::from_slice(&read_file(&path)).unwrap();
        if let Some(word) = notify {
            profile["pool"]["notify"] = json!(word);
        }
        write_file(&path, profile.to_string());
        let send = || {
            cli.run(&["chat", "send", "-c", "talk", "-p", "duo", "hi"])
                .unwrap()
        };
        let first = send();
        assert!(!first.stderr.contains("answers now"), "{first}");
        let second = send();
        assert_eq!(
            (second.code, second.stdout.trim()),
            (Some(0), "small"),
            "{second}"
        );
        let notice = "`small` answers now, and not `large`: switched down from `large`";
        assert_eq!(second.stderr.contains(notice), is_told, "{second}");
        // The record has it in any case.
        let status = cli.run(&["status"]).unwrap();
        assert!(
            status.stdout.contains("last switch  pool duo: large -> small"),
            "{status}"
        );
    }
}

#[test]
fn a_switch_down_unloads_what_it_leaves_only_if_its_pool_says_so() {
    for unload in [true, false] {
        let cli = agentos();
        let fake = loadable();
        fake.is_loaded.store(true, Ordering::SeqCst);
        let small = FakeServer::start(|_| answer_chat("small")).unwrap();
        let file = script(&cli, &[(0, 2)]);
        let cli = cli.env("AGENTOS_MACHINE_SCRIPT", file);
        add_pool(&cli, "http://127.0.0.1:1", &small.url());
        let big =
            json!({ "adapter": "lmstudio", "base_url": format!("{}/v1", fake.server.url()), "model": "a" });
        add_profile(&cli, "big", &big);
        let path = cli.home().join(".config/agentos/profiles/duo.json");
        let mut profile: Value = serde_json::from_slice(&read_file(&path)).unwrap();
        profile["pool"]["unload"] = json!(unload);
        profile["pool"]["members"][0]["model"] = json!("big/a");
        write_file(&path, profile.to_string());
        // The member that answered last.
        let state = json!({ "running": "large" });
        write_file(
            &cli.home().join(".local/state/agentos/machine/pools/duo.json"),
            state.to_string(),
        );
        let (code, turn) = call(
            &cli,
            SchemaName::ChatTurn,
            &["chat", "send", "-c", "talk", "-p", "duo", "hi"],
        );
        assert_eq!((code, &turn["answer"]), (Some(0), &json!("small")), "{turn}");
        assert_eq!(fake.is_loaded.load(Ordering::SeqCst), !unload);
        let (_, stats) = call(&cli, SchemaName::PoolStats, &["pool", "stats", "-p", "duo"]);
        let unloaded = match unload {
            true => json!({ "alias": "large", "model": "big/a" }),
            false => Value::Null,
        };
        assert_eq!(turn["turn"]["choice"]["unloaded"], unloaded, "{turn}");
        assert_eq!(stats["switches"][0]["unloaded"], unloaded, "{stats}");
        let shown = cli.run(&["pool", "stats", "-p", "duo"]).unwrap();
        assert!(shown.stdout.contains("large -> small"), "{shown}");
        assert_eq!(shown.stdout.contains("; big/a unloaded"), unload, "{shown}");
    }
}

#[test]
fn a_conversation_loads_a_model_ahead_only_if_its_pool_says_so() {
    for preload in [true, false] {
        let cli = agentos();
        let fake = loadable();
        add_profile(
            &cli,
            "mine",
            &json!({ "adapter": "lmstudio", "base_url": format!("{}/v1", fake.server.url()) }),
        );
        add_profile(
            &cli,
            "duo",
            &json!({ "adapter": "pool", "pool": { "preload": preload, "members": [{ "alias": "one", "model": "mine/a" }] } }),
        );
        let mut command = cli.command(&["chat", "-p", "duo"]);
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.unwrap();
        // The conversation waits for its first message, and nothing but the load can happen before it.
        let was_loaded = || fake.loads.load(Ordering::SeqCst) > 0;
        while preload && !was_loaded() {
            assert_eq!(child.try_wait().unwrap(), None);
            std::thread::yield_now();
        }
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        assert_eq!(was_loaded(), preload);
    }
}
