//! Characters that a terminal acts on or does not show, in what a model and its server say.

use agentos_testkit::server::{FakeServer, Reply};
use serde_json::{Value, json};

use crate::support::{agentos, small_repo};

/// One of each kind: C0, DEL, C1, soft hyphen, direction, zero width, line separator, tag, private use.
const HIDDEN: &str =
    "\u{1b}[2J\u{7f}\u{9b}2J\u{ad}\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}\u{e000}\u{f0000}";

#[test]
fn json_of_an_answer_is_readable_text_with_the_same_values() {
    let (text, model) = (format!("no edit: {HIDDEN}"), format!("tiny{HIDDEN}coder"));
    let (sent, named) = (text.clone(), model.clone());
    let server = FakeServer::start(move |request| {
        if request.path.ends_with("/models") {
            return Reply::json(200, &json!({ "data": [{ "id": named }] }));
        }
        let choice = json!({ "finish_reason": "stop", "message": { "content": sent } });
        Reply::json(200, &json!({ "model": named, "choices": [choice] }))
    })
    .unwrap();
    let url = format!("{}/v1", server.url());
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let at = ["-p", "openai", "--base-url", &url, "--json"];
    let mut seen = String::new();
    for verb in [
        &["tool", "health"][..],
        &["tool", "run", "fix add"],
        &["run", "fix add"],
        &["apply", "-"],
        &["evidence", "show"],
        &["evidence", "list"],
        &["models", "list"],
    ] {
        let is_local = !matches!(verb, ["tool" | "run", ..]);
        let flags = if is_local { &at[4..] } else { &at[..] };
        let args: Vec<&str> = verb.iter().chain(flags).copied().collect();
        let output = cli.run_with_input(&args, text.as_bytes()).unwrap();
        for c in HIDDEN.chars().filter(|c| !c.is_ascii_graphic()) {
            assert!(!output.stdout.contains(c), "{args:?}: {c:?} in {output}");
            assert!(!output.stderr.contains(c), "{args:?}: {c:?} in {output}");
        }
        seen.push_str(&output.stdout);
        if verb.first() == Some(&"run") {
            // Escaped, not lost.
            let outcome: Value = output.json().unwrap();
            assert!(outcome.to_string().contains('\u{9b}'), "{outcome}");
        }
    }
    assert!(seen.contains("\\u009b") && seen.contains("\\u202e"), "{seen}");
}
