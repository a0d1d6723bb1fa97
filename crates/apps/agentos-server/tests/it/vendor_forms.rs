//! Failures and streams in the forms that the vendors' own clients read.

use agentos_testkit::http::RawAnswer;
use agentos_testkit::repo::TestRepo;
use agentos_testkit::server::{FakeServer, Recorded, Reply};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{LIB, Sent, Service};

fn start_with(profiles: &[(&str, Value)]) -> Service {
    let repo = TestRepo::new();
    repo.write("src/lib.rs", LIB);
    repo.commit_all("begin");
    Service::start_with_profiles(repo, profiles, &[])
}

fn profile(base_url: &str) -> Value {
    json!({"adapter": "openai", "base_url": format!("{base_url}/v1"), "model": "m-1", "price": {"input": 1.0, "output": 2.0}})
}

fn start_vendor(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> FakeServer {
    FakeServer::start(answer).unwrap()
}

/// A stream with these deltas, its end and the counts.
fn stream(deltas: &[Value], finish: &str) -> Reply {
    let mut pieces: Vec<Value> = deltas
        .iter()
        .map(|delta| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
        .collect();
    pieces.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}));
    pieces.push(
        json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}}),
    );
    let mut text: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    text.push_str("data: [DONE]\n\n");
    Reply::http(200, &[("content-type", "text/event-stream")], text.as_bytes())
}

fn post(service: &Service, path: &str, body: &Value) -> RawAnswer {
    service.call("POST", path, &body.to_string())
}

fn json_of(answer: &RawAnswer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
}

fn events_of(answer: &RawAnswer) -> Vec<Value> {
    let lines = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn a_response_is_a_document_or_a_stream() {
    let vendor = start_vendor(|_| stream(&[json!({"content": "Hel"}), json!({"content": "lo"})], "stop"));
    let service = start_with(&[("fast", profile(&vendor.url()))]);
    let body =
        json!({"model": "fast", "input": "hi", "instructions": "Be short.", "reasoning": {"effort": "low"}});
    let answer = post(&service, "/v1/responses", &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let document = json_of(&answer);
    assert_eq!(document["output"][0]["content"][0]["text"], "Hello");
    assert_eq!(document["status"], "completed");
    assert_eq!(document["usage"]["total_tokens"], 12);
    assert_eq!(answer.header("x-agentos-ignored"), Some("reasoning"));
    assert_eq!(answer.header("x-agentos-cost-usd"), Some("0.000014"));
    // The id of the answer, of the request and of the turn in the ledger are the same.
    let turn = answer.header("x-agentos-turn").unwrap();
    assert_eq!(document["id"], format!("resp_{turn}"));
    assert_eq!(
        answer.header("x-request-id"),
        Some(format!("req_{turn}").as_str())
    );

    let mut streamed = body;
    streamed["stream"] = json!(true);
    let answer = post(&service, "/v1/responses", &streamed);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = events_of(&answer);
    assert_eq!(events[0]["type"], "response.created");
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], "Hello");
    let sent = vendor.requests()[0].json();
    assert_eq!(
        sent["messages"],
        json!([{"role": "system", "content": "Be short."}, {"role": "user", "content": "hi"}])
    );
    let cost = service.call("GET", "/api/cost", "").body;
    assert!(cost.contains("\"calls\":2"), "{cost}");
}

/// A call that Codex receives in its own form, and the result that it sends back.
#[test]
fn a_free_text_tool_of_codex_goes_through_a_function() {
    let vendor = start_vendor(
        |request| match request.json()["messages"].as_array().unwrap().len() {
            1 => {
                let call = json!({"index": 0, "id": "c1", "type": "function",
                    "function": {"name": "apply_patch", "arguments": "{\"input\":\"*** Begin Patch\"}"}});
                stream(&[json!({"tool_calls": [call]})], "tool_calls")
            }
            _ => stream(&[json!({"content": "done"})], "stop"),
        },
    );
    let service = start_with(&[("fast", profile(&vendor.url()))]);
    let tools =
        json!([{"type": "custom", "name": "apply_patch", "description": "Edits."}, {"type": "web_search"}]);
    let mut input = vec![json!({"role": "user", "content": "fix it"})];
    let ask = |input: &[Value]| {
        let body = json!({"model": "fast", "stream": true, "input": input, "tools": tools, "store": false});
        post(&service, "/v1/responses", &body)
    };
    let answer = ask(&input);
    assert_eq!(answer.header("x-agentos-ignored"), Some("tools[1] (web_search)"));
    let events = events_of(&answer);
    let call = events.last().unwrap()["response"]["output"][0].clone();
    assert_eq!(
        (&call["type"], &call["input"]),
        (&json!("custom_tool_call"), &json!("*** Begin Patch"))
    );
    let result = json!({"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "ok"});
    input.extend([call, result]);
    let events = events_of(&ask(&input));
    assert_eq!(
        events.last().unwrap()["response"]["output"][0]["content"][0]["text"],
        "done"
    );
    let sent = vendor.requests()[1].json();
    assert_eq!(
        sent["messages"][1]["tool_calls"][0]["function"]["arguments"],
        "{\"input\":\"*** Begin Patch\"}"
    );
    assert_eq!(
        sent["messages"][2],
        json!({"role": "tool", "tool_call_id": "c1", "content": "ok"})
    );
}

/// What is refused before a model is asked has the form of the vendor whose client asks.
#[test]
fn refusals_have_the_form_of_the_vendor() {
    let service = start_with(&[]);
    let large = format!("{{\"model\": \"{}\"}}", "x".repeat(12 << 20));
    let token = ("Authorization", format!("Bearer {}", service.token));
    let json_type = ("Content-Type", "application/json".to_owned());
    let version = ("anthropic-version", "2023-06-01".to_owned());
    let plain = ("Content-Type", "text/plain".to_owned());
    let mut seen = String::new();
    for (method, path, headers, body) in [
        ("POST", "/v1/nothing", vec![&token, &json_type], "{}"),
        ("GET", "/v1/responses/resp_1", vec![&token], ""),
        ("GET", "/v1/messages/batches", vec![&token], ""),
        ("GET", "/v1/models/nobody", vec![&token], ""),
        ("GET", "/v1/models/nobody", vec![&token, &version], ""),
        ("GET", "/v1/chat/completions", vec![&token], ""),
        ("GET", "/v1/messages", vec![&token], ""),
        ("DELETE", "/v1/responses/resp_1", vec![&token], ""),
        ("POST", "/v1/chat/completions", vec![&token, &plain], "{}"),
        ("POST", "/v1/messages", vec![&token, &plain], "{}"),
        ("POST", "/v1/responses", vec![&json_type], "{}"),
        ("POST", "/v1/messages/count_tokens", vec![&json_type], "{}"),
        ("POST", "/v1/responses", vec![&token, &json_type], "{"),
        ("POST", "/v1/chat/completions", vec![&token, &json_type], &large),
        ("POST", "/v1/messages", vec![&token, &json_type], &large),
        ("GET", "/api/nothing", vec![], ""),
        ("POST", "/api/status", vec![&json_type], "{}"),
    ] {
        let sent = Sent {
            method,
            path,
            headers: headers.into_iter().cloned().collect(),
            body: body.to_owned(),
            ..Sent::default()
        };
        // The effects of `/api` are for programs of the user, over the Unix socket.
        let answer = if path.starts_with("/api/") {
            service.send_local(&sent)
        } else {
            service.send(&sent)
        };
        let mut body = json_of(&answer);
        // Anthropic's clients read the id of a request from the body and from a header, OpenAI's from a header.
        let id = body.as_object_mut().unwrap().remove("request_id");
        let header = answer
            .header("request-id")
            .or(answer.header("x-request-id"))
            .map(Value::from);
        assert!(id.is_none() || id == header, "{path} {}", answer.head);
        assert!(!path.starts_with("/v1/") || header.is_some(), "{path}");
        seen.push_str(&format!("{} {method} {path} {body}\n", answer.status));
    }
    assert_snapshot!(seen, @r#"
    404 POST /v1/nothing {"error":{"code":"not-found","message":"there is nothing at `/v1/nothing`; `/api/openapi.json` lists the paths","param":null,"type":"invalid_request_error"}}
    404 GET /v1/responses/resp_1 {"error":{"code":"not-found","message":"there is nothing at `/v1/responses/resp_1`; `/api/openapi.json` lists the paths","param":null,"type":"invalid_request_error"}}
    404 GET /v1/messages/batches {"error":{"code":"not-found","message":"there is nothing at `/v1/messages/batches`; `/api/openapi.json` lists the paths","type":"not_found_error"},"type":"error"}
    404 GET /v1/models/nobody {"error":{"code":"unknown-model","message":"there is no model or pool `nobody`","param":null,"type":"invalid_request_error"}}
    404 GET /v1/models/nobody {"error":{"code":"unknown-model","message":"there is no model or pool `nobody`","type":"not_found_error"},"type":"error"}
    405 GET /v1/chat/completions {"error":{"code":"wrong-method","message":"`/v1/chat/completions` does not have the method GET","param":null,"type":"invalid_request_error"}}
    405 GET /v1/messages {"error":{"code":"wrong-method","message":"`/v1/messages` does not have the method GET","type":"invalid_request_error"},"type":"error"}
    405 DELETE /v1/responses/resp_1 {"error":{"code":"wrong-method","message":"there is no such method here","param":null,"type":"invalid_request_error"}}
    415 POST /v1/chat/completions {"error":{"code":"wrong-type","message":"this body has the wrong type: send `application/json` as its `Content-Type`; forms are taken from the page alone","param":null,"type":"invalid_request_error"}}
    415 POST /v1/messages {"error":{"code":"wrong-type","message":"this body has the wrong type: send `application/json` as its `Content-Type`; forms are taken from the page alone","type":"invalid_request_error"},"type":"error"}
    401 POST /v1/responses {"error":{"code":"signed-out","message":"sign in, or send a token","param":null,"type":"authentication_error"}}
    401 POST /v1/messages/count_tokens {"error":{"code":"signed-out","message":"sign in, or send a token","type":"authentication_error"},"type":"error"}
    400 POST /v1/responses {"error":{"code":"usage","message":"the body is not valid JSON: EOF while parsing an object at line 1 column 1","param":null,"type":"invalid_request_error"}}
    413 POST /v1/chat/completions {"error":{"code":"too-large","message":"the body is larger than 12 MiB","param":null,"type":"invalid_request_error"}}
    413 POST /v1/messages {"error":{"code":"too-large","message":"the body is larger than 12 MiB","type":"request_too_large"},"type":"error"}
    404 GET /api/nothing {"error":{"cause":"usage","code":"not-found","hint":null,"message":"there is nothing at this path"},"version":1}
    405 POST /api/status {"error":{"cause":"usage","code":"wrong-method","hint":null,"message":"there is no such method here"},"version":1}
    "#);
}

/// A failure of the vendor keeps its meaning: a client that waits after 429 and gives up after 400 can do so.
#[test]
fn failures_of_the_vendor_keep_their_meaning() {
    let vendor = |status, code: &'static str| {
        start_vendor(move |_| {
            Reply::json(
                status,
                &json!({"error": {"message": "no", "type": "t", "code": code}}),
            )
        })
    };
    let (limited, long) = (
        vendor(429, "insufficient_quota"),
        vendor(400, "context_length_exceeded"),
    );
    let service = start_with(&[
        ("limited", profile(&limited.url())),
        ("long", profile(&long.url())),
    ]);
    let mut seen = String::new();
    for model in ["limited", "long"] {
        for (path, body) in [
            (
                "/v1/chat/completions",
                json!({"messages": [{"role": "user", "content": "hi"}]}),
            ),
            ("/v1/responses", json!({"input": "hi", "stream": true})),
            (
                "/v1/messages",
                json!({"max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}),
            ),
        ] {
            let mut body = body;
            body["model"] = json!(model);
            let answer = post(&service, path, &body);
            let body = json_of(&answer);
            let (kind, code) = (&body["error"]["type"], &body["error"]["code"]);
            seen.push_str(&format!("{} {path} {kind} {code}\n", answer.status));
        }
    }
    assert_snapshot!(seen, @r#"
    429 /v1/chat/completions "insufficient_quota" "quota"
    429 /v1/responses "insufficient_quota" "quota"
    429 /v1/messages "rate_limit_error" "quota"
    400 /v1/chat/completions "invalid_request_error" "context_length_exceeded"
    400 /v1/responses "invalid_request_error" "context_length_exceeded"
    400 /v1/messages "invalid_request_error" "context_length_exceeded"
    "#);
}

/// A stream that has begun can only break off. The client must not take what it has for the whole answer.
#[test]
fn a_broken_stream_ends_in_the_form_of_the_vendor() {
    let broken = start_vendor(|_| {
        let piece = json!({"choices": [{"index": 0, "delta": {"content": "a long beginning of an answer"}, "finish_reason": null}]});
        Reply::http(
            200,
            &[("content-type", "text/event-stream")],
            format!("data: {piece}\n\n").as_bytes(),
        )
    });
    let service = start_with(&[("broken", profile(&broken.url()))]);
    let messages = json!([{"role": "user", "content": "hi"}]);
    let mut seen = String::new();
    for (path, body) in [
        (
            "/v1/chat/completions",
            json!({"model": "broken", "stream": true, "messages": messages}),
        ),
        (
            "/v1/responses",
            json!({"model": "broken", "stream": true, "input": "hi"}),
        ),
        (
            "/v1/messages",
            json!({"model": "broken", "max_tokens": 5, "stream": true, "messages": messages}),
        ),
    ] {
        let answer = post(&service, path, &body);
        assert_eq!(answer.status, 200);
        let last = events_of(&answer).pop().unwrap();
        let error = last.get("error").unwrap_or(&last["response"]["error"]);
        let fields: Vec<&String> = error.as_object().unwrap().keys().collect();
        seen.push_str(&format!(
            "{path} {} {} {fields:?} {}\n",
            last["type"], error["code"], last["response"]["status"]
        ));
    }
    assert_snapshot!(seen, @r#"
    /v1/chat/completions null "broken-stream" ["code", "message", "param", "type"] null
    /v1/responses "response.failed" "server_error" ["code", "message"] "failed"
    /v1/messages "error" "broken-stream" ["code", "message", "type"] null
    "#);
}
