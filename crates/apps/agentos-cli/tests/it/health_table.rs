//! The rows of the health table that real sockets show, for every kind of adapter at once.
//!
//! The rows that an HTTP answer shows (8 to 29) hold for each adapter by the contract suite of the test kit; those about a
//! server's models (17, 18, 30 to 36) by each adapter's own tests and recordings.

use agentos_testkit::ports::{FullPort, resetting};
use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Reply, closed_port};
use agentos_testkit::tls::TlsServer;
use serde_json::{Value, json};

use crate::support::agentos;

/// A provider of each kind: its name, the path that its base URL has, and what its profile says.
fn kinds() -> [(&'static str, &'static str, Value); 8] {
    let wire = json!({ "path": "generate", "request": { "input": "{{prompt}}" }, "answer": "/text" });
    [
        ("row-openai", "/v1", json!({ "adapter": "openai" })),
        ("row-lmstudio", "/v1", json!({ "adapter": "lmstudio" })),
        (
            "row-llamacpp",
            "",
            json!({ "adapter": "llamacpp", "mode": "llamacpp_completion" }),
        ),
        (
            "row-llamacpp-chat",
            "",
            json!({ "adapter": "llamacpp", "mode": "openai_compatible" }),
        ),
        ("row-ollama", "", json!({ "adapter": "ollama" })),
        ("row-anthropic", "", json!({ "adapter": "anthropic" })),
        ("row-gemini", "/v1beta", json!({ "adapter": "gemini" })),
        (
            "row-generic",
            "",
            json!({ "adapter": "generic-http", "http": wire }),
        ),
    ]
}

/// What each kind of adapter says of a server at `root`, with `more` in its profile.
fn told(root: Option<&str>, more: &Value) -> Vec<Value> {
    let cli = agentos();
    let mut args = vec!["tool", "health", "--json"];
    for (name, path, mut profile) in kinds() {
        let fields = profile.as_object_mut().unwrap();
        fields.insert("provider".to_owned(), name.into());
        fields.insert("model".to_owned(), "tiny".into());
        if let Some(root) = root {
            fields.insert("base_url".to_owned(), format!("{root}{path}").into());
        }
        fields.extend(more.as_object().unwrap().clone());
        let file = cli.home().join(format!(".config/agentos/profiles/{name}.json"));
        write_file(&file, profile.to_string());
        args.extend(["-p", name]);
    }
    let output = cli.run(&args).unwrap();
    assert_eq!(output.code, Some(5), "{output}");
    output.json().unwrap()["tools"].as_array().unwrap().clone()
}

/// Holds each kind to one row of the table.
fn check(row: &str, told: &[Value], status: &str, category: &str, detail: &str) {
    assert_eq!(told.len(), kinds().len(), "{row}");
    for tool in told {
        let seen = ["status", "error_category", "detail"].map(|field| tool[field].as_str().unwrap_or("-"));
        assert_eq!(seen, [status, category, detail], "{row}: {tool}");
        let says = |field: &str| tool[field].as_str().is_some_and(|text| text.len() > 10);
        assert!(says("details") && says("fix"), "{row}: {tool}");
    }
}

#[test]
fn what_is_not_set_up_is_told_and_nothing_is_sent() {
    let server = FakeServer::start(|_| Reply::json(200, &json!({}))).unwrap();
    let none = json!({});
    let check = |row, told: &[Value], detail| check(row, told, "not_configured", "config", detail);
    check("1: no address", &told(None, &none), "missing-url");
    for url in ["ftp://127.0.0.1:1", "127.0.0.1 8080"] {
        check("1: no http address", &told(Some(url), &none), "bad-url");
    }
    let with_key = json!({ "requires_key": true });
    check("2: no key", &told(Some(&server.url()), &with_key), "missing-key");
    assert_eq!(server.requests(), []);
}

#[test]
fn a_server_that_is_not_reached_is_told_apart() {
    let none = json!({});
    let check = |row, told: &[Value], detail| check(row, told, "unreachable", "network", detail);
    let nowhere = "http://name.invalid:1";
    check("3: the name does not resolve", &told(Some(nowhere), &none), "dns");
    let closed = closed_port().unwrap();
    check("4: nobody listens", &told(Some(&closed), &none), "refused");
    let full = FullPort::start().unwrap();
    check(
        "5: no connection in time",
        &told(Some(&full.url()), &none),
        "connect-timeout",
    );
    let tls = TlsServer::start().unwrap();
    let at = |scheme: &str, port: u16| format!("{scheme}://127.0.0.1:{port}");
    check(
        "6: http on a TLS port",
        &told(Some(&at("http", tls.port())), &none),
        "tls",
    );
    let plain = FakeServer::start_raw(Reply::json(400, &none)).unwrap();
    check(
        "6: TLS on an http port",
        &told(Some(&at("https", plain.port())), &none),
        "tls",
    );
    let untrusted = at("https", tls.port());
    check(
        "7: nobody trusts it",
        &told(Some(&untrusted), &none),
        "tls-certificate",
    );
}

#[test]
fn a_server_that_gives_no_answer_is_told_apart() {
    let none = json!({});
    let row = |row, told: &[Value], detail| check(row, told, "unreachable", "network", detail);
    let silent = FakeServer::start(|_| Reply::Hang(Vec::new())).unwrap();
    let soon = json!({ "timeout_seconds": 1 });
    row(
        "8: no answer in time",
        &told(Some(&silent.url()), &soon),
        "read-timeout",
    );
    let closing = FakeServer::start(|_| Reply::Bytes(Vec::new())).unwrap();
    row("8: closed", &told(Some(&closing.url()), &none), "closed");
    row("8: reset", &told(Some(&resetting().unwrap()), &none), "closed");
    let other = FakeServer::start_raw(Reply::Bytes(b"220 mail.example.com ESMTP\r\n".to_vec())).unwrap();
    let found = told(Some(&other.url()), &none);
    check("9: not HTTP", &found, "schema_mismatch", "schema", "not-http");
}
