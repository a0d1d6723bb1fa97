//! Runs a future to its end on the calling thread.
//!
//! Owns: the single-threaded runtime. Never: handles signals; a front end does, and cancels the run.

use std::future::{Future, poll_fn};
use std::task::Poll;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_tool::BoxFuture;
use tokio::runtime::{Builder, Handle, RuntimeFlavor};

/// Runs a future that may use the network or timers.
///
/// # Errors
/// If the runtime cannot be started.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, EffectError> {
    drive_future(Builder::new_current_thread().enable_all(), future)
}

/// Runs a future that waits only for channels. The drivers for timers and sockets are left out: starting them takes longer
/// than a small landing, which does not use them.
///
/// # Errors
/// If the runtime cannot be started.
pub fn block_on_local<T>(future: impl Future<Output = T>) -> Result<T, EffectError> {
    drive_future(&mut Builder::new_current_thread(), future)
}

/// Runs a future on another thread, and waits for its end. For code that is called inside of a runtime: a runtime cannot wait in
/// another one. The calling thread does nothing else meanwhile, so the future has to have a limit.
///
/// # Errors
/// If the runtime cannot be started, or the future panics.
pub fn block_on_other_thread<T: Send, F: Future<Output = T>>(
    make: impl FnOnce() -> F + Send,
) -> Result<T, EffectError> {
    let ended = std::thread::scope(|scope| scope.spawn(|| block_on(make())).join());
    ended.unwrap_or_else(|_| {
        let message = "the work ended without a result";
        Err(EffectError::new(Cause::Internal, "runtime", message))
    })
}

/// Runs work that waits for a disk, from inside a future. On a runtime with several threads, its other futures go on meanwhile.
pub fn run_blocking<T>(work: impl FnOnce() -> T) -> T {
    let several = Handle::try_current()
        .is_ok_and(|handle| matches!(handle.runtime_flavor(), RuntimeFlavor::MultiThread));
    match several {
        true => tokio::task::block_in_place(work),
        false => work(),
    }
}

/// Awaits all futures at once, on this thread. Returns the results in the given order.
pub async fn await_all<T>(mut futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    // Polled by hand: the standard library has no stable function that awaits many futures.
    let mut done: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for (future, slot) in futures.iter_mut().zip(&mut done) {
            // A future that is ready must not be polled again.
            if slot.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *slot = Some(value),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    done.into_iter().flatten().collect()
}

fn drive_future<T>(builder: &mut Builder, future: impl Future<Output = T>) -> Result<T, EffectError> {
    // The futures hold git's objects and other values that must stay on one thread, so there are no worker threads.
    let runtime = builder.build().map_err(|error| {
        let message = format!("cannot start the asynchronous runtime: {error}");
        EffectError::from_source(Cause::Internal, "runtime", message, &error)
    })?;
    let value = runtime.block_on(future);
    // A DNS lookup may still block a helper thread of the runtime. Dropping the runtime would wait for it, although its
    // result is not needed any more.
    runtime.shutdown_background();
    Ok(value)
}
