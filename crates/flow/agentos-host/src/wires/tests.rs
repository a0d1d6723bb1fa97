//! One conversation on every wire, and recorded answers of every vendor as parts of a message.

mod real;

use agentos_generic_http::{AnswerPiece, ModelRequest, Wire};
use agentos_model::{
    ChatMessage, ChatPiece, ChatRequest, ChatRole, ImageData, MessagePart, PartBuilder, ThinkingPart,
    ToolCall, ToolChoice, ToolResult, ToolSpec, count_stable, prepare_messages,
};
use agentos_testkit::wire::Fixture;
use serde_json::{Value, json};

/// Every wire, with the provider whose thinking it takes back.
pub(super) fn wires() -> [(&'static str, Box<dyn Wire>); 6] {
    [
        (
            "openai",
            Box::new(agentos_openai::ChatWire::new(
                agentos_openai::LimitField::MaxTokens,
            )),
        ),
        ("anthropic", Box::new(agentos_anthropic::MessagesWire)),
        ("gemini", Box::new(agentos_gemini::ContentWire)),
        ("ollama", Box::new(agentos_ollama::OllamaWire::new(4096))),
        ("llamacpp", Box::new(agentos_llamacpp::CompletionWire::default())),
        ("responses", Box::new(agentos_openai::ResponsesWire)),
    ]
}

/// A conversation with everything that a wire may carry, as if `provider` had answered.
pub(super) fn conversation(provider: &str) -> ChatRequest {
    let image = ImageData {
        media_type: "image/png".to_owned(),
        base64: "iVBORw0=".to_owned(),
    };
    let result = |id: &str, text: &str, is_error| {
        MessagePart::ToolResult(ToolResult {
            tool_use_id: id.to_owned(),
            text: text.to_owned(),
            images: Vec::new(),
            is_error,
        })
    };
    let call = |id: &str, path: &str| {
        MessagePart::ToolCall(ToolCall {
            id: id.to_owned(),
            name: "read_file".to_owned(),
            arguments: json!({ "path": path }),
            signature: None,
        })
    };
    ChatRequest {
        system: Some("Be short.".to_owned()),
        messages: vec![
            ChatMessage {
                role: ChatRole::User,
                parts: vec![
                    MessagePart::Text("What is this?".to_owned()),
                    MessagePart::Image(image),
                ],
            },
            ChatMessage::from_model(vec![
                MessagePart::Thinking(ThinkingPart {
                    text: "I must look.".to_owned(),
                    // An id and content, as `/responses` has them; the others take any text.
                    signature: Some("rs_1 sig".to_owned()),
                    is_encrypted: false,
                    provider: provider.to_owned(),
                }),
                MessagePart::Text("I look.".to_owned()),
                call("call_a", "a.txt"),
                call("call_b", "b.txt"),
            ]),
            ChatMessage {
                role: ChatRole::User,
                parts: vec![
                    result("call_b", "there is no b.txt", true),
                    result("call_a", "text of a", false),
                ],
            },
            ChatMessage::from_model(vec![MessagePart::Text("It is a.".to_owned())]),
            ChatMessage::from_user("Thanks."),
        ],
        tools: vec![ToolSpec {
            name: "read_file".to_owned(),
            description: "Reads a file.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        }],
        tool_choice: ToolChoice::Required,
        ..ChatRequest::default()
    }
}

pub(super) fn write_request(wire: &dyn Wire, provider: &str, chat: &ChatRequest) -> Value {
    let abilities = wire.abilities(provider);
    let prepared = prepare_messages(&chat.messages, &abilities);
    let stable = count_stable(
        &chat.messages,
        chat.cache.messages,
        &prepared.messages,
        &abilities,
    );
    wire.build_request(&ModelRequest {
        chat,
        messages: &prepared.messages,
        stable_messages: stable,
        model: Some("m"),
        stream: false,
        max_tokens: Some(100),
        temperature: None,
        top_p: None,
        seed: None,
        stop: &[],
        thinking: None,
    })
}

// LB-11 to LB-14, PB-13, PB-30: tools in one form, and what each vendor gets of them.
#[test]
fn a_conversation_is_written_in_the_form_of_each_vendor() {
    let shown = wires().map(|(provider, wire)| {
        let body = write_request(wire.as_ref(), provider, &conversation(provider));
        let fields = body.as_object().unwrap();
        let lines = fields.iter().flat_map(|(name, value)| match value {
            Value::Array(items) => items.iter().map(|item| format!("  {name}: {item}")).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                vec![format!("  {name}: {value}")]
            }
        });
        format!("{provider}\n{}", lines.collect::<Vec<_>>().join("\n"))
    });
    insta::assert_snapshot!(shown.join("\n"), @r##"
    openai
      max_tokens: 100
      messages: {"content":"Be short.","role":"system"}
      messages: {"content":[{"text":"What is this?","type":"text"},{"image_url":{"url":"data:image/png;base64,iVBORw0="},"type":"image_url"}],"role":"user"}
      messages: {"content":"I look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"path\":\"a.txt\"}","name":"read_file"},"id":"call_a","type":"function"},{"function":{"arguments":"{\"path\":\"b.txt\"}","name":"read_file"},"id":"call_b","type":"function"}]}
      messages: {"content":"text of a","role":"tool","tool_call_id":"call_a"}
      messages: {"content":"Error: there is no b.txt","role":"tool","tool_call_id":"call_b"}
      messages: {"content":"It is a.","role":"assistant"}
      messages: {"content":"Thanks.","role":"user"}
      model: "m"
      tool_choice: "required"
      tools: {"function":{"description":"Reads a file.","name":"read_file","parameters":{"properties":{"path":{"type":"string"}},"type":"object"}},"type":"function"}
    anthropic
      max_tokens: 100
      messages: {"content":[{"text":"What is this?","type":"text"},{"source":{"data":"iVBORw0=","media_type":"image/png","type":"base64"},"type":"image"}],"role":"user"}
      messages: {"content":[{"signature":"rs_1 sig","thinking":"I must look.","type":"thinking"},{"text":"I look.","type":"text"},{"id":"call_a","input":{"path":"a.txt"},"name":"read_file","type":"tool_use"},{"id":"call_b","input":{"path":"b.txt"},"name":"read_file","type":"tool_use"}],"role":"assistant"}
      messages: {"content":[{"content":[{"text":"text of a","type":"text"}],"tool_use_id":"call_a","type":"tool_result"},{"content":[{"text":"there is no b.txt","type":"text"}],"is_error":true,"tool_use_id":"call_b","type":"tool_result"}],"role":"user"}
      messages: {"content":"It is a.","role":"assistant"}
      messages: {"content":"Thanks.","role":"user"}
      model: "m"
      system: "Be short."
      tool_choice: {"type":"any"}
      tools: {"description":"Reads a file.","input_schema":{"properties":{"path":{"type":"string"}},"type":"object"},"name":"read_file"}
    gemini
      contents: {"parts":[{"text":"What is this?"},{"inlineData":{"data":"iVBORw0=","mimeType":"image/png"}}],"role":"user"}
      contents: {"parts":[{"text":"I must look.","thought":true,"thoughtSignature":"rs_1 sig"},{"text":"I look."},{"functionCall":{"args":{"path":"a.txt"},"id":"call_a","name":"read_file"}},{"functionCall":{"args":{"path":"b.txt"},"id":"call_b","name":"read_file"}}],"role":"model"}
      contents: {"parts":[{"functionResponse":{"id":"call_a","name":"read_file","response":{"output":"text of a"}}},{"functionResponse":{"id":"call_b","name":"read_file","response":{"error":"there is no b.txt"}}}],"role":"user"}
      contents: {"parts":[{"text":"It is a."}],"role":"model"}
      contents: {"parts":[{"text":"Thanks."}],"role":"user"}
      generationConfig: {"maxOutputTokens":100}
      systemInstruction: {"parts":[{"text":"Be short."}]}
      toolConfig: {"functionCallingConfig":{"mode":"ANY"}}
      tools: {"functionDeclarations":[{"description":"Reads a file.","name":"read_file","parametersJsonSchema":{"properties":{"path":{"type":"string"}},"type":"object"}}]}
    ollama
      messages: {"content":"Be short.","role":"system"}
      messages: {"content":"What is this?","images":["iVBORw0="],"role":"user"}
      messages: {"content":"I look.","role":"assistant","tool_calls":[{"function":{"arguments":{"path":"a.txt"},"name":"read_file"}},{"function":{"arguments":{"path":"b.txt"},"name":"read_file"}}]}
      messages: {"content":"text of a","role":"tool","tool_name":"read_file"}
      messages: {"content":"Error: there is no b.txt","role":"tool","tool_name":"read_file"}
      messages: {"content":"It is a.","role":"assistant"}
      messages: {"content":"Thanks.","role":"user"}
      model: "m"
      options: {"num_ctx":4096,"num_predict":100}
      stream: false
      tools: {"function":{"description":"Reads a file.","name":"read_file","parameters":{"properties":{"path":{"type":"string"}},"type":"object"}},"type":"function"}
      truncate: false
    llamacpp
      model: "m"
      n_predict: 100
      prompt: "Be short.\n\nUser: What is this?\n[an image was here, which this model cannot see]\n\nAssistant: I look.\n[called read_file with {\"path\":\"a.txt\"}]\n[called read_file with {\"path\":\"b.txt\"}]\n\nUser: [the call failed: there is no b.txt]\n[the call returned: text of a]\n\nAssistant: It is a.\n\nUser: Thanks.\nAnswer:\n"
      response_fields: "content"
      response_fields: "stop"
      response_fields: "stop_type"
      response_fields: "stopping_word"
      response_fields: "truncated"
      response_fields: "model"
      response_fields: "tokens_predicted"
      response_fields: "tokens_evaluated"
      response_fields: "timings"
      stop: "</s>"
      stream: false
    responses
      include: "reasoning.encrypted_content"
      input: {"content":[{"text":"What is this?","type":"input_text"},{"image_url":"data:image/png;base64,iVBORw0=","type":"input_image"}],"role":"user","type":"message"}
      input: {"encrypted_content":"sig","id":"rs_1","summary":[{"text":"I must look.","type":"summary_text"}],"type":"reasoning"}
      input: {"content":"I look.","role":"assistant","type":"message"}
      input: {"arguments":"{\"path\":\"a.txt\"}","call_id":"call_a","name":"read_file","type":"function_call"}
      input: {"arguments":"{\"path\":\"b.txt\"}","call_id":"call_b","name":"read_file","type":"function_call"}
      input: {"call_id":"call_a","output":"text of a","type":"function_call_output"}
      input: {"call_id":"call_b","output":"Error: there is no b.txt","type":"function_call_output"}
      input: {"content":"It is a.","role":"assistant","type":"message"}
      input: {"content":[{"text":"Thanks.","type":"input_text"}],"role":"user","type":"message"}
      instructions: "Be short."
      max_output_tokens: 100
      model: "m"
      store: false
      tool_choice: "required"
      tools: {"description":"Reads a file.","name":"read_file","parameters":{"properties":{"path":{"type":"string"}},"type":"object"},"strict":false,"type":"function"}
    "##);
}

/// Reads a recorded answer, a whole one or a stream.
fn read_recorded(wire: &dyn Wire, folder: &str, case: &str) -> Vec<MessagePart> {
    let fixture = Fixture::load(folder, case).unwrap();
    let documents = fixture.documents();
    let is_stream = fixture.response.body.is_none();
    let mut builder = PartBuilder::default();
    for document in &documents {
        let piece: AnswerPiece = match is_stream {
            true => wire.read_event(document).unwrap(),
            false => wire.read_answer(document).unwrap(),
        };
        builder.add_piece(piece.content);
    }
    builder.finish(folder)
}

fn describe_part(part: &MessagePart) -> String {
    let short = |text: &str| text.chars().take(30).collect::<String>();
    match part {
        MessagePart::Text(text) => format!("text {:?}", short(text)),
        MessagePart::ToolCall(call) => {
            let keys: Vec<&str> = call
                .arguments
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            let id = if call.id.is_empty() {
                "without id"
            } else {
                "with id"
            };
            format!("call of {} {id}, arguments {keys:?}", call.name)
        }
        MessagePart::Thinking(thinking) => {
            let signed = if thinking.signature.is_some() {
                ", signed"
            } else {
                ""
            };
            format!("thinking {:?}{signed}", short(&thinking.text))
        }
        MessagePart::Image(_) | MessagePart::ToolResult(_) => "not of a model".to_owned(),
    }
}

#[test]
fn recorded_answers_keep_thinking_and_tool_calls() {
    let [openai, anthropic, _, ollama, _, _] = wires().map(|(_, wire)| wire);
    let cases: [(&dyn Wire, &str, &str); 16] = [
        (&*openai, "openai", "run_chat_tool_call"),
        (&*openai, "openai", "run_chat_tool_call_stream"),
        (&*openai, "llamacpp", "run_chat_tool_call"),
        (&*openai, "llamacpp", "run_chat_tool_call_stream"),
        (&*openai, "llamacpp", "run_chat_reasoning"),
        (&*openai, "llamacpp", "run_chat_reasoning_stream"),
        (&*openai, "vllm", "run_chat_tool_call"),
        (&*openai, "lmstudio", "run_chat_reasoning"),
        (&*anthropic, "anthropic", "run_messages_tool_use"),
        (&*anthropic, "anthropic", "run_messages_tool_use_stream"),
        (&*anthropic, "anthropic", "run_messages_thinking"),
        (&*anthropic, "anthropic", "run_messages_thinking_stream"),
        (&*anthropic, "llamacpp", "run_messages_tool_use_stream"),
        (&*anthropic, "llamacpp", "run_messages_thinking_stream"),
        (&*ollama, "ollama", "run_chat_tool_call"),
        (&*ollama, "ollama", "run_chat_thinking"),
    ];
    let shown = cases.map(|(wire, folder, case)| {
        let parts = read_recorded(wire, folder, case);
        let parts: Vec<String> = parts.iter().map(describe_part).collect();
        format!("{folder}/{case}\n  {}", parts.join("\n  "))
    });
    insta::assert_snapshot!(shown.join("\n"), @r##"
    openai/run_chat_tool_call
      call of apply_diff with id, arguments ["diff", "path"]
    openai/run_chat_tool_call_stream
      call of apply_diff with id, arguments ["diff", "path"]
    llamacpp/run_chat_tool_call
      call of apply_diff with id, arguments ["diff", "path"]
    llamacpp/run_chat_tool_call_stream
      call of apply_diff with id, arguments ["diff", "path"]
    llamacpp/run_chat_reasoning
      thinking "The minus must be a plus.\n"
      text "--- a/src/lib.rs\n+++ b/src/lib"
    llamacpp/run_chat_reasoning_stream
      thinking "The minus must be a plus.\n"
      text "--- a/src/lib.rs\n+++ b/src/lib"
    vllm/run_chat_tool_call
      call of apply_diff with id, arguments ["diff", "path"]
    lmstudio/run_chat_reasoning
      thinking "The minus must be a plus."
      text "--- a/src/lib.rs\n+++ b/src/lib"
    anthropic/run_messages_tool_use
      text "I'll apply the fix."
      call of apply_diff with id, arguments ["diff", "path"]
    anthropic/run_messages_tool_use_stream
      text "I'll apply the fix."
      call of apply_diff with id, arguments ["diff", "path"]
    anthropic/run_messages_thinking
      thinking "The minus must be a plus.", signed
      text "--- a/src/lib.rs\n+++ b/src/lib"
    anthropic/run_messages_thinking_stream
      thinking "The minus must be a plus.", signed
      text "--- a/src/lib.rs\n+++ b/src/lib"
    llamacpp/run_messages_tool_use_stream
      call of apply_diff with id, arguments ["diff", "path"]
    llamacpp/run_messages_thinking_stream
      thinking "The minus must be a plus.\n", signed
      text "--- a/src/lib.rs\n+++ b/src/lib"
    ollama/run_chat_tool_call
      call of apply_diff with id, arguments ["diff", "path"]
    ollama/run_chat_thinking
      thinking "The minus must be a plus."
      text "--- a/src/lib.rs\n+++ b/src/lib"
    "##);
}

#[test]
fn a_conversation_that_began_on_any_wire_goes_on_with_every_other() {
    for (from, _) in wires() {
        for (to, wire) in wires() {
            let chat = conversation(from);
            let prepared = prepare_messages(&chat.messages, &wire.abilities(to));
            let text = write_request(wire.as_ref(), to, &chat).to_string();
            // Only the vendor that made a signature accepts it.
            let takes_thinking = from == to && wire.abilities(to).thinking;
            assert_eq!(text.contains("sig\""), takes_thinking, "{from} to {to}: {text}");
            assert_eq!(prepared.notices.is_empty(), takes_thinking, "{from} to {to}");
            for word in [
                "Be short.",
                "What is this?",
                "text of a",
                "there is no b.txt",
                "It is a.",
                "Thanks.",
            ] {
                assert!(text.contains(word), "{from} to {to} lost {word}: {text}");
            }
        }
    }
    // An empty piece is no part.
    let mut builder = PartBuilder::default();
    builder.add_piece(ChatPiece::default());
    assert!(builder.finish("").is_empty());
}
