//! Handling of Ctrl-C.
//!
//! Owns: the times when the key is watched. Never: ends the process by itself.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::Poll;
use std::thread;

use agentos_host::block_on;

/// Becomes ready when the user presses Ctrl-C, or never if the key cannot be watched. After the first call, Ctrl-C no longer
/// ends the process by itself.
pub async fn wait_interrupt() {
    // An error means that no handler could be installed. Returning would look like a pressed key and stop every run at
    // once.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Watch on Ctrl-C without gaps, from the first time that it is awaited.
///
/// A tokio listener only notices a key that is pressed while the listener exists. A new listener for each event of a run
/// would miss a key that is pressed between two events.
pub struct InterruptKey(Pin<Box<dyn Future<Output = ()>>>);

impl InterruptKey {
    /// Creates a watch.
    pub fn new() -> Self {
        Self(Box::pin(wait_interrupt()))
    }

    /// Waits for the key. If the future is dropped, the watch continues.
    pub async fn wait_pressed(&mut self) {
        self.0.as_mut().await;
        self.0 = Box::pin(wait_interrupt());
    }
}

/// Runs the work to its end. `None` if the user pressed Ctrl-C first.
pub async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = wait_interrupt() => None,
        done = work => Some(done),
    }
}

/// Calls `then` when the user presses Ctrl-C, for a thread that cannot wait for the key. Ctrl-C then no longer ends the
/// process by itself.
pub fn on_interrupt(then: impl FnOnce() + Send + 'static) {
    let (ready, watching) = mpsc::channel();
    // The calling thread does the work itself and cannot wait for a signal.
    thread::spawn(move || {
        block_on(async move {
            let mut pressed = pin!(wait_interrupt());
            // The listener is registered by its first poll.
            let is_pressed = poll_fn(|cx| Poll::Ready(pressed.as_mut().poll(cx).is_ready())).await;
            let _ = ready.send(());
            if !is_pressed {
                pressed.await;
            }
            then();
        })
    });
    // Without a runtime the key is not watched, and Ctrl-C ends the process as usual.
    let _ = watching.recv();
}
