//! Conversations that a wire or a vendor would refuse, and what they become.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{ImageData, ThinkingPart};

const WIRE: WireAbilities<'static> = WireAbilities {
    provider: "own",
    tools: true,
    thinking: true,
    images: true,
    result_images: true,
    max_id_bytes: 16,
};

fn text(text: &str) -> MessagePart {
    MessagePart::Text(text.to_owned())
}

fn call(id: &str) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: json!({"path": "f"}),
        signature: None,
    })
}

fn result(id: &str) -> MessagePart {
    MessagePart::ToolResult(ToolResult {
        tool_use_id: id.to_owned(),
        text: format!("result of {id}"),
        images: Vec::new(),
        is_error: false,
    })
}

fn thinking(provider: &str, signature: Option<&str>) -> MessagePart {
    MessagePart::Thinking(ThinkingPart {
        text: "hm".to_owned(),
        signature: signature.map(str::to_owned),
        is_encrypted: false,
        provider: provider.to_owned(),
    })
}

fn image() -> MessagePart {
    MessagePart::Image(ImageData {
        media_type: "image/png".to_owned(),
        base64: "AA==".to_owned(),
    })
}

fn user(parts: Vec<MessagePart>) -> ChatMessage {
    ChatMessage {
        role: ChatRole::User,
        parts,
    }
}

/// Writes each message in a line.
fn describe(chat: &PreparedChat) -> String {
    let part = |part: &MessagePart| match part {
        MessagePart::Text(text) => format!("{text:?}"),
        MessagePart::Image(_) => "image".to_owned(),
        MessagePart::ToolCall(call) => format!("call {} {}", call.id, call.arguments),
        MessagePart::ToolResult(result) => {
            let failed = if result.is_error { " failed" } else { "" };
            format!(
                "result {}{failed} {:?} +{}",
                result.tool_use_id,
                result.text,
                result.images.len()
            )
        }
        MessagePart::Thinking(thinking) => format!("thinking {:?}", thinking.signature),
    };
    let message = |message: &ChatMessage| {
        let parts: Vec<String> = message.parts.iter().map(part).collect();
        format!("{:?}: {}", message.role, parts.join(", "))
    };
    let lines = chat
        .messages
        .iter()
        .map(message)
        .chain(chat.notices.iter().map(|notice| format!("notice: {notice}")));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_a_wire_refuses_is_replaced_by_rule() {
    let answer = ChatMessage::from_model;
    let with_image = MessagePart::ToolResult(ToolResult {
        tool_use_id: "a".to_owned(),
        text: "seen".to_owned(),
        images: vec![ImageData {
            media_type: "image/png".to_owned(),
            base64: "AA==".to_owned(),
        }],
        is_error: false,
    });
    let blind = WireAbilities {
        images: false,
        result_images: false,
        thinking: false,
        ..WIRE
    };
    let no_result_images = WireAbilities {
        result_images: false,
        ..WIRE
    };
    let cases = [
        (
            "a whole turn",
            WIRE,
            vec![
                user(vec![text("q")]),
                answer(vec![thinking("own", Some("s")), text("t"), call("a"), call("b")]),
                user(vec![text("also"), result("b"), result("a")]),
            ],
        ),
        (
            "a call without a result",
            WIRE,
            vec![
                answer(vec![call("a"), call("b")]),
                user(vec![result("a"), text("go on")]),
            ],
        ),
        (
            "a call that ends the conversation, and one before an answer",
            WIRE,
            vec![answer(vec![call("a")]), answer(vec![text("x"), call("b")])],
        ),
        (
            "a call that the user ignores",
            WIRE,
            vec![
                answer(vec![call("a")]),
                user(vec![text("never mind")]),
                answer(vec![text("ok")]),
            ],
        ),
        (
            "a result without a call",
            WIRE,
            vec![user(vec![result("z")]), answer(vec![text("ok")])],
        ),
        (
            "thinking of others, and without signature",
            WIRE,
            vec![answer(vec![
                thinking("other", Some("s")),
                thinking("own", None),
                text("x"),
            ])],
        ),
        (
            "no images, no thinking",
            blind,
            vec![
                user(vec![image(), text("what is it?")]),
                answer(vec![thinking("own", Some("s")), call("a")]),
                user(vec![with_image.clone()]),
            ],
        ),
        (
            "images only outside results",
            no_result_images,
            vec![answer(vec![call("a")]), user(vec![with_image])],
        ),
        (
            "ids",
            WIRE,
            vec![
                answer(vec![
                    call("toolu_01234567890123456789"),
                    call("a.b"),
                    call("same"),
                ]),
                user(vec![
                    result("a.b"),
                    result("toolu_01234567890123456789"),
                    result("same"),
                ]),
                answer(vec![call("same")]),
                user(vec![result("same")]),
            ],
        ),
        (
            "no tools",
            WireAbilities { tools: false, ..WIRE },
            vec![answer(vec![call("a")]), user(vec![result("a"), text("go on")])],
        ),
        (
            "empty",
            WIRE,
            vec![
                user(vec![]),
                user(vec![text(" \n")]),
                answer(vec![]),
                user(vec![text("a")]),
                user(vec![text("b")]),
            ],
        ),
    ];
    let shown = cases
        .map(|(name, wire, messages)| format!("# {name}\n{}", describe(&prepare_messages(&messages, &wire))));
    insta::assert_snapshot!(shown.join("\n"), @r#"
    # a whole turn
    User: "q"
    Assistant: thinking Some("s"), "t", call a {"path":"f"}, call b {"path":"f"}
    User: result a "result of a" +0, result b "result of b" +0, "also"
    # a call without a result
    Assistant: call a {"path":"f"}, call b {"path":"f"}
    User: result a "result of a" +0, result b failed "The call was not run." +0, "go on"
    notice: 1 tool call or result had no counterpart
    # a call that ends the conversation, and one before an answer
    Assistant: call a {"path":"f"}
    User: result a failed "The call was not run." +0
    Assistant: "x", call b {"path":"f"}
    User: result b failed "The call was not run." +0
    notice: 2 × tool call or result had no counterpart
    # a call that the user ignores
    Assistant: call a {"path":"f"}
    User: result a failed "The call was not run." +0, "never mind"
    Assistant: "ok"
    notice: 1 tool call or result had no counterpart
    # a result without a call
    User: "result of z"
    Assistant: "ok"
    notice: 1 tool call or result had no counterpart
    # thinking of others, and without signature
    Assistant: "x"
    notice: 2 × piece of another model's thinking was left out
    # no images, no thinking
    User: "[an image was here, which this model cannot see]", "what is it?"
    Assistant: call a {"path":"f"}
    User: result a "seen\n[an image was here, which this model cannot see]" +0
    notice: 2 × image was left out, because the model's wire has none
    notice: 1 piece of another model's thinking was left out
    # images only outside results
    Assistant: call a {"path":"f"}
    User: result a "seen" +0, image
    # ids
    Assistant: call call_0 {"path":"f"}, call call_1 {"path":"f"}, call same {"path":"f"}
    User: result call_0 "result of toolu_01234567890123456789" +0, result call_1 "result of a.b" +0, result same "result of same" +0
    Assistant: call call_3 {"path":"f"}
    User: result call_3 "result of same" +0
    # no tools
    Assistant: "[called read with {\"path\":\"f\"}]"
    User: "[the call returned: result of a]", "go on"
    # empty
    User: "a", "b"
    "#);
}

fn any_part() -> impl Strategy<Value = MessagePart> {
    let id = prop_oneof![
        Just("a"),
        Just("b"),
        Just("b.b"),
        Just(""),
        Just("an-id-that-is-too-long")
    ];
    prop_oneof![
        Just(text("x")),
        Just(text("")),
        Just(image()),
        id.clone().prop_map(call),
        id.prop_map(result),
        Just(thinking("own", Some("s"))),
        Just(thinking("other", None)),
    ]
}

proptest! {
    /// The rules that all vendors share: authors alternate, every call has its result first in the next message, every result
    /// its call, ids fit and are used once, and nothing is empty.
    #[test]
    fn every_prepared_conversation_is_accepted(
        turns in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any_part(), 0..6)), 0..8)
    ) {
        let messages: Vec<ChatMessage> = turns
            .into_iter()
            .map(|(is_user, parts)| ChatMessage { role: if is_user { ChatRole::User } else { ChatRole::Assistant }, parts })
            .collect();
        let chat = prepare_messages(&messages, &WIRE).messages;
        let mut seen = BTreeSet::new();
        for (at, message) in chat.iter().enumerate() {
            prop_assert!(!message.parts.is_empty());
            prop_assert!(at == 0 || chat[at - 1].role != message.role);
            let calls: BTreeSet<&str> = message.parts.iter().filter_map(|part| match part {
                MessagePart::ToolCall(call) => Some(call.id.as_str()),
                _ => None,
            }).collect();
            for id in &calls {
                prop_assert!(seen.insert((*id).to_owned()), "twice: {id}");
                prop_assert!(!id.is_empty() && id.len() <= 16 && !id.contains('.'));
            }
            let results: Vec<&str> = match chat.get(at + 1) {
                Some(next) if message.role == ChatRole::Assistant => next.parts.iter().map_while(|part| match part {
                    MessagePart::ToolResult(result) => Some(result.tool_use_id.as_str()),
                    _ => None,
                }).collect(),
                _ => Vec::new(),
            };
            prop_assert_eq!(calls, results.iter().copied().collect());
        }
        // Nothing changes what fits already.
        prop_assert_eq!(&prepare_messages(&chat, &WIRE).messages, &chat);
    }
}

#[test]
fn what_stays_does_not_depend_on_later_messages() {
    let user = ChatMessage::from_user;
    let model = |text: &str| ChatMessage::from_model(vec![MessagePart::Text(text.to_owned())]);
    let messages = [user("one"), model("two"), user("three"), user("for now")];
    let prepared = prepare_messages(&messages, &WIRE).messages;
    // The last two are joined, so the third is another one as soon as the fourth changes.
    for (stable, count) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (9, 3)] {
        assert_eq!(
            count_stable(&messages, stable, &prepared, &WIRE),
            count,
            "{stable}"
        );
    }
}
