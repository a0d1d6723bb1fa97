//! The confined processes that conversations share, by profile and key.
//!
//! Owns: which process belongs to which settings. Never: shares one between two keys or two profiles.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_chain::hash_bytes;
use agentos_programs::ModelProcess;
use agentos_sandbox::SandboxProbe;

use agentos_providers::servers::Hosting;

/// Processes that are kept at most. The one that was used least recently is given up; it ends with its last request.
pub(crate) const MOST_PROCESSES: usize = 32;

/// Confined processes of models, one for each profile and key. A conversation keeps them from turn to turn, and a service shares one
/// value between its threads. Clones share the processes, which end when the last one is dropped.
#[derive(Clone, Default)]
pub struct ModelProcesses(Arc<Mutex<Vec<KnownProcess>>>);

/// Settings of a process: a hash of the profile and the key, so that the list contains no key.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ProcessKey(String);

struct KnownProcess {
    key: ProcessKey,
    process: Arc<ModelProcess>,
    held: SandboxProbe,
}

impl ProcessKey {
    /// Returns the key of an adapter's settings.
    pub(super) fn of_hosting(hosting: &Hosting) -> Self {
        let key = hosting
            .key
            .as_ref()
            .map(|key| hash_bytes(key.expose().as_bytes()));
        let parts = (&hosting.profile, key, &hosting.key_obstacle);
        // These types have no map with keys other than strings, so they can always be written down.
        Self(hash_bytes(&serde_json::to_vec(&parts).unwrap_or_default()))
    }
}

impl ModelProcesses {
    /// Makes an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<KnownProcess>> {
        // Entries are moved in and out in one step, so the list is valid even after a panic of another thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a guard that ends all processes when it is dropped. The next request starts new ones.
    pub fn end_on_drop(&self) -> ProcessEnd<'_> {
        ProcessEnd(self)
    }

    /// Returns the process with these settings, and the probe of its sandbox. `None` if there is none.
    pub(super) fn find_process(&self, key: &ProcessKey) -> Option<(Arc<ModelProcess>, SandboxProbe)> {
        take_newest(&mut self.lock(), key)
    }

    /// Keeps a process, and returns it. If another thread was faster, its process is returned instead.
    pub(super) fn keep_process(
        &self,
        key: ProcessKey,
        process: ModelProcess,
        held: SandboxProbe,
    ) -> (Arc<ModelProcess>, SandboxProbe) {
        let process = Arc::new(process);
        let mut known = self.lock();
        // Under the same lock as the entry below, or two threads would keep two processes of the same settings.
        if let Some(found) = take_newest(&mut known, &key) {
            drop(known);
            return found;
        }
        known.push(KnownProcess {
            key,
            process: Arc::clone(&process),
            held: held.clone(),
        });
        let surplus = known.len().saturating_sub(MOST_PROCESSES);
        let given_up: Vec<_> = known.drain(..surplus).collect();
        // Released first: the end of a process takes milliseconds, and nobody has to wait for it here.
        drop(known);
        drop(given_up);
        (process, held)
    }
}

/// Returns the process with these settings, which is now the one that was used last.
fn take_newest(known: &mut Vec<KnownProcess>, key: &ProcessKey) -> Option<(Arc<ModelProcess>, SandboxProbe)> {
    let at = known.iter().position(|entry| entry.key == *key)?;
    let entry = known.remove(at);
    let found = (Arc::clone(&entry.process), entry.held.clone());
    known.push(entry);
    Some(found)
}

/// Ends processes when it is dropped.
pub struct ProcessEnd<'a>(&'a ModelProcesses);

impl Drop for ProcessEnd<'_> {
    fn drop(&mut self) {
        let processes: Vec<_> = self
            .0
            .lock()
            .iter()
            .map(|known| Arc::clone(&known.process))
            .collect();
        for process in processes {
            process.end_processes();
        }
    }
}
