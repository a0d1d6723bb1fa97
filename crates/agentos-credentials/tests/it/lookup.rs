//! Which store's key is used, and what is shown of it.

use std::time::Duration;

use agentos_credentials::{FileStore, KeyringStore, Store, StoreKind, find, status};
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

#[test]
fn the_status_shows_the_place_and_never_the_key() {
    let temp = tempfile::tempdir().unwrap();
    let store = Store::File(FileStore::new(temp.path().join(".agentos/credentials.json")));
    store.set("openai.api_key", &Secret::new(CANARY)).unwrap();
    store.set("short", &Secret::new("canary")).unwrap();
    let shown = format!(
        "{:#?} {store:?}",
        status(std::slice::from_ref(&store), &["openai.api_key", "short", "none"])
    );
    assert!(!shown.contains("canary"));
    let lines: Vec<String> = status(std::slice::from_ref(&store), &["openai.api_key", "short", "none"])
        .into_iter()
        .map(|key| format!("{}: {:?} {:?}", key.name, key.store, key.hint))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    openai.api_key: Some(File) Some("7e81")
    short: Some(File) None
    none: None None
    "#);
}
