//! Running futures to their end on the calling thread.
//!
//! Owns: the runtime of one thread. Never: handles signals; a front end does, and cancels the run.

use std::future::Future;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use tokio::runtime::Builder;

/// Runs a future that may use the network or timers.
///
/// # Errors
/// If the system refuses a runtime.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, EffectError> {
    drive_future(Builder::new_current_thread().enable_all(), future)
}

/// Runs a future that waits only for channels. A landing needs no timers and no sockets, and starting their drivers costs more
/// than a small landing.
///
/// # Errors
/// If the system refuses a runtime.
pub(crate) fn block_on_local<T>(future: impl Future<Output = T>) -> Result<T, EffectError> {
    drive_future(&mut Builder::new_current_thread(), future)
}

fn drive_future<T>(builder: &mut Builder, future: impl Future<Output = T>) -> Result<T, EffectError> {
    // The futures hold git's objects and other values that must stay on one thread, so there are no worker threads.
    let runtime = builder.build().map_err(|error| {
        let message = format!("cannot start the asynchronous runtime: {error}");
        EffectError::from_source(Cause::Internal, "runtime", message, &error)
    })?;
    let value = runtime.block_on(future);
    // A name lookup may still block a thread of the runtime. Dropping the runtime would wait for it, and nobody needs its
    // result any more.
    runtime.shutdown_background();
    Ok(value)
}
