//! Clients of OpenAI and Anthropic over the service, with a scripted server behind it.

use std::io::Read as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use agentos_testkit::http::{RawAnswer, begin_request};
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::{FakeServer, Recorded, Reply, closed_port};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{LIB, Sent, Service};

/// Key of the vendor, which no client may ever see.
const VENDOR_KEY: &str = "sk-vendor-1234567890abcdef";

/// A service with these profiles, each a name and its other fields.
fn start_with(profiles: &[(&str, Value)]) -> Service {
    let repo = TestRepo::new();
    repo.write("src/lib.rs", LIB);
    repo.commit_all("begin");
    Service::start_with_profiles(repo, profiles, &[("AGENTOS_FAST_API_KEY", VENDOR_KEY)])
}

fn profile(base_url: &str) -> Value {
    json!({
        "adapter": "openai", "base_url": format!("{base_url}/v1"), "model": "fast-1", "requires_key": true,
        "price": {"input": 1.0, "output": 2.0},
    })
}

fn post(service: &Service, path: &str, body: &Value) -> RawAnswer {
    service.call("POST", path, &body.to_string())
}

fn ask(model: &str) -> Value {
    json!({"model": model, "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]})
}

fn streamed(model: &str) -> Value {
    let mut body = ask(model);
    body["stream"] = json!(true);
    body
}

/// A stream of two pieces and the counts.
fn stream() -> Reply {
    let pieces = [
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}, "finish_reason": null}], "model": "fast-1"}),
        json!({"choices": [{"index": 0, "delta": {"content": "lo"}, "finish_reason": null}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}}),
    ];
    let mut text: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    text.push_str("data: [DONE]\n\n");
    Reply::http(200, &[("content-type", "text/event-stream")], text.as_bytes())
}

fn start_vendor(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> FakeServer {
    FakeServer::start(answer).unwrap()
}

/// Returns the text of a stream. A piece may be cut where it could be the beginning of the vendor's key.
fn join_text(answer: &RawAnswer) -> String {
    let lines = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = lines.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let texts = events.filter_map(|event| {
        let text = event
            .pointer("/choices/0/delta/content")
            .or(event.pointer("/delta/text"));
        Some(text?.as_str()?.to_owned())
    });
    texts.collect()
}

fn json_of(answer: &RawAnswer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
}

#[test]
fn one_model_answers_both_kinds_of_clients() {
    let vendor = start_vendor(|_| stream());
    let service = start_with(&[("fast", profile(&vendor.url()))]);
    let openai = post(&service, "/v1/chat/completions", &ask("fast"));
    assert_eq!(openai.status, 200, "{}", openai.body);
    let body = json_of(&openai);
    assert_eq!(body["choices"][0]["message"]["content"], "Hello");
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!(body["usage"]["total_tokens"], 12);
    assert_eq!(openai.header("x-agentos-provider"), Some("fast"));
    assert_eq!(openai.header("x-agentos-model"), Some("fast-1"));
    // 10 and 2 tokens at 1 and 2 dollars a million.
    assert_eq!(openai.header("x-agentos-cost-usd"), Some("0.000014"));
    assert!(
        openai
            .header("server-timing")
            .unwrap()
            .starts_with("prepare;dur=")
    );

    let anthropic = json_of(&post(&service, "/v1/messages", &ask("fast/other-model")));
    assert_eq!(anthropic["content"], json!([{"type": "text", "text": "Hello"}]));
    assert_eq!(anthropic["stop_reason"], "end_turn");
    let asked: Vec<Value> = vendor.requests().iter().map(Recorded::json).collect();
    assert_eq!(asked[0]["model"], "fast-1");
    assert_eq!(asked[0]["max_tokens"], 50);
    assert_eq!(asked[1]["model"], "other-model");

    // Both calls are in the ledger, as every other call is. The price is about the model that the profile names.
    let cost = service.call("GET", "/api/cost", "").body;
    assert!(
        cost.contains("\"calls\":2") && cost.contains("\"cost_usd\":\"0.000014\",\"calls\":2,\"unknown\":1"),
        "{cost}"
    );
}

#[test]
fn the_format_of_an_answer_reaches_the_vendor() {
    let vendor = start_vendor(|_| stream());
    let service = start_with(&[("fast", profile(&vendor.url()))]);
    let schema = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let described = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}});
    for format in [json!({"type": "json_object"}), json!({"type": "text"}), described] {
        let mut body = ask("fast");
        body["response_format"] = format;
        assert_eq!(post(&service, "/v1/chat/completions", &body).status, 200);
    }
    let sent: Vec<Value> = vendor
        .requests()
        .iter()
        .map(|sent| sent.json()["response_format"].clone())
        .collect();
    assert_eq!(sent[0], json!({"type": "json_object"}));
    assert_eq!(sent[1], Value::Null);
    assert_eq!(sent[2]["json_schema"]["schema"], schema);
}

#[test]
fn a_change_of_the_settings_counts_from_the_next_request_on() {
    let vendor = start_vendor(|_| stream());
    let repo = TestRepo::new();
    repo.write("src/lib.rs", LIB);
    repo.commit_all("begin");
    let mut settings = PathBuf::new();
    let service = Service::start_with(repo, |cli| settings = cli.home().join(".config/agentos"));
    let ask_fast = || post(&service, "/v1/chat/completions", &ask("fast"));
    assert_eq!(ask_fast().status, 404, "there is no such provider yet");
    let write_profile = |model: &str| {
        let mut file = profile(&vendor.url());
        file["provider"] = json!("fast");
        file["name"] = json!("fast");
        file["model"] = json!(model);
        file["requires_key"] = json!(false);
        write_file(&settings.join("profiles/fast.json"), file.to_string());
    };
    for model in ["one", "number-two", "three"] {
        write_profile(model);
        for _ in 0..3 {
            let answer = ask_fast();
            assert_eq!(answer.status, 200, "{}", answer.body);
            assert_eq!(answer.header("x-agentos-model"), Some(model));
        }
    }
    let budgets = json!({"version": 1, "budgets": [{"amount_usd": "0.000001", "period": "day"}]});
    write_file(&settings.join("budgets.json"), budgets.to_string());
    let refused = ask_fast();
    assert_eq!(
        json_of(&refused)["error"]["code"],
        "budget-spent",
        "{}",
        refused.body
    );
    write_file(
        &settings.join("budgets.json"),
        json!({"version": 1, "budgets": []}).to_string(),
    );
    assert_eq!(ask_fast().status, 200);
    write_file(&settings.join("profiles/fast.json"), "{");
    assert_eq!(ask_fast().status, 400, "the profile is broken now");
    let models: Vec<Value> = vendor
        .requests()
        .iter()
        .map(|sent| sent.json()["model"].clone())
        .collect();
    let expected = [["one"; 3], ["number-two"; 3]].concat();
    assert_eq!(models[..6], expected);
    assert_eq!(models.len(), 10, "a refused request is not sent: {models:?}");
}

#[test]
fn a_token_spends_one_dollar_a_day_until_it_has_a_budget() {
    let vendor = start_vendor(|_| stream());
    let mut dear = profile(&vendor.url());
    // The fewest tokens that the request can have cost more than a dollar.
    dear["price"] = json!({"input": 20_000, "output": 2.0});
    let mut unpriced = profile(&vendor.url());
    unpriced.as_object_mut().unwrap().remove("price");
    unpriced["requires_key"] = json!(false);
    unpriced["capabilities"] = json!({"execution_mode": "cloud"});
    let service = start_with(&[("fast", dear), ("unpriced", unpriced)]);
    let set = |budgets: Value| {
        let file = service.cli.home().join(".config/agentos/budgets.json");
        write_file(&file, json!({"version": 1, "budgets": budgets}).to_string());
    };
    let ask_for =
        |model: &str| json_of(&post(&service, "/v1/chat/completions", &ask(model)))["error"]["code"].clone();
    assert_eq!(ask_for("fast"), "budget-spent");
    assert_eq!(ask_for("unpriced"), "budget-no-price");
    let refused = post(&service, "/v1/chat/completions", &ask("fast"));
    let said = json_of(&refused)["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        said.contains("budget $1/day of token models has $1 left"),
        "{said}"
    );
    // A budget of another session is no budget of the token.
    set(json!([{"amount_usd": "100", "period": "day", "scope": {"session": "conversation:default"}}]));
    assert_eq!(ask_for("fast"), "budget-spent");
    set(json!([{"amount_usd": "100", "period": "day", "scope": {"session": "token:models"}}]));
    assert_eq!(ask_for("fast"), Value::Null);
    set(json!([{"calls": 1, "period": "day", "scope": {"session": "token:models"}}]));
    assert_eq!(
        ask_for("fast"),
        "budget-spent",
        "the call before counts as a call of the token"
    );
    assert_eq!(vendor.requests().len(), 1);
}

#[test]
fn a_stream_ends_with_the_cost_and_the_clients_own_end() {
    let vendor = start_vendor(|_| stream());
    let service = start_with(&[("fast", profile(&vendor.url()))]);
    let openai = post(&service, "/v1/chat/completions", &streamed("fast"));
    assert_eq!(openai.header("content-type"), Some("text/event-stream"));
    assert_eq!(join_text(&openai), "Hello");
    assert!(openai.body.contains(": agentos cost-usd=0.000014 prepare;dur="));
    assert!(openai.body.contains("data: [DONE]"));
    let anthropic = post(&service, "/v1/messages", &streamed("fast"));
    assert_eq!(join_text(&anthropic), "Hello");
    assert!(anthropic.body.contains("event: message_stop"));
}

#[test]
fn sampling_tools_and_images_reach_the_vendor() {
    let vendor = start_vendor(|_| stream());
    let service = start_with(&[("fast", profile(&vendor.url()))]);
    let body = json!({
        "model": "fast", "temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"], "reasoning_effort": "low",
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}], "tool_choice": "required",
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}],
    });
    let answer = post(&service, "/v1/chat/completions", &body);
    assert_eq!(answer.header("x-agentos-ignored"), Some("reasoning_effort"));
    let sent = vendor.requests().remove(0).json();
    for field in ["temperature", "top_p", "seed", "stop", "tool_choice"] {
        assert_eq!(sent[field], body[field], "{field}");
    }
    assert_eq!(sent["tools"][0]["function"]["name"], "look");
    assert_eq!(
        sent["messages"][0]["content"][1],
        body["messages"][0]["content"][1]
    );
}

#[test]
fn failures_have_the_clients_form_and_no_key() {
    let refusing = start_vendor(|_| {
        Reply::json(
            401,
            &json!({"error": {"message": format!("bad key {VENDOR_KEY}")}}),
        )
    });
    let broken = start_vendor(|_| {
        let piece = json!({"choices": [{"index": 0, "delta": {"content": "half"}, "finish_reason": null}]});
        Reply::http(
            200,
            &[("content-type", "text/event-stream")],
            format!("data: {piece}\n\n").as_bytes(),
        )
    });
    let down = closed_port().unwrap();
    let service = start_with(&[
        ("fast", profile(&refusing.url())),
        (
            "broken",
            json!({"adapter": "openai", "base_url": format!("{}/v1", broken.url()), "model": "m"}),
        ),
        (
            "down",
            json!({"adapter": "openai", "base_url": format!("{down}/v1"), "model": "m"}),
        ),
    ]);
    let mut seen = String::new();
    let cases = [
        ("/v1/chat/completions", ask("nobody")),
        ("/v1/messages", ask("nobody")),
        ("/v1/chat/completions", ask("fast")),
        ("/v1/messages", ask("down")),
        ("/v1/chat/completions", streamed("down")),
        ("/v1/chat/completions", ask("broken")),
        ("/v1/chat/completions", json!({"model": "fast"})),
        ("/v1/messages", json!({"model": "fast", "messages": []})),
    ];
    for (path, body) in cases {
        let answer = post(&service, path, &body);
        assert!(!answer.body.contains(VENDOR_KEY) && !answer.head.contains(VENDOR_KEY));
        assert_eq!(answer.header("x-should-retry"), Some("false"));
        let body = json_of(&answer);
        let (kind, code) = (&body["error"]["type"], &body["error"]["code"]);
        seen.push_str(&format!(
            "{} {} {kind} {code}\n",
            answer.status,
            path.trim_start_matches("/v1/")
        ));
    }
    assert_snapshot!(seen, @r#"
    404 chat/completions "invalid_request_error" "unknown-model"
    404 messages "not_found_error" "unknown-model"
    502 chat/completions "server_error" "unauthorized"
    502 messages "api_error" "refused"
    502 chat/completions "server_error" "refused"
    502 chat/completions "server_error" "broken-stream"
    400 chat/completions "invalid_request_error" "usage"
    400 messages "invalid_request_error" "usage"
    "#);

    // A stream that has begun can only break off: the client sees the failure, and no end.
    let stream = post(&service, "/v1/chat/completions", &streamed("broken"));
    assert_eq!(stream.status, 200);
    assert!(
        join_text(&stream).starts_with("hal") && stream.body.contains("\"error\""),
        "{}",
        stream.body
    );
    assert!(!stream.body.contains("[DONE]"));
}

#[test]
fn a_wrong_token_is_refused_in_the_clients_form() {
    let service = start_with(&[]);
    for (path, kind) in [
        ("/v1/chat/completions", "authentication_error"),
        ("/v1/messages", "authentication_error"),
    ] {
        let answer = service.send(&Sent {
            method: "POST",
            path,
            headers: vec![
                ("x-api-key", "wrong".to_owned()),
                ("Content-Type", "application/json".to_owned()),
            ],
            body: ask("fast").to_string(),
            ..Sent::default()
        });
        assert_eq!(answer.status, 401);
        assert_eq!(json_of(&answer)["error"]["type"], kind);
    }
}

#[test]
fn a_pools_next_member_answers_and_never_behind_another_ones_words() {
    let down = closed_port().unwrap();
    let half = start_vendor(|_| {
        let piece =
            json!({"choices": [{"index": 0, "delta": {"content": "half of A"}, "finish_reason": null}]});
        Reply::http(
            200,
            &[("content-type", "text/event-stream")],
            format!("data: {piece}\n\n").as_bytes(),
        )
    });
    let good = start_vendor(|_| stream());
    let local = |url: &str| json!({"adapter": "openai", "base_url": format!("{url}/v1"), "model": "m"});
    let pool = |first: &str| {
        json!({"adapter": "pool", "pool": {
            "members": [{"alias": "a", "model": first}, {"alias": "b", "model": "good"}],
            "selector": "default", "default": "a", "fallback": ["b"],
        }})
    };
    let service = start_with(&[
        ("down", local(&down)),
        ("half", local(&half.url())),
        ("good", local(&good.url())),
        ("team", pool("down")),
        ("torn", pool("half")),
    ]);
    let answer = post(&service, "/v1/chat/completions", &streamed("team"));
    assert_eq!(
        answer.header("x-agentos-provider"),
        Some("good"),
        "{}",
        answer.body
    );
    assert!(answer.body.contains("[DONE]"));
    // A document is only shown whole, so the next member may answer after a break in the middle.
    let answer = post(&service, "/v1/chat/completions", &ask("torn"));
    assert_eq!(
        json_of(&answer)["choices"][0]["message"]["content"],
        "Hello",
        "{}",
        answer.body
    );
    let answer = post(&service, "/v1/chat/completions", &streamed("torn"));
    assert!(join_text(&answer).starts_with("half of"), "{}", answer.body);
    assert!(!answer.body.contains("[DONE]"));
}

#[test]
fn the_list_has_pools_and_what_is_set_up() {
    let service = start_with(&[("fast", profile("http://127.0.0.1:9"))]);
    let list: Value = serde_json::from_str(&service.call("GET", "/v1/models", "").body).unwrap();
    let ids: Vec<&str> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|model| model["id"].as_str())
        .collect();
    assert_eq!(ids, ["fast"]);
    let one: Value = serde_json::from_str(&service.call("GET", "/v1/models/fast", "").body).unwrap();
    assert_eq!(one["object"], "model");
}

/// A client that goes away costs no more tokens.
#[test]
fn a_client_that_goes_away_closes_the_vendors_connection() {
    let piece = json!({"choices": [{"index": 0, "delta": {"content": "on and on"}, "finish_reason": null}]});
    let head = agentos_testkit::server::head(200, &[("content-type", "text/event-stream")], None);
    let first = [head, format!("data: {piece}\n\n").into_bytes()].concat();
    let vendor = start_vendor(move |_| Reply::Hang(first.clone()));
    let service = start_with(&[("fast", profile(&vendor.url()))]);
    service.send_and_leave("/v1/chat/completions", &streamed("fast").to_string(), "on and");
    assert!(vendor.saw_hang_up(Duration::from_secs(20)));
}

#[test]
fn thousands_of_idle_sockets_do_not_keep_others_out() {
    let vendor = start_vendor(|_| stream());
    let service = start_with(&[("fast", profile(&vendor.url()))]);
    // More than the service has room for; a third of them has sent half a head.
    let idle: Vec<TcpStream> = (0..700)
        .map(|at| {
            let half: &[u8] = match at % 3 {
                0 => b"POST /v1/chat/completions HTTP/1.1\r\nHost: ",
                _ => b"",
            };
            begin_request(&service.address, half).unwrap()
        })
        .collect();
    let answer = post(&service, "/v1/chat/completions", &ask("fast"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    // The first ones were idle for longest, and made room.
    let mut first = &idle[0];
    first.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert!(matches!(first.read(&mut [0; 64]), Ok(0) | Err(_)));
}
