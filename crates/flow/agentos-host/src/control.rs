//! Messages of a caller to its run: stop, and a person's answer.
//!
//! Owns: these two channels. Never: waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentos_engine::ports::CancelSignal;
use tokio::sync::{mpsc, watch};

use crate::consent::ConsentAnswer;

/// Stops a run and answers its questions, from any thread.
#[derive(Debug, Clone)]
pub struct RunControl {
    stop: StopFlag,
    stopped: Arc<watch::Sender<bool>>,
    answers: mpsc::UnboundedSender<ConsentAnswer>,
}

impl RunControl {
    /// Asks the run to stop. It ends at its next safe point: a landing that has begun to write is finished.
    pub fn cancel(&self) {
        // Two signals: a signing program is polled through the flag, and the flow awaits the channel.
        self.stop.0.store(true, Ordering::SeqCst);
        self.stopped.send_replace(true);
    }

    /// Sends a person's answer. It counts if its hashes are those of the question that is open; any other is ignored.
    pub fn answer(&self, answer: ConsentAnswer) {
        // The send fails only if the run has ended, which leaves nothing to answer.
        let _ = self.answers.send(answer);
    }
}

/// A flag that is set once the run is asked to stop, for work that cannot be awaited, such as a signing program.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopFlag(pub(crate) Arc<AtomicBool>);

/// The run's side of stopping.
pub(crate) struct Stopping {
    /// Stop signal as a flag, for work that polls.
    pub(crate) flag: StopFlag,
    receiver: watch::Receiver<bool>,
}

impl Stopping {
    /// Becomes ready when the run is asked to stop. A caller that has dropped its control never asks.
    pub(crate) fn cancel(&self) -> CancelSignal<'static> {
        let mut receiver = self.receiver.clone();
        Box::pin(async move {
            // A dropped sender is not a wish to stop: the run goes on to its end.
            if receiver.wait_for(|is_stopped| *is_stopped).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

/// Makes both sides of a run's control.
pub(crate) fn control_channel() -> (RunControl, Stopping, mpsc::UnboundedReceiver<ConsentAnswer>) {
    let flag = StopFlag::default();
    let (stopped, receiver) = watch::channel(false);
    let (answers, answered) = mpsc::unbounded_channel();
    let control = RunControl {
        stop: flag.clone(),
        stopped: Arc::new(stopped),
        answers,
    };
    (control, Stopping { flag, receiver }, answered)
}
