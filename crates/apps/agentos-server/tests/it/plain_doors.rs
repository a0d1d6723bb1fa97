//! Embeddings, completions and counts of tokens over the service, with a scripted server behind it.

use std::time::Duration;

use agentos_testkit::http::RawAnswer;
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::{FakeServer, Recorded, Reply};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{LIB, Service};

/// Key of the vendor, which no client may ever see.
const VENDOR_KEY: &str = "sk-vendor-1234567890abcdef";

fn start_with(profiles: &[(&str, Value)]) -> Service {
    let repo = TestRepo::new();
    repo.write("src/lib.rs", LIB);
    repo.commit_all("begin");
    Service::start_with_profiles(
        repo,
        profiles,
        &[
            ("AGENTOS_FAST_API_KEY", VENDOR_KEY),
            ("AGENTOS_LEAKING_API_KEY", VENDOR_KEY),
        ],
    )
}

fn profile(adapter: &str, base_url: &str) -> Value {
    json!({
        "adapter": adapter, "base_url": base_url, "model": "m-1", "requires_key": true,
        "price": {"input": 1.0, "output": 2.0},
    })
}

fn local(adapter: &str, base_url: &str) -> Value {
    json!({"adapter": adapter, "base_url": base_url, "model": "m-1"})
}

fn start_vendor(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> FakeServer {
    FakeServer::start(answer).unwrap()
}

fn post(service: &Service, path: &str, body: &Value) -> RawAnswer {
    service.call("POST", path, &body.to_string())
}

fn json_of(answer: &RawAnswer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
}

fn vectors() -> Reply {
    let data = json!([{"object": "embedding", "index": 0, "embedding": [0.5, -1.0]}]);
    Reply::json(
        200,
        &json!({"object": "list", "model": "v-1", "data": data, "usage": {"prompt_tokens": 3, "total_tokens": 3}}),
    )
}

fn text() -> Reply {
    let choices = json!([{"index": 0, "text": "main() {}", "finish_reason": "stop", "logprobs": null}]);
    Reply::json(
        200,
        &json!({"id": "c", "object": "text_completion", "created": 7, "model": "v-1", "choices": choices,
            "usage": {"prompt_tokens": 2, "completion_tokens": 4, "total_tokens": 6}}),
    )
}

#[test]
fn a_client_that_asks_for_compaction_gets_an_error_in_the_vendors_form() {
    let service = crate::support::Service::start();
    let answer = service.call("POST", "/v1/responses/compact", r#"{"model":"m","input":[]}"#);
    assert_eq!(answer.status, 404);
    let error: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(error["error"]["code"], "no-endpoint", "{error}");
}

#[test]
fn vectors_of_texts_come_from_the_server_and_are_paid() {
    let vendor = start_vendor(|_| vectors());
    let service = start_with(&[("fast", profile("openai", &format!("{}/v1", vendor.url())))]);
    let body = json!({
        "model": "fast", "input": ["a", "b"], "dimensions": 2, "encoding_format": "float",
        "models": ["dear"], "service_tier": "priority",
    });
    let answer = post(&service, "/v1/embeddings", &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let document = json_of(&answer);
    assert_eq!(document["data"][0]["embedding"], json!([0.5, -1.0]));
    assert_eq!(document["model"], "fast");
    assert_eq!(answer.header("x-agentos-model"), Some("m-1"));
    assert_eq!(answer.header("x-agentos-ignored"), Some("models"));
    assert_eq!(answer.header("x-agentos-cost-usd"), Some("0.000003"));
    let sent = &vendor.requests()[0];
    assert_eq!(sent.path, "/v1/embeddings");
    assert_eq!(
        sent.json(),
        json!({"model": "m-1", "input": ["a", "b"], "dimensions": 2, "encoding_format": "float"})
    );
    let cost = service.call("GET", "/api/cost", "").body;
    assert!(
        cost.contains("\"calls\":1") && cost.contains("\"cost_usd\":\"0.000003\""),
        "{cost}"
    );
}

#[test]
fn a_text_is_continued_as_a_document_and_as_a_stream() {
    let vendor = start_vendor(|_| text());
    // Users set the address of these servers with and without the version.
    let service = start_with(&[
        ("ollama2", local("ollama", &vendor.url())),
        ("llama", local("llamacpp", &format!("{}/v1", vendor.url()))),
    ]);
    let body = json!({"model": "ollama2", "prompt": "fn ", "suffix": "}", "max_tokens": 9});
    let answer = post(&service, "/v1/completions", &body);
    assert_eq!(
        json_of(&answer)["choices"][0]["text"],
        "main() {}",
        "{}",
        answer.body
    );
    let body =
        json!({"model": "llama", "prompt": "fn ", "stream": true, "stream_options": {"include_usage": true}});
    let answer = post(&service, "/v1/completions", &body);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_snapshot!(answer.body, @r#"
    data: {"choices":[{"finish_reason":"stop","index":0,"logprobs":null,"text":"main() {}"}],"created":7,"id":"c","model":"llama","object":"text_completion"}

    data: {"choices":[],"created":7,"id":"c","model":"llama","object":"text_completion","usage":{"completion_tokens":4,"prompt_tokens":2,"total_tokens":6}}

    data: [DONE]
    "#);
    // The others look whether the server has the model in memory.
    let mut sent = vendor.requests();
    sent.retain(|sent| sent.path == "/v1/completions");
    assert_eq!(sent.len(), 2);
    assert_eq!(
        sent[1].json(),
        json!({"model": "m-1", "prompt": "fn "}),
        "a stream is one document at the server"
    );
}

#[test]
fn what_has_no_such_endpoint_says_so_and_is_not_asked() {
    let vendor = start_vendor(|_| vectors());
    let pool = json!({"adapter": "pool", "pool": {
        "members": [{"alias": "a", "model": "fast"}], "selector": "default", "default": "a",
    }});
    let service = start_with(&[
        ("fast", profile("openai", &format!("{}/v1", vendor.url()))),
        ("claude2", local("anthropic", &vendor.url())),
        ("gemini2", local("gemini", &vendor.url())),
        ("team", pool),
    ]);
    let mut seen = String::new();
    for (path, body) in [
        ("/v1/embeddings", json!({"model": "claude2", "input": "x"})),
        ("/v1/completions", json!({"model": "gemini2", "prompt": "x"})),
        ("/v1/embeddings", json!({"model": "team", "input": "x"})),
        ("/v1/embeddings", json!({"model": "nobody", "input": "x"})),
        ("/v1/embeddings", json!({"model": "fast"})),
    ] {
        let answer = post(&service, path, &body);
        let error = &json_of(&answer)["error"];
        seen.push_str(&format!(
            "{} {} {}\n",
            answer.status, error["type"], error["message"]
        ));
    }
    assert_snapshot!(seen, @r#"
    400 "invalid_request_error" "the wire of `claude2` does not have embeddings; name a provider with OpenAI's wire, llama.cpp, LM Studio or Ollama"
    400 "invalid_request_error" "the wire of `gemini2` does not have completions; name a provider with OpenAI's wire, llama.cpp, LM Studio or Ollama"
    400 "invalid_request_error" "`team` is a pool, which answers conversations alone; name a provider"
    404 "invalid_request_error" "there is no model or pool `nobody`; `GET /v1/models` lists the names; another model of a provider is `PROVIDER/MODEL`"
    400 "invalid_request_error" "`input` is missing"
    "#);
    assert_eq!(vendor.requests().len(), 0);
}

#[test]
fn a_budget_and_a_failure_count_as_for_a_conversation() {
    let vendor = start_vendor(|_| {
        Reply::json(
            401,
            &json!({"error": {"message": format!("bad key {VENDOR_KEY}")}}),
        )
    });
    let leaking = start_vendor(|_| Reply::json(200, &json!({"object": "list", "data": [VENDOR_KEY]})));
    let service = start_with(&[
        ("fast", profile("openai", &format!("{}/v1", vendor.url()))),
        ("leaking", profile("openai", &format!("{}/v1", leaking.url()))),
    ]);
    let ask = |model: &str| {
        post(
            &service,
            "/v1/embeddings",
            &json!({"model": model, "input": "some words"}),
        )
    };
    let refused = ask("fast");
    assert_eq!(refused.status, 502);
    assert_eq!(json_of(&refused)["error"]["code"], "unauthorized");
    assert!(!refused.body.contains(VENDOR_KEY));
    let leaked = ask("leaking");
    assert_eq!(json_of(&leaked)["error"]["code"], "key-in-answer");
    assert!(!leaked.body.contains(VENDOR_KEY));
    let budgets = json!({"version": 1, "budgets": [{"amount_usd": "0.000001", "period": "day"}]});
    write_file(
        &service.cli.home().join(".config/agentos/budgets.json"),
        budgets.to_string(),
    );
    let spent = ask("fast");
    assert_eq!(
        (spent.status, &json_of(&spent)["error"]["code"]),
        (429, &json!("budget-spent"))
    );
    assert_eq!(vendor.requests().len(), 1, "a refused request is not sent");
}

/// A budget bounds a continued text that the client did not bound, for each of the texts that it wants.
#[test]
fn a_budget_limits_a_text_without_a_limit() {
    let vendor = start_vendor(|_| text());
    let service = start_with(&[("fast", profile("openai", &format!("{}/v1", vendor.url())))]);
    let budget = |amount: &str| {
        let budgets = json!({"version": 1, "budgets": [{"amount_usd": amount, "period": "day"}]});
        write_file(
            &service.cli.home().join(".config/agentos/budgets.json"),
            budgets.to_string(),
        );
    };
    budget("100");
    let ask = |body: &Value| post(&service, "/v1/completions", body).status;
    assert_eq!(ask(&json!({"model": "fast", "prompt": "fn "})), 200);
    assert!(vendor.requests()[0].json()["max_tokens"].as_u64().unwrap() > 0);
    // 1,000 tokens cost at most $0.002, and ten texts ten times as much.
    budget("0.01");
    assert_eq!(
        ask(&json!({"model": "fast", "prompt": "fn ", "max_tokens": 1000})),
        200
    );
    assert_eq!(
        ask(&json!({"model": "fast", "prompt": "fn ", "max_tokens": 1000, "n": 10})),
        429
    );
}

#[test]
fn tokens_are_counted_by_the_vendor_or_estimated() {
    let counting = start_vendor(|_| Reply::json(200, &json!({"input_tokens": 42})));
    let without = start_vendor(|_| Reply::json(404, &json!({"error": {"message": "no such path"}})));
    let service = start_with(&[
        ("claude2", local("anthropic", &counting.url())),
        ("like", local("anthropic", &without.url())),
        ("plain", local("openai", "http://127.0.0.1:9/v1")),
    ]);
    let count = |model: &str| {
        let body = json!({
            "model": model, "system": "Be short.", "messages": [{"role": "user", "content": "What is this about?"}],
            "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        });
        let answer = post(&service, "/v1/messages/count_tokens", &body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let tokens = json_of(&answer)["input_tokens"].as_u64().unwrap();
        (tokens, answer.header("x-agentos-count").unwrap().to_owned())
    };
    assert_eq!(count("claude2"), (42, "provider".to_owned()));
    let sent = &counting.requests()[0];
    assert_eq!(sent.path, "/v1/messages/count_tokens");
    let body = sent.json();
    let fields: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["messages", "model", "system", "tools"]);
    for model in ["like", "plain"] {
        let (tokens, source) = count(model);
        assert_eq!(source, "estimate");
        assert!((5..40).contains(&tokens), "{tokens}");
    }
    // A count is no call of a model.
    assert!(service.call("GET", "/api/cost", "").body.contains("\"calls\":0"));
    let refused = post(&service, "/v1/messages/count_tokens", &json!({"model": "plain"}));
    assert_eq!(
        (refused.status, &json_of(&refused)["type"]),
        (400, &json!("error"))
    );
}

/// A client that goes away costs no more.
#[test]
fn a_client_that_goes_away_closes_the_vendors_connection() {
    let head = agentos_testkit::server::head(200, &[("content-type", "application/json")], Some(1000));
    let vendor = start_vendor(move |_| Reply::Hang(head.clone()));
    let service = start_with(&[("fast", profile("openai", &format!("{}/v1", vendor.url())))]);
    let body = json!({"model": "fast", "input": "x"}).to_string();
    let text = format!(
        "POST /v1/embeddings HTTP/1.1\r\nHost: {0}\r\nAuthorization: Bearer {1}\r\nContent-Type: application/json\r\nContent-Length: {2}\r\n\r\n{body}",
        service.address,
        service.token,
        body.len()
    );
    let stream = agentos_testkit::http::begin_request(&service.address, text.as_bytes()).unwrap();
    assert!(vendor.saw_request(Duration::from_secs(20)));
    drop(stream);
    assert!(vendor.saw_hang_up(Duration::from_secs(20)));
}
