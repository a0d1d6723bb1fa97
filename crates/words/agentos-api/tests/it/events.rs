//! Events: each kind as JSON, read back as it was written.

use agentos_api::{
    Activity, ConsentBinding, ConsentPrompt, ConsentReason, ConsentReply, ContextReport, EventBody,
    EventReport, Notice,
};
use serde_json::{Value, json};

fn binding() -> ConsentBinding {
    ConsentBinding {
        diff_sha256: "0f".repeat(32),
        base_commit: "1e".repeat(20),
        policy_sha256: "2d".repeat(32),
        target_ref: "refs/heads/main".to_owned(),
        writes: "commit-and-work-tree".to_owned(),
    }
}

fn binding_json() -> Value {
    json!({
        "diff_sha256": "0f".repeat(32), "base_commit": "1e".repeat(20), "policy_sha256": "2d".repeat(32),
        "target_ref": "refs/heads/main", "writes": "commit-and-work-tree"
    })
}

fn prompt() -> ConsentPrompt {
    ConsentPrompt {
        paths: vec!["ci.yml".to_owned()],
        diff: "--- a/ci.yml\n".to_owned(),
        reasons: vec![ConsentReason {
            rule: "team.ci".to_owned(),
            source: "built-in".to_owned(),
            why: "it runs with secrets".to_owned(),
            fix: None,
            path: Some("ci.yml".to_owned()),
        }],
        binding: binding(),
        since_request: None,
    }
}

#[test]
fn each_event_has_one_json_form_and_is_read_back() {
    let text = || "total += 1".to_owned();
    let context = ContextReport {
        version: 1,
        files: Vec::new(),
        bytes: 0,
        budget_bytes: 9,
        too_large: Vec::new(),
        ranked: 2,
        read: 1,
        ..ContextReport::default()
    };
    let context_json = json!({
        "version": 1, "files": [], "bytes": 0, "budget_bytes": 9, "too_large": [], "ranked": 2, "read": 1
    });
    let prompt_json = json!({
        "paths": ["ci.yml"], "diff": "--- a/ci.yml\n", "binding": binding_json(),
        "reasons": [{ "rule": "team.ci", "source": "built-in", "why": "it runs with secrets", "path": "ci.yml" }]
    });
    let events = [
        (
            EventBody::Began {
                activity: Activity::AskingTool,
            },
            json!({ "kind": "began", "activity": "asking-tool" }),
        ),
        (
            EventBody::Notice {
                notice: Notice::new("evidence-unsigned", "there is no keyring"),
            },
            json!({ "kind": "notice", "notice": {
                "code": "evidence-unsigned", "message": "there is no keyring", "details": []
            } }),
        ),
        (
            EventBody::ContextFound { context },
            json!({ "kind": "context-found", "context": context_json }),
        ),
        (
            EventBody::AnswerText { text: text() },
            json!({ "kind": "answer-text", "text": text() }),
        ),
        (
            EventBody::ToolNote { text: text() },
            json!({ "kind": "tool-note", "text": text() }),
        ),
        (
            EventBody::ToolTranscript { text: text() },
            json!({ "kind": "tool-transcript", "text": text() }),
        ),
        (
            EventBody::Record {
                record: "decision".to_owned(),
                at: "2026-01-02T03:04:05.000Z".to_owned(),
                body: json!({ "effect": "ask" }),
            },
            json!({ "kind": "record", "record": "decision", "at": "2026-01-02T03:04:05.000Z", "body": { "effect": "ask" } }),
        ),
        (
            EventBody::ConsentRequested { prompt: prompt() },
            json!({ "kind": "consent-requested", "prompt": prompt_json }),
        ),
    ];
    for (event, body) in events {
        let report = EventReport {
            version: 1,
            run: "run-1".to_owned(),
            event,
        };
        let written = serde_json::to_value(&report).unwrap();
        assert_eq!(written, json!({ "version": 1, "run": "run-1", "event": body }));
        assert_eq!(serde_json::from_value::<EventReport>(written).unwrap(), report);
    }
}

#[test]
fn an_answer_repeats_the_state_of_its_question_and_says_nothing_else() {
    let reply = ConsentReply {
        version: 1,
        run: "run-1".to_owned(),
        agrees: true,
        binding: binding(),
    };
    let mut written = serde_json::to_value(&reply).unwrap();
    assert_eq!(
        written,
        json!({ "version": 1, "run": "run-1", "agrees": true, "binding": binding_json() })
    );
    assert_eq!(
        serde_json::from_value::<ConsentReply>(written.clone()).unwrap(),
        reply
    );
    // Whoever answers is known to the service, and is not taken from the wire.
    written["who"] = "mallory".into();
    assert!(serde_json::from_value::<ConsentReply>(written).is_err());
}
