//! The conversations of all wires, sent to real servers: llama.cpp, and a proxy that an environment variable names.

use agentos_anthropic::AnthropicService;
use agentos_generic_http::{HttpAdapter, ServerSettings, Service};
use agentos_model::{ChatEvent, ChatRequest, Model, ToolChoice};
use agentos_net::{HttpClient, NetConfig};
use agentos_openai::OpenAiService;
use agentos_testkit::llama::{LlamaOptions, LlamaServer};
use agentos_tool::{ExecutionMode, FreeGate, Secret, ToolError};

use super::super::pairs::foreign_conversations;
use agentos_ground::runtime::block_on;

/// A model at a server, on one wire.
fn model_at<S: Service>(
    service: S,
    provider: &str,
    url: &str,
    model: &str,
    key: Option<&str>,
) -> HttpAdapter<S> {
    let settings = ServerSettings {
        base_url: Some(url.to_owned()),
        model: Some(model.to_owned()),
        key: key.map(Secret::new),
        ..ServerSettings::new(provider, ExecutionMode::Local)
    };
    HttpAdapter::new(settings, service, HttpClient::new(NetConfig::default()).unwrap())
}

/// Sends a conversation, and returns how the answer ended.
fn send(model: &dyn Model, chat: &ChatRequest) -> Result<String, ToolError> {
    block_on(async {
        let mut stream = model.chat(chat, FreeGate::share());
        let mut end = None;
        while let Some(event) = stream.next_event().await? {
            if let ChatEvent::Finish(finish) = event {
                end = Some(finish.finish.as_str().to_owned());
            }
        }
        Ok(end.unwrap_or_default())
    })
    .unwrap()
}

/// Sends every conversation to a model. Returns how many were accepted, and the others with their reasons.
fn send_all(door: &str, model: &dyn Model) -> (usize, Vec<String>) {
    let (mut accepted, mut rejected) = (0, Vec::new());
    for (from, chat) in foreign_conversations() {
        let chat = ChatRequest {
            // A model that must call a tool would be one more thing to go wrong at the server.
            tool_choice: ToolChoice::Auto,
            max_output_tokens: Some(32),
            ..chat
        };
        match send(model, &chat) {
            Ok(end) => {
                accepted += 1;
                eprintln!("accepted  {from:10} -> {door:10} {end}");
            }
            Err(error) => {
                eprintln!(
                    "REJECTED  {from:10} -> {door:10} {}: {}",
                    error.detail, error.message
                );
                rejected.push(format!("{from} to {door}: {}: {}", error.detail, error.message));
            }
        }
    }
    (accepted, rejected)
}

// PB-13, PB-39: what began at any vendor goes on at a real server.
#[test]
fn llama_cpp_takes_the_conversations_of_all_wires() {
    let options = LlamaOptions {
        answer: "It is a text.",
        ..LlamaOptions::default()
    };
    let Some(server) = LlamaServer::start(options).unwrap() else {
        return;
    };
    let url = format!("{}/v1", server.url());
    let service = OpenAiService::at_address(Some(&url));
    let model = model_at(service, "openai", &url, "tiny-coder", None);
    assert_eq!(send_all("openai", &model), (6, Vec::new()));
}

// LB-34: an independent implementation of two wires.
/// `scripts/servers/litellm_pairs.py` starts the proxy and names it in `AGENTOS_PAIRS_URL`, with its key and a model.
#[test]
fn a_proxy_takes_the_conversations_of_all_wires_through_both_of_its_doors() {
    let environment = agentos_ground::environment::Environment::read().unwrap();
    let named = |name: &str| environment.get(name).map(str::to_owned);
    let Some(url) = named("AGENTOS_PAIRS_URL") else {
        eprintln!("skipped: no proxy (see scripts/servers/README.md)");
        return;
    };
    let key = named("AGENTOS_PAIRS_KEY");
    let name = named("AGENTOS_PAIRS_MODEL").unwrap();
    let openai_url = format!("{url}/v1");
    let openai = model_at(
        OpenAiService::at_address(Some(&openai_url)),
        "openai",
        &openai_url,
        &name,
        key.as_deref(),
    );
    let anthropic = model_at(AnthropicService, "anthropic", &url, &name, key.as_deref());
    let (accepted, mut rejected) = send_all("openai", &openai);
    let (more, others) = send_all("anthropic", &anthropic);
    rejected.extend(others);
    eprintln!("{} accepted, {} rejected", accepted + more, rejected.len());
    assert_eq!((accepted + more, rejected), (12, Vec::new()));
}
