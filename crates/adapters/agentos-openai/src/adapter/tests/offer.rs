//! A tool that is offered, as it goes out and as the answer is read.

use agentos_generic_http::{OfferOutcome, OfferSeen, OfferedTool, ToolCaller as _, write_function};
use serde_json::Value;

use super::*;

/// What is made of this answer to an offer, and the request that it was given for.
async fn offered(answer: Value) -> (Result<Option<OfferSeen>, ToolError>, Recorded) {
    let server = FakeServer::start(move |_| Reply::json(200, &answer)).unwrap();
    let mut settings = settings(Some(&server.url()), Some("sk-local-0123456789abcdef"));
    settings.retries = 0;
    let seen = adapter_for(settings).offer_tool(20).await;
    (seen, server.requests().remove(0))
}

/// A recorded call of another tool, made into one of the tool that is offered.
fn called(folder: &str) -> Value {
    let mut body = Fixture::load(folder, "run_chat_tool_call")
        .unwrap()
        .response
        .body
        .unwrap();
    let function = body
        .pointer_mut("/choices/0/message/tool_calls/0/function")
        .unwrap();
    *function = json!({"name": "pick_fruit", "arguments": "{\"fruit\": \"orange\"}"});
    body
}

#[tokio::test]
async fn a_call_is_read_as_compatible_servers_write_it() {
    for folder in ["openai", "llamacpp", "lmstudio", "vllm"] {
        let (seen, _) = offered(called(folder)).await;
        let seen = seen.unwrap().unwrap();
        assert_eq!(seen.outcome, OfferOutcome::Called, "{folder}");
        assert!(seen.usage.unwrap().output_tokens.unwrap() > 0, "{folder}");
        let other = Fixture::load(folder, "run_chat_tool_call")
            .unwrap()
            .response
            .body
            .unwrap();
        let (seen, _) = offered(other).await;
        assert_eq!(
            seen.unwrap().unwrap().outcome,
            OfferOutcome::OtherTool,
            "{folder}"
        );
    }
    let text = Fixture::load("openai", "run_chat")
        .unwrap()
        .response
        .body
        .unwrap();
    assert_eq!(
        offered(text).await.0.unwrap().unwrap().outcome,
        OfferOutcome::NotCalled
    );
    let cut = Fixture::load("openai", "run_chat_length")
        .unwrap()
        .response
        .body
        .unwrap();
    assert_eq!(
        offered(cut).await.0.unwrap().unwrap().outcome,
        OfferOutcome::CutOff
    );
    let refused = json!({"error": {"message": "tools param requires --jinja flag"}});
    let error = offered(refused).await.0.unwrap_err();
    assert!(error.message.contains("--jinja"), "{error}");
}

#[tokio::test]
async fn the_offer_holds_the_tool_and_nothing_of_an_edit() {
    let (_, request) = offered(called("openai")).await;
    let body = request.json();
    let keys: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["max_tokens", "messages", "model", "tools"]);
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
    assert_eq!(
        body["tools"],
        json!([write_function(&OfferedTool::FRUIT.make_request().tools[0])])
    );
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-local-0123456789abcdef")
    );
}

#[tokio::test]
async fn the_organization_is_named_where_it_is_set_and_only_there() {
    for organization in [None, Some("org-fake".to_owned())] {
        let chat = Fixture::load("openai", "run_chat").unwrap().reply();
        let server = FakeServer::start(move |_| chat.clone()).unwrap();
        let service = OpenAiService::at_address(Some("https://api.openai.com/v1"))
            .of_organization(organization.clone());
        let adapter = HttpAdapter::new(settings(Some(&server.url()), None), service, http());
        let _ = adapter.health_check(Timestamp::from_unix_seconds(0)).await;
        adapter
            .run(&task(Duration::from_secs(20)), &NoProgress)
            .await
            .unwrap();
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        for request in requests {
            assert_eq!(
                request.header("openai-organization"),
                organization.as_deref(),
                "{}",
                request.path
            );
        }
    }
}
