//! The tools of a model that works on a task: those that read, those of toolboxes, and the one that ends the attempt.
//!
//! Owns: the proposal of an attempt, the reports of what it was shown, and which models take tools at all. Never: lands it; the engine
//! does, as with every answer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentos_chat::{ToolAccess, ToolAnswer, ToolClass, TurnTool, TurnTools};
use agentos_model::{ToolCall, ToolSpec};
use agentos_profile::{AdapterKind, Mode, Profile};
use agentos_tool::{Ability, BoxFuture, ProgramCall, Progress, ProgressSink};
use serde_json::{Value, json};

use agentos_calls::chat_tools::RepositoryTools;
use agentos_calls::toolbox_session::OpenToolboxes;

/// Name of the tool that ends an attempt.
pub(super) const PROPOSE: &str = "propose_change";

/// Tools of one attempt.
pub(super) struct ExploreTools {
    reading: RepositoryTools,
    toolboxes: OpenToolboxes,
    proposal: Mutex<Proposal>,
    /// Calls of toolboxes that nobody has taken yet, in the order in which they began.
    calls: Mutex<Vec<ProgramCall>>,
}

/// Proposal of an attempt. Empty before there is one.
#[derive(Debug, Default)]
pub(super) struct Proposal {
    /// The answer.
    pub(super) answer: String,
    /// Ids of the calls that it came from.
    pub(super) calls: Vec<String>,
}

impl ExploreTools {
    /// Makes the tools of an attempt.
    pub(super) fn new(reading: RepositoryTools, toolboxes: OpenToolboxes) -> Self {
        Self {
            reading,
            toolboxes,
            proposal: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    /// Returns the tools that read.
    pub(super) fn reading(&self) -> &RepositoryTools {
        &self.reading
    }

    /// Takes the proposal. Its answer is empty if there is none.
    pub(super) fn take_proposal(&self) -> Proposal {
        std::mem::take(&mut *lock(&self.proposal))
    }

    /// Passes a call to its toolbox, and keeps it with its result. It is kept before it begins: a call that is stopped was sent too.
    async fn call_toolbox(&self, call: &ToolCall, answer: BoxFuture<'_, ToolAnswer>) -> ToolAnswer {
        let at = {
            let mut calls = lock(&self.calls);
            calls.push(ProgramCall {
                name: call.name.clone(),
                arguments: call.arguments.to_string(),
                result: None,
                is_error: true,
            });
            calls.len() - 1
        };
        let answer = answer.await;
        if let Some(kept) = lock(&self.calls).get_mut(at) {
            kept.result = Some(answer.text.clone());
            kept.is_error = answer.is_error;
        }
        answer
    }

    fn keep_proposal(&self, call: &ToolCall) -> ToolAnswer {
        let answer = call.arguments.get("answer").and_then(Value::as_str);
        let mut kept = lock(&self.proposal);
        // Several calls of one answer: some models propose each file on its own. They are one change, and are judged as one.
        if !kept.answer.is_empty() && !kept.answer.ends_with('\n') {
            kept.answer.push('\n');
        }
        kept.answer.push_str(answer.unwrap_or_default());
        kept.calls.push(call.id.clone());
        ToolAnswer {
            ends_turn: true,
            ..ToolAnswer::from_text("The change is judged now.")
        }
    }
}

impl TurnTools for ExploreTools {
    fn list_tools(&self) -> Vec<TurnTool> {
        let mut tools = RepositoryTools::list_reading();
        tools.extend(self.toolboxes.list_tools());
        tools.push(propose_tool());
        tools
    }

    fn call_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolAnswer> {
        match (call.name.as_str(), self.toolboxes.call_tool(call)) {
            (PROPOSE, _) => Box::pin(async { self.keep_proposal(call) }),
            (_, Some(answer)) => Box::pin(self.call_toolbox(call, answer)),
            (_, None) => self.reading.call_tool(call),
        }
    }
}

/// Reports what the model was shown and which programs it called, also if the engine drops the call because the user stops the run.
pub(super) struct ReadReports<'a> {
    pub(super) tools: &'a ExploreTools,
    pub(super) progress: &'a dyn ProgressSink,
}

impl ReadReports<'_> {
    /// Reports texts and calls since the last report, and returns the bytes of the texts.
    pub(super) fn report(&self) -> u64 {
        let mut sent = 0_u64;
        for read in self.tools.reading().take_reads() {
            sent = sent.saturating_add(read.bytes);
            self.progress.progress(Progress::Read(read));
        }
        for call in std::mem::take(&mut *lock(&self.tools.calls)) {
            self.progress.progress(Progress::Called(call));
        }
        sent
    }
}

impl Drop for ReadReports<'_> {
    fn drop(&mut self) {
        self.report();
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere cannot leave a list half changed, so a poisoned lock is used all the same.
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn propose_tool() -> TurnTool {
    TurnTool {
        spec: ToolSpec {
            name: PROPOSE.to_owned(),
            description: "Ends the task with the change that it asks for. Nothing is written before the change is placed, judged by the \
                          user's policy and, if the user wishes so, tested. If it cannot be used, the result says why."
                .to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "answer": {
                        "type": "string",
                        "minLength": 1,
                        "description": "The whole change, in the form that the system prompt describes.",
                    },
                },
                "required": ["answer"],
                "additionalProperties": false,
            }),
        },
        class: ToolClass::Plain,
        access: ToolAccess::Propose,
        rate: None,
        timeout: None,
    }
}

/// Returns false if a model is known to take no tools: by its profile, or because its wire has none.
pub(crate) fn takes_tools(profile: &Profile) -> bool {
    let has_wire = match profile.adapter {
        AdapterKind::GenericHttp => false,
        AdapterKind::Llamacpp => profile.mode != Mode::LlamacppCompletion,
        AdapterKind::Openai
        | AdapterKind::Lmstudio
        | AdapterKind::Ollama
        | AdapterKind::Anthropic
        | AdapterKind::Gemini => true,
        AdapterKind::Agent
        | AdapterKind::Acp
        | AdapterKind::Tool
        | AdapterKind::Toolbox
        | AdapterKind::Mcp
        | AdapterKind::Pool => false,
    };
    has_wire && profile.capabilities.tools != Ability::No
}
