//! The two reasons for which a turn is stopped from outside.
//!
//! Owns: waiting for them. Never: stops anything itself.

use std::pin::Pin;
use std::time::Duration;

use agentos_tool::BoxFuture;
use tokio::time::Sleep;

/// Reason for which a turn is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// The user wishes it.
    Cancelled,
    /// The turn took too long.
    TotalTime,
}

impl StopCause {
    /// Returns the name in records: the code of a call that was stopped, and the name of the limit.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::TotalTime => "total-time",
        }
    }
}

/// Signal that stops a turn. It stays set.
pub(crate) struct StopSignal<'a> {
    cancel: BoxFuture<'a, ()>,
    deadline: Pin<Box<Sleep>>,
    cause: Option<StopCause>,
}

impl<'a> StopSignal<'a> {
    /// Makes the signal of a turn that begins now.
    pub(crate) fn new(cancel: BoxFuture<'a, ()>, total: Duration) -> Self {
        Self {
            cancel,
            deadline: Box::pin(tokio::time::sleep(total)),
            cause: None,
        }
    }

    /// Waits until the turn must stop. May be dropped and called again.
    pub(crate) async fn wait(&mut self) -> StopCause {
        // A future that is ready must not be polled again, so the cause is kept.
        if let Some(cause) = self.cause {
            return cause;
        }
        let cause = tokio::select! {
            biased;
            () = &mut self.cancel => StopCause::Cancelled,
            () = &mut self.deadline => StopCause::TotalTime,
        };
        self.cause = Some(cause);
        cause
    }
}
