//! Any conversation on every wire, read back by strict fakes of the vendors.

use agentos_generic_http::Wire;
use agentos_model::{
    CacheHints, CallSignature, ChatMessage, ChatRequest, ChatRole, ImageData, MessagePart, PartBuilder,
    ThinkingPart, ToolCall, ToolResult, prepare_messages,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::strict::{self, ReadChat};
use super::tests::{conversation, wires, write_request};

/// The strict fake of each wire, in the order of [`wires`].
const READERS: [fn(&Value, &str) -> ReadChat; 6] = [
    strict::read_openai,
    strict::read_anthropic,
    strict::read_gemini,
    strict::read_ollama,
    strict::read_completion,
    strict::read_responses,
];

/// An answer with text, thinking and two calls, as each vendor writes it in one document.
fn vendor_answers() -> [Value; 6] {
    let arguments = |path: &str| json!({ "path": path });
    let function = |id: &str, path: &str| {
        json!({"id": id, "type": "function", "function": {
            "name": "read_file", "arguments": arguments(path).to_string(),
        }})
    };
    [
        json!({"choices": [{"finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "I look.", "reasoning_content": "Hm.",
            "tool_calls": [function("call_1|fc_2", "a"), function(&"long".repeat(30), "b")],
        }}]}),
        json!({"stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
            {"type": "redacted_thinking", "data": "secret"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_01", "name": "read_file", "input": arguments("a")},
            {"type": "tool_use", "id": "toolu_02", "name": "read_file", "input": arguments("b")},
        ]}),
        json!({"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "Hm.", "thought": true},
            {"text": "I look."},
            {"functionCall": {"name": "read_file", "args": arguments("a")}, "thoughtSignature": "mark"},
            {"functionCall": {"name": "read_file", "args": arguments("b")}},
        ]}}]}),
        json!({"done": true, "done_reason": "stop", "message": {
            "role": "assistant", "content": "I look.", "thinking": "Hm.",
            "tool_calls": [
                {"function": {"name": "read_file", "arguments": arguments("a")}},
                {"function": {"name": "read_file", "arguments": arguments("b")}},
            ],
        }}),
        // This wire has no calls.
        json!({"content": "I look.", "stop": true, "stop_type": "eos"}),
        json!({"status": "completed", "model": "m", "output": [
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": [
                {"type": "summary_text", "text": "Hm."},
            ]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call", "call_id": "call_2", "name": "read_file", "arguments": "{\"path\":\"b\"}"},
        ]}),
    ]
}

/// Reads a vendor's answer as the message that is appended to the conversation.
fn read_answer(wire: &dyn Wire, provider: &str, answer: &Value) -> ChatMessage {
    let mut builder = PartBuilder::default();
    builder.add_piece(wire.read_answer(answer).unwrap().content);
    ChatMessage::from_model(builder.finish(provider))
}

/// Returns a result for each call of a message, the last call's first.
fn answer_calls(message: &ChatMessage) -> ChatMessage {
    let results = message.parts.iter().rev().filter_map(|part| match part {
        MessagePart::ToolCall(call) => Some(MessagePart::ToolResult(ToolResult {
            tool_use_id: call.id.clone(),
            text: format!("text of {}", call.arguments["path"]),
            images: Vec::new(),
            is_error: false,
        })),
        MessagePart::Text(_)
        | MessagePart::Image(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Thinking(_) => None,
    });
    let mut parts: Vec<MessagePart> = results.collect();
    parts.push(MessagePart::Text("Go on.".to_owned()));
    ChatMessage {
        parts,
        ..ChatMessage::from_user("")
    }
}

/// Returns a conversation that began on each wire, with the name of the wire.
pub(super) fn foreign_conversations() -> Vec<(&'static str, ChatRequest)> {
    let begun = wires().into_iter().zip(vendor_answers());
    let chats = begun.map(|((from, reading), answer)| {
        let said = read_answer(reading.as_ref(), from, &answer);
        let chat = ChatRequest {
            messages: vec![
                ChatMessage::from_user("What is in a and b?"),
                said.clone(),
                answer_calls(&said),
            ],
            // Marks for a vendor's cache must not make another one refuse.
            cache: CacheHints {
                instructions: true,
                messages: 3,
            },
            ..conversation(from)
        };
        (from, chat)
    });
    chats.collect()
}

// LB-05, LB-06, PB-36, PB-39: calls are read from each vendor's answer, and each result goes back to its call.
#[test]
fn every_vendor_takes_a_conversation_that_began_on_any_other() {
    let mut pairs = 0;
    for (from, chat) in foreign_conversations() {
        for ((to, writing), reader) in wires().iter().zip(READERS) {
            let body = write_request(writing.as_ref(), to, &chat);
            let read = reader(&body, to).unwrap_or_else(|why| panic!("{from} to {to}: {why}: {body}"));
            let text = format!("{read:?}");
            assert!(
                text.contains("I look.") && text.contains("Go on."),
                "{from} to {to}: {text}"
            );
            // Each result is that of its own call, also where the wire has no ids.
            for call in super::strict::calls_of_chat(&read) {
                let path = &call.arguments["path"];
                let result = super::strict::result_of(&read, &call.id).unwrap();
                assert_eq!(result.text, format!("text of {path}"), "{from} to {to}");
            }
            pairs += 1;
        }
    }
    assert_eq!(pairs, wires().len() * wires().len());
}

/// Returns what a wire can carry of prepared messages.
fn carry(provider: &str, messages: &[ChatMessage]) -> Vec<ChatMessage> {
    let mut number = 0;
    let mut ids = Vec::new();
    let carried = messages.iter().map(|message| {
        let is_user = message.role == ChatRole::User;
        let mut parts = message.parts.clone();
        for part in &mut parts {
            match (part, provider) {
                // Neither has a field for a failed call.
                (MessagePart::ToolResult(result), "openai" | "responses" | "ollama") => {
                    if std::mem::take(&mut result.is_error) {
                        result.text = format!("Error: {}", result.text);
                    }
                    if provider == "ollama" {
                        rename(&ids, &mut result.tool_use_id);
                    }
                }
                (MessagePart::ToolResult(result), _) => {
                    if provider == "anthropic" && result.text.trim().is_empty() {
                        result.text.clear();
                    }
                }
                // Only Gemini has marks on calls.
                (MessagePart::ToolCall(call), "ollama") => {
                    ids.push((call.id.clone(), format!("call_{number}")));
                    number += 1;
                    rename(&ids, &mut call.id);
                    call.signature = None;
                }
                (MessagePart::ToolCall(call), "openai" | "responses" | "anthropic") => call.signature = None,
                (MessagePart::Image(image), "ollama") => image.media_type = "image/png".to_owned(),
                // Gemini has one kind of thinking; encrypted thinking of Anthropic has no text.
                (MessagePart::Thinking(thinking), "gemini" | "responses") => thinking.is_encrypted = false,
                (MessagePart::Thinking(thinking), _) => {
                    if thinking.is_encrypted {
                        thinking.text.clear();
                    }
                }
                (_, _) => {}
            }
        }
        let joins = match provider {
            "openai" => !is_user,
            "ollama" => true,
            _ => false,
        };
        if joins {
            parts = join_texts(message, parts);
        }
        ChatMessage {
            role: message.role,
            parts,
        }
    });
    carried.collect()
}

fn rename(ids: &[(String, String)], id: &mut String) {
    if let Some((_, new)) = ids.iter().rev().find(|(old, _)| old == id) {
        id.clone_from(new);
    }
}

/// Joins the texts of a message to one. It stands between the results and the rest.
fn join_texts(message: &ChatMessage, parts: Vec<MessagePart>) -> Vec<MessagePart> {
    let is_text = |part: &MessagePart| matches!(part, MessagePart::Text(_));
    let is_result = |part: &MessagePart| matches!(part, MessagePart::ToolResult(_));
    let (mut out, rest): (Vec<_>, Vec<_>) = parts
        .into_iter()
        .filter(|part| !is_text(part))
        .partition(is_result);
    let text = message.text();
    out.extend((!text.is_empty()).then_some(MessagePart::Text(text)));
    out.extend(rest);
    out
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        "[a-zé\"\\\\\n ]{1,12}"
    ]
}

fn any_image() -> impl Strategy<Value = ImageData> {
    prop_oneof![Just("image/png"), Just("image/jpeg")].prop_map(|media_type| ImageData {
        media_type: media_type.to_owned(),
        base64: "iVBORw0=".to_owned(),
    })
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("toolu_1.2|x".to_owned()),
        Just("x".repeat(80)),
        "call_[0-3]"
    ]
}

fn any_provider() -> impl Strategy<Value = String> {
    const NAMES: &[&str] = &["openai", "anthropic", "gemini", "ollama", "responses"];
    proptest::sample::select(NAMES).prop_map(str::to_owned)
}

fn any_part() -> impl Strategy<Value = MessagePart> {
    let arguments = prop_oneof![
        Just(json!({})),
        Just(json!({"path": "a\"b", "n": [1, -2.5, null, true]})),
        Just(json!("not JSON"))
    ];
    let call = (
        any_id(),
        "[a-z_-]{1,8}",
        arguments,
        proptest::option::of(any_provider()),
    );
    let call = call.prop_map(|(id, name, arguments, signed)| {
        MessagePart::ToolCall(ToolCall {
            id,
            name,
            arguments,
            signature: signed.map(|provider| CallSignature {
                provider,
                mark: "mark".to_owned(),
            }),
        })
    });
    let result = (
        any_id(),
        any_text(),
        proptest::collection::vec(any_image(), 0..2),
        any::<bool>(),
    );
    let result = result.prop_map(|(tool_use_id, text, images, is_error)| {
        MessagePart::ToolResult(ToolResult {
            tool_use_id,
            text,
            images,
            is_error,
        })
    });
    let thinking = (any_text(), any::<bool>(), any::<bool>(), any_provider());
    let thinking = thinking.prop_map(|(text, is_signed, is_encrypted, provider)| {
        MessagePart::Thinking(ThinkingPart {
            text,
            // An id and content, as `/responses` has them; the others take any text.
            signature: is_signed.then(|| "rs_1 sig".to_owned()),
            is_encrypted,
            provider,
        })
    });
    prop_oneof![
        any_text().prop_map(MessagePart::Text),
        any_image().prop_map(MessagePart::Image),
        call,
        result,
        thinking
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Loses by rule what a wire cannot carry, and nothing else: the strict fake reads the rest as it was.
    #[test]
    fn any_conversation_through_any_wire_is_what_the_wire_can_carry(
        turns in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any_part(), 0..5)), 0..7),
        stable in 0_usize..9,
    ) {
        // A conversation begins with its user.
        let mut messages = vec![ChatMessage::from_user("Hello")];
        messages.extend(turns.into_iter().map(|(is_user, parts)| ChatMessage {
            role: if is_user { ChatRole::User } else { ChatRole::Assistant },
            parts,
        }));
        for ((provider, wire), reader) in wires().iter().zip(READERS) {
            let cache = CacheHints { instructions: true, messages: stable };
            let chat = ChatRequest { messages: messages.clone(), cache, ..conversation(provider) };
            let body = write_request(wire.as_ref(), provider, &chat);
            let read = reader(&body, provider).map_err(|why| {
                TestCaseError::fail(format!("{provider}: {why}: {body}"))
            })?;
            if wire.abilities(provider).tools {
                let prepared = prepare_messages(&messages, &wire.abilities(provider)).messages;
                prop_assert_eq!(read, carry(provider, &prepared), "{}", provider);
            }
        }
    }
}
