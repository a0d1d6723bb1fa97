//! The tools of a model that works on a task: those that read, those of toolboxes, and the one that ends the attempt.
//!
//! Owns: the proposal of an attempt, the reports of what it was shown, and which models take tools at all. Never: lands it; the engine
//! does, as with every answer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentos_chat::{ToolAccess, ToolAnswer, ToolClass, TurnTool, TurnTools};
use agentos_model::{ToolCall, ToolSpec};
use agentos_profile::{AdapterKind, Mode, Profile};
use agentos_tool::{Ability, BoxFuture, Progress, ProgressSink};
use serde_json::{Value, json};

use crate::chat_tools::RepositoryTools;
use crate::toolboxes::session::OpenToolboxes;

/// Name of the tool that ends an attempt.
pub(super) const PROPOSE: &str = "propose_change";

/// Tools of one attempt.
pub(super) struct ExploreTools {
    reading: RepositoryTools,
    toolboxes: OpenToolboxes,
    proposal: Mutex<Proposal>,
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
        }
    }

    /// Returns the tools that read.
    pub(super) fn reading(&self) -> &RepositoryTools {
        &self.reading
    }

    /// Takes the proposal. Its answer is empty if there is none.
    pub(super) fn take_proposal(&self) -> Proposal {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Proposal> {
        // A panic elsewhere cannot leave the text half changed, so a poisoned lock is used all the same.
        self.proposal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_proposal(&self, call: &ToolCall) -> ToolAnswer {
        let answer = call.arguments.get("answer").and_then(Value::as_str);
        let mut kept = self.lock();
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
            (_, Some(answer)) => answer,
            (_, None) => self.reading.call_tool(call),
        }
    }
}

/// Reports what the model was shown, also if the engine drops the call because the user stops the run.
pub(super) struct ReadReports<'a> {
    pub(super) tools: &'a ExploreTools,
    pub(super) progress: &'a dyn ProgressSink,
}

impl ReadReports<'_> {
    /// Reports the texts since the last report, and returns their bytes.
    pub(super) fn report(&self) -> u64 {
        let mut sent = 0_u64;
        for read in self.tools.reading().take_reads() {
            sent = sent.saturating_add(read.bytes);
            self.progress.progress(Progress::Read(read));
        }
        sent
    }
}

impl Drop for ReadReports<'_> {
    fn drop(&mut self) {
        self.report();
    }
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
        | AdapterKind::Pool => false,
    };
    has_wire && profile.capabilities.tools != Ability::No
}
