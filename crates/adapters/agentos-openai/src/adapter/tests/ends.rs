//! How an answer ends, and what is not passed on of it.

use agentos_tool::ErrorCategory;
use serde_json::Value;

use super::*;

/// What is made of an answer with these chunks, or of one whole document.
async fn answered(reply: Reply, key: Option<&str>) -> Result<ToolOutput, ToolError> {
    let server = FakeServer::start(move |_| reply.clone()).unwrap();
    adapter_for(settings(Some(&server.url()), key))
        .run(&task(Duration::from_secs(20)), &NoProgress)
        .await
}

fn streamed(choices: &[Value]) -> Reply {
    let events: Vec<String> = choices
        .iter()
        .map(|choice| format!("data: {}\n\n", json!({"choices": [choice]})))
        .collect();
    Reply::http(
        200,
        &[("content-type", "text/event-stream")],
        events.concat().as_bytes(),
    )
}

#[tokio::test]
async fn an_answer_says_how_it_ends() {
    use FinishReason::{Stop, Unknown};
    let text = || json!({"content": DIFF});
    let whole = |end: Value| {
        let mut choice = json!({"message": text(), "finish_reason": end});
        if end == json!("left out") {
            choice.as_object_mut().unwrap().remove("finish_reason");
        }
        Reply::json(200, &json!({"choices": [choice]}))
    };
    let stream = |end: &str| {
        streamed(&[
            json!({"delta": text()}),
            json!({"delta": {}, "finish_reason": end}),
        ])
    };
    let unsure = "the answer may be incomplete: the server gave `resting` as the reason for its end";
    let cases = [
        ("whole stop", whole(json!("stop")), Ok((Stop, None))),
        ("whole error", whole(json!("error")), Err("broken-answer")),
        ("whole null", whole(json!(null)), Err("broken-answer")),
        ("whole nothing", whole(json!("left out")), Err("broken-answer")),
        ("whole empty", whole(json!("")), Err("broken-answer")),
        (
            "whole unknown",
            whole(json!("resting")),
            Ok((Unknown, Some(unsure))),
        ),
        ("stream stop", stream("stop"), Ok((Stop, None))),
        ("stream error", stream("error"), Err("broken-answer")),
        ("stream empty", stream(""), Err("broken-stream")),
        ("stream unknown", stream("resting"), Ok((Unknown, Some(unsure)))),
    ];
    for (name, reply, wanted) in cases {
        match (answered(reply, None).await, wanted) {
            (Ok(output), Ok((finish, warning))) => {
                assert_eq!(output.finish, finish, "{name}");
                assert_eq!(output.warnings, Vec::from_iter(warning), "{name}");
            }
            (Err(error), Err(detail)) => {
                assert_eq!(error.detail, detail, "{name}");
                assert_eq!(error.category, ErrorCategory::Runtime, "{name}");
            }
            (found, wanted) => panic!("{name}: {found:?}, not {wanted:?}"),
        }
    }
}

#[tokio::test]
async fn a_refusal_in_pieces_is_one_refusal() {
    let said = |words: &str| json!({"delta": {"refusal": words}});
    let end = json!({"delta": {}, "finish_reason": "stop"});
    let output = answered(
        streamed(&[said("I can"), said("not do"), said(" that."), end]),
        None,
    )
    .await
    .unwrap();
    assert_eq!(output.finish, FinishReason::ContentFilter);
    assert_eq!(output.warnings, ["the model refused: I cannot do that."]);
    // It is incomplete without an end of its own.
    let cut = answered(streamed(&[said("I can")]), None).await.unwrap_err();
    assert_eq!(cut.detail, "broken-stream");
}

#[tokio::test]
async fn a_key_in_a_name_or_a_refusal_is_not_passed_on() {
    const KEY: &str = "sk-local-0123456789abcdef";
    let body = |message: Value| json!({"model": format!("tiny-{KEY}"), "choices": [{"message": message, "finish_reason": "stop"}]});
    let refusal = format!("{}{KEY}", "x".repeat(290));
    for message in [json!({"content": "ok"}), json!({"refusal": refusal})] {
        let output = answered(Reply::json(200, &body(message)), Some(KEY))
            .await
            .unwrap();
        assert_eq!(output.model_id.as_deref(), Some("tiny-***"));
        assert!(!format!("{output:?}").contains("sk-"), "{output:?}");
    }
    for id in ["gpt-5.4", "other"] {
        let list = json!({"data": [{"id": id}, {"id": format!("tiny-{KEY}")}]});
        let server = FakeServer::start(move |_| Reply::json(200, &list)).unwrap();
        let health = compatible(Some(&server.url()), Some(KEY))
            .health_check(Timestamp::from_unix_seconds(0))
            .await;
        assert_eq!(health.models, [id, "tiny-***"]);
        assert!(!format!("{health:?}").contains(KEY), "{health:?}");
    }
}
