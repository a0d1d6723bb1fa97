//! Ctrl-C, as the command line hears it.
//!
//! Owns: when the key is watched. Never: ends the process by itself.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::Poll;
use std::thread;

use agentos_host::block_on;

/// Becomes ready when the user presses Ctrl-C; never, when that cannot be watched. From the first watch on the key ends nothing by
/// itself any more.
pub async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Ctrl-C, watched without a gap from the first time that it is awaited.
///
/// A listener hears only what is pressed while it lives: one made anew for each event of a run would miss the key between two.
pub struct InterruptKey(Pin<Box<dyn Future<Output = ()>>>);

impl InterruptKey {
    /// Makes a watch that has heard nothing yet.
    pub fn new() -> Self {
        Self(Box::pin(interrupted()))
    }

    /// Waits for the key. Dropping the future forgets nothing.
    pub async fn pressed(&mut self) {
        self.0.as_mut().await;
        self.0 = Box::pin(interrupted());
    }
}

/// Waits for the work. `None` if the user pressed Ctrl-C first.
pub async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = interrupted() => None,
        done = work => Some(done),
    }
}

/// Calls `then` when the user presses Ctrl-C, which ends nothing by itself from now on. For a thread that cannot wait for the key.
pub fn on_interrupt(then: impl FnOnce() + Send + 'static) {
    let (ready, watching) = mpsc::channel();
    thread::spawn(move || {
        block_on(async move {
            let mut pressed = pin!(interrupted());
            // Polled once, the key is being watched.
            let is_pressed = poll_fn(|cx| Poll::Ready(pressed.as_mut().poll(cx).is_ready())).await;
            let _ = ready.send(());
            if !is_pressed {
                pressed.await;
            }
            then();
        })
    });
    // Without a runtime nobody watches, and Ctrl-C ends us as ever.
    let _ = watching.recv();
}
