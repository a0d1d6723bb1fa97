//! Messages of a caller to its run: stop, and a person's answer.
//!
//! Owns: these two channels, and the stage in which a run may be cut off. Never: waits.
//!
//! Placing an answer is one long computation that nothing interrupts, and a hostile answer can make it take minutes. A caller
//! that gets a signal then ends the process instead of waiting. The stages keep that from meeting a write:
//!
//! | stage of the run | [`RunControl::cancel`] | [`RunControl::cut_off`] |
//! |---|---|---|
//! | it waits for a tool, a check or a person | ends the wait; the run records its end | false: the caller waits for that |
//! | it reads its base, to place an answer or to search | seen at the next base that is opened | true, and no journal is opened any more |
//! | the executor's journal is open | the landing is finished | false |

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_engine::Cause;
use agentos_engine::ports::{CancelSignal, EffectError};
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

    /// Returns true if the run only reads, and forbids it to open a journal: the caller ends the process, and nothing was landed.
    /// Returns false if the run ends by itself, or writes.
    #[must_use]
    pub fn cut_off(&self) -> bool {
        let mut stage = lock(&self.stop.1);
        let only_reads = stage.open_bases > 0 && stage.open_journals == 0;
        stage.is_cut_off |= only_reads;
        only_reads
    }

    /// Sends a person's answer. It counts if its hashes are those of the question that is open; any other is ignored.
    pub fn answer(&self, answer: ConsentAnswer) {
        // The send fails only if the run has ended, which leaves nothing to answer.
        let _ = self.answers.send(answer);
    }
}

/// A flag that is set once the run is asked to stop, for work that cannot be awaited, such as a signing program; and the stage
/// of the run.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(pub(crate) Arc<AtomicBool>, Arc<Mutex<RunStage>>);

/// The stage of a run, as far as it decides whether the process may end.
#[derive(Debug, Default)]
struct RunStage {
    /// Number of bases that the run reads.
    open_bases: usize,
    /// Number of journals that the executor has open.
    open_journals: usize,
    /// True if the caller ends the process: no journal may be opened.
    is_cut_off: bool,
}

/// A base or a journal that is open, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStage {
    stage: Arc<Mutex<RunStage>>,
    is_journal: bool,
}

impl StopFlag {
    /// Notes that the run reads a base.
    ///
    /// # Errors
    /// If the run was asked to stop.
    pub(crate) fn open_base(&self) -> Result<OpenStage, EffectError> {
        let opened = self.open(false);
        // Checked after the base is noted: a caller that stops the run either finds the base, or is noticed here.
        if self.0.load(Ordering::SeqCst) {
            return Err(stopped_error());
        }
        Ok(opened)
    }

    /// Notes that a journal is opened.
    ///
    /// # Errors
    /// If the process is about to end.
    pub(crate) fn open_journal(&self) -> Result<OpenStage, EffectError> {
        let opened = self.open(true);
        if lock(&self.1).is_cut_off {
            return Err(stopped_error());
        }
        Ok(opened)
    }

    fn open(&self, is_journal: bool) -> OpenStage {
        let mut stage = lock(&self.1);
        match is_journal {
            true => stage.open_journals += 1,
            false => stage.open_bases += 1,
        }
        OpenStage {
            stage: Arc::clone(&self.1),
            is_journal,
        }
    }
}

impl Drop for OpenStage {
    fn drop(&mut self) {
        let mut stage = lock(&self.stage);
        match self.is_journal {
            true => stage.open_journals -= 1,
            false => stage.open_bases -= 1,
        }
    }
}

fn lock(stage: &Mutex<RunStage>) -> MutexGuard<'_, RunStage> {
    // No code that holds the lock can panic halfway through a change.
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the error of a run that was asked to stop before it opened its base or a journal.
pub fn stopped_error() -> EffectError {
    EffectError::new(Cause::Interrupted, "interrupted", "stopped; nothing was landed")
}

/// The run's side of stopping.
pub struct Stopping {
    /// Stop signal as a flag, for work that polls.
    pub flag: StopFlag,
    receiver: watch::Receiver<bool>,
}

impl Stopping {
    /// Becomes ready when the run is asked to stop. A caller that has dropped its control never asks.
    pub fn cancel(&self) -> CancelSignal<'static> {
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
pub fn control_channel() -> (RunControl, Stopping, mpsc::UnboundedReceiver<ConsentAnswer>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_cut_off_only_while_it_reads_and_no_journal_is_open() {
        let (control, stopping, _answers) = control_channel();
        assert!(!control.cut_off(), "a run that waits ends by itself");
        let base = stopping.flag.open_base().unwrap();
        let journal = stopping.flag.open_journal().unwrap();
        assert!(!control.cut_off(), "a journal is open");
        drop(journal);
        assert!(control.cut_off(), "the run only reads");
        drop(base);
        let refused = stopping.flag.open_journal().unwrap_err();
        assert_eq!(refused.code, "interrupted");
    }

    #[test]
    fn a_run_that_was_stopped_opens_no_base_and_finishes_its_landing() {
        let (control, stopping, _answers) = control_channel();
        control.cancel();
        assert_eq!(stopping.flag.open_base().unwrap_err().cause, Cause::Interrupted);
        assert!(!control.cut_off(), "the base that was refused is not open");
        assert!(stopping.flag.open_journal().is_ok());
    }
}
