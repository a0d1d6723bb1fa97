//! The wire of `/responses`: recorded answers, and the contract of all adapters.

use agentos_generic_http::Wire as _;
use agentos_model::{MessagePart, PartBuilder};
use agentos_testkit::contract::Subject;

use super::*;

fn newer(root: Option<&str>, key: Option<&str>) -> Box<dyn Adapter> {
    let settings = settings(root, key);
    let service = OpenAiService::at_address(settings.base_url.as_deref()).with_api(OpenAiApi::Responses);
    Box::new(HttpAdapter::new(settings, service, http()))
}

fn delta(text: &str) -> String {
    json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}).to_string()
}

fn response(text: &str) -> serde_json::Value {
    json!({"status": "completed", "model": "gpt-5.4", "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
    ]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_holds_for_responses() {
    let end = json!({"type": "response.completed", "response": response("")});
    let subject = Subject {
        make: newer,
        run_path: "/v1/responses",
        events: vec![delta("+a\n"), delta("+b\n"), end.to_string()],
        whole: response("+a\n+b\n").to_string(),
        text: "+a\n+b\n",
        key_header: BEARER,
        content_type: EVENT_STREAM,
        side: |_| Reply::json(404, &json!({"error": "File Not Found"})),
    };
    assert_eq!(subject.violations().await, Vec::<String>::new());
}

#[tokio::test]
async fn recorded_responses_are_read() {
    let cases = [
        ("run_responses", Ok((FinishReason::Stop, DIFF))),
        ("run_responses_stream", Ok((FinishReason::Stop, DIFF))),
        (
            "run_responses_incomplete",
            Ok((FinishReason::Length, "--- a/src")),
        ),
        ("run_responses_tool_call", Ok((FinishReason::ToolCalls, ""))),
        ("run_responses_failed", Err("server-error")),
    ];
    for (case, expected) in cases {
        let fixture = Fixture::load("openai", case).unwrap();
        let reply = fixture.reply();
        let server = FakeServer::start(move |_| reply.clone()).unwrap();
        let service = OpenAiService::at_address(None).with_api(OpenAiApi::Responses);
        let adapter = HttpAdapter::new(once(settings(Some(&server.url()), None)), service, http());
        let seen = adapter.run(&task(Duration::from_secs(20)), &NoProgress).await;
        match (&seen, expected) {
            (Ok(output), Ok((finish, text))) => {
                assert_eq!((output.finish, output.text.as_str()), (finish, text), "{case}");
                assert_eq!(output.model_id.as_deref(), Some("gpt-5.4-2026-03-05"), "{case}");
                assert_eq!(
                    output.usage.and_then(|usage| usage.input_tokens),
                    Some(24),
                    "{case}"
                );
            }
            (Err(error), Err(detail)) => assert_eq!(error.detail, detail, "{case}: {error}"),
            _ => panic!("{case}: {seen:?}"),
        }
        let sent = server.requests()[0].json();
        assert_eq!(
            (&sent["store"], server.requests()[0].path.as_str()),
            (&json!(false), "/v1/responses")
        );
    }
}

/// Calls in pieces, with positions as OpenAI states them, and with the ids of llama.cpp alone.
#[test]
fn pieces_of_calls_are_joined_by_position_or_id() {
    let names = |at: u64, with_index: bool| match with_index {
        true => json!({ "output_index": at, "item_id": "differs in each event" }),
        false => json!({ "item_id": format!("fc_{at}") }),
    };
    for with_index in [true, false] {
        let mut builder = PartBuilder::default();
        let mut read = |kind: &str, at: u64, more: serde_json::Value| {
            let mut event = names(at, with_index);
            event["type"] = json!(kind);
            let more = more.as_object().unwrap().clone();
            event.as_object_mut().unwrap().extend(more);
            builder.add_piece(ResponsesWire.read_event(&event).unwrap().content);
        };
        for at in [1, 2] {
            let item = json!({ "type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"), "name": "read" });
            read("response.output_item.added", at, json!({ "item": item }));
        }
        for (at, delta) in [(1, "{\"a\""), (2, "{\"b\""), (1, ":1}"), (2, ":2}")] {
            read(
                "response.function_call_arguments.delta",
                at,
                json!({ "delta": delta }),
            );
        }
        let calls = builder.finish("openai").into_iter().map(|part| match part {
            MessagePart::ToolCall(call) => format!("{} {}", call.id, call.arguments),
            other => format!("{other:?}"),
        });
        let calls: Vec<String> = calls.collect();
        assert_eq!(calls, ["call_1 {\"a\":1}", "call_2 {\"b\":2}"], "{with_index}");
    }
}
