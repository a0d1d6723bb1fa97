//! The system's keyring: Secret Service on Linux, Keychain on macOS, Credential Manager on Windows.
//!
//! Owns: the service name, a limit on waiting, and clear errors. Never: falls back to anything.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use agentos_tool::Secret;
use keyring_core::{CredentialStore, Entry, Error};

use crate::CredentialError;

const SERVICE: &str = "agentos";
const NO_SERVICE: &str = "no keyring service answers in this session";

/// Key store in the system's keyring.
#[derive(Debug, Clone)]
pub struct KeyringStore {
    /// Store of the keyring library. `None` for the system's own, which is opened on first use.
    store: Option<Arc<CredentialStore>>,
    /// Socket of the keyring's bus. If it is known and does not exist, no keyring is available.
    socket: Option<PathBuf>,
    limit: Duration,
}

impl KeyringStore {
    /// Makes a store of the system's keyring. `limit` is the timeout of each call, in which the user may have to unlock it.
    /// `socket` is the bus of the keyring, if it is known; if it does not exist, no call is made.
    #[must_use]
    pub fn system_keyring(limit: Duration, socket: Option<PathBuf>) -> Self {
        Self {
            store: None,
            socket,
            limit,
        }
    }

    /// Makes a store of any other store of the keyring library.
    #[must_use]
    pub fn with_store(store: Arc<CredentialStore>, limit: Duration) -> Self {
        Self {
            store: Some(store),
            socket: None,
            limit,
        }
    }

    pub(crate) fn set_key(&self, name: &str, key: &Secret) -> Result<(), CredentialError> {
        let key = key.clone();
        self.call_keyring(name, move |entry| entry.set_password(key.expose()))
    }

    pub(crate) fn read_key(&self, name: &str) -> Result<Option<Secret>, CredentialError> {
        self.call_keyring(name, |entry| match entry.get_password() {
            Ok(key) => Ok(Some(Secret::new(&key))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(error),
        })
    }

    pub(crate) fn remove_key(&self, name: &str) -> Result<bool, CredentialError> {
        self.call_keyring(name, |entry| match entry.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(error),
        })
    }

    /// Runs one call on a thread of its own, because the library blocks, and a bus that does not answer would block forever.
    /// After a timeout the thread is left to end with the process.
    fn call_keyring<T, F>(&self, name: &str, work: F) -> Result<T, CredentialError>
    where
        T: Send + 'static,
        F: FnOnce(Entry) -> Result<T, Error> + Send + 'static,
    {
        // A bus without a socket cannot answer, and the library may need the whole limit to find that out.
        if self.socket.as_ref().is_some_and(|socket| !socket.exists()) {
            return Err(CredentialError::NoKeyring {
                reason: NO_SERVICE.to_owned(),
            });
        }
        let (send, receive) = mpsc::channel();
        let store = self.store.clone();
        let name = name.to_owned();
        thread::spawn(move || {
            let outcome = open_store(store)
                .and_then(|store| store.build(SERVICE, &name, None).map_err(in_words))
                .and_then(|entry| work(entry).map_err(in_words));
            // After the timeout the receiver is dropped and the answer is not needed.
            let _ = send.send(outcome);
        });
        match receive.recv_timeout(self.limit) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => Err(CredentialError::KeyringSilent {
                seconds: self.limit.as_secs(),
            }),
            Err(RecvTimeoutError::Disconnected) => Err(CredentialError::Keyring {
                reason: "the call ended without an answer".to_owned(),
            }),
        }
    }
}

fn open_store(store: Option<Arc<CredentialStore>>) -> Result<Arc<CredentialStore>, CredentialError> {
    if let Some(store) = store {
        return Ok(store);
    }
    // The status call opens the system's store. Opening an entry would do so too, but hides why it failed.
    if let Err(error) = keyring::Entry::store_status() {
        return Err(CredentialError::NoKeyring {
            reason: match error {
                Error::PlatformFailure(source) | Error::NoStorageAccess(source) => {
                    one_line(&source.to_string())
                }
                other => one_line(&other.to_string()),
            },
        });
    }
    keyring_core::get_default_store().ok_or_else(|| CredentialError::NoKeyring {
        reason: "no keyring is supported on this system".to_owned(),
    })
}

/// Converts the library's error without the bytes that some of its variants contain: those may be a key.
fn in_words(error: Error) -> CredentialError {
    let failed = |reason: String| CredentialError::Keyring { reason };
    match error {
        Error::NoStorageAccess(source) => CredentialError::Locked {
            reason: one_line(&source.to_string()),
        },
        Error::PlatformFailure(source) => failed(one_line(&source.to_string())),
        Error::NoDefaultStore => CredentialError::NoKeyring {
            reason: "no keyring is supported on this system".to_owned(),
        },
        Error::NoEntry => failed("the key does not exist any more".to_owned()),
        Error::BadEncoding(_) | Error::BadDataFormat(_, _) => failed("the stored key is not text".to_owned()),
        Error::BadStoreFormat(_) => failed("the data of the keyring is damaged".to_owned()),
        Error::TooLong(_, most) => failed(format!("the keyring accepts at most {most} characters")),
        Error::Invalid(attribute, _) => failed(format!("the keyring does not accept the {attribute}")),
        Error::Ambiguous(entries) => failed(format!(
            "the keyring contains {} keys of this name",
            entries.len()
        )),
        // The library may add variants, whose contents could include a key, so they are not shown.
        _ => failed("the reason is unknown".to_owned()),
    }
}

/// Shortens a message of the system to one line. A message about the bus is replaced by a general one.
fn one_line(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if ["zbus", "dbus", "d-bus"].iter().any(|bus| lower.contains(bus)) {
        return NO_SERVICE.to_owned();
    }
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(300)
        .collect()
}
