//! `tool health --probe|--watch`, many silent providers, and what is remembered of a key.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use agentos_net::Deadline;
use agentos_testkit::cli::interrupt;
use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Reply};
use serde_json::json;

use crate::support::{SLOPPY_FIX, agentos, chat_server, openai_at, seen, small_repo};

const BLOCKS: &str = "fruit.txt\n<<<<<<< SEARCH\nbanana\n=======\norange\n>>>>>>> REPLACE\n";

#[test]
fn a_probe_ranks_the_edit_formats_and_keeps_the_best_in_the_profile() {
    let server = chat_server(BLOCKS, || {});
    let flags = openai_at(&server.url());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let cli = agentos();
    let path = cli.home().join(".config/agentos/profiles/openai.json");
    let profile =
        json!({ "provider": "openai", "timeout_seconds": 7, "price": { "input": 1.0, "output": 2.0 } });
    write_file(&path, profile.to_string());
    let output = cli
        .run(&[&["tool", "health", "--probe", "--save"], &flags[..]].concat())
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let repo = small_repo();
    let text = seen(&output, &repo).replace(&cli.home().display().to_string(), "[HOME]");
    insta::assert_snapshot!(text, @r"
    exit: 0
    --- stdout
    openai  connected        127.0.0.1:[PORT]  `127.0.0.1:[PORT]` is ready with model `tiny-coder`; no key is sent: the key is for `api.openai.com:443`, not for `127.0.0.1:[PORT]`
                             next: send the key there with `--send-key`, or set the right key in `AGENTOS_OPENAI_API_KEY`, which takes precedence over stored keys

    openai  follows `search-replace`, saved in [TMP]/.config/agentos/profiles/openai.json
      search-replace  obeyed ([DURATION], 7 tokens, less than $0.0001)
      unified-diff    the right change, in another format than the requested one ([DURATION], 7 tokens, less than $0.0001)
      json-edits      the right change, in another format than the requested one ([DURATION], 7 tokens, less than $0.0001)
      whole-file      the right change, in another format than the requested one ([DURATION], 7 tokens, less than $0.0001)
    --- stderr
    ");
    let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(
        (&kept["edit_format"], &kept["timeout_seconds"]),
        (&json!("search-replace"), &json!(7))
    );
    // Nothing is generated unasked.
    let before = server.requests().len();
    cli.run(&[&["tool", "health"], &flags[..]].concat()).unwrap();
    assert!(
        server.requests()[before..]
            .iter()
            .all(|request| request.method == "GET")
    );
}

#[test]
fn a_model_that_obeys_no_form_is_not_available() {
    let server = chat_server("I would rather not.", || {});
    let flags = openai_at(&server.url());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let output = agentos()
        .run(&[&["tool", "health", "--probe", "--json"], &flags[..]].concat())
        .unwrap();
    assert_eq!(output.code, Some(5), "{output}");
    let json = output.json().unwrap();
    assert_eq!(json["tools"][0]["status"], "connected");
    assert_eq!(json["probes"][0]["best"], json!(null), "{json}");
    assert_eq!(json["probes"][0]["formats"].as_array().unwrap().len(), 4);
}

/// A server whose model answers with this message, whatever it is asked.
fn model_says(message: serde_json::Value) -> FakeServer {
    FakeServer::start(move |request| {
        if request.method == "GET" {
            return Reply::json(
                200,
                &json!({ "object": "list", "data": [{ "id": "tiny-coder" }] }),
            );
        }
        let choice = json!({ "index": 0, "finish_reason": "stop", "message": message });
        let usage = json!({ "prompt_tokens": 40, "completion_tokens": 9 });
        Reply::json(
            200,
            &json!({ "model": "tiny-coder", "choices": [choice], "usage": usage }),
        )
    })
    .unwrap()
}

#[test]
fn tool_calls_are_tried_where_asked_and_held_against_what_is_declared() {
    let call = json!({ "type": "function", "id": "c1", "function": { "name": "pick_fruit", "arguments": "{\"fruit\":\"orange\"}" } });
    let can = model_says(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
    let cannot = model_says(json!({ "role": "assistant", "content": "orange" }));
    let wire = json!({ "path": "v1/chat/completions", "request": { "input": "{{prompt}}" }, "answer": "/choices/0/message/content" });
    let cli = agentos();
    for (name, server, more) in [
        ("can", &can, json!({})),
        ("can-quietly", &can, json!({ "capabilities": { "tools": false } })),
        ("cannot", &cannot, json!({ "capabilities": { "tools": false } })),
        ("promises", &cannot, json!({ "capabilities": { "tools": true } })),
        (
            "wireless",
            &cannot,
            json!({ "adapter": "generic-http", "http": wire }),
        ),
    ] {
        let mut profile = json!({
            "provider": name, "adapter": "openai", "base_url": format!("{}/v1", server.url()), "model": "tiny-coder",
        });
        let fields = profile.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        if name == "wireless" {
            fields.insert("base_url".to_owned(), server.url().into());
        }
        let file = cli.home().join(format!(".config/agentos/profiles/{name}.json"));
        write_file(&file, profile.to_string());
    }
    let all = ["can", "can-quietly", "cannot", "promises", "wireless"];
    let flags: Vec<&str> = all.iter().flat_map(|name| ["-p", name]).collect();
    let output = cli
        .run(&[&["tool", "health", "--probe-tools"], &flags[..]].concat())
        .unwrap();
    assert_eq!(output.code, Some(5), "one that was named fails: {output}");
    let text = seen(&output, &small_repo());
    let (_, calls) = text.split_once("\n\n").unwrap();
    insta::assert_snapshot!(calls, @r"
    can          tool calls: PASS  it called the offered tool with valid arguments ([DURATION], 9 tokens)
    can-quietly  tool calls: PASS  it called the offered tool with valid arguments; `capabilities.tools` is declared as false ([DURATION], 9 tokens)
    cannot       tool calls: FAIL  it answered without a call of the offered tool ([DURATION], 9 tokens)
    promises     tool calls: FAIL  it answered without a call of the offered tool; `capabilities.tools` is declared as true ([DURATION], 9 tokens)
    wireless     tool calls: SKIP  its wire has no tools, so none was offered
    --- stderr
    ");
    // By itself each ends with what was asked for, and nothing is generated that was not.
    for (name, code, verdict) in [("can", 0, "pass"), ("cannot", 5, "fail"), ("wireless", 0, "skip")] {
        let one = ["tool", "health", "--probe-tools", "--json", "-p", name];
        let output = cli.run(&one).unwrap();
        assert_eq!(output.code, Some(code), "{output}");
        let json = output.json().unwrap();
        assert_eq!(
            (&json["tool_calls"][0]["verdict"], &json["probes"]),
            (&json!(verdict), &json!(null))
        );
    }
    let plain = cli.run(&["tool", "health", "--json", "-p", "can"]).unwrap();
    assert_eq!(plain.json().unwrap()["tool_calls"], json!(null));
    let offers = can
        .requests()
        .iter()
        .filter(|request| request.method == "POST")
        .count();
    assert_eq!(offers, 3);
}

#[test]
fn a_watch_looks_again_until_it_is_stopped() {
    let server = chat_server(SLOPPY_FIX, || {});
    let flags = openai_at(&server.url());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let cli = agentos();
    let mut child = cli
        .command(&[&["tool", "health", "--watch=1"], &flags[..]].concat())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("connected"), "{line}");
        // The next step: a key is set, and it is for another address.
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("--send-key"), "{line}");
    }
    assert!(interrupt(&child));
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// All at once: the slowest limit decides, not the sum. The bound is generous, since machines are loaded.
#[test]
fn twenty_silent_providers_take_as_long_as_one() {
    let server = FakeServer::start(|_| Reply::Hang(Vec::new())).unwrap();
    let cli = agentos();
    let mut args = vec!["tool".to_owned(), "health".to_owned(), "--json".to_owned()];
    for number in 0..20 {
        let name = format!("silent-{number}");
        let profile = json!({
            "provider": name, "adapter": "openai", "base_url": format!("{}/v1", server.url()), "timeout_seconds": 2,
        });
        write_file(
            &cli.home().join(format!(".config/agentos/profiles/{name}.json")),
            profile.to_string(),
        );
        args.extend(["-p".to_owned(), name]);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let watch = Deadline::after(Duration::from_secs(600));
    let output = cli.run(&args).unwrap();
    let took = watch.elapsed_ms();
    assert_eq!(output.code, Some(5), "{output}");
    let json = output.json().unwrap();
    let tools = json["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 20);
    for tool in tools {
        assert_eq!(tool["detail"], "read-timeout", "{tool}");
    }
    assert!(took < 20_000, "{took} ms for twenty limits of 2 s");
}

#[test]
fn the_last_check_of_a_key_is_shown_and_belongs_to_that_key() {
    let key = "sk-test-0123456789abcdefWXYZ";
    let good = chat_server("ok", || {});
    let bad = FakeServer::start(|_| Reply::json(401, &json!({ "error": { "message": "no", "code": 401 } })))
        .unwrap();
    let cli = agentos();
    let check = |key: &str, url: &str| {
        // The same home, another key.
        let cli = agentos()
            .env("HOME", cli.home())
            .env("AGENTOS_OPENAI_API_KEY", key);
        let flags = openai_at(url);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        if !url.is_empty() {
            cli.run(&[&["tool", "health"], &flags[..]].concat()).unwrap();
        }
        let status = cli.run(&["tool", "auth", "status", "--json"]).unwrap();
        status.json().unwrap()["keys"]["openai"]["last_check"].clone()
    };
    assert_eq!(check(key, "")["accepted"], json!(null));
    assert_eq!(check(key, &good.url())["accepted"], true);
    assert_eq!(
        check(key, "")["endpoint"],
        good.url().trim_start_matches("http://")
    );
    assert_eq!(
        check("sk-test-0123456789abcdefOTHR", ""),
        json!(null),
        "another key was not checked"
    );
    assert_eq!(check(key, &bad.url())["accepted"], false);
    let file = std::fs::read_to_string(cli.home().join(".agentos/key-checks.json")).unwrap();
    assert!(file.contains("WXYZ") && !file.contains("cdefWXYZ"), "{file}");
}
