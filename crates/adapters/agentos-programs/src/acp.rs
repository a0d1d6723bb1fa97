//! The client's side of the Agent Client Protocol, version 1 (agentclientprotocol.com/protocol/v1): JSON-RPC, a line each.
//!
//! Owns: starting a session, the one prompt, answering the agent's requests, cancelling. Never: writes or reads a file for the
//! agent, or believes its report of what it did: the change is read from its copy.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_tool::{FinishReason, Progress};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::lines::{LineSplitter, NoAnswer};

/// Protocol version that this client speaks.
const VERSION: u64 = 1;
/// JSON-RPC error code for an unknown method (JSON-RPC 2.0, section 5.1).
const NO_SUCH_METHOD: i64 = -32601;

/// The request that waits for an answer. The discriminants are the JSON-RPC ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingRequest {
    Initialize = 0,
    NewSession = 1,
    Prompt = 2,
}

/// Sends messages to the agent's standard input. Clones share the state.
#[derive(Debug, Clone)]
struct AgentInput(Arc<Mutex<InputState>>);

#[derive(Debug)]
struct InputState {
    /// Sender of the agent's standard input. `None` once the conversation is over, which closes that stream.
    sender: Option<Sender<Vec<u8>>>,
    /// Id of the session that was prompted. `None` before the prompt.
    prompted: Option<String>,
}

impl AgentInput {
    /// Queues a message. Returns false if the agent's input is closed.
    fn send(&self, message: &Value) -> bool {
        // The receiver is dropped only after the agent has ended, so a failed send needs no handling of its own.
        let state = self.lock_state();
        let sender = state.sender.as_ref();
        sender.is_some_and(|sender| sender.send(format!("{message}\n").into_bytes()).is_ok())
    }

    fn lock_state(&self) -> MutexGuard<'_, InputState> {
        // Each field is assigned in one step, so the state is valid even if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// State machine of one conversation: initialize, open a session, prompt, end of the turn.
#[derive(Debug)]
pub(crate) struct AcpClient {
    splitter: LineSplitter,
    wire: AgentInput,
    asked: PendingRequest,
    folder: String,
    prompt: String,
    end: Option<Result<FinishReason, NoAnswer>>,
}

#[derive(Deserialize)]
struct RpcMessage {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Value>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    message: String,
}

impl AcpClient {
    /// Begins a conversation about `words` with an agent that works in `folder`.
    pub(crate) fn start_conversation(folder: &Path, prompt: &str, sender: Sender<Vec<u8>>) -> Self {
        let mut client = Self {
            splitter: LineSplitter::default(),
            wire: AgentInput(Arc::new(Mutex::new(InputState {
                sender: Some(sender),
                prompted: None,
            }))),
            asked: PendingRequest::Initialize,
            folder: folder.display().to_string(),
            prompt: prompt.to_owned(),
            end: None,
        };
        // Without `fs` and `terminal`, an agent has to use the files of its copy and start programs by itself, inside the
        // sandbox. With them, it would ask this process, which is not confined, to do that.
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": { "name": "agentos", "title": "AgentOS", "version": env!("CARGO_PKG_VERSION") },
        });
        client.send_request(PendingRequest::Initialize, "initialize", &params);
        client
    }

    /// Reads bytes of the agent's standard output; they may end in the middle of a line.
    pub(crate) fn read_output(&mut self, bytes: &[u8], report: &mut dyn FnMut(Progress)) {
        // Moved out for the call, because the closure borrows the whole client.
        let mut splitter = std::mem::take(&mut self.splitter);
        splitter.add_bytes(bytes, &mut |line| self.read_line(line, report));
        self.splitter = splitter;
    }

    /// Returns a function that asks the agent to end its turn. It returns false if no turn is running.
    pub(crate) fn cancel_turn(&self) -> impl FnOnce() -> bool + Send + 'static {
        let wire = self.wire.clone();
        move || {
            let session = wire.lock_state().prompted.clone();
            session.is_some_and(|session| {
                let params = json!({ "sessionId": session });
                wire.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }))
            })
        }
    }

    /// Returns true if no further message can change the result.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Returns how the turn ended.
    ///
    /// # Errors
    /// If the agent reported an error, broke the protocol, or ended before it answered.
    pub(crate) fn finish_turn(self) -> Result<FinishReason, NoAnswer> {
        let unanswered = match self.asked {
            PendingRequest::Initialize => "`initialize`",
            PendingRequest::NewSession => "`session/new`",
            PendingRequest::Prompt => "`session/prompt`",
        };
        self.end.unwrap_or_else(|| {
            Err(NoAnswer::Broken(format!(
                "the agent ended without an answer to {unanswered}"
            )))
        })
    }

    fn read_line(&mut self, line: &[u8], report: &mut dyn FnMut(Progress)) {
        if self.is_over() {
            return;
        }
        let Ok(message) = serde_json::from_slice::<RpcMessage>(line) else {
            // Some agents print banners and warnings to standard output. The protocol forbids that, but refusing the line
            // would lose a good answer, so it only goes into the transcript.
            report(Progress::Transcript(String::from_utf8_lossy(line).into_owned()));
            return;
        };
        match (message.method.as_deref(), message.id) {
            (Some("session/update"), _) => report_update(&message.params, report),
            (Some("session/request_permission"), Some(id)) => {
                self.answer_permission(&id, &message.params, report)
            }
            (Some(method), Some(id)) => {
                let error =
                    json!({ "code": NO_SUCH_METHOD, "message": format!("`{method}` is not supported") });
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            (None, Some(id)) if id == json!(self.asked as u64) => match (message.result, message.error) {
                (_, Some(error)) => self.end_conversation(Err(NoAnswer::Said(one_line(&error.message)))),
                (Some(result), None) => self.go_on(&result),
                (None, None) => self.fail_protocol("an answer has neither `result` nor `error`"),
            },
            // Notifications that need no answer, and answers to requests that are no longer pending.
            (Some(_), None) | (None, _) => {}
        }
    }

    /// Sends the next request after the answer to the pending one.
    fn go_on(&mut self, result: &Value) {
        match self.asked {
            PendingRequest::Initialize => {
                let version = result.get("protocolVersion").and_then(Value::as_u64);
                if version != Some(VERSION) {
                    self.fail_protocol("the agent does not support protocol version 1");
                    return;
                }
                let params = json!({ "cwd": self.folder, "mcpServers": [] });
                self.send_request(PendingRequest::NewSession, "session/new", &params);
            }
            PendingRequest::NewSession => {
                let Some(session) = result.get("sessionId").and_then(Value::as_str) else {
                    self.fail_protocol("the answer to `session/new` has no `sessionId`");
                    return;
                };
                let params =
                    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": self.prompt }] });
                self.send_request(PendingRequest::Prompt, "session/prompt", &params);
                // Set after the prompt is queued: a cancellation must not reach the agent before the turn that it cancels.
                self.wire.lock_state().prompted = Some(session.to_owned());
            }
            PendingRequest::Prompt => match result.get("stopReason").and_then(Value::as_str) {
                Some("end_turn") => self.end_conversation(Ok(FinishReason::Stop)),
                Some("max_tokens" | "max_turn_requests") => self.end_conversation(Ok(FinishReason::Length)),
                Some("refusal") => self.end_conversation(Ok(FinishReason::ContentFilter)),
                Some("cancelled") => {
                    self.end_conversation(Err(NoAnswer::Said("the turn was cancelled".to_owned())))
                }
                Some(_) | None => {
                    self.fail_protocol("the turn ended with a `stopReason` that version 1 does not define")
                }
            },
        }
    }

    /// Allows what the agent asks permission for, and reports the question. The sandbox, not this answer, is what limits it.
    fn answer_permission(&mut self, id: &Value, params: &Value, report: &mut dyn FnMut(Progress)) {
        let options = params.get("options").and_then(Value::as_array);
        let of_kind = |kind: &str| {
            let mut options = options.into_iter().flatten();
            options.find(|option| option.get("kind").and_then(Value::as_str) == Some(kind))
        };
        // `allow_always` asks the agent to remember the answer, which one run does not need.
        let chosen = of_kind("allow_once").or_else(|| of_kind("allow_always"));
        let title = params.pointer("/toolCall/title").and_then(Value::as_str);
        let title = one_line(title.unwrap_or("an unnamed action"));
        let (word, outcome) = match chosen.and_then(|option| option.get("optionId")) {
            Some(option) => ("allowed", json!({ "outcome": "selected", "optionId": option })),
            None => ("not allowed", json!({ "outcome": "cancelled" })),
        };
        report(Progress::Transcript(format!(
            "[asks] {title}: {word} in its copy\n"
        )));
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } }));
    }

    fn send_request(&mut self, what: PendingRequest, method: &str, params: &Value) {
        self.asked = what;
        self.send(&json!({ "jsonrpc": "2.0", "id": what as u64, "method": method, "params": params }));
    }

    fn send(&self, message: &Value) {
        // If the agent has ended, the end of its process is reported instead.
        let _ = self.wire.send(message);
    }

    fn fail_protocol(&mut self, how: &str) {
        self.end_conversation(Err(NoAnswer::Broken(how.to_owned())));
    }

    fn end_conversation(&mut self, end: Result<FinishReason, NoAnswer>) {
        self.end = Some(end);
        self.wire.lock_state().sender = None;
    }
}

/// Reports a `session/update`: the agent's messages and the titles of its tool calls go into the transcript.
fn report_update(params: &Value, report: &mut dyn FnMut(Progress)) {
    let word = |place: &str| params.pointer(place).and_then(Value::as_str);
    let text = match word("/update/sessionUpdate") {
        Some("agent_message_chunk") => word("/update/content/text").map(str::to_owned),
        Some("tool_call") => word("/update/title").map(|title| format!("\n[does] {}\n", one_line(title))),
        Some(_) | None => None,
    };
    if let Some(text) = text {
        report(Progress::Transcript(text));
    }
}

/// Joins a text into one line of at most 200 characters without control characters.
fn one_line(text: &str) -> String {
    let prompt: Vec<&str> = text.split_whitespace().collect();
    prompt
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect()
}

#[cfg(test)]
mod tests;
