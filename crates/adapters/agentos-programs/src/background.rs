//! Work that blocks, as a future: one thread for one call.
//!
//! Owns: handing over what the work says on its way, and the result. Never: names a runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use agentos_tool::{Progress, ProgressSink};

/// With this the work speaks to whoever waits for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Voice(Arc<Mutex<Heard>>);

#[derive(Debug, Default)]
struct Heard {
    words: Vec<Progress>,
    waker: Option<Waker>,
}

impl Voice {
    /// Says something while the work goes on.
    pub(crate) fn say(&self, word: Progress) {
        let waker = {
            let mut heard = locked(&self.0);
            heard.words.push(word);
            heard.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn wake(&self) {
        let waker = locked(&self.0).waker.take();
        waker.into_iter().for_each(Waker::wake);
    }

    /// What was said since the last time.
    fn take(&self) -> Vec<Progress> {
        std::mem::take(&mut locked(&self.0).words)
    }
}

/// The result of work on another thread. Dropped before it is there, `cancel` is called.
pub(crate) struct Background<'a, T, C: FnMut()> {
    done: Arc<Mutex<Option<T>>>,
    voice: Voice,
    progress: &'a dyn ProgressSink,
    worker: Option<thread::JoinHandle<()>>,
    cancel: C,
}

/// Begins the work; none when the system refuses a thread. What it says goes to `progress` as it comes.
pub(crate) fn begin<T: Send + 'static, C: FnMut()>(
    work: impl FnOnce(&Voice) -> T + Send + 'static,
    cancel: C,
    progress: &dyn ProgressSink,
) -> Option<Background<'_, T, C>> {
    let done = Arc::new(Mutex::new(None));
    let voice = Voice::default();
    let (result, said) = (Arc::clone(&done), voice.clone());
    let worker = thread::Builder::new()
        .spawn(move || {
            let value = work(&said);
            *locked(&result) = Some(value);
            said.wake();
        })
        .ok()?;
    Some(Background {
        done,
        voice,
        progress,
        worker: Some(worker),
        cancel,
    })
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // What they guard is whole at every moment.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T, C: FnMut()> Background<'_, T, C> {
    fn tell(&self) {
        let words = self.voice.take();
        words.into_iter().for_each(|word| self.progress.progress(word));
    }
}

impl<T, C: FnMut()> Future for Background<'_, T, C> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // The waker first: whatever comes after it wakes.
        locked(&self.voice.0).waker = Some(context.waker().clone());
        self.tell();
        let Some(done) = locked(&self.done).take() else {
            return Poll::Pending;
        };
        self.tell();
        Poll::Ready(done)
    }
}

impl<T, C: FnMut()> Drop for Background<'_, T, C> {
    fn drop(&mut self) {
        (self.cancel)();
        // The work ends at once when it is cancelled; nothing of it may outlive the call.
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}
