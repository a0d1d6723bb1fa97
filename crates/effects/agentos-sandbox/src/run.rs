//! Starting a confined process and seeing it to its end.
//!
//! Owns: the three streams, the caps on time and output, the end. Never: waits longer than was allowed, or leaves a
//! process behind.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::{Held, IdentityLease, Order, Report, SandboxError};

#[cfg(any(target_os = "linux", target_os = "macos", windows))]
mod disk;
#[cfg(any(target_os = "linux", target_os = "macos", windows))]
mod flow;
#[cfg(target_os = "linux")]
mod group;
mod in_scratch;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(any(target_os = "linux", target_os = "macos", windows))]
pub use crate::watch::Stop;

/// Bounds that the parent keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Time from start to end.
    pub time: Duration,
    /// Bytes on both output streams together.
    pub output: usize,
}

/// What a process reads on standard input.
#[derive(Debug)]
pub enum Input {
    /// These bytes, and then the end.
    Bytes(Vec<u8>),
    /// What is sent while it runs, and the end when nobody can send any more.
    Talk(Receiver<Vec<u8>>),
}

/// Where output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A process that came to its own end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// What held it.
    pub report: Report,
    /// Its exit code; 128 and the signal's number where a signal ended it, 127 where it could not be started.
    pub code: u8,
    /// From start to end.
    pub elapsed: Duration,
}

/// Starts confined processes.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// A program that calls [`stage::run`](crate::stage::run) first of all: usually this one.
    helper: PathBuf,
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    ready: unix::Ready,
}

impl Sandbox {
    /// A sandbox whose helper is this program.
    #[must_use]
    pub fn new(helper: PathBuf) -> Self {
        Self {
            helper,
            #[cfg(any(target_os = "linux", target_os = "macos"))]
            ready: unix::Ready::default(),
        }
    }

    /// Begins what the next run begins with, while the caller does other things. Needless, and saves that run the time.
    pub fn prepare(&self) {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        self.ready.prepare(&self.helper);
    }

    /// Takes users for the processes of one run, to which its folders and files shall belong. Returns `None` where the tool runs
    /// as the user who starts it, which is everywhere but under root.
    ///
    /// # Errors
    /// When none is free.
    pub fn lease_identity(&self) -> Result<Option<Arc<IdentityLease>>, SandboxError> {
        Ok(IdentityLease::take()?.map(Arc::new))
    }

    /// Begins [`Sandbox::probe`] beside whatever the caller does next.
    #[must_use]
    pub fn held(&self) -> Held {
        Held::begin(self)
    }

    /// What would hold a process: puts every layer up around nothing. What [`Sandbox::prepare`] began is left for a run.
    ///
    /// # Errors
    /// When one of them cannot be put up, with the reason.
    pub fn probe(&self) -> Result<Report, SandboxError> {
        let nothing = Order {
            program: None,
            #[cfg(target_os = "linux")]
            identity: Some(crate::RunIdentity::of_probe()),
            ..Order::new(PathBuf::new(), Vec::new(), "/".into())
        };
        let caps = Caps {
            time: Duration::from_secs(10),
            output: 1 << 16,
        };
        let ended = Self::new(self.helper.clone()).run(
            &nothing,
            Input::Bytes(Vec::new()),
            caps,
            &Stop::default(),
            &mut |_, _| {},
        )?;
        Ok(ended.report)
    }

    /// Runs a process to its end. `input` is its standard input; what it writes goes to `seen` as it comes.
    ///
    /// # Errors
    /// When it could not be confined (then nothing was started), or did not end by itself.
    #[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
    pub fn run(
        &self,
        _order: &Order,
        _input: Input,
        _caps: Caps,
        _stop: &Stop,
        _seen: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Ended, SandboxError> {
        Err(SandboxError::Unsupported(std::env::consts::OS.to_owned()))
    }

    /// Runs a process to its end. `input` is its standard input; what it writes goes to `seen` as it comes. When this returns
    /// without [`SandboxError::NotEnded`], nothing that the process started is left. An order without users gets a pair for
    /// this run alone where root starts it.
    ///
    /// # Errors
    /// When it could not be confined (then nothing was started), or did not end by itself.
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    pub fn run(
        &self,
        order: &Order,
        input: Input,
        caps: Caps,
        stop: &Stop,
        seen: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Ended, SandboxError> {
        #[cfg(not(windows))]
        {
            let lease = match order.identity {
                Some(_) => None,
                None => IdentityLease::take()?,
            };
            let Some(lease) = lease else {
                return unix::run((&self.helper, &self.ready), order, input, caps, stop, seen);
            };
            let mut order = order.clone();
            order.identity = Some(lease.identity());
            let ended = unix::run((&self.helper, &self.ready), &order, input, caps, stop, seen);
            if matches!(ended, Err(SandboxError::NotEnded)) {
                lease.abandon();
                // The lock is held as long as this program runs.
                std::mem::forget(lease);
            }
            ended
        }
        #[cfg(windows)]
        windows::run(order, input, caps, stop, seen)
    }
}

/// Stops a process from elsewhere.
#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
#[derive(Debug, Clone, Default)]
pub struct Stop(());

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
impl Stop {
    /// Nothing runs here that could be stopped.
    pub fn stop(&self) {}

    /// As [`Stop::stop`].
    pub fn finish(&self) {}

    /// Nothing runs here that could say so.
    pub(crate) fn is_finished(&self) -> bool {
        false
    }
}
