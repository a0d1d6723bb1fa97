//! The budgets as the meter of a conversation's calls.
//!
//! Owns: how a refusal ends a turn or a run. Never: computes a cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentos_chat::{CallMeter, MeteredCall, TurnFailure};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_ledger::CallRecord;
use agentos_tool::{
    Adapter, BoxFuture, Confinement, Progress, ProgressSink, SendGate, Timestamp, TokenPrices, ToolAdvice,
    ToolCapabilities, ToolError, ToolHealth, ToolOutput, ToolTask,
};

use super::guard::BudgetGuard;
use super::spend::CallSpend;
use agentos_ground::Ground;

/// Meter that asks the budgets. Without a guard it permits every call.
pub struct BudgetMeter {
    guard: Option<Arc<BudgetGuard>>,
    /// Host whose observer receives each call. `None` if the calls are read from the turn's record.
    observed: Option<Ground>,
}

impl BudgetMeter {
    /// Makes the meter of a conversation, whose turns have records.
    pub fn for_turns(guard: Option<BudgetGuard>) -> Self {
        Self {
            guard: guard.map(Arc::new),
            observed: None,
        }
    }

    /// Makes the meter of a run, whose calls the ledger has only if they are reported one by one.
    pub fn for_run(guard: Option<BudgetGuard>, ground: &Ground) -> Self {
        Self {
            guard: guard.map(Arc::new),
            observed: Some(ground.clone()),
        }
    }
}

impl CallMeter for BudgetMeter {
    fn begin_call(&self) -> Arc<dyn MeteredCall> {
        CallSpend::new(self.guard.clone())
    }

    fn end_call(&self, call: &CallRecord) {
        if let Some(ground) = &self.observed {
            ground.observer().on_call(call);
        }
    }
}

/// A tool whose calls the budgets guard.
pub(crate) struct GuardedAdapter {
    pub(crate) inner: Box<dyn Adapter>,
    pub(crate) guard: Arc<BudgetGuard>,
    pub(crate) ground: Ground,
    pub(crate) price: TokenPrices,
    /// Most tokens of an answer if the task sets no limit.
    pub(crate) output_tokens: u64,
}

impl Adapter for GuardedAdapter {
    fn provider(&self) -> &str {
        self.inner.provider()
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        self.inner.health_check(now)
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run_reserved(task, progress))
    }

    fn supports(&self) -> ToolCapabilities {
        self.inner.supports()
    }

    fn confinement(&self) -> Confinement {
        self.inner.confinement()
    }
}

impl GuardedAdapter {
    async fn run_reserved(
        &self,
        task: &ToolTask,
        progress: &dyn ProgressSink,
    ) -> Result<ToolOutput, ToolError> {
        let spend = CallSpend::new(Some(Arc::clone(&self.guard)));
        // An answer without a limit could cost more than what is reserved for it.
        let mut limited = task.clone();
        limited.limits.max_output_tokens = Some(task.limits.max_output_tokens.unwrap_or(self.output_tokens));
        let watched = WatchedProgress {
            inner: progress,
            gate: Arc::clone(&spend),
            has_begun: AtomicBool::new(false),
        };
        let answer = self.inner.run(&limited, &watched).await;
        let has_begun = watched.has_begun.load(Ordering::SeqCst);
        let id = match &answer {
            Ok(output) => {
                let cost = output.usage.as_ref().and_then(|usage| self.price.cost(usage));
                spend.end(cost, output.usage.as_ref(), None, true)
            }
            // A discarded attempt too: its tokens were counted although nobody uses its answer.
            Err(error) => spend.end(None, None, Some(&error.detail), has_begun),
        };
        if let Some(id) = id {
            self.ground.observer().on_reservation(&id);
        }
        answer
    }
}

/// Progress of a call, passed on, with the knowledge whether a part of an answer arrived.
struct WatchedProgress<'a> {
    inner: &'a dyn ProgressSink,
    gate: Arc<CallSpend>,
    has_begun: AtomicBool,
}

impl ProgressSink for WatchedProgress<'_> {
    fn progress(&self, progress: Progress) {
        match &progress {
            Progress::Text(_) | Progress::Transcript(_) | Progress::Read(_) | Progress::Called(_) => {
                self.has_begun.store(true, Ordering::SeqCst);
            }
            // As about a pause before a request is sent again.
            Progress::Note(_) | Progress::Viewed(_) => {}
        }
        self.inner.progress(progress);
    }

    fn send_gate(&self) -> Arc<dyn SendGate> {
        Arc::<CallSpend>::clone(&self.gate)
    }
}

/// Converts a refusal to the failure of a turn.
pub(super) fn fail_turn(error: EffectError) -> TurnFailure {
    TurnFailure {
        code: error.code.to_string(),
        category: None,
        is_limit: error.cause == Cause::Limit,
        message: error.message.clone(),
        causes: Vec::new(),
        advice: ToolAdvice::new(None, error.next.clone()),
        excess: None,
    }
}
