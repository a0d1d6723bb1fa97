//! Which store's key is used.

use std::time::Duration;

use agentos_credentials::{FileStore, KeyringStore, Store, StoreKind, find};
use agentos_tool::Secret;
use keyring_core::api::CredentialStoreApi as _;
use keyring_core::{Error, mock};

use crate::CANARY;

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn the_keyring_is_asked_before_the_file() {
    let temp = tempfile::tempdir().unwrap();
    let stores = [
        Store::Keyring(KeyringStore::over(mock::Store::new().unwrap(), LIMIT)),
        Store::File(FileStore::new(temp.path().join(".agentos/credentials.json"))),
    ];
    let [keyring, file] = &stores;
    assert!(find(&stores, "a").found.is_none());
    file.set("a", &Secret::new(CANARY)).unwrap();
    assert_eq!(find(&stores, "a").found.unwrap().store, StoreKind::File);
    keyring.set("a", &Secret::new("in-the-keyring")).unwrap();
    let found = find(&stores, "a").found.unwrap();
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
        Store::Keyring(KeyringStore::over(double.clone(), LIMIT)),
        Store::File(FileStore::new(temp.path().join(".agentos/credentials.json"))),
    ];
    fail();
    let nothing = find(&stores, "a");
    assert!(nothing.found.is_none());
    assert_eq!(nothing.problems.len(), 1);
    stores[1].set("a", &Secret::new(CANARY)).unwrap();
    fail();
    assert_eq!(find(&stores, "a").found.unwrap().store, StoreKind::File);
}
