//! The reservations of one call, one for each sending of its request.
//!
//! Owns: when a sending is reserved and settled. Never: computes a bound; [`super::guard`] does.
//!
//! | state of a sending | comes from | next |
//! |---|---|---|
//! | – | the call is made, or the sending before failed | reserved and marked as sent by [`SendGate::permit`], right before the request leaves |
//! | sent | [`SendGate::permit`] | settled by its failure, by the end of the call, or as unknown when the call is dropped |
//! | refused | a budget does not have enough left | – |

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_chat::{MeteredCall, TurnFailure};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_ledger::{CallRecord, may_have_arrived, may_have_cost};
use agentos_store::SpendEnd;
use agentos_tool::{
    BoxFuture, ErrorCategory, ExactCost, SendGate, SendingSize, ToolAdvice, ToolError, ToolFailure, Usage,
};

use super::guard::BudgetGuard;
use super::meter::fail_turn;
use agentos_ground::runtime::run_blocking;

/// Reservations of one call. Dropped, the last sending counts as one whose cost nobody knows.
pub struct CallSpend {
    /// Guard of the budgets. `None` if no budget is about the model.
    guard: Option<Arc<BudgetGuard>>,
    state: Mutex<SpendState>,
}

#[derive(Default)]
struct SpendState {
    /// Reservation of the sending that has not ended. `None` if there is none.
    open: Option<String>,
    /// Reservation of the last sending. `None` if nothing was reserved.
    last: Option<String>,
    was_permitted: bool,
    /// Reason why not even the first sending was permitted.
    refusal: Option<EffectError>,
}

impl CallSpend {
    /// Makes the reservations of a call that was not sent yet.
    pub fn new(guard: Option<Arc<BudgetGuard>>) -> Arc<Self> {
        Arc::new(Self {
            guard,
            state: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, SpendState> {
        // Values are moved in and out in one step, so the state is consistent even after a panic of another thread.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves one sending and marks it as sent.
    ///
    /// # Errors
    /// If a budget does not permit it.
    fn reserve(&self, size: SendingSize) -> Result<(), EffectError> {
        let Some(guard) = &self.guard else {
            return Ok(());
        };
        let id = guard.reserve(size)?;
        if let Some(id) = &id {
            // If this fails, the reservation counts nothing after its lease.
            guard.mark_sent(id)?;
        }
        let mut state = self.lock();
        let before = std::mem::replace(&mut state.open, id.clone());
        state.last = id;
        drop(state);
        self.settle(before, SpendEnd::UNKNOWN);
        Ok(())
    }

    fn permit_now(&self, size: SendingSize) -> Result<(), ToolError> {
        let reserved = run_blocking(|| self.reserve(size));
        let mut state = self.lock();
        match reserved {
            Ok(()) => {
                state.was_permitted = true;
                Ok(())
            }
            Err(error) => {
                let failure = fail_tool(&error);
                if !state.was_permitted {
                    state.refusal = Some(error);
                }
                Err(failure)
            }
        }
    }

    fn settle(&self, id: Option<String>, end: SpendEnd) {
        if let (Some(guard), Some(id)) = (&self.guard, id) {
            run_blocking(|| guard.close(&id, end));
        }
    }

    /// Settles the last sending if it has not ended. Returns the id of its reservation, `None` if nothing was reserved.
    pub fn end(
        &self,
        cost: Option<ExactCost>,
        usage: Option<&Usage>,
        failure: Option<&str>,
        has_begun: bool,
    ) -> Option<String> {
        let mut state = self.lock();
        let open = state.open.take();
        let last = state.last.clone();
        drop(state);
        let tokens = usage.and_then(|usage| usage.input_tokens?.checked_add(usage.output_tokens?));
        let end = match (cost, tokens) {
            (None, None) => end_of_failure(failure, has_begun),
            (cost, tokens) => SpendEnd::Ended { cost, tokens },
        };
        self.settle(open, end);
        last
    }

    /// Takes the reason why not even the first sending was permitted. `None` if the request was sent, or nothing was asked.
    pub fn take_error(&self) -> Option<EffectError> {
        self.lock().refusal.take()
    }
}

/// Returns how a sending without known counts ended.
fn end_of_failure(failure: Option<&str>, has_begun: bool) -> SpendEnd {
    match (may_have_cost(failure, has_begun), may_have_arrived(failure)) {
        (true, _) => SpendEnd::UNKNOWN,
        // The server refused it, so it was a call that cost nothing.
        (false, true) => SpendEnd::Ended {
            cost: Some(ExactCost::default()),
            tokens: Some(0),
        },
        (false, false) => SpendEnd::Nothing,
    }
}

impl SendGate for CallSpend {
    fn permit(&self, size: SendingSize) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move { self.permit_now(size) })
    }

    fn note_failure(&self, failure: &str, has_begun: bool) {
        let open = self.lock().open.take();
        self.settle(open, end_of_failure(Some(failure), has_begun));
    }
}

impl MeteredCall for CallSpend {
    fn needs_limit(&self) -> bool {
        self.guard.is_some()
    }

    fn reservation(&self) -> Option<String> {
        self.lock().last.clone()
    }

    fn take_refusal(&self) -> Option<TurnFailure> {
        self.take_error().map(fail_turn)
    }

    fn close(&self, call: &CallRecord, has_begun: bool) {
        self.end(
            call.cost_usd,
            call.usage.as_ref(),
            call.failure.as_deref(),
            has_begun,
        );
    }
}

impl Drop for CallSpend {
    fn drop(&mut self) {
        let open = self.lock().open.take();
        self.settle(open, SpendEnd::UNKNOWN);
    }
}

fn fail_tool(error: &EffectError) -> ToolError {
    ToolError {
        // The engine ends a run with the exit status of a limit only for this one.
        failure: match error.cause == Cause::Limit {
            true => ToolFailure::Timeout,
            false => ToolFailure::Failed,
        },
        category: ErrorCategory::Runtime,
        detail: error.code.to_string(),
        health: None,
        message: error.message.clone(),
        causes: Vec::new(),
        advice: ToolAdvice::new(error.hint.clone(), error.next.clone()),
        endpoint: None,
        latency_ms: 0,
    }
}

#[cfg(test)]
mod tests;
