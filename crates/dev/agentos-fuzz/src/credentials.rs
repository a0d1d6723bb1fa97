//! The key file: a key is returned exactly as it is written there, and no message repeats one.
//!
//! Owns: the claims about the file's content. Never: asks a keyring.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use agentos_credentials::{FileStore, SecretStore};
use agentos_tool::Secret;
use serde_json::Value;

use crate::scratch;

const NAME: &str = "openai.api_key";
const OTHER: &str = "fuzz.api_key";
const KEY: &str = "sk-fuzz-0d1f5c2b7a9e4c68";
/// Length from which a word in a message could be a key; the words of messages are shorter.
const LONG_WORD: usize = 16;

/// Reads the bytes as the key file.
///
/// # Panics
/// If a claim does not hold.
pub fn check_credentials(data: &[u8]) {
    let folder = scratch::make_folder();
    let path = folder.path().join("keys.json");
    scratch::write_file(&path, data);
    // The store refuses a file that other users could read.
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
            // Replacing a file that cannot be read would lose the keys in it.
            assert!(set.is_err(), "a file that is not understood was replaced");
            return;
        }
    };
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

/// No long word of the file may be in a message.
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
