//! The table of failures, one fixture for each row: what the server sent, and what a person reads.

use agentos_net::{HttpClient, NetConfig};
use agentos_testkit::oddities::Oddity;
use agentos_tool::{ExecutionMode, Secret};

use super::*;
use crate::plain::PlainServer;
use crate::server::Server;
use crate::{ServerSettings, TemplateWire, judge_response};

fn server() -> Server {
    let mut settings = ServerSettings::new("server", ExecutionMode::Cloud);
    settings.base_url = Some("http://127.0.0.1:1".to_owned());
    settings.key = Some(Secret::new("sk-local-0123456789abcdef"));
    let wire = TemplateWire {
        request: Value::Null,
        answer: String::new(),
        finish: None,
        whole: Vec::new(),
    };
    let service = PlainServer::new("", std::sync::Arc::new(wire));
    Server::new(settings, &service, HttpClient::new(NetConfig::default()).unwrap())
}

/// The error of a run, as a person reads it.
fn shown(oddity: &Oddity) -> String {
    let response = Response {
        status: oddity.status,
        content_type: oddity.header("content-type").map(str::to_owned),
        retry_after: oddity
            .header("retry-after")
            .and_then(|text| Some(Duration::from_secs(text.parse().ok()?))),
        body: oddity.body.clone(),
    };
    let server = server();
    let fault = judge_response(&response, true).unwrap_err();
    let error = server.run_error(&fault, &server.probe_deadline());
    let next: Vec<String> = error.advice.next.iter().map(|step| format!("{step:?}")).collect();
    let fix = error
        .advice
        .fix
        .into_iter()
        .chain(next)
        .collect::<Vec<_>>()
        .join(", ");
    format!("{}: [{}] {}\n  {fix}", oddity.id(), error.detail, error.message)
}

#[test]
fn the_words_of_every_server_reach_the_user_with_advice_that_fits() {
    let failures = Oddity::all().unwrap();
    let failures = failures.iter().filter(|oddity| oddity.status >= 400);
    let table: Vec<String> = failures.map(shown).collect();
    insta::assert_snapshot!(table.join("\n"), @r#"
    anthropic/only-adaptive-thinking: [rejected] `127.0.0.1:1` rejected the request: thinking.type.enabled is not supported for this model. Use thinking.type.adaptive and output_config.effort to control thinking behavior.
      leave `thinking` out of the requests: name it in `omit` in the profile of `server`
    anthropic/prompt-too-long: [context-length] the task does not fit the context window of the model: prompt is too long: 207543 tokens > 200000 maximum
      give fewer or smaller files, or load the model with more than its 200000 tokens of context; the profile of `server` can state the window
    anthropic/spend-limit: [quota] `127.0.0.1:1` accepts the key, but its credit or budget is used up: You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.
      add credit, or use another provider
    aws/forbidden: [forbidden] `127.0.0.1:1` accepts the key, but refuses this request: Forbidden
      do what the server's words name; another key helps only if its account may do more
    aws/message-only: [rejected] `127.0.0.1:1` rejected the request: The security token included in the request is expired
      check the model and the parameters in the profile
    cloudflare/list-in-errors: [context-length] the task does not fit the context window of the model: AiError: The estimated number of input and maximum output tokens (5000) exceeded this model context window limit (4096).
      give fewer or smaller files, or load the model with more than its 4096 tokens of context; the profile of `server` can state the window
    cloudflare/page-with-a-title: [server-error] `127.0.0.1:1` reports an internal error: example.com | 502: Bad gateway
      look at the server's log, then try again
    gemini/list-of-errors: [unauthorized] `127.0.0.1:1` rejected the key: API key not valid. Please pass a valid API key.
      SetKey { provider: Some("server"), in_file: false }
    gemini/retry-delay-in-details: [rate-limited] `127.0.0.1:1` accepts the key, but limits the rate of requests: Resource has been exhausted (e.g. check quota).
      try again in 90 minutes
    gemini/too-many-tokens: [context-length] the task does not fit the context window of the model: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).
      give fewer or smaller files, or load the model with more than its 1048576 tokens of context; the profile of `server` can state the window
    gemini/unknown-name: [rejected] `127.0.0.1:1` rejected the request: Invalid JSON payload received. Unknown name "seed" at 'generation_config': Cannot find field.
      leave `seed` out of the requests: name it in `omit` in the profile of `server`
    groq/property-is-unsupported: [rejected] `127.0.0.1:1` rejected the request: 'messages.0' : for 'role:assistant' the following must be satisfied[('messages.0' : property 'reasoning_content' is unsupported)]
      leave `reasoning_content` out of the requests: name it in `omit` in the profile of `server`
    groq/wait-in-the-words: [rate-limited] `127.0.0.1:1` accepts the key, but limits the rate of requests: Rate limit reached for model `x` on tokens per day (TPD): Limit 100000, Used 99999, Requested 5000. Please try again in 1h12m57.6s.
      try again in 73 minutes
    hf/model-is-loading: [loading] `127.0.0.1:1` is still loading its model: Model x is currently loading
      try again in 10 minutes
    llamacpp/context-as-500: [context-length] the task does not fit the context window of the model: the request exceeds the available context size. try increasing the context size or enable context shift
      give fewer or smaller files, or load the model with a longer context
    llamacpp/context-with-numbers: [context-length] the task does not fit the context window of the model: the request exceeds the available context size, try increasing it
      give fewer or smaller files, or load the model with more than its 4096 tokens of context; the profile of `server` can state the window
    llamacpp/loading-without-an-error: [loading] `127.0.0.1:1` is still loading its model: loading model
      try again in a few seconds
    lmstudio/loaded-with-a-short-context: [context-length] the task does not fit the context window of the model: Trying to keep the first 6012 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input
      give fewer or smaller files, or load the model with more than its 4096 tokens of context; the profile of `server` can state the window
    mistral/message-is-an-object: [rejected] `127.0.0.1:1` rejected the request: stream_options.include_usage: Extra inputs are not permitted
      leave `stream_options` out of the requests: name it in `omit` in the profile of `server`
    mistral/prompt-too-large: [context-length] the task does not fit the context window of the model: Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length
      give fewer or smaller files, or load the model with more than its 32768 tokens of context; the profile of `server` can state the window
    ollama/hourly-limit: [quota] `127.0.0.1:1` accepts the key, but its credit or budget is used up: you have reached your hourly usage limit, please upgrade to continue
      try again in 60 minutes, or use another provider
    ollama/no-thinking: [rejected] `127.0.0.1:1` rejected the request: "llama3.2:1b" does not support thinking
      leave `thinking` out of the requests: name it in `omit` in the profile of `server`
    openai/insufficient-quota: [quota] `127.0.0.1:1` accepts the key, but its credit or budget is used up: You exceeded your current quota, please check your plan and billing details.
      add credit, or use another provider
    openai/other-name-of-the-limit: [rejected] `127.0.0.1:1` rejected the request: Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.
      leave `max_tokens` out of the requests: name it in `omit` in the profile of `server`
    openai/region: [forbidden] `127.0.0.1:1` accepts the key, but refuses this request: Country, region, or territory not supported
      do what the server's words name; another key helps only if its account may do more
    openai/shortened-key: [unauthorized] `127.0.0.1:1` rejected the key: Incorrect API key provided: *** You can find your API key at the vendor's page.
      SetKey { provider: Some("server"), in_file: false }
    openrouter/no-credits: [quota] `127.0.0.1:1` accepts the key, but its credit or budget is used up: Insufficient credits. Add more using the vendor's page
      add credit, or use another provider
    openrouter/words-of-the-server-behind: [rejected] `127.0.0.1:1` rejected the request: Provider returned error: tools are not supported by this deployment
      check the model and the parameters in the profile
    text/events-with-an-error-status: [rejected] `127.0.0.1:1` rejected the request: temperature must be below 1
      check the model and the parameters in the profile
    text/plain-text: [not-loaded] no model is loaded at `127.0.0.1:1`: model foo is not loaded; POST /v1/load first
      load a model
    text/status-alone: [rejected] `127.0.0.1:1` rejected the request
      check the model and the parameters in the profile
    text/unknown-shape: [rejected] `127.0.0.1:1` rejected the request: {"fault":{"detailCode":7,"faultstring":"Rate limit quota violation"}}
      check the model and the parameters in the profile
    tgi/inputs-and-new-tokens: [context-length] the task does not fit the context window of the model: Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 `max_new_tokens`
      give fewer or smaller files, or load the model with more than its 4096 tokens of context; the profile of `server` can state the window
    vllm/detail-is-a-list: [rejected] `127.0.0.1:1` rejected the request: messages: field required
      check the model and the parameters in the profile
    vllm/detail-is-a-text: [overloaded] `127.0.0.1:1` is overloaded: the worker is restarting
      try again in 60 minutes
    vllm/error-is-the-document: [context-length] the task does not fit the context window of the model: This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.
      give fewer or smaller files, or load the model with more than its 4096 tokens of context; the profile of `server` can state the window
    vllm/model-missing: [unknown-model] the model is not among the models of `127.0.0.1:1`: The model `x` does not exist.
      load a model, NameModel
    "#);
}
