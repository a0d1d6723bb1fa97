//! The asynchronous runtime, started only by verbs that reach a provider.
//!
//! Owns: one thread, and Ctrl-C. Never: outlives the verb.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::thread;

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

/// True from the moment at which the user presses Ctrl-C, which ends nothing by itself any more.
pub fn watch_interrupt() -> Arc<AtomicBool> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&interrupt);
    let (ready, watching) = mpsc::channel();
    thread::spawn(move || {
        block_on(async move {
            let mut pressed = pin!(interrupted());
            // Asked once, it is being watched.
            let is_pressed = poll_fn(|cx| Poll::Ready(pressed.as_mut().poll(cx).is_ready())).await;
            let _ = ready.send(());
            if !is_pressed {
                pressed.await;
            }
            told.store(true, Ordering::SeqCst);
        })
    });
    // Without a runtime nobody watches, and Ctrl-C ends us as ever.
    let _ = watching.recv();
    interrupt
}

/// Ready when the user presses Ctrl-C; never, when that cannot be watched.
pub async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What comes of the work; none when the user pressed Ctrl-C first.
pub async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = interrupted() => None,
        done = work => Some(done),
    }
}
