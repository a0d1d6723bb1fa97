//! What clients send and see, on both wires.

use agentos_model::{CallPiece, ChatEvent, ChatFinish, ChatReply, ReplyBuilder, ThoughtPiece};
use agentos_tool::{FinishReason, Usage};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{ClientFault, ClientRequest, ClientWire, FaultKind, ReplyFacts, RequestEcho};

pub const WIRES: [ClientWire; 3] = [ClientWire::OpenAi, ClientWire::Responses, ClientWire::Anthropic];

pub fn read(wire: ClientWire, body: &Value) -> ClientRequest {
    wire.read_request(body.to_string().as_bytes()).unwrap()
}

pub fn refuse(wire: ClientWire, body: &Value) -> (String, String) {
    let fault = wire.read_request(body.to_string().as_bytes()).unwrap_err();
    (fault.field.unwrap_or_default(), fault.message)
}

pub fn facts() -> ReplyFacts {
    ReplyFacts {
        id: "id-1".to_owned(),
        model: "pool".to_owned(),
        provider: "gemini".to_owned(),
        created: 7,
        echo: RequestEcho::default(),
    }
}

/// Events of an answer with thinking, text, two calls and an end.
pub fn events() -> Vec<ChatEvent> {
    let thought = |text: &str, signature: Option<&str>| {
        ChatEvent::Thinking(ThoughtPiece {
            text: text.to_owned(),
            signature: signature.map(str::to_owned),
            ..ThoughtPiece::default()
        })
    };
    let call = |id: Option<&str>, name: Option<&str>, arguments: &str, position, mark: Option<&str>| {
        ChatEvent::ToolCall(CallPiece {
            id: id.map(str::to_owned),
            name: name.map(str::to_owned),
            arguments: arguments.to_owned(),
            signature: mark.map(str::to_owned),
            position: Some(position),
        })
    };
    vec![
        ChatEvent::Note {
            note: "sent again".to_owned(),
        },
        thought("Let me ", None),
        thought("look.", Some("sig")),
        ChatEvent::Text {
            text: "I look".to_owned(),
        },
        ChatEvent::Text {
            text: " now.".to_owned(),
        },
        call(Some("a"), Some("read"), "{\"path\":", 1, Some("mark")),
        call(None, None, "\"x\"}", 1, None),
        call(Some("b"), Some("time"), "", 2, None),
        ChatEvent::Usage(Usage {
            input_tokens: Some(10),
            cached_tokens: Some(4),
            output_tokens: Some(5),
            ..Usage::default()
        }),
        ChatEvent::Finish(finish(FinishReason::ToolCalls)),
    ]
}

pub fn finish(finish: FinishReason) -> ChatFinish {
    ChatFinish {
        finish,
        model_id: None,
        endpoint: None,
        latency_ms: 1,
        warnings: Vec::new(),
    }
}

pub fn reply() -> ChatReply {
    let mut builder = ReplyBuilder::default();
    events().into_iter().for_each(|event| builder.add_event(event));
    builder.finish_reply("gemini").unwrap()
}

pub fn stream(wire: ClientWire, reports_usage: bool, events: &[ChatEvent]) -> String {
    let mut writer = wire.start_stream(facts(), reports_usage);
    let mut out = String::new();
    events
        .iter()
        .for_each(|event| writer.write_event(event, &mut out));
    out
}

/// Returns the JSON of each event of a stream.
pub fn data_of(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    lines
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[test]
fn both_wires_carry_the_same_conversation() {
    let openai = read(
        ClientWire::OpenAi,
        &json!({
            "model": "m", "max_completion_tokens": 9, "temperature": 0.5, "stop": "END",
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": [{"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}},
                    {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{\"at\":2}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
                {"role": "tool", "tool_call_id": "c2", "content": "a dog"},
                {"role": "assistant", "content": "Both."},
            ],
            "tools": [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}],
            "tool_choice": {"type": "function", "function": {"name": "look"}},
        }),
    );
    let anthropic = read(
        ClientWire::Anthropic,
        &json!({
            "model": "m", "max_tokens": 9, "temperature": 0.5, "stop_sequences": ["END"],
            "system": [{"type": "text", "text": "Be short."}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "What is this?"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
                    {"type": "tool_use", "id": "c2", "name": "look", "input": {"at": 2}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "a cat"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "a dog"}]}]},
                {"role": "assistant", "content": [{"type": "text", "text": "Both."}]},
            ],
            "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "tool", "name": "look"},
        }),
    );
    assert_eq!(openai.chat, anthropic.chat);
    assert!(openai.ignored.is_empty() && anthropic.ignored.is_empty());
}

#[test]
fn what_has_no_effect_is_named_and_what_cannot_be_had_is_refused() {
    let openai = |field: &str, value: Value| {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]});
        body[field] = value;
        body
    };
    for (field, value, ignored) in [
        ("user", json!("anna"), vec![]),
        ("reasoning_effort", json!("high"), vec!["reasoning_effort"]),
        ("verbosity", Value::Null, vec![]),
        ("n", json!(1), vec![]),
        ("frequency_penalty", json!(0), vec![]),
        ("logit_bias", json!({}), vec![]),
    ] {
        assert_eq!(
            read(ClientWire::OpenAi, &openai(field, value)).ignored,
            ignored,
            "{field}"
        );
    }
    let refused: Vec<String> = [
        ("n", json!(2)),
        ("logprobs", json!(true)),
        ("frequency_penalty", json!(0.5)),
        ("functions", json!([{"name": "f"}])),
        ("modalities", json!(["text", "audio"])),
        ("response_format", json!({"type": "grammar"})),
        ("tools", json!([{"type": "custom", "custom": {"name": "x"}}])),
        ("tool_choice", json!("some")),
        ("temperature", json!("hot")),
        ("messages", json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example/x.png"}}]}])),
        ("messages", json!([{"role": "user", "content": [{"type": "file", "file": {}}]}])),
        ("messages", json!([{"role": "oracle", "content": "x"}])),
    ]
    .into_iter()
    .map(|(field, value)| {
        let (field, message) = refuse(ClientWire::OpenAi, &openai(field, value));
        format!("{field}: {message}")
    })
    .collect();
    assert_snapshot!(refused.join("\n"), @r"
    n: `n` is not supported with this value
    logprobs: `logprobs` is not supported with this value
    frequency_penalty: `frequency_penalty` is not supported with this value
    functions: `functions` is not supported with this value
    modalities: `modalities` is not supported with this value
    response_format.type: the format `grammar` is not supported; `text`, `json_object` and `json_schema` are
    tools[0].type: a tool of type `custom` is not supported; functions are
    tool_choice: `tool_choice` has an unknown form
    temperature: `temperature` must be a number
    messages[0].content[0].image_url.url: an image must be a `data:` URL in base64; addresses are not fetched
    messages[0].content[0].type: a part of type `file` is not supported
    messages[0].role: the role `oracle` is not supported
    ");
}

#[test]
fn a_limit_of_no_tokens_is_refused() {
    let body = |name: &str| json!({"model": "m", name: 0, "messages": [], "input": "x"});
    let refused: Vec<String> = [
        (ClientWire::OpenAi, "max_tokens"),
        (ClientWire::OpenAi, "max_completion_tokens"),
        (ClientWire::Anthropic, "max_tokens"),
        (ClientWire::Responses, "max_output_tokens"),
    ]
    .map(|(wire, name)| refuse(wire, &body(name)).1)
    .to_vec();
    assert_snapshot!(refused.join("\n"), @r"
    `max_tokens` must be at least 1
    `max_completion_tokens` must be at least 1
    `max_tokens` must be at least 1
    `max_output_tokens` must be at least 1
    ");
}

#[test]
fn anthropics_own_tools_and_addresses_are_refused() {
    let body = |messages: Value, tools: Value| json!({"model": "m", "max_tokens": 1, "messages": messages, "tools": tools});
    let user = |block: Value| json!([{"role": "user", "content": [block]}]);
    let refused: Vec<String> = [
        body(
            json!([]),
            json!([{"type": "web_search_20250305", "name": "web_search"}]),
        ),
        body(
            user(json!({"type": "image", "source": {"type": "url", "url": "https://a.example"}})),
            json!([]),
        ),
        body(user(json!({"type": "document", "source": {}})), json!([])),
        body(json!([{"role": "oracle", "content": "x"}]), json!([])),
        json!({"model": "m", "messages": []}),
        json!({"model": 1, "max_tokens": 1, "messages": []}),
        json!([]),
    ]
    .iter()
    .map(|body| {
        let (field, message) = refuse(ClientWire::Anthropic, body);
        format!("{field}: {message}")
    })
    .collect();
    assert_snapshot!(refused.join("\n"), @r"
    tools[0].type: the tool `web_search_20250305` runs at the vendor and is not supported
    messages[0].content[0].source.type: an image of type `url` is not supported: it must be `base64`; addresses are not fetched
    messages[0].content[0].type: a block of type `document` is not supported
    messages[0].role: the role `oracle` is not supported; `user`, `assistant` and `system` are
    max_tokens: `max_tokens` is missing
    model: `model` must be a text
    : the body must be an object
    ");
}

#[test]
fn an_answer_in_both_forms() {
    assert_snapshot!(ClientWire::OpenAi.write_reply(&facts(), &reply()), @r#"{"choices":[{"finish_reason":"tool_calls","index":0,"logprobs":null,"message":{"content":"I look now.","reasoning_content":"Let me look.","refusal":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"path\":\"x\"}","name":"read"},"id":"a~gemini~mark","type":"function"},{"function":{"arguments":"{}","name":"time"},"id":"b","type":"function"}]}}],"created":7,"id":"id-1","model":"pool","object":"chat.completion","usage":{"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":0},"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":4},"total_tokens":15}}"#);
    assert_snapshot!(ClientWire::Anthropic.write_reply(&facts(), &reply()), @r#"{"content":[{"signature":"agentos.gemini.sig","thinking":"Let me look.","type":"thinking"},{"text":"I look now.","type":"text"},{"id":"a~gemini~mark","input":{"path":"x"},"name":"read","type":"tool_use"},{"id":"b","input":{},"name":"time","type":"tool_use"}],"id":"id-1","model":"pool","role":"assistant","stop_reason":"tool_use","stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"input_tokens":6,"output_tokens":5}}"#);
}

#[test]
fn chunks_of_openai() {
    assert_snapshot!(stream(ClientWire::OpenAi, true, &events()), @r#"
    data: {"choices":[{"delta":{"content":"","role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":7,"id":"id-1","model":"pool","object":"chat.completion.chunk","usage":null}

    data: {"choices":[{"delta":{"reasoning_content":"Let me "},"finish_reason":null,"index":0,"logprobs":null}],"created":7,"id":"id-1","model":"pool","object":"chat.completion.chunk","usage":null}

    data: {"choices":[{"delta":{"reasoning_content":"look."},"finish_reason":null,"index":0,"logprobs":null}],"created":7,"id":"id-1","model":"pool","object":"chat.completion.chunk","usage":null}

    data: {"choices":[{"delta":{"content":"I look"},"finish_reason":null,"index":0,"logprobs":null}],"created":7,"id":"id-1","model":"pool","object":"chat.completion.chunk","usage":null}

    data: {"choices":[{"delta":{"content":" now."},"finish_reason":null,"index":0,"logprobs":null}],"created":7,"id":"id-1","model":"pool","object":"chat.completion.chunk","usage":null}

    data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"path\":","name":"read"},"id":"a~gemini~mark","index":0,"type":"function"}]},"finish_reason":null,"index":0,"logprobs":null}],"created":7,"id":"id-1","model":"pool","object":"chat.completion.chunk","usage":null}

    data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"\"x\"}"},"index":0}]},"finish_reason":null,"index":0,"logprobs":null}],"created":7,"id":"id-1","model":"pool","object":"chat.completion.chunk","usage":null}

    data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"","name":"time"},"id":"b","index":1,"type":"function"}]},"finish_reason":null,"index":0,"logprobs":null}],"created":7,"id":"id-1","model":"pool","object":"chat.completion.chunk","usage":null}

    data: {"choices":[{"delta":{},"finish_reason":"tool_calls","index":0,"logprobs":null}],"created":7,"id":"id-1","model":"pool","object":"chat.completion.chunk","usage":null}

    data: {"choices":[],"created":7,"id":"id-1","model":"pool","object":"chat.completion.chunk","usage":{"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":0},"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":4},"total_tokens":15}}

    data: [DONE]
    "#);
}

#[test]
fn events_of_anthropic() {
    assert_snapshot!(stream(ClientWire::Anthropic, true, &events()), @r#"
    event: message_start
    data: {"message":{"content":[],"id":"id-1","model":"pool","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message","usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":0,"output_tokens":0}},"type":"message_start"}

    event: content_block_start
    data: {"content_block":{"signature":"","thinking":"","type":"thinking"},"index":0,"type":"content_block_start"}

    event: content_block_delta
    data: {"delta":{"thinking":"Let me ","type":"thinking_delta"},"index":0,"type":"content_block_delta"}

    event: content_block_delta
    data: {"delta":{"thinking":"look.","type":"thinking_delta"},"index":0,"type":"content_block_delta"}

    event: content_block_delta
    data: {"delta":{"signature":"agentos.gemini.sig","type":"signature_delta"},"index":0,"type":"content_block_delta"}

    event: content_block_stop
    data: {"index":0,"type":"content_block_stop"}

    event: content_block_start
    data: {"content_block":{"text":"","type":"text"},"index":1,"type":"content_block_start"}

    event: content_block_delta
    data: {"delta":{"text":"I look","type":"text_delta"},"index":1,"type":"content_block_delta"}

    event: content_block_delta
    data: {"delta":{"text":" now.","type":"text_delta"},"index":1,"type":"content_block_delta"}

    event: content_block_stop
    data: {"index":1,"type":"content_block_stop"}

    event: content_block_start
    data: {"content_block":{"id":"a~gemini~mark","input":{},"name":"read","type":"tool_use"},"index":2,"type":"content_block_start"}

    event: content_block_delta
    data: {"delta":{"partial_json":"{\"path\":","type":"input_json_delta"},"index":2,"type":"content_block_delta"}

    event: content_block_delta
    data: {"delta":{"partial_json":"\"x\"}","type":"input_json_delta"},"index":2,"type":"content_block_delta"}

    event: content_block_stop
    data: {"index":2,"type":"content_block_stop"}

    event: content_block_start
    data: {"content_block":{"id":"b","input":{},"name":"time","type":"tool_use"},"index":3,"type":"content_block_start"}

    event: content_block_stop
    data: {"index":3,"type":"content_block_stop"}

    event: message_delta
    data: {"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta","usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"input_tokens":6,"output_tokens":5}}

    event: message_stop
    data: {"type":"message_stop"}
    "#);
}

/// Claude Code sends system messages between the others, and settings that no other vendor has.
#[test]
fn a_request_of_claude_code_is_read() {
    let body = json!({
        "model": "m", "max_tokens": 32000, "stream": true, "thinking": {"type": "adaptive"},
        "system": [{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
            {"role": "system", "content": "Agents: none."},
            {"role": "assistant", "content": "yes?"},
            {"role": "system", "content": [{"type": "text", "text": "It is late."}]},
        ],
        "metadata": {"user_id": "u"}, "output_config": {"effort": "high"}, "context_management": {"edits": []},
    });
    let request = read(ClientWire::Anthropic, &body);
    assert_eq!(
        request.ignored,
        ["context_management", "output_config.effort", "thinking"]
    );
    assert_eq!(
        request.chat.system.as_deref(),
        Some("Be short.\n\nAgents: none.\n\nIt is late.")
    );
    assert_eq!(request.chat.messages.len(), 2);
    assert_eq!(request.chat.cache.messages, 1);
    // The same body without a limit counts its tokens, and asks for no answer.
    let mut count = body;
    count.as_object_mut().unwrap().remove("max_tokens");
    let count = ClientWire::read_count(count.to_string().as_bytes()).unwrap();
    assert_eq!(count.chat.messages, request.chat.messages);
}

/// The client sends back what it was shown, and the provider's signature and mark are in it.
#[test]
fn signatures_and_marks_come_back_unchanged() {
    let shown = ClientWire::Anthropic.write_reply(&facts(), &reply());
    let body = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "assistant", "content": shown["content"]}]});
    assert_eq!(
        read(ClientWire::Anthropic, &body).chat.messages,
        [reply().message]
    );
    // OpenAI's form has no place for signed thinking; the marks of calls come back.
    let shown = ClientWire::OpenAi.write_reply(&facts(), &reply());
    let body = json!({"model": "m", "messages": [shown["choices"][0]["message"]]});
    let back = &read(ClientWire::OpenAi, &body).chat.messages[0];
    assert_eq!(back.parts, reply().message.parts[1..]);
}

#[test]
fn a_broken_stream_has_no_end() {
    let fault = ClientFault {
        kind: FaultKind::Server,
        code: "network".to_owned(),
        message: "the connection broke".to_owned(),
        field: None,
    };
    for (wire, end) in [
        (ClientWire::OpenAi, "[DONE]"),
        (ClientWire::Anthropic, "message_stop"),
    ] {
        let mut writer = wire.start_stream(facts(), true);
        let mut out = String::new();
        writer.write_event(
            &ChatEvent::Text {
                text: "half".to_owned(),
            },
            &mut out,
        );
        writer.write_fault(&fault, &mut out);
        assert!(!out.contains(end), "{out}");
        let last = data_of(&out).pop().unwrap();
        assert_eq!(last["error"]["message"], "the connection broke");
    }
}

/// Pieces of a stream add up to the document of the same answer, however the text is cut.
#[test]
fn a_stream_adds_up_to_the_document() {
    proptest!(|(texts in prop::collection::vec("[a-zé\\n\"\\\\]{0,6}", 0..6), thinks in any::<bool>())| {
        let mut events: Vec<ChatEvent> = Vec::new();
        if thinks {
            events.push(ChatEvent::Thinking(ThoughtPiece { text: "hm".to_owned(), ..ThoughtPiece::default() }));
        }
        let pieces = texts.iter().filter(|text| !text.is_empty());
        events.extend(pieces.map(|text| ChatEvent::Text { text: text.clone() }));
        events.push(ChatEvent::Finish(finish(FinishReason::Stop)));
        let openai: String = data_of(&stream(ClientWire::OpenAi, false, &events))
            .iter()
            .filter_map(|data| data.pointer("/choices/0/delta/content")?.as_str().map(str::to_owned))
            .collect();
        let anthropic: String = data_of(&stream(ClientWire::Anthropic, false, &events))
            .iter()
            .filter_map(|data| data.pointer("/delta/text")?.as_str().map(str::to_owned))
            .collect();
        prop_assert_eq!(&openai, &texts.concat());
        prop_assert_eq!(&anthropic, &texts.concat());
    });
}

/// Any JSON is a request or a fault.
#[test]
fn any_body_is_read_or_refused() {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "(user|assistant|tool|system|text|image|image_url|function|data:image/png;base64,aa|x~y~z|m|message|custom|namespace|input_text|input_image|reasoning|function_call|function_call_output|grammar|allowed_tools)"
            .prop_map(Value::from),
    ];
    let keys = "(model|messages|role|content|type|text|tools|function|name|tool_calls|id|source|stop|stream|tool_choice|response_format|max_tokens|input|output|format|call_id|arguments|summary|namespace)";
    let json = leaf.prop_recursive(6, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys, inner, 0..6).prop_map(Value::from_iter),
        ]
    });
    proptest!(|(body in json)| {
        for wire in WIRES {
            let text = body.to_string();
            let (one, other) = (wire.read_request(text.as_bytes()), wire.read_request(text.as_bytes()));
            prop_assert_eq!(one, other);
            let _ = ClientWire::read_count(text.as_bytes());
        }
    });
}
