//! Blobs on their way to the disk.
//!
//! Owns: which files and folders are still to be synced, and syncing them beside the caller's other work. Never: lets a
//! failed sync pass for a done one.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use agentos_durable::{Disk, SyncError};

use crate::EvidenceError;
use crate::blob::not_synced;

/// What may not be on the disk yet.
#[derive(Debug, Default)]
pub(crate) struct Ahead(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    unsynced: BTreeSet<PathBuf>,
    begun: Option<Begun>,
}

/// Under way, and what is synced by it.
#[derive(Debug)]
struct Begun {
    paths: Vec<PathBuf>,
    thread: JoinHandle<Result<(), SyncError>>,
}

impl Ahead {
    /// Files and folders to be synced.
    pub fn add(&self, paths: Vec<PathBuf>) {
        self.with(|state| state.unsynced.extend(paths));
    }

    /// Begins to sync them, unless it is under way for others.
    pub fn begin(&self, disk: &Arc<Disk>) {
        self.with(|state| {
            if state.begun.is_some() || state.unsynced.is_empty() {
                return;
            }
            let paths = Vec::from_iter(state.unsynced.iter().cloned());
            let (theirs, disk) = (paths.clone(), Arc::clone(disk));
            // Without a thread they are synced when they must be.
            if let Ok(thread) = Builder::new().spawn(move || disk.sync(&theirs)) {
                state.unsynced.clear();
                state.begun = Some(Begun { paths, thread });
            }
        });
    }

    /// Syncs everything; when this returns, it is on the disk.
    pub fn sync(&self, disk: &Disk) -> Result<(), EvidenceError> {
        self.with(|state| {
            if let Some(Begun { paths, thread }) = state.begun.take() {
                // A system tells of a failed sync once: a second one that succeeds would prove nothing, also where the
                // thread ended early and may have been told.
                let ended = thread.join().unwrap_or_else(|_| Err(ended_early(&paths)));
                if let Err(error) = ended {
                    state.unsynced.extend(paths);
                    return Err(not_synced(error));
                }
            }
            if state.unsynced.is_empty() {
                return Ok(());
            }
            let unsynced = Vec::from_iter(state.unsynced.iter().cloned());
            disk.sync(&unsynced).map_err(not_synced)?;
            state.unsynced.clear();
            Ok(())
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn ended_early(paths: &[PathBuf]) -> SyncError {
    SyncError {
        path: paths.first().cloned().unwrap_or_default(),
        source: io::Error::other("a helper ended early"),
    }
}
