//! The keyring, by the library's own double.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use agentos_credentials::{CredentialError, KeyringStore, SecretStore};
use agentos_tool::Secret;
use keyring_core::api::CredentialStoreApi;
use keyring_core::{Entry, Error, mock};

use crate::CANARY;

const LIMIT: Duration = Duration::from_secs(30);

fn double() -> (Arc<mock::Store>, SecretStore) {
    let double = mock::Store::new().unwrap();
    let store = SecretStore::Keyring(KeyringStore::with_store(double.clone(), LIMIT));
    (double, store)
}

/// What a person reads when the keyring answers with this error.
fn told(error: Error) -> String {
    let (double, store) = double();
    let entry = double.build("agentos", "openai.api_key", None).unwrap();
    entry
        .as_any()
        .downcast_ref::<mock::Cred>()
        .unwrap()
        .set_error(error);
    let error = store.read_key("openai.api_key").unwrap_err();
    assert!(!format!("{error:?}").contains("canary"));
    let steps = error.next_steps();
    format!("{error} [{}] {steps:?}", error.hint().unwrap_or_default())
}

#[test]
fn a_key_is_kept_replaced_and_removed() {
    let (_, store) = double();
    assert!(store.read_key("a").unwrap().is_none());
    assert!(!store.remove_key("a").unwrap());
    store.set_key("a", &Secret::new("one")).unwrap();
    store.set_key("a", &Secret::new(CANARY)).unwrap();
    assert_eq!(store.read_key("a").unwrap().unwrap().expose(), CANARY);
    assert!(store.remove_key("a").unwrap());
    assert!(store.read_key("a").unwrap().is_none());
}

#[test]
fn keys_are_kept_for_the_service_agentos() {
    let (double, store) = double();
    store.set_key("openai.api_key", &Secret::new(CANARY)).unwrap();
    let entry = double.build("agentos", "openai.api_key", None).unwrap();
    assert_eq!(entry.get_password().unwrap(), CANARY);
}

#[test]
fn failures_are_told_without_the_bytes_they_carry() {
    let boxed = |text: &str| -> Box<dyn std::error::Error + Send + Sync> { text.to_owned().into() };
    let all = [
        told(Error::NoStorageAccess(boxed("no prompt\nwas answered"))),
        told(Error::PlatformFailure(boxed("the bus went away"))),
        told(Error::PlatformFailure(boxed(
            "zbus error: I/O error: No such file or directory",
        ))),
        told(Error::NoDefaultStore),
        told(Error::BadEncoding(CANARY.into())),
        told(Error::BadStoreFormat(CANARY.to_owned())),
        told(Error::TooLong("secret".to_owned(), 2560)),
    ];
    assert!(!all.concat().contains("canary"));
    insta::assert_snapshot!(all.join("\n"), @r"
    the keyring is locked: no prompt was answered [unlock the keyring in your desktop session] [KeepInFile]
    the keyring failed: the bus went away [] []
    the keyring failed: no keyring service answers in this session [] []
    no keyring is available: no keyring is supported on this system [] [KeepInFile]
    the keyring failed: the stored key is not text [] []
    the keyring failed: the data of the keyring is damaged [] []
    the keyring failed: the keyring accepts at most 2560 characters [] []
    ");
}

/// A keyring that answers only when it is let go.
#[derive(Debug, Default)]
struct Silent {
    gone: Mutex<bool>,
    wake: Condvar,
}

impl CredentialStoreApi for Silent {
    fn vendor(&self) -> String {
        "silent".to_owned()
    }

    fn id(&self) -> String {
        "silent".to_owned()
    }

    fn build(&self, _: &str, _: &str, _: Option<&HashMap<&str, &str>>) -> Result<Entry, Error> {
        let gone = self
            .wake
            .wait_while(self.gone.lock().unwrap(), |gone| !*gone)
            .unwrap();
        assert!(*gone);
        Err(Error::NoEntry)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[test]
fn a_keyring_that_does_not_answer_is_not_waited_for() {
    let silent = Arc::new(Silent::default());
    let store = SecretStore::Keyring(KeyringStore::with_store(silent.clone(), Duration::from_millis(1)));
    let error = store.set_key("a", &Secret::new(CANARY)).unwrap_err();
    assert!(
        matches!(error, CredentialError::KeyringSilent { seconds: 0 }),
        "{error}"
    );
    *silent.gone.lock().unwrap() = true;
    silent.wake.notify_all();
}

#[test]
fn without_the_socket_through_which_it_is_reached_there_is_no_keyring() {
    let folder = tempfile::tempdir().unwrap();
    let store = SecretStore::Keyring(KeyringStore::system_keyring(
        LIMIT,
        Some(folder.path().join("bus")),
    ));
    let error = store.read_key("a").unwrap_err();
    assert!(matches!(error, CredentialError::NoKeyring { .. }), "{error:?}");
}
