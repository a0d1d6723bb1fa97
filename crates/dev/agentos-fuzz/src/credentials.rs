//! Fuzz target for the key file. Its properties: a key is returned as the file states it, without the blanks around it;
//! adding a key changes no other key; no error message contains a part of the file; a file that cannot be read is never
//! replaced.
//!
//! Owns: checking these properties. Never: uses the system's keyring.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use agentos_credentials::{FileStore, SecretStore};
use agentos_tool::Secret;
use serde_json::Value;

use crate::scratch;

/// Name of the key that is read from the fuzzed file.
const NAME: &str = "openai.api_key";
/// Name and value of the key that is added to it.
const OTHER: &str = "fuzz.api_key";
const KEY: &str = "sk-fuzz-0d1f5c2b7a9e4c68";
/// Minimum length of a word that could be a key. Our own words in a message are shorter.
const LONG_WORD: usize = 16;

/// Checks the key store with these bytes as the key file.
///
/// # Panics
/// If a property does not hold.
pub fn check_credentials(data: &[u8]) {
    let folder = scratch::make_folder();
    let path = folder.path().join("keys.json");
    scratch::write_file(&path, data);
    // With other permissions the store would refuse the file, because other users could read it.
    for (place, mode) in [(folder.path(), 0o700), (path.as_path(), 0o600)] {
        if let Err(error) = fs::set_permissions(place, fs::Permissions::from_mode(mode)) {
            panic!("`{}`: {error}", place.display());
        }
    }
    let store = SecretStore::File(FileStore::new(path));
    let whole: Option<Value> = serde_json::from_slice(data).ok();
    let stated = whole
        .as_ref()
        .and_then(|whole| whole.get("keys")?.get(NAME)?.as_str());
    let found = match store.read_key(NAME) {
        Ok(found) => found.map(|key| key.expose().to_owned()),
        Err(error) => {
            check_words(&error.to_string(), data, &folder.path().display().to_string());
            let set = store.set_key(OTHER, &Secret::new(KEY));
            // Replacing a file that cannot be parsed would lose the keys in it.
            assert!(set.is_err(), "a file that is not understood was replaced");
            return;
        }
    };
    // `Secret::new` removes the blanks around a key.
    assert_eq!(found.as_deref(), stated.map(str::trim), "another key came out");
    let set = store.set_key(OTHER, &Secret::new(KEY));
    assert!(set.is_ok(), "a key cannot be added: {set:?}");
    let other = store.read_key(OTHER).ok().flatten();
    assert!(
        other.is_some_and(|key| key.expose() == KEY),
        "the added key is not there"
    );
    let again = store
        .read_key(NAME)
        .ok()
        .flatten()
        .map(|key| key.expose().to_owned());
    assert_eq!(again, found, "adding a key changed another one");
}

/// Checks that a message contains no long word of the file. The folder's path is removed from the message first, because
/// it is long and not secret.
fn check_words(message: &str, data: &[u8], folder: &str) {
    let message = message.replace(folder, "");
    let text = String::from_utf8_lossy(data);
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        assert!(
            word.len() < LONG_WORD || !message.contains(word),
            "a message repeats the file: {message}"
        );
    }
}
