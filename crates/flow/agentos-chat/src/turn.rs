//! A turn: from the user's message to its record.
//!
//! Owns: the order of the states in the crate's documentation. Never: knows a server, a tool or a tape; those are ports.

mod compress;
mod flow;
mod model_call;
mod record;
mod settle;
mod stop;
mod summarize;

use agentos_ledger::{TurnRecord, TurnSource};
use agentos_model::{ChatMessage, Model, ToolResult};
use agentos_tool::{BoxFuture, ErrorCategory, RunId, TokenPrices, ToolAdvice};
use agentos_window::{WindowExcess, WindowRules, WindowSize};

use crate::limits::TurnLimits;
use crate::meter::CallMeter;
use crate::ports::{StoreError, TranscriptStore, TurnEvent, TurnTools};
use crate::state::SessionState;
use crate::tools::{ToolPermissions, ToolSession};

use flow::TurnFlow;

pub use summarize::{SummaryEnd, compress_session};

pub(crate) use stop::{StopCause, StopSignal};

/// Model of a turn, with what its server and its profile say about it.
#[derive(Clone, Copy)]
pub struct TurnModel<'a> {
    /// The model.
    pub model: &'a dyn Model,
    /// Model that is requested. `None` if the server chooses.
    pub requested: Option<&'a str>,
    /// Prices of its tokens.
    pub price: &'a TokenPrices,
    /// Size of its window.
    pub window: WindowSize,
    /// Tokens of the window that are reserved for the answer.
    pub output_reserve: u64,
    /// Maximum number of tokens of an answer. `None` if the profile decides.
    pub max_output_tokens: Option<u64>,
    /// True if it can call tools. Otherwise none is offered to it.
    pub takes_tools: bool,
}

/// Order of a turn.
#[derive(Debug, Clone)]
pub struct TurnOrder {
    /// Id of the turn.
    pub turn: RunId,
    /// Kind of the one who asks.
    pub source: TurnSource,
    /// Message of the user.
    pub message: ChatMessage,
    /// Limits.
    pub limits: TurnLimits,
    /// Shares of the window.
    pub rules: WindowRules,
    /// Permissions of tools.
    pub permissions: ToolPermissions,
    /// Returns true if an answer that was cut stays in the session. A caller that asks another model after such a failure drops it, because
    /// two models must not write one answer.
    pub keeps_cut: fn(CutReason<'_>) -> bool,
    /// True if the caller may ask another model after the first call fails.
    pub has_other: bool,
}

/// Reason for which an answer was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutReason<'r> {
    /// Code of the failure, or the name of the limit.
    pub code: &'r str,
    /// True for the first call of a turn: no other model continues a turn after it.
    pub is_first_call: bool,
}

/// Everything that a turn reaches.
pub struct TurnPorts<'a> {
    /// Store of texts and records.
    pub store: &'a mut dyn TranscriptStore,
    /// Model that answers.
    pub model: TurnModel<'a>,
    /// Model that writes summaries. `None` if the answering model does.
    pub summarizer: Option<TurnModel<'a>>,
    /// Tools.
    pub tools: &'a dyn TurnTools,
    /// State of the tools in this session.
    pub tool_session: &'a mut ToolSession,
    /// Receiver of events. Must not block.
    pub emit: &'a mut (dyn FnMut(TurnEvent) + Send),
    /// Watcher of the calls of models.
    pub meter: &'a dyn CallMeter,
    /// Becomes ready when the user wishes to stop.
    pub cancel: BoxFuture<'a, ()>,
}

/// Turn that ended and is recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedTurn {
    /// Record of the turn.
    pub record: TurnRecord,
    /// Text of the answer. `None` if the turn ended without one.
    pub answer: Option<String>,
    /// Text of an answer that was cut and is kept in the session. `None` if there is no such text.
    pub cut: Option<String>,
    /// Reason why there is no answer. `None` if there is one, or a limit or the user ended the turn.
    pub failure: Option<TurnFailure>,
    /// Results of the last calls, if a tool ended the turn. They are not part of the session yet: the next turn's message must have
    /// them, because vendors refuse a call without a result.
    pub open_results: Vec<ToolResult>,
    /// Tokens of the model's window, which are fewer than was known, as a refusal of its server stated them. `None` if none did.
    pub learned_window: Option<u64>,
}

/// Reason why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    /// Stable code, such as `context-length`.
    pub code: String,
    /// Category of the tool's failure. `None` if the turn failed for another reason.
    pub category: Option<ErrorCategory>,
    /// True if a limit of time or tokens was reached.
    pub is_limit: bool,
    /// Description, in one sentence.
    pub message: String,
    /// Causes from the outermost to the root.
    pub causes: Vec<String>,
    /// Remedies. Boxed, because results with this failure are passed by value.
    pub advice: Box<ToolAdvice>,
    /// Numbers of a request that does not fit. `None` for every other failure.
    pub excess: Option<Box<WindowExcess>>,
}

impl TurnFailure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            category: None,
            is_limit: false,
            message: message.into(),
            causes: Vec::new(),
            advice: Box::default(),
            excess: None,
        }
    }
}

/// Runs one turn of a session to its end, whatever the end is, and applies its records to the state.
///
/// Must be awaited on a thread with a runtime that has timers. Dropping the future leaves no record: the turn did not happen. Its
/// calls were reported to the meter.
///
/// # Errors
/// If a text of the session cannot be read, or the turn cannot be recorded. Everything else is an end of the turn, which
/// [`FinishedTurn`] describes.
pub async fn run_turn(
    state: &mut SessionState,
    order: TurnOrder,
    ports: TurnPorts<'_>,
) -> Result<FinishedTurn, StoreError> {
    let mut flow = TurnFlow::load(state, order, ports)?;
    let end = flow.run_rounds().await;
    flow.finish(state, end)
}

#[cfg(test)]
mod tests;
