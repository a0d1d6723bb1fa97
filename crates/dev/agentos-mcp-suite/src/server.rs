//! The server that the suite's scenarios call, on the protocol code of the product.
//!
//! Owns: the answer to each scenario. Never: the transport, the sessions or the versions; those are `agentos-mcp`'s.
//!
//! The scenarios expect tools, resources and prompts of these names (`SDK_INTEGRATION.md` of the suite), so the product's own
//! tools cannot be what is judged here.

#![expect(
    deprecated,
    reason = "logging and sampling are deprecated since 2026-07-28 (SEP-2577), and the suite tests them in earlier versions"
)]

mod content;
mod inputs;

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    CompleteRequestParams, CompleteResult, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext, SubscriptionSink};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use content::{
    find_content, find_messages, find_resource, read_document, read_form, read_list, read_result, text,
};

/// Time for which a client may keep a list.
const LIST_TIME_MS: u64 = 60_000;

/// Server of the suite. A clone shares its subscriptions.
#[derive(Clone, Default)]
pub struct SuiteServer {
    listeners: Arc<Mutex<HashMap<u64, SubscriptionSink>>>,
}

/// Makes a successful result.
fn succeed(content: Value) -> Result<CallToolResult, ErrorData> {
    read_result(json!({ "content": content, "isError": false }))
}

impl SuiteServer {
    /// Does what a tool does besides returning something.
    async fn work(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let argument = |name: &str| -> Option<Value> { request.arguments.as_ref()?.get(name).cloned() };
        let words = |name: &str| argument(name).and_then(|value| value.as_str().map(str::to_owned));
        let tool = request.name.as_ref();
        let said = match tool {
            "test_error_handling" => {
                let content = json!([text("This tool intentionally returns an error for testing")]);
                return read_result(json!({ "content": content, "isError": true }));
            }
            "test_tool_with_logging" => {
                for said in [
                    "Tool execution started",
                    "Tool processing data",
                    "Tool execution completed",
                ] {
                    log(
                        context,
                        json!({ "level": "info", "logger": "suite", "data": said }),
                    )
                    .await?;
                }
                "Logging test completed".to_owned()
            }
            "test_logging_tool" => {
                if let Some(level) = context.meta.log_level() {
                    log(
                        context,
                        json!({ "level": level, "logger": "suite", "data": "as requested" }),
                    )
                    .await?;
                }
                "Logging tool completed".to_owned()
            }
            "test_tool_with_progress" => {
                if let Some(token) = context.meta.get_progress_token() {
                    for progress in [0.0, 50.0, 100.0] {
                        let step = ProgressNotificationParam::new(token.clone(), progress).with_total(100.0);
                        // Fails if the client is gone.
                        let _ = context.peer.notify_progress(step).await;
                    }
                }
                "Progress test completed".to_owned()
            }
            // The client's model and its user answer over the stream of this call (SEP-2260).
            "test_sampling" => ask_model(context, &words("prompt").unwrap_or_default()).await?,
            "test_elicitation" | "test_elicitation_sep1034_defaults" | "test_elicitation_sep1330_enums" => {
                ask_user(
                    context,
                    tool,
                    &words("message").unwrap_or_else(|| "Please answer".to_owned()),
                )
                .await?
            }
            "json_schema_2020_12_tool" => format!("Hello, {}!", words("name").unwrap_or_default()),
            "test_custom_header" => {
                let value = words("value");
                value.ok_or_else(|| ErrorData::invalid_params("value must be a string", None))?
            }
            // The stream was closed before: the client reads this after it came back with the id of the last event.
            "test_reconnection" => "Reconnection test completed".to_owned(),
            "test_trigger_tool_change" | "test_trigger_prompt_change" => {
                let listeners: Vec<_> = self.listeners.lock().await.values().cloned().collect();
                for listener in listeners {
                    // Fails if the client does not listen any more.
                    let _ = match tool {
                        "test_trigger_tool_change" => listener.notify_tool_list_changed().await,
                        _ => listener.notify_prompt_list_changed().await,
                    };
                }
                "Change triggered".to_owned()
            }
            "test_missing_capability" => {
                if client_of(context).sampling.is_none() {
                    let needed = ClientCapabilities::builder().enable_sampling().build();
                    return Err(ErrorData::missing_required_client_capability(needed));
                }
                "The client can sample".to_owned()
            }
            other => {
                return Err(ErrorData::invalid_params(
                    format!("there is no tool `{other}`"),
                    None,
                ));
            }
        };
        succeed(json!([text(&said)]))
    }
}

fn client_of(context: &RequestContext<RoleServer>) -> ClientCapabilities {
    context.meta.client_capabilities().unwrap_or_default()
}

async fn log(context: &RequestContext<RoleServer>, message: Value) -> Result<(), ErrorData> {
    let message: LoggingMessageNotificationParam = read_document(message)?;
    // Fails if the client is gone.
    let _ = context.peer.notify_logging_message(message).await;
    Ok(())
}

async fn ask_model(context: &RequestContext<RoleServer>, prompt: &str) -> Result<String, ErrorData> {
    let message = json!({ "role": "user", "content": text(prompt) });
    let request = read_document(json!({ "messages": [message], "maxTokens": 100 }))?;
    let answer = context.peer.create_message(request).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let answer = serde_json::to_value(answer).unwrap_or_default();
    let said = answer.pointer("/content/text").and_then(Value::as_str);
    Ok(format!("LLM response: {}", said.unwrap_or("no text")))
}

async fn ask_user(
    context: &RequestContext<RoleServer>,
    tool: &str,
    message: &str,
) -> Result<String, ErrorData> {
    let form: Value = read_form(tool)?;
    let request = read_document(json!({ "mode": "form", "message": message, "requestedSchema": form }))?;
    let answer = context.peer.create_elicitation(request).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let answer = serde_json::to_value(answer).unwrap_or_default();
    let action = answer.get("action").and_then(Value::as_str).unwrap_or_default();
    let content = answer.get("content").cloned().unwrap_or_default();
    Ok(match tool {
        "test_elicitation" => format!("User response: action={action}, content={content}"),
        _ => format!("Elicitation completed: action={action}, content={content}"),
    })
}

impl ServerHandler for SuiteServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_logging()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("suite", env!("CARGO_PKG_VERSION")))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        read_list::<Tool>("tools")
            .ok()?
            .into_iter()
            .find(|tool| tool.name == name)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut listeners = self.listeners.lock().await;
        let key = listeners.keys().max().map_or(0, |last| last + 1);
        listeners.insert(key, context.sink().clone());
        drop(listeners);
        context.cancelled().await;
        self.listeners.lock().await.remove(&key);
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let list = ListToolsResult::with_all_items(read_list("tools")?);
        Ok(list
            .with_ttl_ms(LIST_TIME_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(content) = find_content(&request.name) {
            return Ok(succeed(content)?.into());
        }
        if request.name == "test_streaming_elicitation" {
            let form = json!({ "answer": inputs::ask_form("Provide a value", "value", "string") });
            return Ok(inputs::require_inputs(form, None)?.into());
        }
        if request.name.starts_with("test_input_required_result_") {
            return inputs::call_asking_tool(&request, &client_of(&context));
        }
        Ok(self.work(&request, &context).await?.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let list = ListResourcesResult::with_all_items(read_list("resources")?);
        Ok(list
            .with_ttl_ms(LIST_TIME_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let list = ListResourceTemplatesResult::with_all_items(read_list("templates")?);
        Ok(list
            .with_ttl_ms(LIST_TIME_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let found = find_resource(&request.uri);
        let found = found.ok_or_else(|| {
            let why = format!("there is no resource `{}`", request.uri);
            ErrorData::resource_not_found(why, Some(json!({ "uri": request.uri })))
        })?;
        let result: ReadResourceResult = read_result(json!({ "contents": [found] }))?;
        Ok(result
            .with_ttl_ms(LIST_TIME_MS)
            .with_cache_scope(CacheScope::Public)
            .into())
    }

    // Nothing changes here, so nobody is ever notified.
    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    // The scenarios only look whether the request is accepted.
    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let list = ListPromptsResult::with_all_items(read_list("prompts")?);
        Ok(list
            .with_ttl_ms(LIST_TIME_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == "test_input_required_result_prompt" {
            let answer = inputs::find_answer(
                request.input_responses.as_ref(),
                "user_context",
                "/content/context",
            );
            let Some(answer) = answer else {
                let form = inputs::ask_form("What context should the prompt use?", "context", "string");
                return Ok(inputs::require_inputs(json!({ "user_context": form }), None)?.into());
            };
            let message = json!({ "role": "user", "content": text(&format!("With the context {answer}")) });
            let result: GetPromptResult = read_result(json!({ "messages": [message] }))?;
            return Ok(result.into());
        }
        let arguments = request.arguments.unwrap_or_default();
        let argument = |name: &str| {
            let value = arguments.get(name).and_then(|value| value.as_str());
            value.unwrap_or_default().to_owned()
        };
        let messages = find_messages(&request.name, argument);
        let messages = messages.ok_or_else(|| {
            ErrorData::invalid_params(format!("there is no prompt `{}`", request.name), None)
        })?;
        let result: GetPromptResult = read_result(json!({ "messages": messages }))?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        read_result(
            json!({ "completion": { "values": ["paris", "park", "party"], "total": 3, "hasMore": false } }),
        )
    }
}
