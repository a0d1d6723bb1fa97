//! Pieces of answers as the vendors send them, and the parts that they become.

use serde_json::json;

use super::*;

fn call(position: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> ChatPiece {
    ChatPiece {
        calls: vec![CallPiece {
            id: id.map(str::to_owned),
            name: name.map(str::to_owned),
            arguments: arguments.to_owned(),
            signature: None,
            position,
        }],
        ..ChatPiece::default()
    }
}

fn thought(position: Option<u64>, text: &str, signature: Option<&str>) -> ChatPiece {
    ChatPiece {
        thoughts: vec![ThoughtPiece {
            text: text.to_owned(),
            signature: signature.map(str::to_owned),
            is_encrypted: false,
            position,
        }],
        ..ChatPiece::default()
    }
}

fn build(pieces: Vec<ChatPiece>) -> Vec<MessagePart> {
    let mut builder = PartBuilder::default();
    pieces.into_iter().for_each(|piece| builder.add_piece(piece));
    builder.finish("own")
}

fn whole_call(id: &str, name: &str, arguments: Value) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
        signature: None,
    })
}

#[test]
fn pieces_of_texts_and_calls_are_joined() {
    let text = ChatPiece::from_text;
    let cases = [
        (vec![], vec![]),
        (
            vec![text("a"), text(""), text("b")],
            vec![MessagePart::Text("ab".to_owned())],
        ),
        (
            // OpenAI: the id and the name come first, the arguments in portions; two calls by position.
            vec![
                call(Some(0), Some("x"), Some("read"), ""),
                call(Some(0), None, None, "{\"path\":"),
                call(Some(1), Some("y"), Some("list"), ""),
                call(Some(0), None, None, "\"f\"}"),
            ],
            vec![
                whole_call("x", "read", json!({"path": "f"})),
                whole_call("y", "list", json!({})),
            ],
        ),
        (
            // Servers that give every call the position 0.
            vec![
                call(Some(0), Some("x"), Some("read"), "{}"),
                call(Some(0), Some("y"), Some("list"), "{}"),
            ],
            vec![
                whole_call("x", "read", json!({})),
                whole_call("y", "list", json!({})),
            ],
        ),
        (
            // Gemini and Ollama: whole calls without ids.
            vec![
                text("I look."),
                call(None, None, Some("read"), "{\"a\":1}"),
                call(None, None, Some("read"), "{\"a\":2}"),
            ],
            vec![
                MessagePart::Text("I look.".to_owned()),
                whole_call("call_1", "read", json!({"a": 1})),
                whole_call("call_2", "read", json!({"a": 2})),
            ],
        ),
        (
            vec![call(Some(0), Some("x"), Some("read"), "{\"a\":")],
            vec![whole_call("x", "read", json!("{\"a\":"))],
        ),
    ];
    for (pieces, expected) in cases {
        assert_eq!(build(pieces), expected);
    }
}

#[test]
fn thinking_keeps_its_signature_and_its_place() {
    let parts = build(vec![
        thought(Some(0), "let ", None),
        thought(Some(0), "me see", None),
        thought(Some(0), "", Some("sig")),
        ChatPiece::from_text("Done."),
        thought(Some(2), "again", Some("sig2")),
    ]);
    let thinking = |text: &str, signature: &str| {
        MessagePart::Thinking(ThinkingPart {
            text: text.to_owned(),
            signature: Some(signature.to_owned()),
            is_encrypted: false,
            provider: "own".to_owned(),
        })
    };
    assert_eq!(
        parts,
        [
            thinking("let me see", "sig"),
            MessagePart::Text("Done.".to_owned()),
            thinking("again", "sig2")
        ]
    );
    // Without positions, thinking after text is another one.
    let apart = build(vec![
        thought(None, "a", None),
        thought(None, "b", None),
        ChatPiece::from_text("x"),
        thought(None, "c", None),
    ]);
    let texts: Vec<String> = apart.iter().map(|part| format!("{part:?}")).collect();
    assert_eq!(apart.len(), 3, "{texts:?}");
}
