//! The port through which each call of a model is reported when it ends, and not only at the end of its turn.
//!
//! Owns: the trait, and the guard that reports a call exactly once. Never: adds a cost, or knows a budget.

use std::sync::Arc;

use agentos_ledger::CallRecord;
use agentos_tool::{BoxFuture, SendGate, SendingSize, TokenPrices, ToolError};

use crate::turn::TurnFailure;

/// Watcher of the calls of models in a turn.
///
/// A turn whose future is dropped leaves no record, but its calls were paid for. So they are reported one by one.
pub trait CallMeter: Send + Sync {
    /// Begins a call. The value is asked before each sending of its request.
    fn begin_call(&self) -> Arc<dyn MeteredCall> {
        Arc::new(FreeCall)
    }

    /// Receives a call that ended, whatever the end is. Each call is reported once.
    fn end_call(&self, call: &CallRecord);
}

/// Call of a model, from its first sending to its end.
pub trait MeteredCall: SendGate {
    /// Returns true if the answer must have a limit, because the most that it can use is reserved.
    fn needs_limit(&self) -> bool;

    /// Returns the id of what is reserved for the last sending. `None` if nothing was reserved.
    fn reservation(&self) -> Option<String>;

    /// Takes the reason why not even the first sending was permitted. `None` if the request was sent.
    fn take_refusal(&self) -> Option<TurnFailure>;

    /// Settles the last sending with the end of the call. `has_begun` is true if a part of an answer arrived.
    fn close(&self, call: &CallRecord, has_begun: bool);
}

/// Call that nothing limits.
#[derive(Debug, Clone, Copy)]
struct FreeCall;

impl SendGate for FreeCall {
    fn permit(&self, _size: SendingSize) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    fn note_failure(&self, _failure: &str, _has_begun: bool) {}
}

impl MeteredCall for FreeCall {
    fn needs_limit(&self) -> bool {
        false
    }

    fn reservation(&self) -> Option<String> {
        None
    }

    fn take_refusal(&self) -> Option<TurnFailure> {
        None
    }

    fn close(&self, _call: &CallRecord, _has_begun: bool) {}
}

/// Meter of a caller that reads the calls from the turn's record.
#[derive(Debug, Clone, Copy)]
pub struct NoMeter;

impl CallMeter for NoMeter {
    fn end_call(&self, _call: &CallRecord) {}
}

/// Call that was begun and has not been reported yet. Dropped, it is reported as cancelled: nobody knows what it cost.
pub(crate) struct OpenCall<'a> {
    meter: &'a dyn CallMeter,
    call: Arc<dyn MeteredCall>,
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
    ) -> Self {
        Self {
            meter,
            call: meter.begin_call(),
            sent: Some(CallRecord {
                provider: provider.to_owned(),
                model: model.map(str::to_owned),
                price: (!price.is_unknown()).then(|| price.clone()),
                ..CallRecord::default()
            }),
        }
    }

    /// Returns the call, which is asked before each sending.
    pub(crate) fn call(&self) -> &Arc<dyn MeteredCall> {
        &self.call
    }

    /// Returns the record of the call as it was sent.
    pub(crate) fn sent_record(&self) -> CallRecord {
        CallRecord {
            reservation: self.call.reservation(),
            ..self.sent.clone().unwrap_or_default()
        }
    }

    /// Forgets a call that was never sent. Returns why. `None` if it was sent.
    pub(crate) fn take_refusal(&mut self) -> Option<TurnFailure> {
        let refusal = self.call.take_refusal()?;
        self.sent = None;
        Some(refusal)
    }

    /// Reports the call with its end.
    pub(crate) fn report(mut self, record: &CallRecord, has_begun: bool) {
        self.sent = None;
        self.call.close(record, has_begun);
        self.meter.end_call(record);
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if self.sent.is_some() {
            let cancelled = CallRecord {
                failure: Some("cancelled".to_owned()),
                ..self.sent_record()
            };
            self.call.close(&cancelled, true);
            self.meter.end_call(&cancelled);
        }
    }
}
