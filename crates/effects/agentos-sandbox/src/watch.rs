//! Ends a process from another thread: once, and the right one.
//!
//! A process id may belong to another process as soon as its process was reaped. So every signal and the reaping
//! happen under one lock, which knows whether the process still exists.
//!
//! Owns: who may signal and until when, and that a process that can be asked to end is asked first. Never: signals
//! after the process was reaped.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::{DiskLimit, SandboxReport};

#[cfg(unix)]
use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};

/// Process that may be ended.
#[cfg(unix)]
#[derive(Debug, Clone)]
pub(crate) struct RunningProcess(Pid);
/// Process that may be ended.
#[cfg(windows)]
pub(crate) type RunningProcess = Arc<agentos_winbox::ConfinedProcess>;

/// Reason why a process was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// The time limit was reached.
    OutOfTime,
    /// The limit on output was reached.
    TooMuchOutput,
    /// A limit on disk space was reached.
    TooMuchDisk(DiskLimit),
    /// The user stopped it.
    Stopped,
    /// The process has ended, and what it left behind is ended too.
    Asked,
    /// The process has reported that its work is done.
    Finished,
}

/// Stops a process from another thread. Cheap to clone; each value belongs to one run at a time.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Mutex<StopState>>);

#[derive(Debug, Default)]
struct StopState {
    process: Option<RunningProcess>,
    why: Option<EndReason>,
    asking: Option<EndRequest>,
    report: Option<SandboxReport>,
}

/// Way of asking a process to end.
struct EndRequest {
    /// Asks the process. Returns false if it cannot be asked now.
    ask: Box<dyn FnOnce() -> bool + Send>,
    /// Time that the process has to end afterwards.
    grace: Duration,
}

impl fmt::Debug for EndRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndRequest").field("grace", &self.grace).finish()
    }
}

impl StopHandle {
    /// Ends the process, or keeps it from starting.
    pub fn stop(&self) {
        self.end_with(EndReason::Stopped);
    }

    /// Ends a process that has reported that its work is done. This counts as its own end and not as a failure.
    pub fn finish(&self) {
        self.end_with(EndReason::Finished);
    }

    /// Returns the layers that confine the process. `None` before it has reported them, which it does before its first output.
    #[must_use]
    pub fn report(&self) -> Option<SandboxReport> {
        self.state().report.clone()
    }

    /// Stores the layers that confine the process.
    pub(crate) fn set_report(&self, report: SandboxReport) {
        self.state().report = Some(report);
    }

    /// Until the process has ended, a stop or a time limit first asks it to end and kills it `grace` later. `ask`
    /// returns false if the process cannot be asked; it must not block.
    pub fn ask_first(&self, grace: Duration, ask: impl FnOnce() -> bool + Send + 'static) {
        let ask = Box::new(ask);
        self.state().asking = Some(EndRequest { ask, grace });
    }

    fn state(&self) -> MutexGuard<'_, StopState> {
        // The state is consistent at every moment, so a panic of another thread does not matter.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the process that now runs.
    pub(crate) fn set_process(&self, process: Option<RunningProcess>) {
        let mut state = self.state();
        // An earlier run that ended by itself says nothing about this one.
        state.why = state
            .why
            .filter(|why| !matches!(why, EndReason::Asked | EndReason::Finished));
        state.process = process;
        if state.why.is_some() {
            signal_end(state.process.as_ref());
        }
    }

    /// Ends the process. Returns true if this is the first reason.
    pub(crate) fn end_with(&self, why: EndReason) -> bool {
        let mut state = self.state();
        let first = state.why.is_none();
        state.why.get_or_insert(why);
        let asking = state.asking.take();
        let asked = match why {
            // Without a process there is nobody to ask.
            EndReason::OutOfTime | EndReason::Stopped if state.process.is_some() => {
                asking.is_some_and(|it| self.request_end(it))
            }
            EndReason::OutOfTime
            | EndReason::Stopped
            | EndReason::TooMuchOutput
            | EndReason::TooMuchDisk(_)
            | EndReason::Asked
            | EndReason::Finished => false,
        };
        if !asked {
            signal_end(state.process.as_ref());
        }
        first
    }

    /// Asks the process to end, and kills it later. Returns false if it could not be asked.
    fn request_end(&self, asking: EndRequest) -> bool {
        let stop = self.clone();
        let end = move || {
            thread::sleep(asking.grace);
            signal_end(stop.state().process.as_ref());
        };
        (asking.ask)() && thread::Builder::new().spawn(end).is_ok()
    }

    /// Gives up on a process that does not end: kills what can be named of it. Nobody signals it afterwards.
    pub(crate) fn give_up(&self) {
        let mut state = self.state();
        #[cfg(unix)]
        kill_session(state.process.as_ref());
        state.process = None;
        state.asking = None;
    }

    pub(crate) fn end_reason(&self) -> Option<EndReason> {
        self.state().why
    }

    /// Returns true if the run was ended because its work was done.
    pub(crate) fn is_finished(&self) -> bool {
        self.end_reason() == Some(EndReason::Finished)
    }

    /// Blocks until the process has ended, and leaves it to be reaped.
    pub(crate) fn wait(&self) {
        let process = self.state().process.clone();
        if let Some(process) = process {
            wait_until_ended(&process);
        }
    }

    /// Reaps the process. Nobody signals it afterwards.
    pub(crate) fn reap<E>(&self, wait: impl FnOnce() -> std::io::Result<E>) -> std::io::Result<E> {
        self.wait();
        let mut state = self.state();
        state.process = None;
        state.asking = None;
        wait()
    }
}

#[cfg(target_os = "linux")]
fn wait_until_ended(process: &RunningProcess) {
    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while let Err(nix::Error::EINTR) = waitid(Id::Pid(process.0), flags) {}
}

/// Waits with kqueue(2), because no `waitid` is available here that leaves a process to be reaped. If the process has
/// ended already, the queue returns an error, which is an answer too.
#[cfg(target_os = "macos")]
fn wait_until_ended(process: &RunningProcess) {
    use nix::sys::event::{EvFlags, EventFilter, FilterFlag, KEvent, Kqueue};
    let Ok(number) = usize::try_from(process.0.as_raw()) else {
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
    let mut events = [end];
    while let Err(nix::Error::EINTR) = queue.kevent(&[end], &mut events, None) {}
}

/// Returns the process with this id. `None` if the id is out of range.
#[cfg(unix)]
pub(crate) fn running_process(id: u32) -> Option<RunningProcess> {
    i32::try_from(id)
        .ok()
        .map(|number| RunningProcess(Pid::from_raw(number)))
}

/// Asks the helper to end the run: it kills process 1 of the namespace, waits until the whole namespace is gone, and
/// exits (`stage/enter.rs`). If the helper itself were killed, nobody would know when that is.
#[cfg(target_os = "linux")]
pub(crate) fn signal_end(process: Option<&RunningProcess>) {
    let Some(process) = process else { return };
    let _ = kill(process.0, Signal::SIGTERM);
}

/// Kills the helper and the session that it leads. This system has no process namespaces.
#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) fn signal_end(process: Option<&RunningProcess>) {
    kill_session(process);
}

/// Kills the helper and the session that it leads: for a helper without a tool, or one that does not end.
#[cfg(unix)]
pub(crate) fn kill_session(process: Option<&RunningProcess>) {
    let Some(process) = process else { return };
    let _ = killpg(process.0, Signal::SIGKILL);
    let _ = kill(process.0, Signal::SIGKILL);
}

#[cfg(windows)]
fn wait_until_ended(process: &RunningProcess) {
    // If Windows cannot say, the ends of the streams and the time limit do.
    let _ = process.wait();
}

#[cfg(windows)]
fn signal_end(process: Option<&RunningProcess>) {
    process.into_iter().for_each(|process| process.end_all());
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};
    use std::sync::mpsc::channel;

    use super::*;

    /// Signal that ends a run: on Linux the helper is asked, since it has to wait for the namespace.
    const ENDS: i32 = if cfg!(target_os = "linux") {
        Signal::SIGTERM as i32
    } else {
        Signal::SIGKILL as i32
    };

    /// A process that ends when its input does.
    fn listening() -> Child {
        let mut command = Command::new("cat");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    #[test]
    fn one_that_leaves_off_when_it_is_asked_is_not_killed() {
        let mut child = listening();
        let (stop, stdin) = (StopHandle::default(), child.stdin.take());
        stop.set_process(running_process(child.id()));
        stop.ask_first(Duration::from_secs(3600), move || {
            drop(stdin);
            true
        });
        stop.stop();
        let ended = stop.reap(|| child.wait()).unwrap();
        assert_eq!(
            (ended.code(), stop.end_reason()),
            (Some(0), Some(EndReason::Stopped))
        );
    }

    #[test]
    fn one_that_cannot_be_asked_or_does_not_leave_off_is_killed() {
        for (asked, grace) in [(false, 3600), (true, 0)] {
            let mut child = listening();
            let (stop, (tell, told)) = (StopHandle::default(), channel());
            stop.set_process(running_process(child.id()));
            stop.ask_first(Duration::from_secs(grace), move || {
                tell.send(()).unwrap();
                asked
            });
            assert!(stop.end_with(EndReason::OutOfTime));
            let ended = stop.reap(|| child.wait()).unwrap();
            assert_eq!(
                (ended.signal(), told.try_recv()),
                (Some(ENDS), Ok(())),
                "{asked} {grace}"
            );
        }
    }

    #[test]
    fn one_that_does_not_end_is_given_up_and_killed() {
        // It ignores what it is asked with, as a helper that hangs would.
        let mut child = Command::new("sh")
            .args(["-c", "trap '' TERM; echo ready; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
        let stop = StopHandle::default();
        stop.set_process(running_process(child.id()));
        stop.end_with(EndReason::Asked);
        stop.give_up();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGKILL as i32));
        // Its number may be another process's by now.
        stop.end_with(EndReason::Stopped);
        assert_eq!(stop.end_reason(), Some(EndReason::Asked));
    }

    #[test]
    fn what_has_finished_is_not_asked() {
        let mut child = listening();
        let stop = StopHandle::default();
        stop.set_process(running_process(child.id()));
        stop.ask_first(Duration::from_secs(3600), || panic!("it was asked"));
        stop.finish();
        let ended = stop.reap(|| child.wait()).unwrap();
        assert_eq!(ended.signal(), Some(ENDS));
    }
}
