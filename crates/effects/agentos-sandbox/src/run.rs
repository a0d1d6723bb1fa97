//! Starts a confined process and waits for its end.
//!
//! Owns: the three streams, the limits on time and output, the end. Never: waits longer than was allowed, or leaves a
//! process behind.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{IdentityLease, LaunchSpec, SandboxError, SandboxProbe, SandboxReport};

#[cfg(any(target_os = "linux", target_os = "macos", windows))]
mod disk;
#[cfg(any(target_os = "linux", target_os = "macos", windows))]
mod flow;
#[cfg(target_os = "linux")]
mod group;
mod in_folders;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(any(target_os = "linux", target_os = "macos", windows))]
pub use crate::watch::StopHandle;

/// Limits that the parent enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunCaps {
    /// Time from start to end.
    pub time: Duration,
    /// Bytes on both output streams together.
    pub output: usize,
}

/// Standard input of a process.
#[derive(Debug)]
pub enum ToolInput {
    /// These bytes, and then the end.
    Bytes(Vec<u8>),
    /// Bytes that are sent while the process runs; the end comes when there are no more.
    Talk(InputSource),
}

/// Pieces of an input that is written while a process runs.
///
/// The next piece is taken only when the pipe has accepted the piece before, so a caller knows which pieces were certainly never
/// written. A source that blocks must end with the run: its thread is not joined.
pub struct InputSource(Box<dyn Iterator<Item = Vec<u8>> + Send>);

impl InputSource {
    /// Makes a source of pieces, such as a channel's receiver.
    #[must_use]
    pub fn new(pieces: impl IntoIterator<Item = Vec<u8>, IntoIter: Send + 'static>) -> Self {
        Self(Box::new(pieces.into_iter()))
    }
}

impl Iterator for InputSource {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        self.0.next()
    }
}

impl fmt::Debug for InputSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InputSource")
    }
}

/// Output stream of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Process that ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedRun {
    /// Layers that confined it.
    pub report: SandboxReport,
    /// Exit code; 128 plus the signal's number if a signal ended it, 127 if it could not be started.
    pub code: u8,
    /// Time from start to end.
    pub elapsed: Duration,
}

/// Starts confined processes.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// Program that calls [`stage::run`](crate::stage::run) first of all, usually this one.
    helper: PathBuf,
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    ready: unix::ReadyHelper,
}

impl Sandbox {
    /// Creates a sandbox whose helper is this program.
    #[must_use]
    pub fn new(helper: PathBuf) -> Self {
        Self {
            helper,
            #[cfg(any(target_os = "linux", target_os = "macos"))]
            ready: unix::ReadyHelper::default(),
        }
    }

    /// Starts a helper for the next run while the caller does other things. Optional: it saves that run time.
    pub fn prepare(&self) {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        self.ready.prepare(&self.helper);
    }

    /// Leases users for the processes of one run, to whom its folders and files shall belong. Returns `None` if the
    /// tool runs as the user who starts it, which is always so unless that is root.
    ///
    /// # Errors
    /// If no pair of users is free.
    pub fn lease_identity(&self) -> Result<Option<Arc<IdentityLease>>, SandboxError> {
        Ok(IdentityLease::take()?.map(Arc::new))
    }

    /// Starts [`Sandbox::probe`] in the background.
    #[must_use]
    pub fn start_probe(&self) -> SandboxProbe {
        SandboxProbe::begin(self)
    }

    /// Makes a probe that begins when its answer is first requested, for a caller that probably never needs it.
    #[must_use]
    pub fn probe_on_demand(&self) -> SandboxProbe {
        SandboxProbe::on_demand(self)
    }

    /// Finds out which layers would confine a process: puts every layer up and starts nothing. A helper that
    /// [`Sandbox::prepare`] started is left for a run.
    ///
    /// # Errors
    /// If one of the layers cannot be put up, with the reason.
    pub fn probe(&self) -> Result<SandboxReport, SandboxError> {
        let nothing = LaunchSpec {
            program: None,
            #[cfg(target_os = "linux")]
            // Taking a lease would make a probe fail while all pairs are in use, although the layers would hold.
            identity: Some(crate::RunIdentity::for_probe()),
            ..LaunchSpec::new(PathBuf::new(), Vec::new(), "/".into())
        };
        let caps = RunCaps {
            time: Duration::from_secs(10),
            output: 1 << 16,
        };
        let ended = Self::new(self.helper.clone()).run(
            &nothing,
            ToolInput::Bytes(Vec::new()),
            caps,
            &StopHandle::default(),
            &mut |_, _| {},
        )?;
        Ok(ended.report)
    }

    /// Runs a process to its end. `input` is its standard input; `seen` receives its output as it comes.
    ///
    /// # Errors
    /// Always on this system, which cannot confine a process.
    #[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
    pub fn run(
        &self,
        _order: &LaunchSpec,
        _input: ToolInput,
        _caps: RunCaps,
        _stop: &StopHandle,
        _seen: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> Result<FinishedRun, SandboxError> {
        Err(SandboxError::Unsupported(std::env::consts::OS.to_owned()))
    }

    /// Runs a process to its end. `input` is its standard input; `seen` receives its output as it comes. When this
    /// returns without [`SandboxError::NotEnded`], nothing that the process started is left. If root starts it, a
    /// spec without users gets a pair for this run alone.
    ///
    /// # Errors
    /// If it could not be confined (then nothing was started), or did not end by itself.
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    pub fn run(
        &self,
        spec: &LaunchSpec,
        input: ToolInput,
        caps: RunCaps,
        stop: &StopHandle,
        seen: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> Result<FinishedRun, SandboxError> {
        #[cfg(not(windows))]
        {
            let lease = match spec.identity {
                Some(_) => None,
                None => IdentityLease::take()?,
            };
            let Some(lease) = lease else {
                return unix::run((&self.helper, &self.ready), spec, input, caps, stop, seen);
            };
            let mut spec = spec.clone();
            spec.identity = Some(lease.identity());
            let ended = unix::run((&self.helper, &self.ready), &spec, input, caps, stop, seen);
            if matches!(ended, Err(SandboxError::NotEnded)) {
                lease.abandon();
                // The lock is leaked, so that the pair stays taken as long as this program runs.
                std::mem::forget(lease);
            }
            ended
        }
        #[cfg(windows)]
        windows::run(spec, input, caps, stop, seen)
    }
}

/// Stops a process from another thread.
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
#[derive(Debug, Clone, Default)]
pub struct StopHandle(());

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
impl StopHandle {
    /// Does nothing: no process runs on this system.
    pub fn stop(&self) {}

    /// Does nothing, as [`StopHandle::stop`].
    pub fn finish(&self) {}

    /// Returns `None`: no process runs on this system.
    #[must_use]
    pub fn report(&self) -> Option<SandboxReport> {
        None
    }

    /// Returns false: no process runs on this system.
    pub(crate) fn is_finished(&self) -> bool {
        false
    }
}
