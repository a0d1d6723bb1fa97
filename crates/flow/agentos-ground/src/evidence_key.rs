//! The key that signs the end of a run, and the keys whose signatures are trusted.
//!
//! Owns: where they are stored, and making the first one. Never: signs, or lets a run fail because there is no key: a run
//! that cannot be signed says why.
//!
//! The key is looked up in the key file, then in the keyring. A run makes the first one only in an open keyring: nobody
//! agreed to a secret in a file. Without a keyring, runs end unsigned until `agentos evidence key rotate --store file`
//! makes a key. A locked keyring may contain the key, so it is no reason to make another.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_api::{KeyReport, KnownKey, OwnKey};
use agentos_credentials::{CredentialError, FileStore, KeyringStore, SecretStore};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::{PublicKey, SigningKey, TrustedKey, trust_key, trusted_keys};

use crate::Ground;
use crate::error::usage_error;
use crate::files;
use crate::options::KeyStore;
use crate::tape::evidence_error;

/// The name of the key in either store.
const NAME: &str = "evidence.signing_key";
/// Longest wait for a keyring during a run: one that must be unlocked first must not delay the run.
const LOOKING: Duration = Duration::from_secs(2);
/// Longest wait for a keyring when a person makes a key, and may have to unlock it.
const STORING: Duration = Duration::from_secs(5);

/// The user's key, with the store that keeps it.
pub struct StoredKey {
    /// The key.
    pub key: SigningKey,
    /// `file` or `keyring`.
    pub store: &'static str,
}

/// The reason why a run is not signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnsignedReason {
    /// The user has no key, and no keyring to make one in. This is usual on a server, so runs do not report it.
    NoKey,
    /// There is or may be a key, and it cannot be read. Contains the reason in words.
    Failed(String),
}

impl UnsignedReason {
    /// Returns the reason in words, for the record.
    pub fn in_words(&self) -> &str {
        match self {
            Self::NoKey => "there is no keyring, and no key in a file",
            Self::Failed(why) => why,
        }
    }
}

/// Returns the user's key. The first call on a machine with a keyring makes it.
///
/// # Errors
/// If there is none, with the reason.
pub fn find_or_make_key(ground: &Ground) -> Result<StoredKey, UnsignedReason> {
    match look_up_key(ground).map_err(UnsignedReason::Failed)? {
        KeySearch::Key(kept) => Ok(*kept),
        KeySearch::Nothing(KeyStore::File) => Err(UnsignedReason::NoKey),
        KeySearch::Nothing(KeyStore::Keyring) => {
            make_key(ground, KeyStore::Keyring).map_err(|error| UnsignedReason::Failed(error.message))
        }
    }
}

/// Returns the user's key. `None` if there is none.
///
/// # Errors
/// If it cannot be read, with the reason in words.
pub fn existing_key(ground: &Ground) -> Result<Option<StoredKey>, String> {
    Ok(match look_up_key(ground)? {
        KeySearch::Key(kept) => Some(*kept),
        KeySearch::Nothing(_) => None,
    })
}

/// Makes a new key. Signatures of the old one stay trusted.
///
/// # Errors
/// If it cannot be made or stored.
pub fn rotate_key(ground: &Ground, store: Option<KeyStore>) -> Result<StoredKey, EffectError> {
    let store = match store {
        Some(store) => store,
        // The new key goes where the old one is: the file is read first, and a key that stays there would be used.
        None => match look_up_key(ground) {
            Ok(KeySearch::Key(kept)) if kept.store == KEYRING => KeyStore::Keyring,
            // A key in the file is replaced there. With a keyring that fails, the file is the only store left.
            Ok(KeySearch::Key(_)) | Err(_) => KeyStore::File,
            Ok(KeySearch::Nothing(store)) => store,
        },
    };
    let kept = make_key(ground, store)?;
    if store == KeyStore::Keyring {
        // The file is read before the keyring, so an older key there would hide this one.
        let cleared = SecretStore::File(key_file(ground)?).remove_key(NAME);
        cleared.map_err(|error| not_kept(&error))?;
    }
    Ok(kept)
}

const FILE: &str = "file";
const KEYRING: &str = "keyring";

/// The result of looking for the key.
enum KeySearch {
    /// The key.
    Key(Box<StoredKey>),
    /// No key yet, and the store in which to make it.
    Nothing(KeyStore),
}

/// Looks the key up in the file, then in the keyring.
fn look_up_key(ground: &Ground) -> Result<KeySearch, String> {
    // The file first: reading it takes no time, and a keyring may ask the user to unlock it.
    let file = SecretStore::File(key_file(ground).map_err(|error| error.message)?);
    if let Some(secret) = file.read_key(NAME).map_err(|error| error.to_string())? {
        let key = SigningKey::from_secret(&secret).map_err(|error| error.to_string())?;
        return Ok(KeySearch::Key(Box::new(StoredKey { key, store: FILE })));
    }
    match SecretStore::Keyring(KeyringStore::system_keyring(
        LOOKING,
        ground.environment().bus_socket(),
    ))
    .read_key(NAME)
    {
        Ok(Some(secret)) => {
            let key = SigningKey::from_secret(&secret).map_err(|error| error.to_string())?;
            Ok(KeySearch::Key(Box::new(StoredKey { key, store: KEYRING })))
        }
        Ok(None) => Ok(KeySearch::Nothing(KeyStore::Keyring)),
        Err(CredentialError::NoKeyring { .. }) => Ok(KeySearch::Nothing(KeyStore::File)),
        Err(error) => Err(error.to_string()),
    }
}

/// Makes a key, trusts it and stores it.
fn make_key(ground: &Ground, store: KeyStore) -> Result<StoredKey, EffectError> {
    let (key, secret) = SigningKey::generate().map_err(|error| evidence_error(&error))?;
    // Trusted before it is stored: after a crash in between, no stored key may sign without being trusted.
    trust_key(&trust_file(ground)?, &key_owner(ground), &key.public())
        .map_err(|error| evidence_error(&error))?;
    let (store, name) = match store {
        KeyStore::Keyring => {
            let keyring = KeyringStore::system_keyring(STORING, ground.environment().bus_socket());
            (SecretStore::Keyring(keyring), KEYRING)
        }
        KeyStore::File => (SecretStore::File(key_file(ground)?), FILE),
    };
    store.set_key(NAME, &secret).map_err(|error| not_kept(&error))?;
    tracing::info!(key = %key.public().id(), store = name, "created a key that signs evidence");
    Ok(StoredKey { key, store: name })
}

fn not_kept(error: &CredentialError) -> EffectError {
    let mut effect = EffectError::from_error(Cause::Tool, "key-not-stored", error);
    effect.hint = error.hint();
    effect.suggest_steps(error.next_steps())
}

fn key_file(ground: &Ground) -> Result<FileStore, EffectError> {
    ground
        .environment()
        .credentials_file()
        .map(FileStore::new)
        .ok_or_else(no_home)
}

fn no_home() -> EffectError {
    EffectError::new(Cause::Usage, "no-home", "there is no home folder to keep keys in").hint("set `HOME`")
}

/// Returns the file of trusted keys: `allowed_signers` among the user's settings, in OpenSSH's form.
///
/// # Errors
/// If there is no home folder.
pub fn trust_file(ground: &Ground) -> Result<PathBuf, EffectError> {
    let dir = ground.environment().config_dir().ok_or_else(no_home)?;
    Ok(dir.join("allowed_signers"))
}

/// Reads the keys whose signatures are trusted. Without a home folder, there are none.
///
/// # Errors
/// If the list cannot be read.
pub fn read_trusted_keys(ground: &Ground) -> Result<Vec<TrustedKey>, EffectError> {
    match trust_file(ground) {
        Ok(path) => trusted_keys(&path).map_err(|error| evidence_error(&error)),
        // Without a list of keys, the chain of the records can be verified all the same.
        Err(_) => Ok(Vec::new()),
    }
}

/// Adds a key to the trusted ones. Returns false if it was trusted already.
///
/// # Errors
/// If the list cannot be written.
pub fn add_trusted_key(ground: &Ground, name: &str, key: &PublicKey) -> Result<bool, EffectError> {
    trust_key(&trust_file(ground)?, name, key).map_err(|error| evidence_error(&error))
}

/// Returns the user's name with only the characters that the file of trusted keys allows.
fn key_owner(ground: &Ground) -> String {
    // In OpenSSH's `allowed_signers`, a blank ends the names and a comma separates them (ssh-keygen(1)).
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = ground.person_name().chars().filter(plain).take(60).collect();
    if name.is_empty() { "me".to_owned() } else { name }
}

impl Ground {
    /// Shows the user's evidence key and those that are trusted.
    ///
    /// # Errors
    /// If the key or the list cannot be read.
    pub fn evidence_keys(&self) -> Result<KeyReport, EffectError> {
        let own = existing_key(self).map_err(|why| {
            let message = format!("the key cannot be read: {why}");
            EffectError::new(Cause::Tool, "no-signing-key", message)
        })?;
        make_report(self, own.as_ref())
    }

    /// Makes a new evidence key. Returns true with it if it is the first one. Signatures of older keys stay trusted.
    ///
    /// # Errors
    /// If it cannot be made or stored.
    pub fn rotate_evidence_key(&self, store: Option<KeyStore>) -> Result<(KeyReport, bool), EffectError> {
        let is_first = read_trusted_keys(self)?.is_empty();
        let kept = rotate_key(self, store)?;
        Ok((make_report(self, Some(&kept))?, is_first))
    }

    /// Adds keys to the trusted ones, from a file with OpenSSH's lines or from such a line itself. Returns the id of each key,
    /// with true if it is new.
    ///
    /// # Errors
    /// If there is no Ed25519 key, or the list cannot be written.
    pub fn trust_evidence_keys(&self, name: &str, given: &str) -> Result<Vec<(String, bool)>, EffectError> {
        let text = match given.starts_with("ssh-ed25519 ") {
            true => given.to_owned(),
            false => files::read_text_file(self.environment(), Path::new(given), 1 << 20)?,
        };
        let keys: Vec<PublicKey> = text.lines().filter_map(PublicKey::from_line).collect();
        if keys.is_empty() {
            return Err(usage_error("there is no Ed25519 key in what was given")
                .hint("give a file with lines as `ssh-ed25519 AAAA…`, or such a line itself"));
        }
        let trusted = keys
            .iter()
            .map(|key| Ok((key.id(), add_trusted_key(self, name, key)?)));
        trusted.collect()
    }
}

fn make_report(ground: &Ground, own: Option<&StoredKey>) -> Result<KeyReport, EffectError> {
    Ok(KeyReport {
        version: 1,
        key: own.map(|kept| OwnKey {
            id: kept.key.public().id(),
            public: kept.key.public().line(),
            store: kept.store.to_owned(),
        }),
        trusted: read_trusted_keys(ground)?.iter().map(to_known_key).collect(),
    })
}

fn to_known_key(key: &TrustedKey) -> KnownKey {
    KnownKey {
        name: key.name.clone(),
        id: key.key.id(),
        public: key.key.line(),
    }
}
