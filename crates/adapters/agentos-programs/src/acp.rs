//! The client's side of the Agent Client Protocol, version 1 (agentclientprotocol.com/protocol/v1): JSON-RPC, a line each.
//!
//! Owns: starting a session, the one prompt, answering what the agent asks, cancelling. Never: writes or reads a file for the agent, or
//! takes what it says it did for what it did: the change comes from its copy.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_tool::{FinishReason, Progress};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::lines::{Cutter, NoAnswer};

/// The version that is spoken here.
const VERSION: u64 = 1;
/// JSON-RPC's code for a method that is not there.
const NO_SUCH_METHOD: i64 = -32601;

/// What was asked of the agent last; the numbers are the requests' ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Initialize = 0,
    NewSession = 1,
    Prompt = 2,
}

/// What goes to the agent.
#[derive(Debug, Clone)]
struct Wire(Arc<Mutex<Said>>);

#[derive(Debug)]
struct Said {
    /// Gone when there is nothing more to say.
    say: Option<Sender<Vec<u8>>>,
    /// The session in which it was prompted.
    prompted: Option<String>,
}

impl Wire {
    /// True when it is on its way.
    fn send(&self, message: &Value) -> bool {
        // Whoever carries it to the agent is gone only when the agent is.
        let said = self.said();
        let say = said.say.as_ref();
        say.is_some_and(|say| say.send(format!("{message}\n").into_bytes()).is_ok())
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        // It is whole at every moment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One conversation.
#[derive(Debug)]
pub(crate) struct Client {
    cutter: Cutter,
    wire: Wire,
    asked: Asked,
    folder: String,
    words: String,
    end: Option<Result<FinishReason, NoAnswer>>,
}

#[derive(Deserialize)]
struct Message {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Value>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
}

impl Client {
    /// Begins a conversation about `words` with an agent that works in `folder`.
    pub(crate) fn begin(folder: &Path, words: &str, say: Sender<Vec<u8>>) -> Self {
        let mut client = Self {
            cutter: Cutter::default(),
            wire: Wire(Arc::new(Mutex::new(Said {
                say: Some(say),
                prompted: None,
            }))),
            asked: Asked::Initialize,
            folder: folder.display().to_string(),
            words: words.to_owned(),
            end: None,
        };
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": { "name": "agentos", "title": "AgentOS", "version": env!("CARGO_PKG_VERSION") },
        });
        client.ask(Asked::Initialize, "initialize", &params);
        client
    }

    /// Takes bytes as they come.
    pub(crate) fn take(&mut self, bytes: &[u8], told: &mut dyn FnMut(Progress)) {
        let mut cutter = std::mem::take(&mut self.cutter);
        cutter.take(bytes, &mut |line| self.line(line, told));
        self.cutter = cutter;
    }

    /// Asks the agent to leave off its turn; false where none has begun, or it is over.
    pub(crate) fn cancel(&self) -> impl FnOnce() -> bool + Send + 'static {
        let wire = self.wire.clone();
        move || {
            let session = wire.said().prompted.clone();
            session.is_some_and(|session| {
                let params = json!({ "sessionId": session });
                wire.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }))
            })
        }
    }

    /// There is nothing more to wait for.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// What it came to.
    pub(crate) fn end(self) -> Result<FinishReason, NoAnswer> {
        let unanswered = match self.asked {
            Asked::Initialize => "`initialize`",
            Asked::NewSession => "`session/new`",
            Asked::Prompt => "`session/prompt`",
        };
        self.end.unwrap_or_else(|| {
            Err(NoAnswer::Broken(format!(
                "it ended without an answer to {unanswered}"
            )))
        })
    }

    fn line(&mut self, line: &[u8], told: &mut dyn FnMut(Progress)) {
        if self.is_over() {
            return;
        }
        let Ok(message) = serde_json::from_slice::<Message>(line) else {
            // Agents print a word of their own here now and then; it is kept, and means nothing.
            told(Progress::Transcript(String::from_utf8_lossy(line).into_owned()));
            return;
        };
        match (message.method.as_deref(), message.id) {
            (Some("session/update"), _) => tell(&message.params, told),
            (Some("session/request_permission"), Some(id)) => self.permit(&id, &message.params, told),
            (Some(method), Some(id)) => {
                let error =
                    json!({ "code": NO_SUCH_METHOD, "message": format!("`{method}` is not offered") });
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            (None, Some(id)) if id == json!(self.asked as u64) => match (message.result, message.error) {
                (_, Some(error)) => self.over(Err(NoAnswer::Said(one_line(&error.message)))),
                (Some(result), None) => self.go_on(&result),
                (None, None) => self.broken("an answer holds neither result nor error"),
            },
            // Notifications and answers that nobody waits for.
            (Some(_), None) | (None, _) => {}
        }
    }

    /// The next step, after the answer to the last.
    fn go_on(&mut self, result: &Value) {
        match self.asked {
            Asked::Initialize => {
                let version = result.get("protocolVersion").and_then(Value::as_u64);
                if version != Some(VERSION) {
                    self.broken("it does not speak version 1");
                    return;
                }
                let params = json!({ "cwd": self.folder, "mcpServers": [] });
                self.ask(Asked::NewSession, "session/new", &params);
            }
            Asked::NewSession => {
                let Some(session) = result.get("sessionId").and_then(Value::as_str) else {
                    self.broken("a session has no `sessionId`");
                    return;
                };
                let params =
                    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": self.words }] });
                self.ask(Asked::Prompt, "session/prompt", &params);
                self.wire.said().prompted = Some(session.to_owned());
            }
            Asked::Prompt => match result.get("stopReason").and_then(Value::as_str) {
                Some("end_turn") => self.over(Ok(FinishReason::Stop)),
                Some("max_tokens" | "max_turn_requests") => self.over(Ok(FinishReason::Length)),
                Some("refusal") => self.over(Ok(FinishReason::ContentFilter)),
                Some("cancelled") => self.over(Err(NoAnswer::Said("it was cancelled".to_owned()))),
                Some(_) | None => self.broken("a turn ended for no reason that version 1 knows"),
            },
        }
    }

    /// It may do in its copy what it asks for; what it asked is told.
    fn permit(&mut self, id: &Value, params: &Value, told: &mut dyn FnMut(Progress)) {
        let options = params.get("options").and_then(Value::as_array);
        let of_kind = |kind: &str| {
            let mut options = options.into_iter().flatten();
            options.find(|option| option.get("kind").and_then(Value::as_str) == Some(kind))
        };
        let chosen = of_kind("allow_once").or_else(|| of_kind("allow_always"));
        let title = params.pointer("/toolCall/title").and_then(Value::as_str);
        let title = one_line(title.unwrap_or("something it does not name"));
        let (word, outcome) = match chosen.and_then(|option| option.get("optionId")) {
            Some(option) => ("allowed", json!({ "outcome": "selected", "optionId": option })),
            None => ("not allowed", json!({ "outcome": "cancelled" })),
        };
        told(Progress::Transcript(format!(
            "[asks] {title}: {word} in its copy\n"
        )));
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } }));
    }

    fn ask(&mut self, what: Asked, method: &str, params: &Value) {
        self.asked = what;
        self.send(&json!({ "jsonrpc": "2.0", "id": what as u64, "method": method, "params": params }));
    }

    fn send(&self, message: &Value) {
        // An agent that is gone is told by its end.
        let _ = self.wire.send(message);
    }

    fn broken(&mut self, how: &str) {
        self.over(Err(NoAnswer::Broken(how.to_owned())));
    }

    fn over(&mut self, end: Result<FinishReason, NoAnswer>) {
        self.end = Some(end);
        self.wire.said().say = None;
    }
}

/// What an agent says on its way goes into its transcript.
fn tell(params: &Value, told: &mut dyn FnMut(Progress)) {
    let word = |place: &str| params.pointer(place).and_then(Value::as_str);
    let text = match word("/update/sessionUpdate") {
        Some("agent_message_chunk") => word("/update/content/text").map(str::to_owned),
        Some("tool_call") => word("/update/title").map(|title| format!("\n[does] {}\n", one_line(title))),
        Some(_) | None => None,
    };
    if let Some(text) = text {
        told(Progress::Transcript(text));
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect()
}

#[cfg(test)]
mod tests;
