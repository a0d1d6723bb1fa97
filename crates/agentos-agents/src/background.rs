//! Work that blocks, as a future: one thread for one call.
//!
//! Owns: handing the result over. Never: names a runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

struct Shared<T> {
    done: Option<T>,
    waker: Option<Waker>,
}

/// The result of work on another thread. Dropped before it is there, `cancel` is called.
pub(crate) struct Background<T, C: FnMut()> {
    shared: Arc<Mutex<Shared<T>>>,
    worker: Option<thread::JoinHandle<()>>,
    cancel: C,
}

/// Begins the work; none when the system refuses a thread.
pub(crate) fn begin<T: Send + 'static, C: FnMut()>(
    work: impl FnOnce() -> T + Send + 'static,
    cancel: C,
) -> Option<Background<T, C>> {
    let shared = Arc::new(Mutex::new(Shared {
        done: None,
        waker: None,
    }));
    let there = Arc::clone(&shared);
    let worker = thread::Builder::new()
        .spawn(move || {
            let value = work();
            let mut shared = locked(&there);
            shared.done = Some(value);
            if let Some(waker) = shared.waker.take() {
                waker.wake();
            }
        })
        .ok()?;
    Some(Background {
        shared,
        worker: Some(worker),
        cancel,
    })
}

fn locked<T>(shared: &Mutex<Shared<T>>) -> MutexGuard<'_, Shared<T>> {
    // Both fields are set in one step each.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T, C: FnMut() + Unpin> Future for Background<T, C> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut shared = locked(&self.shared);
        match shared.done.take() {
            Some(done) => Poll::Ready(done),
            None => {
                shared.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T, C: FnMut()> Drop for Background<T, C> {
    fn drop(&mut self) {
        (self.cancel)();
        // The work ends at once when it is cancelled; nothing of it may outlive the call.
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}
