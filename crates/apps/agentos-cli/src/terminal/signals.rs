//! Signals that end the program: Ctrl-C (SIGINT), SIGTERM and SIGHUP.
//!
//! Owns: their arrival, the order in which work ends, and the line that says what remains. Never: does a verb's work.
//!
//! The verb runs on a thread of its own, another thread watches for signals, and the main thread waits for either. When the main thread
//! returns, the process ends. So a verb that blocks, as in a read of the terminal, cannot keep the program alive, and no
//! thread of it is left to take the next line that is typed in the shell.
//!
//! | work in progress | first signal | second signal |
//! |---|---|---|
//! | none that must end in order | the program ends at once | – |
//! | a run that waits or writes | the run stops, records its end and signs it; the verb shows the outcome | the program ends at once |
//! | a run that only reads, to place an answer | the program ends at once: nothing interrupts that work | – |
//! | a short write, as of a key | the write is finished | the program ends at once |
//! | a pager | Ctrl-C belongs to the pager; another signal is handled as by the work below it | as the first |
//!
//! Ending at once is safe at any time: the journal and the tape are made for `kill -9`.

use std::future::Future;
use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use agentos_host::{RunControl, block_on};
use tokio::sync::{Notify, watch};

use super::arrivals::Arrivals;
use super::last_line;
use crate::exit::Exit;

/// Stack of the verb's thread: as much as Linux gives a main thread, because landing parses deeply nested answers on it.
const STACK: usize = 8 << 20;
/// Longest time for the last words of the program. Another thread may hold standard error if nobody reads it.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Last words of a verb that writes nothing.
const NOTHING_WRITTEN: &str = "nothing was written";
/// Last words if a second signal ends work that was ending in order.
const CUT_SHORT: &str =
    "ended before everything was recorded; the next command finishes or rolls back what was begun";

/// Signal that asks the program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: a time limit, a cancelled CI job, `kill`.
    Terminate,
    /// SIGHUP: the terminal was closed.
    HangUp,
}

impl StopSignal {
    /// Returns the exit status of a program that this signal ended.
    pub fn exit(self) -> Exit {
        match self {
            Self::Interrupt => Exit::Interrupted,
            Self::Terminate => Exit::Terminated,
            Self::HangUp => Exit::HungUp,
        }
    }

    /// Returns the signal's name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "Ctrl-C",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        }
    }
}

/// Work that decides how the program ends.
#[derive(Debug, Clone)]
enum Work {
    /// A run: it is stopped through its control.
    Run(RunControl),
    /// Work that notices the signal by itself, or is finished first.
    Orderly,
    /// A pager has the terminal.
    Pager,
    /// A turn of a conversation, which Ctrl-C ends while the conversation goes on.
    Turn(Arc<Notify>),
}

/// Reaction to a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    /// The signal belongs to somebody else.
    Ignore,
    /// The work in progress ends in order.
    Wait,
    /// The turn of a conversation ends, and the program goes on.
    EndTurn,
    /// The program ends now.
    End,
}

/// Chooses the reaction to a signal. `is_stopping` is true if an earlier signal has stopped the work.
fn choose_reaction(works: &[Work], is_stopping: bool, signal: StopSignal) -> Reaction {
    let has_pager = matches!(works.last(), Some(Work::Pager));
    let is_orderly = works.iter().any(|work| match work {
        Work::Run(_) | Work::Orderly | Work::Turn(_) => true,
        Work::Pager => false,
    });
    if let (StopSignal::Interrupt, Some(Work::Turn(_)), false) = (signal, works.last(), is_stopping) {
        return Reaction::EndTurn;
    }
    match (signal, has_pager, is_stopping, is_orderly) {
        (StopSignal::Interrupt, true, _, _) => Reaction::Ignore,
        (_, _, false, true) => Reaction::Wait,
        (_, _, true, _) | (_, _, false, false) => Reaction::End,
    }
}

#[derive(Debug)]
struct SignalState {
    received: Option<StopSignal>,
    /// Work in progress with its number, the innermost last.
    works: Vec<(u64, Work)>,
    next_number: u64,
    /// Number of the turn that Ctrl-C has ended. A second one ends the program, because the turn may not get so far.
    ended_turn: Option<u64>,
    remains: String,
}

impl SignalState {
    fn innermost_work(&self) -> Option<u64> {
        self.works.last().map(|(number, _)| *number)
    }

    fn is_stopping(&self) -> bool {
        let work = self.innermost_work();
        self.received.is_some() || (work.is_some() && work == self.ended_turn)
    }
}

#[derive(Debug)]
struct SignalDesk {
    state: Mutex<SignalState>,
    stopped: watch::Sender<Option<StopSignal>>,
    /// A pipe that becomes readable with the first signal, for threads that poll descriptors. `None` if the system
    /// refused one.
    pipe: Option<(PipeReader, PipeWriter)>,
}

/// Signals of this process, shared by everything that must end in order.
#[derive(Debug, Clone)]
pub struct Signals(Arc<SignalDesk>);

/// Work in progress, until it is dropped.
#[derive(Debug)]
pub struct WorkGuard {
    desk: Arc<SignalDesk>,
    number: u64,
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        lock(&self.desk.state)
            .works
            .retain(|(number, _)| *number != self.number);
    }
}

impl Signals {
    /// Creates the desk. Nothing is watched until [`Signals::run_verb`].
    pub fn new() -> Self {
        Self(Arc::new(SignalDesk {
            state: Mutex::new(SignalState {
                received: None,
                works: Vec::new(),
                next_number: 0,
                ended_turn: None,
                remains: NOTHING_WRITTEN.to_owned(),
            }),
            stopped: watch::channel(None).0,
            pipe: pipe().ok(),
        }))
    }

    /// Runs the verb on a thread of its own until it ends or a signal ends it, and returns the exit status.
    pub fn run_verb(&self, verb: impl FnOnce() -> Exit + Send + 'static) -> Exit {
        // Both threads report through this channel, which wakes the receiver without a write to a descriptor: a system that
        // refuses every write, as a full disk does in tests, must not keep a finished program alive.
        let (report, reports) = mpsc::channel();
        // Before the verb begins, so that a signal never ends it in another way.
        let is_watched = start_watch(report.clone());
        let work = move || {
            let ended = catch_unwind(AssertUnwindSafe(verb));
            // The send fails only if a signal has ended the program already.
            let _ = report.send(Report::Ended(ended));
        };
        let started = thread::Builder::new()
            .name("agentos".to_owned())
            .stack_size(STACK)
            .spawn(work);
        if started.is_err() || !is_watched {
            last_line::print("error: the system refuses a thread");
            return Exit::Internal;
        }
        for report in reports {
            let signal = match report {
                Report::Ended(Ok(exit)) => return self.final_exit(exit),
                Report::Ended(Err(panic)) => resume_unwind(panic),
                Report::Signal(signal) => signal,
            };
            if let Some(words) = self.deliver(signal) {
                #[cfg(unix)]
                super::saved_mode::restore_saved();
                print_last_words(format!("{}: {words}", signal.name()));
                return signal.exit();
            }
        }
        // Not reached: the verb's thread reports its end, also after a panic.
        Exit::Internal
    }

    /// Handles a signal. Returns the last words if the program ends now.
    fn deliver(&self, signal: StopSignal) -> Option<String> {
        let mut state = lock(&self.0.state);
        let works: Vec<Work> = state.works.iter().map(|(_, work)| work.clone()).collect();
        let turn = state.innermost_work();
        let is_stopping = state.is_stopping();
        match choose_reaction(&works, is_stopping, signal) {
            Reaction::Ignore => None,
            Reaction::EndTurn => {
                state.ended_turn = turn;
                if let Some(Work::Turn(stop)) = works.last() {
                    stop.notify_one();
                }
                None
            }
            Reaction::End if is_stopping => Some(CUT_SHORT.to_owned()),
            Reaction::End => Some(state.remains.clone()),
            Reaction::Wait => {
                state.received = Some(signal);
                let remains = state.remains.clone();
                drop(state);
                for work in works {
                    match work {
                        Work::Run(control) => {
                            control.cancel();
                            // After the run was stopped: it opens no further base, so a run that reads now is found.
                            if control.cut_off() {
                                return Some(remains);
                            }
                        }
                        Work::Turn(stop) => stop.notify_one(),
                        Work::Orderly | Work::Pager => {}
                    }
                }
                self.0.stopped.send_replace(Some(signal));
                if let Some((_, writer)) = &self.0.pipe {
                    // The pipe is empty before the first signal, so one byte always fits.
                    let _ = (&*writer).write_all(b"!");
                }
                None
            }
        }
    }

    /// Returns the exit status of a verb that ended after a signal.
    fn final_exit(&self, exit: Exit) -> Exit {
        match (self.received(), exit) {
            (Some(signal), Exit::Interrupted) => signal.exit(),
            // After the terminal is gone, output fails too, and the signal is the reason.
            (Some(StopSignal::HangUp), Exit::Internal) => Exit::HungUp,
            (_, exit) => exit,
        }
    }

    /// Returns the signal that stopped the work. `None` if there was none.
    pub fn received(&self) -> Option<StopSignal> {
        lock(&self.0.state).received
    }

    /// Returns true if a signal has stopped the work in progress, or the turn of a conversation.
    pub fn is_stopping(&self) -> bool {
        lock(&self.0.state).is_stopping()
    }

    /// Sets the last words for a signal that ends the program at once: what remains of its work.
    pub fn set_remains(&self, words: impl Into<String>) {
        lock(&self.0.state).remains = words.into();
    }

    /// Waits until a signal has stopped the work.
    pub async fn wait_stop(&self) -> StopSignal {
        let mut receiver = self.0.stopped.subscribe();
        let stopped = receiver
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|signal| *signal);
        match stopped {
            Some(signal) => signal,
            // The sender lives as long as this value.
            None => std::future::pending().await,
        }
    }

    /// Runs the work to its end. `None` if a signal came first.
    pub async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let _guard = self.guard_orderly();
        tokio::select! {
            biased;
            _ = self.wait_stop() => None,
            done = work => Some(done),
        }
    }

    /// Returns the end of a pipe that is readable once a signal has stopped the work. `None` if there is no pipe.
    #[cfg(unix)]
    pub fn stop_pipe(&self) -> Option<&PipeReader> {
        self.0.pipe.as_ref().map(|(reader, _)| reader)
    }

    /// Has signals stop this run.
    pub fn guard_run(&self, control: RunControl) -> WorkGuard {
        self.add(Work::Run(control))
    }

    /// Has the first signal wait for work that is short or notices the signal by itself.
    pub fn guard_orderly(&self) -> WorkGuard {
        self.add(Work::Orderly)
    }

    /// Has Ctrl-C end a turn of a conversation, through `stop`, while the program goes on.
    pub fn guard_turn(&self, stop: &Arc<Notify>) -> WorkGuard {
        self.add(Work::Turn(Arc::clone(stop)))
    }

    /// Leaves Ctrl-C to a pager or an editor. If it ended this process, that program would be left alone with the terminal.
    pub fn guard_pager(&self) -> WorkGuard {
        self.add(Work::Pager)
    }

    fn add(&self, work: Work) -> WorkGuard {
        let mut state = lock(&self.0.state);
        let number = state.next_number;
        state.next_number += 1;
        state.works.push((number, work));
        WorkGuard {
            desk: Arc::clone(&self.0),
            number,
        }
    }
}

fn lock(state: &Mutex<SignalState>) -> MutexGuard<'_, SignalState> {
    // No code that holds the lock can panic halfway through a change.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Report of a thread to the main thread.
enum Report {
    /// The verb ended, or panicked.
    Ended(thread::Result<Exit>),
    /// A signal arrived.
    Signal(StopSignal),
}

/// Starts the thread that watches for signals. Returns after the watch has begun, or false if no thread could be started.
fn start_watch(report: mpsc::Sender<Report>) -> bool {
    let (ready, begun) = mpsc::channel();
    let watch = move || {
        block_on(async move {
            let mut arrivals = Arrivals::watch();
            let _ = ready.send(());
            while report.send(Report::Signal(arrivals.next().await)).is_ok() {}
        })
    };
    let started = thread::Builder::new().name("signals".to_owned()).spawn(watch);
    // Without a runtime there is no watch: signals keep their usual effect, and the verb still runs.
    let _ = begun.recv();
    started.is_ok()
}

/// Prints the last line of the program, or gives up if standard error blocks.
fn print_last_words(words: String) {
    let (done, printed) = mpsc::channel();
    let print = move || {
        last_line::end_status();
        // The terminal has shown `^C` on the line of the cursor.
        last_line::print(&words);
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(print).is_ok() {
        let _ = printed.recv_timeout(LAST_WORDS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_ends_work_in_order_and_a_second_one_at_once() {
        use Reaction::{End, Ignore, Wait};
        use StopSignal::{HangUp, Interrupt, Terminate};
        let (orderly, pager) = (Work::Orderly, Work::Pager);
        let run_and_pager = [orderly.clone(), pager.clone()];
        let cases: [(&[Work], bool, StopSignal, Reaction); 11] = [
            (&[], false, Interrupt, End),
            (&[], false, Terminate, End),
            (&[], false, HangUp, End),
            (std::slice::from_ref(&orderly), false, Interrupt, Wait),
            (std::slice::from_ref(&orderly), true, Interrupt, End),
            (std::slice::from_ref(&orderly), true, HangUp, End),
            (std::slice::from_ref(&pager), false, Interrupt, Ignore),
            (std::slice::from_ref(&pager), true, Interrupt, Ignore),
            (std::slice::from_ref(&pager), false, Terminate, End),
            (&run_and_pager, false, Interrupt, Ignore),
            (&run_and_pager, false, HangUp, Wait),
        ];
        for (works, is_stopping, signal, expected) in cases {
            let chosen = choose_reaction(works, is_stopping, signal);
            assert_eq!(chosen, expected, "{works:?} {is_stopping} {signal:?}");
        }
    }

    #[test]
    fn the_last_words_say_what_remains() {
        let signals = Signals::new();
        assert_eq!(
            signals.deliver(StopSignal::Interrupt).as_deref(),
            Some(NOTHING_WRITTEN)
        );
        signals.set_remains("the folder stays");
        assert_eq!(
            signals.deliver(StopSignal::HangUp).as_deref(),
            Some("the folder stays")
        );
        let guard = signals.guard_orderly();
        assert_eq!(signals.deliver(StopSignal::Terminate), None);
        assert_eq!(signals.received(), Some(StopSignal::Terminate));
        assert_eq!(signals.deliver(StopSignal::Interrupt).as_deref(), Some(CUT_SHORT));
        drop(guard);
        for (exit, expected) in [
            (Exit::Interrupted, Exit::Terminated),
            (Exit::Done, Exit::Done),
            (Exit::ConsentNeeded, Exit::ConsentNeeded),
        ] {
            assert_eq!(signals.final_exit(exit), expected);
        }
    }

    #[test]
    fn a_guard_ends_with_its_work() {
        let signals = Signals::new();
        let outer = signals.guard_orderly();
        let inner = signals.guard_pager();
        drop(outer);
        drop(inner);
        assert!(signals.deliver(StopSignal::Terminate).is_some());
    }
}
