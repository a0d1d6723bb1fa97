//! Finds out in the background which layers this system can put around a process.
//!
//! Owns: one probe and its answer, which clones share. Never: guesses: whoever asks before the answer is known waits.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::{Sandbox, SandboxReport};

type ProbeResult = Result<SandboxReport, String>;

/// Answer of a probe: a report of the layers, or one sentence that says why there is none.
#[derive(Debug, Clone)]
pub struct SandboxProbe(Arc<ProbeState>);

#[derive(Debug)]
struct ProbeState {
    found: OnceLock<ProbeResult>,
    worker: Mutex<Option<ProbeWorker>>,
}

/// How the answer of a probe is found.
#[derive(Debug)]
enum ProbeWorker {
    /// On a thread that was started.
    Started(JoinHandle<ProbeResult>),
    /// In the caller that first wants the answer.
    OnDemand(Sandbox),
}

impl ProbeWorker {
    fn finish(self) -> ProbeResult {
        match self {
            Self::Started(thread) => thread
                .join()
                .unwrap_or_else(|_| Err("the probe of the sandbox ended without an answer".to_owned())),
            Self::OnDemand(sandbox) => probe(&sandbox),
        }
    }
}

fn probe(sandbox: &Sandbox) -> ProbeResult {
    sandbox.probe().map_err(|error| error.reason())
}

impl SandboxProbe {
    /// Creates a probe whose answer is known already.
    #[must_use]
    pub fn known(found: ProbeResult) -> Self {
        Self::from_parts(OnceLock::from(found), None)
    }

    /// Starts the probe on a thread.
    pub(crate) fn begin(sandbox: &Sandbox) -> Self {
        let own = sandbox.clone();
        match Builder::new().spawn(move || probe(&own)) {
            Ok(worker) => Self::from_parts(OnceLock::new(), Some(ProbeWorker::Started(worker))),
            // The system refused a thread: probe now instead of later.
            Err(_) => Self::known(probe(sandbox)),
        }
    }

    /// Creates a probe that begins when its answer is first requested.
    pub(crate) fn on_demand(sandbox: &Sandbox) -> Self {
        Self::from_parts(OnceLock::new(), Some(ProbeWorker::OnDemand(sandbox.clone())))
    }

    fn from_parts(found: OnceLock<ProbeResult>, worker: Option<ProbeWorker>) -> Self {
        let worker = Mutex::new(worker);
        Self(Arc::new(ProbeState { found, worker }))
    }

    /// Returns the answer, and waits for it if necessary.
    ///
    /// # Errors
    /// If nothing can confine a process here; the text is one sentence with the reason.
    pub fn get(&self) -> &ProbeResult {
        self.0.found.get_or_init(|| {
            let worker = self.0.worker.lock();
            let worker = worker.unwrap_or_else(PoisonError::into_inner).take();
            // The lock is taken once, by whoever is first.
            worker.map_or_else(
                || Err("the probe of the sandbox has no answer".to_owned()),
                ProbeWorker::finish,
            )
        })
    }

    /// Returns true if every layer is available.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.get().as_ref().is_ok_and(SandboxReport::is_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_one_answer_and_one_that_cannot_be_found_out_is_an_error() {
        let nothing = Sandbox::new("/no/such/helper".into());
        let held = SandboxProbe::begin(&nothing);
        let other = held.clone();
        assert!(held.get().is_err() && !held.is_whole());
        assert!(std::ptr::eq(held.get(), other.get()));
        let later = SandboxProbe::on_demand(&nothing);
        assert_eq!(later.clone().get(), held.get());
        assert!(!later.is_whole());
        let whole = SandboxReport {
            layers: crate::SandboxLayer::ALL.to_vec(),
            landlock_abi: None,
            ..SandboxReport::default()
        };
        assert!(SandboxProbe::known(Ok(whole)).is_whole());
    }
}
