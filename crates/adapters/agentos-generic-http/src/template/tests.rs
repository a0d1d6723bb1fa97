//! Filling a profile's request template.

use agentos_model::ChatRequest;
use serde_json::json;

use super::*;

#[test]
fn places_are_filled_and_empty_fields_left_out() {
    let chat = ChatRequest::from_text("Say {{model}}.");
    let job = ModelRequest {
        stable_messages: 0,
        chat: &chat,
        messages: &chat.messages,
        model: Some("tiny"),
        stream: false,
        max_tokens: Some(9),
        temperature: None,
        top_p: None,
        seed: None,
        thinking: None,
        stop: &[],
    };
    let wire = TemplateWire {
        request: json!({
            "input": ["{{user}}", {"as": "<{{model}}> {{other}}"}],
            "limit": "{{max_tokens}}", "temperature": "{{temperature}}", "fixed": [1, null, true],
        }),
        answer: "/out/0".to_owned(),
        finish: Some("/why".to_owned()),
        whole: vec!["stop".to_owned()],
    };
    assert_eq!(
        wire.build_request(&job),
        json!({
            "input": ["Say {{model}}.", {"as": "<tiny> {{other}}"}],
            "limit": 9, "fixed": [1, null, true],
        })
    );
    let read = |body: Value| {
        wire.read_answer(&body)
            .map(|piece| (piece.content.text, piece.finish))
    };
    let text = |finish| Ok(("a".to_owned(), Some(finish)));
    assert_eq!(
        read(json!({"out": ["a"], "why": "stop"})),
        text(FinishReason::Stop)
    );
    assert_eq!(
        read(json!({"out": ["a"], "why": "cut"})),
        text(FinishReason::Unknown)
    );
    assert_eq!(read(json!({"out": ["a"]})), text(FinishReason::Unknown));
    assert_eq!(read(json!({"out": []})).unwrap_err().reason, Reason::Fields);
}
