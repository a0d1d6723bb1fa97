//! Models that a service keeps open, so that a request does not read all settings again.
//!
//! | a request comes, and | then |
//! |---|---|
//! | its model is kept, young, and no file of its settings has changed | the kept model answers |
//! | a file has changed, or the model is older than the stamp's longest age | it is opened again, in the same process if nothing else is meant |
//! | its model was never opened, or could not be | it is opened; other requests for its provider wait meanwhile |
//!
//! Owns: which models are kept, and until when. Never: keeps a failure to open one. A model whose key was missing opens, and finds the
//! key as soon as its file changes, or a second later.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_engine::ports::EffectError;

use super::opened::ReadyModel;
use super::stamp::{SettingsMarks, SettingsStamp};
use crate::hosted::{MOST_PROCESSES, ModelProcesses};
use agentos_ground::Ground;
use agentos_ground::options::{ProviderChoice, ProviderOverrides};
use agentos_ground::provider_kind::ProviderKind;

/// Models of each list that are kept at most: both lists together no more than processes of models are kept. The one that was used least
/// recently is given up.
const MOST_KEPT: usize = MOST_PROCESSES / 2;

/// Models that stay open. Clones share them.
#[derive(Clone, Default)]
pub struct KeptModels(Arc<KeptShared>);

#[derive(Default)]
struct KeptShared {
    state: Mutex<KeptState>,
    opening: OpeningLocks,
}

#[derive(Default)]
struct KeptState {
    /// Models by the names that clients use.
    named: KeptList<String>,
    /// Models by what they are opened from, for the members of pools.
    chosen: KeptList<ModelKey>,
}

/// Key of a model: everything but the files that it depends on.
#[derive(PartialEq)]
struct ModelKey {
    provider: ProviderKind,
    overrides: ProviderOverrides,
}

struct KeptModel<K> {
    key: K,
    /// Settings that it was made from.
    stamp: SettingsStamp,
    ready: Arc<ReadyModel>,
}

/// Models, the one that was used last at the end.
struct KeptList<K>(Vec<KeptModel<K>>);

impl<K> Default for KeptList<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: PartialEq> KeptList<K> {
    /// Returns the model of a key if its settings have not changed.
    fn find<Q: PartialEq + ?Sized>(&mut self, key: &Q) -> Option<Arc<ReadyModel>>
    where
        K: Borrow<Q>,
    {
        let at = self.0.iter().position(|kept| kept.key.borrow() == key)?;
        let kept = self.0.remove(at);
        let ready = Arc::clone(&kept.ready);
        let is_current = kept.stamp.is_current();
        self.0.push(kept);
        is_current.then_some(ready)
    }

    /// Keeps a model. Returns what is given up for it, to be dropped after the lock: its end may wait for a process. Models that are too
    /// old to be used again are given up too, with their keys.
    fn keep(&mut self, kept: KeptModel<K>) -> Vec<KeptModel<K>> {
        let all = std::mem::take(&mut self.0).into_iter();
        let (mut given_up, others): (Vec<_>, Vec<_>) =
            all.partition(|other| other.key == kept.key || other.stamp.is_old());
        self.0 = others;
        self.0.push(kept);
        let surplus = self.0.len().saturating_sub(MOST_KEPT);
        given_up.extend(self.0.drain(..surplus));
        given_up
    }
}

/// Locks that are held while a provider's settings are read and its server is asked, by the provider's name: requests for it
/// that come meanwhile wait, and use what was opened. Requests for other providers do not wait.
#[derive(Default)]
struct OpeningLocks(Mutex<BTreeMap<String, Arc<Mutex<()>>>>);

impl OpeningLocks {
    /// Runs `open` while no other opening of the provider runs.
    fn run_alone<T>(&self, provider: &str, open: impl FnOnce() -> T) -> T {
        let own = {
            let mut locks = self.lock();
            // Names come from clients: a lock that no request has is given up, so there are no more locks than requests.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(locks.entry(provider.to_owned()).or_default())
        };
        // It guards no value.
        let _alone = own.lock().unwrap_or_else(PoisonError::into_inner);
        open()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Mutex<()>>>> {
        // Entries are put in and out in one step, so the map is valid even after a panic of another thread.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptModels {
    fn lock(&self) -> MutexGuard<'_, KeptState> {
        // Entries are moved in and out in one step, so the lists are valid even after a panic of another thread.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the model of a name. `None` if it is not kept, or not current.
    pub fn find_named(&self, name: &str) -> Option<Arc<ReadyModel>> {
        self.lock().named.find(name)
    }

    /// Opens the model of a name, and keeps it.
    ///
    /// # Errors
    /// Those of [`ReadyModel::open`].
    pub fn keep_named(
        &self,
        ground: &Ground,
        name: &str,
        choice: &ProviderChoice,
        processes: &ModelProcesses,
    ) -> Result<Arc<ReadyModel>, EffectError> {
        self.0.opening.run_alone(choice.provider.name(), || {
            if let Some(ready) = self.find_named(name) {
                return Ok(ready);
            }
            let kept = open_kept(ground, name.to_owned(), choice, processes)?;
            let ready = Arc::clone(&kept.ready);
            let given_up = self.lock().named.keep(kept);
            drop(given_up);
            Ok(ready)
        })
    }

    /// Returns the model of a choice, opened and kept if it is not there.
    ///
    /// # Errors
    /// Those of [`ReadyModel::open`].
    pub(super) fn find_chosen(
        &self,
        ground: &Ground,
        choice: &ProviderChoice,
        processes: &ModelProcesses,
    ) -> Result<Arc<ReadyModel>, EffectError> {
        let key = ModelKey {
            provider: choice.provider.clone(),
            overrides: choice.overrides.clone(),
        };
        if let Some(ready) = self.lock().chosen.find(&key) {
            return Ok(ready);
        }
        self.0.opening.run_alone(choice.provider.name(), || {
            if let Some(ready) = self.lock().chosen.find(&key) {
                return Ok(ready);
            }
            let kept = open_kept(ground, key, choice, processes)?;
            let ready = Arc::clone(&kept.ready);
            let given_up = self.lock().chosen.keep(kept);
            drop(given_up);
            Ok(ready)
        })
    }
}

fn open_kept<K>(
    ground: &Ground,
    key: K,
    choice: &ProviderChoice,
    processes: &ModelProcesses,
) -> Result<KeptModel<K>, EffectError> {
    let marks = SettingsMarks::take(ground, choice.provider.name());
    let ready = Arc::new(ReadyModel::open(ground, choice, processes)?);
    Ok(KeptModel {
        key,
        stamp: marks.into_stamp(),
        ready,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_that_is_being_opened_lets_others_open() {
        let locks = OpeningLocks::default();
        // With one lock for all, the inner opening would wait for the outer one.
        let opened = locks.run_alone("silent", || locks.run_alone("cloud", || locks.lock().len()));
        assert_eq!(opened, 2);
        let again = locks.run_alone("other", || locks.lock().keys().cloned().collect::<Vec<_>>());
        assert_eq!(again, ["other"], "a lock that is not held is given up");
    }

    #[test]
    fn a_provider_is_opened_by_one_request_at_a_time() {
        let locks = OpeningLocks::default();
        let running = Mutex::new(());
        let open = || {
            locks.run_alone("mine", || {
                let alone = running.try_lock();
                std::thread::yield_now();
                alone.is_ok()
            })
        };
        let alone = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            all.into_iter().all(|opening| opening.join().unwrap())
        });
        assert!(alone);
    }
}
