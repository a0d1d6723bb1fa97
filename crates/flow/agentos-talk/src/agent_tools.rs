//! Tools for an agent of another program that may not write the repository: it reads the base commit, proposes changes, and asks what
//! became of them.
//!
//! Owns: which tools there are, and their answers with data. Never: waits for a person, consents, or shows what policy withholds.
//!
//! | tool | effect | answer |
//! |---|---|---|
//! | `list_files`, `read_file`, `search`, `git_log`, `git_show`, `time` | none | as in a conversation, decided by policy for the provider `mcp` |
//! | `propose_change` | evidence, and a request that waits for a person | at once: the state of the proposal |
//! | `proposal_status` | none | the state of the proposal now |
//! | `proposal_withdraw` | closes a request of an agent | the state of the proposal now |
//! | `list_runs`, `show_run` | none | earlier runs; tasks and messages of its own alone |
//! | `explain_policy` | none | the decision about a path or an answer, with its rules |
//! | `verify_evidence` | none | whether the evidence is whole |
//!
//! The agent may be anybody's, and its model may be anywhere: policy judges it as the provider `mcp` in the cloud. The name by which it
//! introduces itself is text without authority. An agent asks about, withdraws and reads the comments on its own proposals alone: those of its
//! token, or, for an agent that is a program of the user, those under its name.

mod proposer;
mod report;
mod specs;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentos_chat::{
    CallRefusal, TextLimit, ToolAnswer, ToolPermissions, ToolSession, ToolTimeouts, TurnTools as _,
    admit_call, limit_text,
};
use agentos_engine::ports::EffectError;
use agentos_ledger::{RepositoryReads, TurnEnd, TurnRecord, TurnSource};
use agentos_model::ToolCall;
use agentos_tool::ExecutionMode;
use serde_json::Value;

use self::proposer::Proposer;
pub use report::{ProposalReport, ProposalState};
pub use specs::{AgentTool, AgentToolEffect};

use agentos_calls::chat_tools::{RepositoryTools, RepositoryToolsSpec};
use agentos_calls::ledger::{Ledger, lost_writer};
use agentos_ground::Ground;
use agentos_ground::clock;
use agentos_ground::options::SessionOptions;
use agentos_ground::proposals::ModelFacts;
use agentos_runs::proposal_run::ConsentedProposals;
use agentos_runs::run::ConsentMode;

/// Name of the provider by which policy and the records know such agents.
pub const AGENT_PROVIDER: &str = "mcp";
/// Limit on the text of an answer. Agents cut longer ones themselves: Claude Code above 25,000 tokens (`MAX_MCP_OUTPUT_TOKENS`).
const TEXT_LIMIT: TextLimit = TextLimit {
    bytes: 64 << 10,
    tokens: 20_000,
};
/// Longest verification of the evidence, which reads all of it.
const VERIFY_TIME: Duration = Duration::from_secs(120);

/// The order for the tools of an agent.
#[derive(Debug, Clone, Default)]
pub struct AgentToolsSpec {
    /// The branch that is read and changed, and the further policies.
    pub session: SessionOptions,
    /// Name by which the agent introduced itself. Untrusted.
    pub client: String,
    /// Name of the token with which the agent reached a service. `None` for an agent that is a program of the user.
    pub token: Option<String>,
}

/// Answer of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentAnswer {
    /// Text for the agent's model.
    pub text: String,
    /// Data of the answer, in the shape of the tool's output schema. `None` if the tool has none, or failed.
    pub data: Option<Value>,
    /// True if the call failed and the text is the reason.
    pub is_error: bool,
    /// Code of the failure, for programs: one of `MESSAGES.md`, or of [`CallRefusal`]; `failed` for one without a code of its own. `None` if there is no failure.
    pub code: Option<String>,
}

/// The tools of an agent. A clone is another handle of the same ones.
#[derive(Clone)]
pub struct AgentTools(Arc<ToolsContext>);

struct ToolsContext {
    ground: Ground,
    proposer: Proposer,
    repository: RepositoryTools,
    /// Limits on calls, which last as long as the connection.
    calls: Mutex<ToolSession>,
}

impl AgentTools {
    /// Makes the tools for the repository of a call. Must be called within a runtime that has timers.
    #[must_use]
    pub fn new(ground: &Ground, spec: AgentToolsSpec) -> Self {
        let proposer = Proposer::new(&spec.client, spec.token.as_deref());
        let repository = RepositoryTools::new(
            ground,
            RepositoryToolsSpec {
                session: spec.session,
                author: ModelFacts {
                    provider: AGENT_PROVIDER.to_owned(),
                    model: None,
                    // Nobody knows where an agent sends what it reads.
                    execution_mode: ExecutionMode::Cloud,
                    adapter: AGENT_PROVIDER.to_owned(),
                    address: None,
                },
                receivers: Vec::new(),
                proposals: Some(Arc::new(ConsentedProposals(ConsentMode::Queue))),
                conversation: proposer.task().to_owned(),
            },
        );
        Self(Arc::new(ToolsContext {
            ground: ground.clone(),
            proposer,
            repository,
            calls: Mutex::new(ToolSession::new()),
        }))
    }

    /// Lists the tools, always in the same order.
    #[must_use]
    pub fn list() -> Vec<AgentTool> {
        specs::list_tools().into_iter().map(|(tool, _)| tool).collect()
    }

    /// Calls a tool. Never waits for a person. Dropping the future abandons the call.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> AgentAnswer {
        let call = ToolCall {
            id: String::new(),
            name: name.to_owned(),
            arguments,
            signature: None,
        };
        if let Err(CallRefusal { code, reason }) = self.admit(&call) {
            return AgentAnswer::from_failure(code, reason);
        }
        let limit = match name {
            "verify_evidence" => VERIFY_TIME,
            "search" | "list_files" | "git_log" => ToolTimeouts::default().search,
            _ => ToolTimeouts::default().proposal,
        };
        let answer = tokio::time::timeout(limit, self.answer_call(&call)).await;
        let answer = answer.unwrap_or_else(|_| {
            let reason = format!("The call took longer than {} s and was stopped.", limit.as_secs());
            AgentAnswer::from_failure("timeout", reason)
        });
        AgentAnswer {
            text: limit_text(answer.text, TEXT_LIMIT),
            code: answer
                .code
                .or_else(|| answer.is_error.then(|| "failed".to_owned())),
            ..answer
        }
    }

    fn admit(&self, call: &ToolCall) -> Result<(), CallRefusal> {
        let tools: Vec<_> = specs::list_tools().into_iter().map(|(_, tool)| tool).collect();
        // A panic elsewhere cannot leave the counters half changed, so a poisoned lock is used all the same.
        let mut session = self.0.calls.lock().unwrap_or_else(PoisonError::into_inner);
        admit_call(call, &tools, ToolPermissions::default(), &mut session).map(|_| ())
    }

    async fn answer_call(&self, call: &ToolCall) -> AgentAnswer {
        if !specs::is_own(&call.name) {
            let mut answer = self.0.repository.call_tool(call).await;
            let reads = std::mem::take(&mut answer.reads);
            if let Err(error) = self.record_reads(reads).await {
                let text = format!(
                    "The read could not be recorded, so it is not shown: {}.",
                    error.message
                );
                return AgentAnswer::from_failure(error.code, text);
            }
            return self.add_state(answer).await;
        }
        let (context, call) = (Arc::clone(&self.0), call.clone());
        // The tape and git are read with blocking calls.
        let work = tokio::task::spawn_blocking(move || {
            report::answer_own(&context.ground, &context.proposer, &call)
        });
        work.await
            .unwrap_or_else(|_| AgentAnswer::from_failure("internal", "The tool failed unexpectedly."))
    }

    /// Records what the agent is about to be shown, in the user's ledger.
    async fn record_reads(&self, mut reads: Vec<RepositoryReads>) -> Result<(), EffectError> {
        reads.retain(|read| !read.files.is_empty());
        if reads.is_empty() {
            return Ok(());
        }
        let ground = self.0.ground.clone();
        let record = TurnRecord {
            session: None,
            caller: None,
            source: TurnSource::Agent,
            repository: reads.first().map(|read| read.folder.clone()),
            runs: Vec::new(),
            reads,
            messages: Vec::new(),
            choice: None,
            discarded: Vec::new(),
            calls: Vec::new(),
            end: TurnEnd::Answered,
        };
        let write = move || Ledger::open(&ground)?.record_turn(&clock::new_run(), &record);
        let written = tokio::task::spawn_blocking(write).await;
        written.unwrap_or_else(|_| Err(lost_writer()))
    }

    /// Adds the state of the proposal to the answer of `propose_change`.
    async fn add_state(&self, answer: ToolAnswer) -> AgentAnswer {
        let Some(run) = answer.runs.first().cloned() else {
            return AgentAnswer {
                text: answer.text,
                data: None,
                is_error: answer.is_error,
                code: answer.code,
            };
        };
        let context = Arc::clone(&self.0);
        let read = tokio::task::spawn_blocking(move || {
            report::read_proposal(&context.ground, &context.proposer, run.as_str())
        });
        let data = match read.await {
            Ok(Ok(report)) => serde_json::to_value(report).ok(),
            // The words of the answer are complete without it.
            Ok(Err(_)) | Err(_) => None,
        };
        AgentAnswer {
            text: answer.text,
            // A client may refuse a success without the promised data.
            is_error: answer.is_error || data.is_none(),
            code: answer.code,
            data,
        }
    }
}

impl AgentAnswer {
    fn from_failure(code: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            data: None,
            is_error: true,
            code: Some(code.into()),
        }
    }
}

#[cfg(test)]
mod tests;
