//! Futures driven to their end on the calling thread.
//!
//! Owns: the runtime of one thread. Never: watches signals; a front end owns those and cancels the run.

use std::future::Future;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use tokio::runtime::Builder;

/// Runs a future that may reach a network or wait for a time.
///
/// # Errors
/// If the system refuses a runtime.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, EffectError> {
    drive(Builder::new_current_thread().enable_all(), future)
}

/// Runs a future that waits for nothing but channels: a landing needs no timers and no sockets, and starting them costs more than
/// a small one.
///
/// # Errors
/// If the system refuses a runtime.
pub(crate) fn block_on_local<T>(future: impl Future<Output = T>) -> Result<T, EffectError> {
    drive(&mut Builder::new_current_thread(), future)
}

fn drive<T>(builder: &mut Builder, future: impl Future<Output = T>) -> Result<T, EffectError> {
    let runtime = builder.build().map_err(|error| {
        let message = format!("cannot start the asynchronous runtime: {error}");
        EffectError::from_source(Cause::Internal, "runtime", message, &error)
    })?;
    let value = runtime.block_on(future);
    // A name look-up may still block a thread of the runtime; nobody needs its answer any more.
    runtime.shutdown_background();
    Ok(value)
}
