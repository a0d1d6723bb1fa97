//! Conversations on the page, without a script: begun, continued, moved to another model, stopped, and failed.

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{TestRepo, write_file};
use agentos_testkit::server::{FakeServer, Reply, head};
use serde_json::json;

use crate::support::{Person, Service};

/// Starts a server that plays a model: it counts the messages, or never ends when it is asked to wait.
pub fn start_model() -> FakeServer {
    FakeServer::start(|request| {
        if request.path.ends_with("/models") {
            return Reply::json(
                200,
                &json!({ "object": "list", "data": [{ "id": "tiny", "object": "model" }] }),
            );
        }
        let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
        let text = format!("I was sent {} messages. <b>Not bold</b>\u{202e}", messages.len());
        let text = json!({ "model": "tiny", "choices": [{ "index": 0, "delta": { "content": text } }] });
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 10, "completion_tokens": 2 } });
        let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
        bytes.extend_from_slice(format!("data: {text}\n\n").as_bytes());
        let last = messages.last().map(ToString::to_string).unwrap_or_default();
        if last.contains("wait") {
            return Reply::Hang(bytes);
        }
        bytes.extend_from_slice(format!("data: {end}\n\n").as_bytes());
        Reply::Bytes(bytes)
    })
    .unwrap()
}

/// Starts a server that answers with the last message.
pub fn start_echo() -> FakeServer {
    FakeServer::start(|request| {
        let messages = request.json()["messages"].clone();
        let last = messages.as_array().and_then(|messages| messages.last()).cloned();
        let said = last.map(|last| last["content"].clone()).unwrap_or_default();
        let said = said.as_str().unwrap_or("?").to_owned();
        let text = json!({ "model": "tiny", "choices": [{ "index": 0, "delta": { "content": said }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 1, "completion_tokens": 1 } });
        let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
        bytes.extend_from_slice(format!("data: {text}\n\ndata: [DONE]\n\n").as_bytes());
        Reply::Bytes(bytes)
    })
    .unwrap()
}

/// Writes a provider for the server.
pub fn add_provider(cli: &Cli, name: &str, server: &FakeServer) {
    let profile = json!({ "provider": name, "name": name, "adapter": "openai", "model": "tiny", "requires_key": false,
        "base_url": format!("{}/v1", server.url()), "price": { "input": 1.0, "output": 1.0 },
        "capabilities": { "context_window": 32_000 } });
    let file = format!(".config/agentos/profiles/{name}.json");
    write_file(&cli.home().join(file), profile.to_string());
}

/// Writes providers for the server, and a pool of them.
pub fn add_models(cli: &Cli, server: &FakeServer) {
    for name in ["mine", "other"] {
        add_provider(cli, name, server);
    }
    let pool = json!({ "provider": "both", "name": "both", "adapter": "pool",
        "pool": { "members": [{ "alias": "first", "model": "mine" }, { "alias": "second", "model": "other" }] } });
    write_file(
        &cli.home().join(".config/agentos/profiles/both.json"),
        pool.to_string(),
    );
}

fn start() -> (Service, FakeServer) {
    let server = start_model();
    let repo = TestRepo::new();
    repo.write("a.txt", "one\n");
    repo.commit_all("begin");
    (Service::start_with(repo, |cli| add_models(cli, &server)), server)
}

/// Reads a page again and again until it shows a text.
fn reload_until(service: &Service, person: &Person, path: &str, shown: &str) -> String {
    for _ in 0..2_000 {
        let page = service.get(path, &person.cookie);
        if page.body.contains(shown) {
            return page.body;
        }
    }
    panic!(
        "{path} never shows {shown}: {}",
        service.get(path, &person.cookie).body
    )
}

#[test]
fn a_person_talks_with_models_and_changes_the_model_without_a_script() {
    let (service, server) = start();
    let person = service.sign_in();
    let say = |path: &str, more: &[(&str, &str)]| {
        let pairs = [&[("form", person.form.as_str())], more].concat();
        service.post_form(path, &person.cookie, &pairs)
    };
    let begun = say(
        "/sessions",
        &[("name", "review"), ("text", "Hello."), ("model", "mine")],
    );
    assert_eq!(
        begun.header("location"),
        Some("/sessions/conversation:review"),
        "{}",
        begun.body
    );
    let place = "/sessions/conversation:review";
    let page = reload_until(&service, &person, place, "id=\"composer\"");
    // A model's text is shown as text.
    for part in ["&lt;b&gt;Not bold&lt;/b&gt;⟦U+202E⟧", "value=\"mine\"", "Hello."] {
        assert!(page.contains(part), "{part}: {page}");
    }
    say(place, &[("text", "Once more."), ("model", "both")]);
    let page = reload_until(&service, &person, place, "value=\"both\"");
    assert!(page.contains("I was sent 3 messages."), "{page}");
    assert_eq!(
        server
            .requests()
            .iter()
            .filter(|request| request.method == "POST")
            .count(),
        2
    );
    let listed = service.get("/sessions", &person.cookie).body;
    assert!(listed.contains("/sessions/conversation:review"), "{listed}");
    let models = service.get("/models", &person.cookie).body;
    for part in ["Pool both", "connected", "tiny", "first"] {
        assert!(models.contains(part), "{part}: {models}");
    }
}

#[test]
fn an_answer_is_stopped_and_a_failure_is_told_once() {
    let (service, _server) = start();
    let person = service.sign_in();
    let form = ("form", person.form.as_str());
    let place = "/sessions/conversation:slow";
    let begun = [
        form,
        ("name", "slow"),
        ("text", "Please wait."),
        ("model", "mine"),
    ];
    service.post_form("/sessions", &person.cookie, &begun);
    let page = reload_until(&service, &person, place, "I was sent 1 messages.");
    assert!(
        page.contains("/stop") && !page.contains("id=\"composer\""),
        "{page}"
    );
    let busy = service.post_form(place, &person.cookie, &[form, ("text", "Another.")]);
    assert_eq!(busy.status, 409, "{}", busy.body);
    service.post_form(&format!("{place}/stop"), &person.cookie, &[form]);
    reload_until(&service, &person, place, "id=\"composer\"");
    service.post_form(
        place,
        &person.cookie,
        &[form, ("text", "Hi."), ("model", "nobody")],
    );
    reload_until(&service, &person, place, "No answer:");
    assert!(!service.get(place, &person.cookie).body.contains("No answer:"));
    for (path, status) in [
        ("/sessions/conversation:none", 404),
        ("/sessions/a b", 400),
        ("/sessions/a%2Fb", 400),
    ] {
        assert_eq!(service.get(path, &person.cookie).status, status, "{path}");
    }
}
