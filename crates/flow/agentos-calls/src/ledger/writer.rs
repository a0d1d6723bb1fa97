//! The thread that writes the turns of a service: those that wait together are made durable together.
//!
//! | state of a turn | who changes it | next state |
//! |---|---|---|
//! | expected | its call was sent to a server | sent, or dropped with its call |
//! | sent | the thread takes it, with the others that wait; while more are expected, it waits [`GROUP_DELAY`] for them | placed: it and its signed end have their numbers |
//! | placed | one write and one sync for the group | durable; then its caller goes on |
//! | placed | the group cannot be made durable | every caller of the group gets the failure |
//! | sent | the service ends | the thread writes what waits, and ends |
//!
//! Owns: the group, and how long the key is kept. Never: lets a caller go on before its turn is durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_ledger::TurnRecord;
use agentos_net::Deadline;
use agentos_tool::RunId;
use tokio::sync::oneshot;

use super::{Ledger, RecordedTurn, unwritten_notice};
use agentos_ground::Ground;
use agentos_ground::evidence_key::{self, StoredKey, UnsignedReason};

/// Turns of one group at most, so that the first of them does not wait for all that come meanwhile.
const MOST_TOGETHER: usize = 256;
/// Time for which the first turn of a group waits for others, if calls are open. A sync costs the processor more than everything else that
/// is written, and an answer takes far longer than this. PostgreSQL's `commit_delay` does the same. Several short looks instead of one wait
/// cost more than they save: each wakes the thread. So a turn may wait the whole time although the last expected one has come.
const GROUP_DELAY: Duration = Duration::from_millis(2);
/// Time for which the key is kept. After a rotation the old one signs that long, and its signatures stay trusted.
const KEY_AGE: Duration = Duration::from_secs(1);

/// Writer of turns. Clones share its thread, which ends after the last of them.
#[derive(Clone)]
pub struct LedgerWriter(Arc<WriterThread>);

struct WriterThread {
    /// `None` only while it is dropped.
    sender: Option<mpsc::Sender<WaitingTurn>>,
    thread: Option<JoinHandle<()>>,
    /// Number of turns that are expected.
    expected: Arc<AtomicUsize>,
}

/// A turn that will be sent, until this value is dropped.
pub struct ExpectedTurn(Arc<AtomicUsize>);

impl Drop for ExpectedTurn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

struct WaitingTurn {
    turn: RunId,
    record: TurnRecord,
    written: oneshot::Sender<Result<(), EffectError>>,
}

impl LedgerWriter {
    /// Opens the ledger, and starts the thread.
    ///
    /// # Errors
    /// If the ledger cannot be opened, or the system refuses a thread.
    pub fn start(ground: &Ground) -> Result<Self, EffectError> {
        let ledger = Ledger::open(ground)?;
        let (sender, receiver) = mpsc::channel();
        let ground = ground.clone();
        let expected = Arc::new(AtomicUsize::new(0));
        let awaited = Arc::clone(&expected);
        let begun = thread::Builder::new().spawn(move || write_turns(&ground, &ledger, &receiver, &awaited));
        let thread = begun.map_err(|error| {
            let message = format!("the system refused a thread for the ledger: {error}");
            EffectError::from_source(Cause::Internal, "runtime", message, &error)
        })?;
        Ok(Self(Arc::new(WriterThread {
            sender: Some(sender),
            thread: Some(thread),
            expected,
        })))
    }

    /// Returns true if the thread has ended, as after a panic. Then nothing is written any more.
    pub fn has_ended(&self) -> bool {
        self.0.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Announces a turn.
    pub(crate) fn expect_turn(&self) -> ExpectedTurn {
        self.0.expected.fetch_add(1, Ordering::AcqRel);
        ExpectedTurn(Arc::clone(&self.0.expected))
    }

    /// Sends a turn. The receiver gets the result when the turn is durable; without it, the turn is written all the same.
    pub(crate) fn send_turn(
        &self,
        turn: &RunId,
        record: TurnRecord,
    ) -> oneshot::Receiver<Result<(), EffectError>> {
        let (written, result) = oneshot::channel();
        let waiting = WaitingTurn {
            turn: turn.clone(),
            record,
            written,
        };
        // If the thread has ended, the turn is dropped, and its caller learns that.
        if let Some(sender) = &self.0.sender {
            let _ = sender.send(waiting);
        }
        result
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        // Ends the thread after the turns that wait.
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Makes the error of a turn whose writer has ended.
pub fn lost_writer() -> EffectError {
    EffectError::new(Cause::Internal, "runtime", "the thread of the ledger has ended")
}

/// Writes groups of turns until all senders are gone.
fn write_turns(
    ground: &Ground,
    ledger: &Ledger,
    receiver: &mpsc::Receiver<WaitingTurn>,
    expected: &AtomicUsize,
) {
    let mut key = KeptKey::default();
    loop {
        let first = match receiver.recv_timeout(KEY_AGE) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                key = KeptKey::default();
                match receiver.recv() {
                    Ok(first) => first,
                    Err(_) => return,
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if expected.load(Ordering::Acquire) > 0 {
            thread::sleep(GROUP_DELAY);
        }
        let others = receiver.try_iter().take(MOST_TOGETHER - 1);
        let group: Vec<WaitingTurn> = std::iter::once(first).chain(others).collect();
        let turns = group.iter().map(|waiting| RecordedTurn {
            turn: &waiting.turn,
            body: &waiting.record,
        });
        let results = ledger.record_turns(&Vec::from_iter(turns), key.find(ground));
        for (waiting, result) in group.into_iter().zip(results) {
            // A caller that has gone hears nothing, so its failure is a notice.
            if let Err(Err(error)) = waiting.written.send(result) {
                ground.notify(unwritten_notice(&error));
            }
        }
    }
}

/// The user's key, looked up again after a while: a keyring can take milliseconds for each look.
#[derive(Default)]
struct KeptKey {
    found: Option<(Deadline, Result<StoredKey, UnsignedReason>)>,
}

impl KeptKey {
    fn find(&mut self, ground: &Ground) -> &Result<StoredKey, UnsignedReason> {
        let is_old = |(until, _): &(Deadline, _)| until.remaining().is_zero();
        if self.found.as_ref().is_some_and(is_old) {
            self.found = None;
        }
        let look = || (Deadline::after(KEY_AGE), evidence_key::find_or_make_key(ground));
        &self.found.get_or_insert_with(look).1
    }
}

#[cfg(test)]
mod tests;
