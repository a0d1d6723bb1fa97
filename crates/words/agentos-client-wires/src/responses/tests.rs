//! What clients of responses send and see.

use agentos_model::{CallPiece, ChatEvent, MessagePart, ReplyBuilder, ToolChoice};
use agentos_tool::{FinishReason, Usage};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tests::{data_of, events, facts, finish, read, refuse, reply, stream};
use crate::{ClientFault, ClientRequest, ClientWire, FaultKind, ReplyFacts};

const WIRE: ClientWire = ClientWire::Responses;

/// Facts of the answer to a request.
fn facts_of(request: &ClientRequest) -> ReplyFacts {
    ReplyFacts {
        id: "resp_1".to_owned(),
        echo: request.echo.clone(),
        ..facts()
    }
}

fn request(field: &str, value: Value) -> Value {
    let mut body = json!({"model": "m", "input": "hi"});
    body[field] = value;
    body
}

/// Writes the events of an answer, each as its name and its data without the response.
fn names_of(stream: &str) -> String {
    let lines = data_of(stream).into_iter().map(|mut data| {
        let fields = data.as_object_mut().unwrap();
        let kind = fields.remove("type").unwrap();
        let number = fields.remove("sequence_number").unwrap();
        fields.remove("response");
        format!("{number} {} {data}", kind.as_str().unwrap())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_input_is_the_conversation_of_the_other_wires() {
    let chat = read(
        ClientWire::OpenAi,
        &json!({
            "model": "m", "max_tokens": 9, "temperature": 0.5,
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "developer", "content": "Be kind."},
                {"role": "user", "content": [{"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
                {"role": "assistant", "content": "I look.", "tool_calls": [
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
    let responses = read(
        WIRE,
        &json!({
            "model": "m", "max_output_tokens": 9, "temperature": 0.5, "instructions": "Be short.", "store": true, "user": "anna",
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
                {"role": "user", "content": [{"type": "input_text", "text": "What is this?"},
                    {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"}]},
                {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{\"at\":1}"},
                {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "look", "arguments": "{\"at\":2}"},
                {"type": "function_call_output", "call_id": "c1", "output": "a cat"},
                {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "a dog"}]},
                {"role": "assistant", "content": "Both."},
            ],
            "tools": [{"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"}, "strict": true}],
            "tool_choice": {"type": "function", "name": "look"},
        }),
    );
    assert_eq!(responses.chat, chat.chat);
    assert_eq!(responses.ignored, Vec::<String>::new());
}

/// The tools of Codex: functions, a namespace, free text with a grammar, and a search that runs at OpenAI.
fn tools() -> Value {
    json!([
        {"type": "function", "name": "exec_command", "parameters": {"type": "object"}, "strict": false},
        {"type": "namespace", "name": "mcp__files", "description": "Files.", "tools": [
            {"type": "function", "name": "list", "parameters": {"type": "object"}}]},
        {"type": "custom", "name": "apply_patch", "description": "Edits files.",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: begin"}},
        {"type": "web_search", "external_web_access": false},
    ])
}

#[test]
fn tools_that_are_no_plain_functions_come_back_in_the_clients_form() {
    let request = read(WIRE, &request("tools", tools()));
    assert_eq!(request.ignored, ["tools[3] (web_search)"]);
    let offered: Vec<&str> = request.chat.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["exec_command", "mcp__files__list", "apply_patch"]);
    assert_snapshot!(request.chat.tools[2].description, @r"
    Edits files.

    This tool is called as a function: `input` is its text, unchanged.

    The text of `input` must match this grammar (lark):
    start: begin
    ");
    let call = |position, name: &str, arguments: &str| {
        ChatEvent::ToolCall(CallPiece {
            id: Some(format!("c{position}")),
            name: Some(name.to_owned()),
            arguments: arguments.to_owned(),
            signature: None,
            position: Some(position),
        })
    };
    let more = |position, arguments: &str| {
        ChatEvent::ToolCall(CallPiece {
            arguments: arguments.to_owned(),
            position: Some(position),
            ..CallPiece::default()
        })
    };
    // The pieces of two calls alternate.
    let events = [
        call(0, "mcp__files__list", "{\"at\":"),
        call(1, "apply_patch", "{\"input\":\"*** Be"),
        more(0, "1}"),
        more(1, "gin\"}"),
        call(2, "apply_patch", "no JSON"),
        ChatEvent::Finish(finish(FinishReason::ToolCalls)),
    ];
    let facts = facts_of(&request);
    let mut writer = WIRE.start_stream(facts.clone(), true);
    let mut out = String::new();
    let mut builder = ReplyBuilder::default();
    for event in events {
        writer.write_event(&event, &mut out);
        builder.add_event(event);
    }
    assert_snapshot!(names_of(&out), @r#"
    0 response.created {}
    1 response.in_progress {}
    2 response.output_item.added {"item":{"arguments":"","call_id":"c0","id":"fc_1_0","name":"list","namespace":"mcp__files","status":"in_progress","type":"function_call"},"output_index":0}
    3 response.function_call_arguments.delta {"delta":"{\"at\":","item_id":"fc_1_0","output_index":0}
    4 response.output_item.added {"item":{"call_id":"c1","id":"fc_1_1","input":"","name":"apply_patch","status":"in_progress","type":"custom_tool_call"},"output_index":1}
    5 response.function_call_arguments.delta {"delta":"1}","item_id":"fc_1_0","output_index":0}
    6 response.output_item.added {"item":{"call_id":"c2","id":"fc_1_2","input":"","name":"apply_patch","status":"in_progress","type":"custom_tool_call"},"output_index":2}
    7 response.function_call_arguments.done {"arguments":"{\"at\":1}","item_id":"fc_1_0","name":"list","output_index":0}
    8 response.output_item.done {"item":{"arguments":"{\"at\":1}","call_id":"c0","id":"fc_1_0","name":"list","namespace":"mcp__files","status":"completed","type":"function_call"},"output_index":0}
    9 response.custom_tool_call_input.delta {"delta":"*** Begin","item_id":"fc_1_1","output_index":1}
    10 response.custom_tool_call_input.done {"input":"*** Begin","item_id":"fc_1_1","output_index":1}
    11 response.output_item.done {"item":{"call_id":"c1","id":"fc_1_1","input":"*** Begin","name":"apply_patch","status":"completed","type":"custom_tool_call"},"output_index":1}
    12 response.custom_tool_call_input.delta {"delta":"no JSON","item_id":"fc_1_2","output_index":2}
    13 response.custom_tool_call_input.done {"input":"no JSON","item_id":"fc_1_2","output_index":2}
    14 response.output_item.done {"item":{"call_id":"c2","id":"fc_1_2","input":"no JSON","name":"apply_patch","status":"completed","type":"custom_tool_call"},"output_index":2}
    15 response.completed {}
    "#);
    // The document has the same items.
    let document = WIRE.write_reply(&facts, &builder.finish_reply("p").unwrap());
    let last = data_of(&out).pop().unwrap();
    assert_eq!(document["output"], last["response"]["output"]);
    // The client sends them back, and the model sees its own names.
    let mut back = json!({"model": "m", "input": document["output"]});
    back["tools"] = tools();
    let back = read(WIRE, &back);
    let calls = back.chat.messages[0].parts.iter().map(|part| match part {
        MessagePart::ToolCall(call) => format!("{} {}", call.name, call.arguments),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        calls.collect::<Vec<_>>(),
        [
            "mcp__files__list {\"at\":1}",
            "apply_patch {\"input\":\"*** Begin\"}",
            "apply_patch {\"input\":\"no JSON\"}"
        ]
    );
}

#[test]
fn a_long_name_in_a_namespace_is_cut_and_stays_unique() {
    let long = "n".repeat(70);
    let tools = json!([{"type": "namespace", "name": "mcp__files", "tools": [
        {"type": "function", "name": format!("{long}1")}, {"type": "function", "name": format!("{long}2")}]}]);
    let request = read(WIRE, &request("tools", tools));
    let names: Vec<&str> = request.chat.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.len() == 64), "{names:?}");
    assert_eq!(request.echo.tools.find(names[1]).name, format!("{long}2"));
}

#[test]
fn the_rule_for_calls_names_tools_that_are_offered() {
    let with = |choice: Value| {
        let mut body = request("tools", tools());
        body["tool_choice"] = choice;
        body
    };
    for (choice, expected, count) in [
        (json!("auto"), ToolChoice::Auto, 3),
        (json!("required"), ToolChoice::Required, 3),
        (
            json!({"type": "custom", "name": "apply_patch"}),
            ToolChoice::Named("apply_patch".to_owned()),
            3,
        ),
        (
            json!({"type": "allowed_tools", "mode": "required", "tools": [
                {"type": "function", "name": "exec_command"}, {"type": "web_search"}]}),
            ToolChoice::Required,
            1,
        ),
    ] {
        let request = read(WIRE, &with(choice));
        assert_eq!(request.chat.tool_choice, expected);
        assert_eq!(request.chat.tools.len(), count);
    }
    let refused = [
        json!({"type": "web_search"}),
        json!({"type": "function", "name": "other"}),
        json!("some"),
    ]
    .map(|choice| format!("{:?}", refuse(WIRE, &with(choice))));
    assert_snapshot!(refused.join("\n"), @r#"
    ("tool_choice.type", "a choice of type `web_search` is not supported")
    ("tool_choice.name", "no tool `other` is in `tools`")
    ("tool_choice", "`tool_choice` must be `auto`, `none` or `required`")
    "#);
}

#[test]
fn what_is_not_kept_or_not_supported_is_refused() {
    let refused: Vec<String> = [
        ("previous_response_id", json!("resp_1")),
        ("conversation", json!("conv_1")),
        ("prompt", json!({"id": "pmpt_1"})),
        ("background", json!(true)),
        ("top_logprobs", json!(2)),
        ("include", json!(["message.output_text.logprobs"])),
        ("text", json!({"format": {"type": "grammar"}})),
        ("tools", json!([{"type": "function", "name": "a"}, {"type": "custom", "name": "a"}])),
        ("input", json!(7)),
        ("input", json!([{"type": "item_reference", "id": "msg_1"}])),
        ("input", json!([{"type": "computer_call"}])),
        ("input", json!([{"role": "user", "content": [{"type": "input_image", "image_url": "https://a.example/x.png"}]}])),
        ("input", json!([{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}])),
        ("input", json!([{"role": "oracle", "content": "x"}])),
        ("input", json!([{"type": "function_call", "name": "x"}])),
    ]
    .into_iter()
    .map(|(field, value)| {
        let (field, message) = refuse(WIRE, &request(field, value));
        format!("{field}: {message}")
    })
    .collect();
    assert_snapshot!(refused.join("\n"), @r"
    previous_response_id: `previous_response_id` is not supported: this service keeps no responses, so send the complete conversation in `input`
    conversation: `conversation` is not supported: this service keeps no responses, so send the complete conversation in `input`
    prompt: `prompt` is not supported: this service keeps no responses, so send the complete conversation in `input`
    background: `background` is not supported with this value
    top_logprobs: `top_logprobs` is not supported with this value
    include: `message.output_text.logprobs` is not supported
    text.format.type: the format `grammar` is not supported; `text`, `json_object` and `json_schema` are
    tools[1].name: there are two tools `a`
    input: `input` must be a text or a list of items
    input[0].type: this service keeps no items: send the item itself, and `store: false`
    input[0].type: an item of type `computer_call` is not supported
    input[0].content[0].image_url: an image must be a `data:` URL in base64; addresses and files are not fetched
    input[0].content[0].type: a part of type `input_file` is not supported
    input[0].role: the role `oracle` is not supported
    input[0].call_id: `input[0].call_id` is missing
    ");
    for (field, value, ignored) in [
        ("reasoning", json!({"effort": "high"}), vec!["reasoning"]),
        ("include", json!(["reasoning.encrypted_content"]), vec![]),
        ("truncation", json!("disabled"), vec![]),
        ("truncation", json!("auto"), vec!["truncation"]),
        (
            "input",
            json!([{"type": "web_search_call", "id": "ws_1"}, {"role": "user", "content": "x"}]),
            vec!["input[0] (web_search_call)"],
        ),
    ] {
        assert_eq!(read(WIRE, &request(field, value)).ignored, ignored, "{field}");
    }
}

#[test]
fn events_of_an_answer() {
    assert_snapshot!(names_of(&stream(WIRE, true, &events())), @r#"
    0 response.created {}
    1 response.in_progress {}
    2 response.output_item.added {"item":{"encrypted_content":null,"id":"rs_id-1_0","summary":[],"type":"reasoning"},"output_index":0}
    3 response.reasoning_summary_part.added {"item_id":"rs_id-1_0","output_index":0,"part":{"text":"","type":"summary_text"},"summary_index":0}
    4 response.reasoning_summary_text.delta {"delta":"Let me ","item_id":"rs_id-1_0","output_index":0,"summary_index":0}
    5 response.reasoning_summary_text.delta {"delta":"look.","item_id":"rs_id-1_0","output_index":0,"summary_index":0}
    6 response.reasoning_summary_text.done {"item_id":"rs_id-1_0","output_index":0,"summary_index":0,"text":"Let me look."}
    7 response.reasoning_summary_part.done {"item_id":"rs_id-1_0","output_index":0,"part":{"text":"Let me look.","type":"summary_text"},"summary_index":0}
    8 response.output_item.done {"item":{"encrypted_content":"agentos.gemini.sig","id":"rs_id-1_0","summary":[{"text":"Let me look.","type":"summary_text"}],"type":"reasoning"},"output_index":0}
    9 response.output_item.added {"item":{"content":[],"id":"msg_id-1_1","role":"assistant","status":"in_progress","type":"message"},"output_index":1}
    10 response.content_part.added {"content_index":0,"item_id":"msg_id-1_1","output_index":1,"part":{"annotations":[],"logprobs":[],"text":"","type":"output_text"}}
    11 response.output_text.delta {"content_index":0,"delta":"I look","item_id":"msg_id-1_1","logprobs":[],"output_index":1}
    12 response.output_text.delta {"content_index":0,"delta":" now.","item_id":"msg_id-1_1","logprobs":[],"output_index":1}
    13 response.output_text.done {"content_index":0,"item_id":"msg_id-1_1","logprobs":[],"output_index":1,"text":"I look now."}
    14 response.content_part.done {"content_index":0,"item_id":"msg_id-1_1","output_index":1,"part":{"annotations":[],"logprobs":[],"text":"I look now.","type":"output_text"}}
    15 response.output_item.done {"item":{"content":[{"annotations":[],"logprobs":[],"text":"I look now.","type":"output_text"}],"id":"msg_id-1_1","role":"assistant","status":"completed","type":"message"},"output_index":1}
    16 response.output_item.added {"item":{"arguments":"","call_id":"a~gemini~mark","id":"fc_id-1_2","name":"read","status":"in_progress","type":"function_call"},"output_index":2}
    17 response.function_call_arguments.delta {"delta":"{\"path\":","item_id":"fc_id-1_2","output_index":2}
    18 response.function_call_arguments.delta {"delta":"\"x\"}","item_id":"fc_id-1_2","output_index":2}
    19 response.output_item.added {"item":{"arguments":"","call_id":"b","id":"fc_id-1_3","name":"time","status":"in_progress","type":"function_call"},"output_index":3}
    20 response.function_call_arguments.done {"arguments":"{\"path\":\"x\"}","item_id":"fc_id-1_2","name":"read","output_index":2}
    21 response.output_item.done {"item":{"arguments":"{\"path\":\"x\"}","call_id":"a~gemini~mark","id":"fc_id-1_2","name":"read","status":"completed","type":"function_call"},"output_index":2}
    22 response.function_call_arguments.delta {"delta":"{}","item_id":"fc_id-1_3","output_index":3}
    23 response.function_call_arguments.done {"arguments":"{}","item_id":"fc_id-1_3","name":"time","output_index":3}
    24 response.output_item.done {"item":{"arguments":"{}","call_id":"b","id":"fc_id-1_3","name":"time","status":"completed","type":"function_call"},"output_index":3}
    25 response.completed {}
    "#);
}

#[test]
fn the_response_at_the_beginning_and_the_end() {
    let request = read(
        WIRE,
        &json!({"model": "m", "input": "hi", "instructions": "Be short.", "store": true, "metadata": {"a": "b"}, "temperature": 0.5}),
    );
    let mut writer = WIRE.start_stream(facts_of(&request), true);
    let mut out = String::new();
    for event in [
        ChatEvent::Text {
            text: "Hel".to_owned(),
        },
        ChatEvent::Usage(Usage {
            input_tokens: Some(3),
            output_tokens: Some(1),
            ..Usage::default()
        }),
        ChatEvent::Finish(finish(FinishReason::Length)),
    ] {
        writer.write_event(&event, &mut out);
    }
    let data = data_of(&out);
    assert_snapshot!(data[0], @r#"{"response":{"background":false,"created_at":7,"error":null,"id":"resp_1","incomplete_details":null,"instructions":"Be short.","max_output_tokens":null,"metadata":{"a":"b"},"model":"pool","object":"response","output":[],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"status":"in_progress","store":false,"temperature":0.5,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":null,"truncation":"disabled","usage":null},"sequence_number":0,"type":"response.created"}"#);
    assert_snapshot!(data.last().unwrap(), @r#"{"response":{"background":false,"created_at":7,"error":null,"id":"resp_1","incomplete_details":{"reason":"max_output_tokens"},"instructions":"Be short.","max_output_tokens":null,"metadata":{"a":"b"},"model":"pool","object":"response","output":[{"content":[{"annotations":[],"logprobs":[],"text":"Hel","type":"output_text"}],"id":"msg_1_0","role":"assistant","status":"incomplete","type":"message"}],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"status":"incomplete","store":false,"temperature":0.5,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":null,"truncation":"disabled","usage":{"input_tokens":3,"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":4}},"sequence_number":8,"type":"response.incomplete"}"#);
}

#[test]
fn a_stream_that_breaks_off_ends_as_failed() {
    let codes = [
        (FaultKind::Server, "network", "server_error"),
        (FaultKind::Limit, "budget-spent", "insufficient_quota"),
        (FaultKind::RateLimit, "rate-limited", "rate_limit_exceeded"),
        (FaultKind::Overloaded, "overloaded", "server_is_overloaded"),
        (
            FaultKind::Request,
            "context_length_exceeded",
            "context_length_exceeded",
        ),
    ];
    for (kind, code, expected) in codes {
        let fault = ClientFault {
            kind,
            code: code.to_owned(),
            message: "the connection broke".to_owned(),
            field: None,
        };
        let mut writer = WIRE.start_stream(facts(), true);
        let mut out = String::new();
        let text = "half".to_owned();
        writer.write_event(&ChatEvent::Text { text }, &mut out);
        writer.write_fault(&fault, &mut out);
        let last = data_of(&out).pop().unwrap();
        assert_eq!(last["type"], "response.failed");
        assert_eq!(last["response"]["status"], "failed");
        assert_eq!(
            last["response"]["error"],
            json!({"code": expected, "message": "the connection broke"})
        );
    }
}

/// The client sends back what it was shown, and the provider's signature and mark are in it.
#[test]
fn signatures_and_marks_come_back_unchanged() {
    let shown = WIRE.write_reply(&facts(), &reply());
    let back = read(WIRE, &json!({"model": "m", "input": shown["output"]}));
    assert_eq!(back.chat.messages, [reply().message]);
    // A stream ends with the same items.
    let last = data_of(&stream(WIRE, true, &events())).pop().unwrap();
    let strip = |mut output: Value| {
        for item in output.as_array_mut().unwrap() {
            item.as_object_mut().unwrap().remove("id");
        }
        output
    };
    assert_eq!(
        strip(last["response"]["output"].clone()),
        strip(shown["output"].clone())
    );
}

/// The numbers of the events count up, every delta belongs to an item that is open, and the items of the end are the items that ended.
#[test]
fn any_stream_is_in_order() {
    let piece = prop_oneof![
        "[a-z\"\\\\]{1,4}".prop_map(|text| ChatEvent::Text { text }),
        ("[a-z]{0,3}", prop::option::of("[a-z]{1,3}"), any::<bool>()).prop_map(
            |(text, signature, hidden)| {
                ChatEvent::Thinking(agentos_model::ThoughtPiece {
                    text,
                    signature,
                    is_encrypted: hidden,
                    position: None,
                })
            }
        ),
        (
            prop::option::of(0u64..3),
            prop::option::of("[ab]"),
            "[{}\"a:]{0,3}"
        )
            .prop_map(|(position, id, arguments)| {
                ChatEvent::ToolCall(CallPiece {
                    id,
                    name: Some("look".to_owned()),
                    arguments,
                    signature: None,
                    position,
                })
            }),
    ];
    proptest!(|(pieces in prop::collection::vec(piece, 0..12))| {
        let mut events = pieces;
        events.push(ChatEvent::Finish(finish(FinishReason::Stop)));
        let data = data_of(&stream(WIRE, true, &events));
        let (mut open, mut ended) = (std::collections::BTreeMap::new(), Vec::new());
        for (number, event) in data.iter().enumerate() {
            prop_assert_eq!(&event["sequence_number"], number);
            let index = event["output_index"].as_u64();
            match event["type"].as_str().unwrap() {
                "response.output_item.added" => {
                    let known = open.insert(index.unwrap(), event["item"]["id"].clone());
                    prop_assert_eq!(known, None);
                }
                "response.output_item.done" => {
                    prop_assert_eq!(open.get(&index.unwrap()), Some(&event["item"]["id"]));
                    ended.push(event["item"].clone());
                }
                _ => {
                    if let Some(index) = index {
                        prop_assert_eq!(open.get(&index), Some(&event["item_id"]));
                    }
                }
            }
        }
        prop_assert_eq!(&data.last().unwrap()["response"]["output"], &Value::from(ended));
    });
}
