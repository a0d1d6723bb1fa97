//! The asynchronous runtime, started only by verbs that reach a provider.
//!
//! Owns: one thread, and Ctrl-C. Never: outlives the verb.

use std::future::Future;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;

/// Runs a future to its end on this thread.
///
/// # Errors
/// When the system refuses a runtime.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, EffectError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            EffectError::new(
                Cause::Internal,
                "runtime",
                format!("cannot start the asynchronous runtime: {error}"),
            )
        })?;
    let value = runtime.block_on(future);
    // A name look-up may still block a thread of the runtime; nobody needs its answer any more.
    runtime.shutdown_background();
    Ok(value)
}

/// Ready when the user presses Ctrl-C; never, when that cannot be watched.
pub async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
