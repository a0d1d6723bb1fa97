//! The port through which each call of a model is reported when it ends, and not only at the end of its turn.
//!
//! Owns: the trait, and the guard that reports a call exactly once. Never: adds a cost, or knows a budget.

use agentos_ledger::CallRecord;
use agentos_tool::TokenPrices;

use crate::turn::TurnFailure;

/// Watcher of the calls of models in a turn.
///
/// A turn whose future is dropped leaves no record, but its calls were paid for. So they are reported one by one.
pub trait CallMeter: Send + Sync {
    /// Permits a call before its request leaves. Returns the id of what is reserved for it, or `None` if nothing is.
    ///
    /// # Errors
    /// If the call must not be sent.
    fn begin_call(&self, _plan: CallPlan) -> Result<Option<String>, TurnFailure> {
        Ok(None)
    }

    /// Notes that a permitted call is sent now: whatever happens from here on, it may have cost something. `reservation` is the id that
    /// [`CallMeter::begin_call`] returned.
    ///
    /// # Errors
    /// If the call must not be sent any more.
    fn send_call(&self, _reservation: &str) -> Result<(), TurnFailure> {
        Ok(())
    }

    /// Receives a call that ended, whatever the end is. Each call is reported once. `may_cost` is false if certainly no answer
    /// was made, by [`agentos_ledger::may_have_cost`].
    fn end_call(&self, call: &CallRecord, may_cost: bool);
}

/// Call that is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPlan {
    /// Estimated tokens of the request.
    pub input_tokens: u64,
    /// Most tokens of the answer.
    pub output_tokens: u64,
}

/// Meter of a caller that reads the calls from the turn's record.
#[derive(Debug, Clone, Copy)]
pub struct NoMeter;

impl CallMeter for NoMeter {
    fn end_call(&self, _call: &CallRecord, _may_cost: bool) {}
}

/// Call that was sent and has not been reported yet. Dropped, it is reported as cancelled: nobody knows what it cost.
pub(crate) struct OpenCall<'a> {
    meter: &'a dyn CallMeter,
    /// Record of the call as it was sent. `None` after the report.
    sent: Option<CallRecord>,
}

impl<'a> OpenCall<'a> {
    /// Opens a call of this provider and model.
    pub(crate) fn new(
        meter: &'a dyn CallMeter,
        provider: &str,
        model: Option<&str>,
        price: &TokenPrices,
        reservation: Option<String>,
    ) -> Self {
        Self {
            meter,
            sent: Some(CallRecord {
                provider: provider.to_owned(),
                model: model.map(str::to_owned),
                price: (!price.is_unknown()).then(|| price.clone()),
                reservation,
                ..CallRecord::default()
            }),
        }
    }

    /// Returns the record of the call as it was sent.
    pub(crate) fn sent_record(&self) -> CallRecord {
        self.sent.clone().unwrap_or_default()
    }

    /// Reports the call with its end.
    pub(crate) fn report(mut self, record: &CallRecord, may_cost: bool) {
        self.sent = None;
        self.meter.end_call(record, may_cost);
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if let Some(sent) = self.sent.take() {
            let cancelled = CallRecord {
                failure: Some("cancelled".to_owned()),
                ..sent
            };
            self.meter.end_call(&cancelled, true);
        }
    }
}
