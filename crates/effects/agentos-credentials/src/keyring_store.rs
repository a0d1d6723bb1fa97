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
const NO_SERVICE: &str = "no such service answers in this session";

/// Keys in a keyring.
#[derive(Debug, Clone)]
pub struct KeyringStore {
    /// None for the system's own, which is opened on first use.
    store: Option<Arc<CredentialStore>>,
    /// Without it there is no keyring.
    socket: Option<PathBuf>,
    limit: Duration,
}

impl KeyringStore {
    /// The system's keyring. Each call waits at most `limit`, in which a person may have to unlock it. `socket` is the one
    /// through which it is reached, where it is known: where that is not there, nobody is asked.
    #[must_use]
    pub fn system(limit: Duration, socket: Option<PathBuf>) -> Self {
        Self {
            store: None,
            socket,
            limit,
        }
    }

    /// Any other store of the keyring library.
    #[must_use]
    pub fn over(store: Arc<CredentialStore>, limit: Duration) -> Self {
        Self {
            store: Some(store),
            socket: None,
            limit,
        }
    }

    pub(crate) fn set(&self, name: &str, key: &Secret) -> Result<(), CredentialError> {
        let key = key.clone();
        self.call(name, move |entry| entry.set_password(key.expose()))
    }

    pub(crate) fn get(&self, name: &str) -> Result<Option<Secret>, CredentialError> {
        self.call(name, |entry| match entry.get_password() {
            Ok(key) => Ok(Some(Secret::new(&key))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(error),
        })
    }

    pub(crate) fn clear(&self, name: &str) -> Result<bool, CredentialError> {
        self.call(name, |entry| match entry.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(error),
        })
    }

    /// Runs one call on a thread of its own: the library blocks, and a bus that does not answer would block for
    /// ever. A thread that is left behind ends with the process.
    fn call<T, F>(&self, name: &str, work: F) -> Result<T, CredentialError>
    where
        T: Send + 'static,
        F: FnOnce(Entry) -> Result<T, Error> + Send + 'static,
    {
        if self.socket.as_ref().is_some_and(|socket| !socket.exists()) {
            return Err(CredentialError::NoKeyring {
                reason: NO_SERVICE.to_owned(),
            });
        }
        let (send, receive) = mpsc::channel();
        let store = self.store.clone();
        let name = name.to_owned();
        thread::spawn(move || {
            let outcome = open(store)
                .and_then(|store| store.build(SERVICE, &name, None).map_err(in_words))
                .and_then(|entry| work(entry).map_err(in_words));
            // The receiver is gone when the limit was reached; nobody wants the answer then.
            let _ = send.send(outcome);
        });
        match receive.recv_timeout(self.limit) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => Err(CredentialError::KeyringSilent {
                seconds: self.limit.as_secs(),
            }),
            Err(RecvTimeoutError::Disconnected) => Err(CredentialError::Keyring {
                reason: "it ended without an answer".to_owned(),
            }),
        }
    }
}

fn open(store: Option<Arc<CredentialStore>>) -> Result<Arc<CredentialStore>, CredentialError> {
    if let Some(store) = store {
        return Ok(store);
    }
    // Asking for the status opens the system's store; opening an entry would hide the reason of a failure.
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
        reason: "this system has none that is known".to_owned(),
    })
}

/// The library's error without the bytes that some of its variants carry.
fn in_words(error: Error) -> CredentialError {
    let failed = |reason: String| CredentialError::Keyring { reason };
    match error {
        Error::NoStorageAccess(source) => CredentialError::Locked {
            reason: one_line(&source.to_string()),
        },
        Error::PlatformFailure(source) => failed(one_line(&source.to_string())),
        Error::NoDefaultStore => CredentialError::NoKeyring {
            reason: "this system has none that is known".to_owned(),
        },
        Error::NoEntry => failed("the key is gone".to_owned()),
        Error::BadEncoding(_) | Error::BadDataFormat(_, _) => failed("the stored key is not text".to_owned()),
        Error::BadStoreFormat(_) => failed("its data is damaged".to_owned()),
        Error::TooLong(_, most) => failed(format!("it takes at most {most} characters")),
        Error::Invalid(attribute, _) => failed(format!("it does not accept the {attribute}")),
        Error::Ambiguous(entries) => failed(format!("it holds {} keys of this name", entries.len())),
        // The library may add variants; what they carry is not known, so it is not shown.
        _ => failed("for a reason it does not give".to_owned()),
    }
}

/// What the system says, on one line; of the bus that a keyring is reached by, no more than that it is the bus.
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
