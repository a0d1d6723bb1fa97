//! Which store's key is used.

use std::time::Duration;

use agentos_credentials::{FileStore, KeyringStore, SecretStore, StoreKind, find_key};
use agentos_tool::Secret;
use keyring_core::api::CredentialStoreApi as _;
use keyring_core::{Error, mock};

use crate::CANARY;

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn the_keyring_is_asked_before_the_file() {
    let temp = tempfile::tempdir().unwrap();
    let stores = [
        SecretStore::Keyring(KeyringStore::with_store(mock::Store::new().unwrap(), LIMIT)),
        SecretStore::File(FileStore::new(temp.path().join(".agentos/credentials.json"))),
    ];
    let [keyring, file] = &stores;
    assert!(find_key(&stores, "a").found.is_none());
    file.set_key("a", &Secret::new(CANARY)).unwrap();
    assert_eq!(find_key(&stores, "a").found.unwrap().store, StoreKind::File);
    keyring.set_key("a", &Secret::new("in-the-keyring")).unwrap();
    let found = find_key(&stores, "a").found.unwrap();
    assert_eq!(
        (found.store, found.key.expose()),
        (StoreKind::Keyring, "in-the-keyring")
    );
}

#[test]
fn a_broken_keyring_does_not_hide_the_file_and_is_told() {
    let temp = tempfile::tempdir().unwrap();
    let double = mock::Store::new().unwrap();
    let entry = double.build("agentos", "a", None).unwrap();
    let fail = || {
        let cred = entry.as_any().downcast_ref::<mock::Cred>().unwrap();
        cred.set_error(Error::NoStorageAccess("locked".into()));
    };
    let stores = [
        SecretStore::Keyring(KeyringStore::with_store(double.clone(), LIMIT)),
        SecretStore::File(FileStore::new(temp.path().join(".agentos/credentials.json"))),
    ];
    fail();
    let nothing = find_key(&stores, "a");
    assert!(nothing.found.is_none());
    assert_eq!(nothing.problems.len(), 1);
    stores[1].set_key("a", &Secret::new(CANARY)).unwrap();
    fail();
    assert_eq!(find_key(&stores, "a").found.unwrap().store, StoreKind::File);
}
