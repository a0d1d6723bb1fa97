//! Ending a process from elsewhere, once and for the right process.
//!
//! Owns: who may signal and until when. Never: signals after the process was reaped, when its number may be another's.

use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

/// Why a process was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Its time ran out.
    OutOfTime,
    /// It wrote too much.
    TooMuchOutput,
    /// The user stopped it.
    Stopped,
    /// It has ended, and what it left behind goes too.
    Asked,
    /// Its work is done, which it has said.
    Finished,
}

/// Stops a process from elsewhere. Cheap to clone; each belongs to one run at a time.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    process: Option<Pid>,
    why: Option<Why>,
}

impl Stop {
    /// Ends the process, or keeps it from starting.
    pub fn stop(&self) {
        self.end(Why::Stopped);
    }

    /// Ends a process that has said that its work is done, which is its own end and no failure.
    pub fn finish(&self) {
        self.end(Why::Finished);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole at every moment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process runs that may be ended.
    pub(crate) fn began(&self, id: u32) {
        let mut state = self.state();
        // An earlier run came to its own end: that is nothing against this one.
        state.why = state.why.filter(|why| !matches!(why, Why::Asked | Why::Finished));
        state.process = i32::try_from(id).ok().map(Pid::from_raw);
        if state.why.is_some() {
            signal(state.process);
        }
    }

    /// Ends it. True when this is the first reason.
    pub(crate) fn end(&self, why: Why) -> bool {
        let mut state = self.state();
        signal(state.process);
        let first = state.why.is_none();
        state.why.get_or_insert(why);
        first
    }

    pub(crate) fn why(&self) -> Option<Why> {
        self.state().why
    }

    /// Blocks until the process has ended, and leaves it to be reaped.
    pub(crate) fn wait(&self) {
        let Some(process) = self.state().process else {
            return;
        };
        until_ended(process);
    }

    /// Reaps it; nobody signals it any more.
    pub(crate) fn reap(
        &self,
        wait: impl FnOnce() -> std::io::Result<ExitStatus>,
    ) -> std::io::Result<ExitStatus> {
        self.wait();
        let mut state = self.state();
        state.process = None;
        wait()
    }
}

#[cfg(target_os = "linux")]
fn until_ended(process: Pid) {
    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while let Err(nix::Error::EINTR) = waitid(Id::Pid(process), flags) {}
}

/// There is no `waitid` that leaves a process to be reaped; kqueue(2) tells of its end. One that has ended already is an
/// error in the queue, which is an answer too.
#[cfg(target_os = "macos")]
fn until_ended(process: Pid) {
    use nix::sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue};
    let Ok(number) = usize::try_from(process.as_raw()) else {
        return;
    };
    let flags = EvFlags::EV_ADD | EvFlags::EV_ONESHOT;
    let end = KEvent::new(
        number,
        EventFilter::EVFILT_PROC,
        flags,
        FilterFlag::NOTE_EXIT,
        0,
        0,
    );
    let Ok(queue) = Kqueue::new() else { return };
    let mut told = [end];
    while let Err(nix::Error::EINTR) = queue.kevent(&[end], &mut told, None) {}
}

/// The helper leads a session of its own as soon as it runs.
fn signal(process: Option<Pid>) {
    let Some(process) = process else { return };
    let _ = killpg(process, Signal::SIGKILL);
    let _ = kill(process, Signal::SIGKILL);
}
