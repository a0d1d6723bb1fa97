//! Tasks that end with the request for which they work.
//!
//! Owns: the stop. Never: continues a task after its client has disconnected.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinHandle};

/// Task that is stopped when its client disconnects.
pub(super) struct StoppedOnDrop<T>(JoinHandle<T>);

impl<T> StoppedOnDrop<T> {
    /// Binds a task to this value.
    pub(super) fn new(task: JoinHandle<T>) -> Self {
        Self(task)
    }
}

impl<T> Future for StoppedOnDrop<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Drop for StoppedOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
