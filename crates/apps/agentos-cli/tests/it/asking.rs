//! What a run tells and records of the requests that it makes, and of the one that it does not make.

use std::sync::atomic::{AtomicUsize, Ordering};

use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Reply};
use serde_json::{Value, json};

use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, chat_server, run_in, small_repo};

/// A provider `mine` whose server is at `url`, with `more` in its profile.
fn mine(url: &str, more: Value) -> Value {
    let mut profile = json!({
        "provider": "mine", "adapter": "openai", "base_url": format!("{url}/v1"), "model": "tiny-coder",
    });
    let fields = profile.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    profile
}

const RUN: [&str; 6] = ["run", "make add add", "-p", "mine", "--file", "src/lib.rs"];

/// Busy, then limited with the time to wait, then an answer: the third request is the last that is made.
#[test]
fn a_request_that_was_made_again_is_told_and_recorded() {
    let asked = AtomicUsize::new(0);
    let server = FakeServer::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::http(503, &[("retry-after", "0")], b"{}"),
        1 => Reply::http(429, &[("retry-after", "0")], b"{}"),
        _ => Reply::json(
            200,
            &json!({ "choices": [{ "finish_reason": "stop", "message": { "content": SLOPPY_FIX } }] }),
        ),
    })
    .unwrap();
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let file = cli.home().join(".config/agentos/profiles/mine.json");
    write_file(&file, mine(&server.url(), json!({})).to_string());
    let output = cli.run(&RUN).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
    assert_eq!(server.requests().len(), 3);
    assert_eq!(
        output.stderr.matches("sending again in 0 s").count(),
        2,
        "{output}"
    );
    let tape = run_in(&repo, &["evidence", "show", "--json"]).stdout;
    for why in ["is overloaded", "limits the rate"] {
        assert!(
            tape.contains("sent again after an error") && tape.contains(why),
            "{tape}"
        );
    }
}

/// The largest effect that is known for local models: what does not fit is told before anything is sent.
#[test]
fn a_task_that_does_not_fit_is_refused_before_it_is_sent() {
    for (window, code, asked, words) in [
        (64, 5, 0, "the prompt has about"),
        (700, 0, 1, "may be too short"),
        (100_000, 0, 1, ""),
    ] {
        let server = chat_server(SLOPPY_FIX, || {});
        let repo = small_repo();
        let cli = agentos().in_dir(repo.path());
        let profile = mine(
            &server.url(),
            json!({ "capabilities": { "context_window": window } }),
        );
        let file = cli.home().join(".config/agentos/profiles/mine.json");
        write_file(&file, profile.to_string());
        let output = cli.run(&RUN).unwrap();
        assert_eq!(output.code, Some(code), "{window}: {output}");
        assert_eq!(server.requests().len(), asked, "{window}: {output}");
        assert!(output.stderr.contains(words), "{window}: {output}");
        if asked == 0 {
            let tape = run_in(&repo, &["evidence", "show", "--json"]).stdout;
            assert!(tape.contains("context-length"), "{tape}");
        }
    }
}

#[test]
fn profiles_share_a_key_by_its_name() {
    let key = "sk-test-0123456789abcdefWXYZ";
    let server = chat_server("ok", || {});
    let cli = agentos();
    for name in ["one", "two", "other"] {
        let mut profile = mine(&server.url(), json!({ "provider": name }));
        if name != "other" {
            profile["api_key_ref"] = "shared.key".into();
        }
        let file = cli.home().join(format!(".config/agentos/profiles/{name}.json"));
        write_file(&file, profile.to_string());
    }
    let set = [
        "tool",
        "auth",
        "set",
        "--provider",
        "one",
        "--store",
        "file",
        "--stdin",
    ];
    let set = cli.run_with_input(&set, key.as_bytes()).unwrap();
    assert_eq!(set.code, Some(0), "{set}");
    let bearer = format!("Bearer {key}");
    for (name, wanted) in [
        ("one", Some(bearer.as_str())),
        ("two", Some(&bearer)),
        ("other", None),
    ] {
        let before = server.requests().len();
        let output = cli.run(&["tool", "health", "-p", name]).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        let asked = server.requests().split_off(before);
        assert!(!asked.is_empty());
        for request in asked {
            assert_eq!(request.header("authorization"), wanted, "{name}");
        }
    }
}
