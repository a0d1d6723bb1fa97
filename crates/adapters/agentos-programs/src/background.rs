//! Blocking work as a future: one thread for one call.
//!
//! Owns: passing on progress and the result of the work. Never: depends on an async runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use agentos_tool::{Progress, ProgressSink};

/// Passes progress from the worker thread to the future that waits for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgressChannel(Arc<Mutex<PendingProgress>>);

#[derive(Debug, Default)]
struct PendingProgress {
    updates: Vec<Progress>,
    waker: Option<Waker>,
}

impl ProgressChannel {
    /// Reports progress and wakes the waiting future.
    pub(crate) fn report_progress(&self, update: Progress) {
        // The lock is released before `wake`, which may poll the future, and with it take the lock again, on this thread.
        let waker = {
            let mut pending = lock_shared(&self.0);
            pending.updates.push(update);
            pending.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn wake_waiter(&self) {
        let waker = lock_shared(&self.0).waker.take();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Returns the progress since the last call.
    fn take_progress(&self) -> Vec<Progress> {
        std::mem::take(&mut lock_shared(&self.0).updates)
    }
}

/// Future of a result that another thread computes. Dropping it calls `cancel` and waits for the thread.
pub(crate) struct BackgroundTask<'a, T, C: FnMut()> {
    done: Arc<Mutex<Option<T>>>,
    channel: ProgressChannel,
    progress: &'a dyn ProgressSink,
    worker: Option<thread::JoinHandle<()>>,
    cancel: C,
}

/// Starts the work on a new thread and passes its progress to `progress`. `None` if the system refuses a thread.
pub(crate) fn start_work<T: Send + 'static, C: FnMut()>(
    work: impl FnOnce(&ProgressChannel) -> T + Send + 'static,
    cancel: C,
    progress: &dyn ProgressSink,
) -> Option<BackgroundTask<'_, T, C>> {
    let done = Arc::new(Mutex::new(None));
    let channel = ProgressChannel::default();
    let (result, reporter) = (Arc::clone(&done), channel.clone());
    let worker = thread::Builder::new()
        .spawn(move || {
            let value = work(&reporter);
            *lock_shared(&result) = Some(value);
            reporter.wake_waiter();
        })
        .ok()?;
    Some(BackgroundTask {
        done,
        channel,
        progress,
        worker: Some(worker),
        cancel,
    })
}

fn lock_shared<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // Values are moved in and out in one step, so they are valid even after a panic of the other thread.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T, C: FnMut()> BackgroundTask<'_, T, C> {
    fn pass_progress(&self) {
        let updates = self.channel.take_progress();
        updates
            .into_iter()
            .for_each(|update| self.progress.progress(update));
    }
}

impl<T, C: FnMut()> Future for BackgroundTask<'_, T, C> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // The waker is stored first. Otherwise progress that arrives between the look and the store would wake nobody.
        lock_shared(&self.channel.0).waker = Some(context.waker().clone());
        self.pass_progress();
        let Some(done) = lock_shared(&self.done).take() else {
            return Poll::Pending;
        };
        // Progress may have arrived between the first pass and the result.
        self.pass_progress();
        Poll::Ready(done)
    }
}

impl<T, C: FnMut()> Drop for BackgroundTask<'_, T, C> {
    fn drop(&mut self) {
        (self.cancel)();
        // The sandbox kills the program when the work is cancelled, so the thread ends soon. It is joined, because its
        // folders and its copy must not be used after the call.
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}
