//! Looking up a provider's key: flag, environment, keyring, file.
//!
//! Owns: that order, and the timeout of the keyring. Never: shows a key, or asks a store for a key that may not be sent
//! anyway.

use std::time::Duration;

use agentos_api::{KeyStatus, NextStep};
use agentos_credentials::{CredentialError, FileStore, KeyLookup, KeyringStore, SecretStore, find_key};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_profile::{KeyUse, Origin, ResolvedProfile};
use agentos_tool::{KeyObstacle, Secret};

use crate::Ground;
use crate::options::KeyStore;

/// Longest wait for reading a key: a keyring that must be unlocked first must not delay a health check.
pub const LOOKING: Duration = Duration::from_secs(2);
/// Longest wait for storing a key. A keyring that asks a person to unlock it first can be asked again; one that never answers must not
/// hold the terminal.
pub const STORING: Duration = Duration::from_secs(5);

/// Returns the user's stores, in the order in which they are asked.
pub fn user_stores(ground: &Ground) -> Vec<SecretStore> {
    let mut stores = vec![SecretStore::Keyring(KeyringStore::system_keyring(
        LOOKING,
        ground.environment().bus_socket(),
    ))];
    if let Some(path) = ground.environment().credentials_file() {
        stores.push(SecretStore::File(FileStore::new(path)));
    }
    stores
}

/// The key that may be sent, or the reason why there is none.
#[derive(Debug, Default)]
pub struct UsableKey {
    /// The key. `None` if none may be sent.
    pub key: Option<Secret>,
    /// The environment variable of the key, which overrides every store. `None` if the key came from elsewhere.
    pub variable: Option<String>,
    /// The reason why a key that may exist is not sent. `None` if there is a key, or none to expect.
    pub obstacle: Option<KeyObstacle>,
}

/// Looks up the key that may be sent for this profile.
pub fn find_usable_key(ground: &Ground, resolved: &ResolvedProfile) -> UsableKey {
    // Flag and environment before the stores: reading them takes no time, and a keyring can take seconds.
    if let Some(given) = resolved
        .given_keys
        .iter()
        .find(|given| given.key_use.is_allowed())
    {
        let variable = match &given.origin {
            Origin::Environment(name) => Some(name.clone()),
            Origin::Derived
            | Origin::BuiltIn
            | Origin::UserFile
            | Origin::ProjectFile
            | Origin::UserModel(_)
            | Origin::Flag => None,
        };
        return UsableKey {
            key: Some(given.key.clone()),
            variable,
            ..UsableKey::default()
        };
    }
    let kept_back = withheld_reason(resolved).map(|obstacle| KeyObstacle {
        why: format!("no key is sent: {}", obstacle.why),
        ..obstacle
    });
    // Not even read: a locked keyring would ask the user for its password, for a key that is not used.
    if !resolved.stored_key.is_allowed() {
        return UsableKey {
            obstacle: kept_back,
            ..UsableKey::default()
        };
    }
    let lookup = find_key(&user_stores(ground), &resolved.profile.api_key_ref);
    let obstacle = match &lookup.found {
        Some(_) => None,
        None => kept_back.or_else(|| {
            describe_problems(&lookup)
                .into_iter()
                .next()
                .map(KeyObstacle::new)
        }),
    };
    UsableKey {
        key: lookup.found.map(|found| found.key),
        variable: None,
        obstacle,
    }
}

/// Returns why a key is not sent, first a given one, then a stored one. `None` if both may be sent.
fn withheld_reason(resolved: &ResolvedProfile) -> Option<KeyObstacle> {
    let given = resolved.given_keys.iter().map(|given| &given.key_use);
    given
        .chain([&resolved.stored_key])
        .find_map(|key_use| match key_use {
            KeyUse::Allowed => None,
            KeyUse::Forbidden(obstacle) => Some(obstacle.clone()),
        })
}

/// Returns the problems of stores that may contain the key and could not be asked. A missing keyring is not among them: it is
/// the usual state of a server.
fn describe_problems(lookup: &KeyLookup) -> Vec<String> {
    let told = lookup
        .problems
        .iter()
        .filter(|(_, problem)| !is_no_keyring(problem));
    told.map(|(_, problem)| problem.to_string()).collect()
}

fn is_no_keyring(problem: &CredentialError) -> bool {
    matches!(problem, CredentialError::NoKeyring { .. })
}

/// Returns the environment variable that contains a provider's key. `None` if none does.
pub fn key_variable(ground: &Ground, provider: &str) -> Option<String> {
    let mut names = agentos_profile::env_names(provider).api_key.into_iter();
    names.find(|name| ground.environment().get(name).is_some())
}

/// Returns the status of this profile's key, with nothing secret.
pub fn key_status(ground: &Ground, resolved: &ResolvedProfile) -> KeyStatus {
    let given = &resolved.given_keys;
    let sent = given.iter().find(|given| given.key_use.is_allowed());
    if let Some(given) = sent {
        return KeyStatus {
            source: Some(given.origin.to_string()),
            hint: given.key.hint(),
            ..KeyStatus::default()
        };
    }
    let lookup = find_key(&user_stores(ground), &resolved.profile.api_key_ref);
    let problems = describe_problems(&lookup);
    // The same order as in `find_usable_key`: a stored key that may be sent is used before a variable that may not.
    let stored = lookup
        .found
        .as_ref()
        .filter(|_| resolved.stored_key.is_allowed() || given.is_empty());
    if let Some(found) = stored {
        return KeyStatus {
            source: Some(found.store.to_string()),
            hint: found.key.hint(),
            problems,
            ..withheld_status(withheld_reason(resolved).filter(|_| !resolved.stored_key.is_allowed()))
        };
    }
    KeyStatus {
        source: given.first().map(|given| given.origin.to_string()),
        hint: given.first().and_then(|given| given.key.hint()),
        problems,
        ..withheld_status(given.first().and(withheld_reason(resolved)))
    }
}

/// Returns a status that says why a key is not sent, and nothing else.
fn withheld_status(obstacle: Option<KeyObstacle>) -> KeyStatus {
    let (withheld, next) = obstacle.map(|obstacle| (obstacle.why, obstacle.next)).unzip();
    KeyStatus {
        withheld,
        next: next.unwrap_or_default(),
        ..KeyStatus::default()
    }
}

/// The state of the system's keyring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keyring {
    /// The keyring answers.
    Usable,
    /// There is no keyring in this session.
    None,
    /// The keyring does not answer. Contains the reason in words.
    Failed(String),
}

/// Checks the keyring by asking for a name under which nothing is stored.
pub fn probe_keyring(ground: &Ground) -> Keyring {
    match SecretStore::Keyring(KeyringStore::system_keyring(
        LOOKING,
        ground.environment().bus_socket(),
    ))
    .read_key("agentos.doctor")
    {
        Ok(_) => Keyring::Usable,
        Err(problem) if is_no_keyring(&problem) => Keyring::None,
        Err(problem) => Keyring::Failed(problem.to_string()),
    }
}

/// Changes proposals to store a key: without a keyring, they name the file store.
pub fn name_key_store<'a>(ground: &Ground, steps: impl Iterator<Item = &'a mut NextStep>) {
    let mut proposals: Vec<&mut bool> = steps
        .filter_map(|step| match step {
            NextStep::SetKey { in_file, .. } => Some(in_file),
            _ => None,
        })
        .collect();
    // A keyring can take seconds to answer, so it is asked only if a proposal depends on it.
    if proposals.is_empty() || probe_keyring(ground) != Keyring::None {
        return;
    }
    for in_file in &mut proposals {
        **in_file = true;
    }
}

/// Stores a key in the named store.
///
/// # Errors
/// If the store cannot be used.
pub fn store_key(ground: &Ground, store: KeyStore, name: &str, key: &Secret) -> Result<(), EffectError> {
    let store = match store {
        KeyStore::Keyring => SecretStore::Keyring(KeyringStore::system_keyring(
            STORING,
            ground.environment().bus_socket(),
        )),
        KeyStore::File => SecretStore::File(FileStore::new(
            ground.environment().credentials_file().ok_or_else(no_home)?,
        )),
    };
    store.set_key(name, key).map_err(|error| not_stored(&error))
}

/// Checks that keys can be stored in the named store, as far as that shows before.
///
/// # Errors
/// If the store cannot be used.
pub fn check_store(ground: &Ground, store: KeyStore) -> Result<(), EffectError> {
    match store {
        KeyStore::Keyring => {
            let keyring = KeyringStore::system_keyring(STORING, ground.environment().bus_socket());
            let read = SecretStore::Keyring(keyring).read_key("agentos.doctor");
            read.map(drop).map_err(|error| not_stored(&error))
        }
        KeyStore::File => ground
            .environment()
            .credentials_file()
            .map(drop)
            .ok_or_else(no_home),
    }
}

fn not_stored(error: &CredentialError) -> EffectError {
    let mut effect = EffectError::from_error(Cause::Tool, "key-not-stored", error);
    effect.hint = error.hint();
    effect.suggest_steps(error.next_steps())
}

/// Removes a key from every store. Returns true if there was one.
///
/// # Errors
/// If a store cannot be asked: the key may still be there. A missing keyring is no error: it contains nothing.
pub fn clear_key(ground: &Ground, name: &str) -> Result<bool, EffectError> {
    clear_stores(user_stores(ground), name)
}

/// Removes a key from every store but this one.
///
/// # Errors
/// If a store cannot be asked.
pub fn clear_other_stores(ground: &Ground, kept: KeyStore, name: &str) -> Result<(), EffectError> {
    let mut others = user_stores(ground);
    others.retain(|store| match (store, kept) {
        (SecretStore::Keyring(_), KeyStore::Keyring) | (SecretStore::File(_), KeyStore::File) => false,
        (SecretStore::Keyring(_) | SecretStore::File(_), KeyStore::Keyring | KeyStore::File) => true,
    });
    clear_stores(others, name).map(drop)
}

fn clear_stores(stores: Vec<SecretStore>, name: &str) -> Result<bool, EffectError> {
    let mut gone = false;
    for store in stores {
        // Every store, because a key that is left in one of them would be used next time.
        match store.remove_key(name) {
            Ok(was_there) => gone |= was_there,
            Err(error) if !is_no_keyring(&error) => {
                let mut effect = EffectError::from_error(Cause::Tool, "key-not-cleared", &error);
                effect.hint = error.hint();
                return Err(effect.suggest_steps(error.next_steps()));
            }
            Err(error) => tracing::debug!(%error, "there is no keyring to ask"),
        }
    }
    Ok(gone)
}

fn no_home() -> EffectError {
    EffectError::new(Cause::Usage, "no-home", "there is no home folder to keep keys in").hint("set `HOME`")
}
