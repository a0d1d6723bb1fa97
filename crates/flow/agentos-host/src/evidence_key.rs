//! The key that signs the end of a run, and the keys whose signatures count.
//!
//! Owns: where they are kept, and making the first one. Never: signs, or lets a run fail for want of a key: a run
//! that cannot be signed says why.
//!
//! The key is looked for in the key file, then in the keyring. A run makes the first one in a keyring that is open, and
//! nowhere else: no secret comes into a file that nobody asked for, so where there is no keyring runs end unsigned until
//! `agentos evidence key rotate --store file` makes a key. A locked keyring may hold the key, so it is no reason to make
//! another.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_api::{KeyReport, KnownKey, OwnKey};
use agentos_credentials::{CredentialError, FileStore, KeyringStore, Store};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::{PublicKey, SigningKey, TrustedKey, trust_key, trusted_keys};

use crate::error::usage;
use crate::files;
use crate::host::Host;
use crate::options::KeyStore;
use crate::tape::broken;

/// The name of the key in either store.
const NAME: &str = "evidence.signing_key";
/// A keyring that wants to be unlocked first must not hold up a run.
const LOOKING: Duration = Duration::from_secs(2);
/// A person who makes a key may have to unlock it.
const STORING: Duration = Duration::from_secs(60);

/// The user's key and where it is kept.
pub struct Kept {
    /// The key.
    pub key: SigningKey,
    /// `file` or `keyring`.
    pub store: &'static str,
}

/// Why a run is not signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsigned {
    /// The user has no key, and no keyring to make one in: as things are, not worth a word at every run.
    NoKey,
    /// There is a key or there may be one, and it cannot be had, in words.
    Failed(String),
}

impl Unsigned {
    /// In words, for the record.
    pub fn words(&self) -> &str {
        match self {
            Self::NoKey => "there is no keyring, and no key in a file",
            Self::Failed(why) => why,
        }
    }
}

/// The user's key; the first call on a machine with a keyring makes it.
///
/// # Errors
/// Why there is none.
pub fn signer(host: &Host) -> Result<Kept, Unsigned> {
    match find(host).map_err(Unsigned::Failed)? {
        Found::Key(kept) => Ok(*kept),
        Found::Nothing(KeyStore::File) => Err(Unsigned::NoKey),
        Found::Nothing(KeyStore::Keyring) => {
            make(host, KeyStore::Keyring).map_err(|error| Unsigned::Failed(error.message))
        }
    }
}

/// The user's key if there is one.
///
/// # Errors
/// Why it cannot be had, in words.
pub fn existing(host: &Host) -> Result<Option<Kept>, String> {
    Ok(match find(host)? {
        Found::Key(kept) => Some(*kept),
        Found::Nothing(_) => None,
    })
}

/// Makes a new key. The old one goes on counting for what it signed.
///
/// # Errors
/// When it cannot be made or kept.
pub fn rotate(host: &Host, store: Option<KeyStore>) -> Result<Kept, EffectError> {
    let store = match store {
        Some(store) => store,
        None => match find(host) {
            Ok(Found::Key(kept)) if kept.store == KEYRING => KeyStore::Keyring,
            Ok(Found::Key(_)) | Err(_) => KeyStore::File,
            Ok(Found::Nothing(store)) => store,
        },
    };
    let kept = make(host, store)?;
    if store == KeyStore::Keyring {
        // The file is asked first: an older key there would hide this one.
        let cleared = Store::File(key_file(host)?).clear(NAME);
        cleared.map_err(|error| not_kept(&error))?;
    }
    Ok(kept)
}

const FILE: &str = "file";
const KEYRING: &str = "keyring";

enum Found {
    Key(Box<Kept>),
    /// No key yet, and the store in which to make it.
    Nothing(KeyStore),
}

fn find(host: &Host) -> Result<Found, String> {
    let file = Store::File(key_file(host).map_err(|error| error.message)?);
    if let Some(secret) = file.get(NAME).map_err(|error| error.to_string())? {
        let key = SigningKey::from_secret(&secret).map_err(|error| error.to_string())?;
        return Ok(Found::Key(Box::new(Kept { key, store: FILE })));
    }
    match Store::Keyring(KeyringStore::system(LOOKING, host.environment().bus_socket())).get(NAME) {
        Ok(Some(secret)) => {
            let key = SigningKey::from_secret(&secret).map_err(|error| error.to_string())?;
            Ok(Found::Key(Box::new(Kept { key, store: KEYRING })))
        }
        Ok(None) => Ok(Found::Nothing(KeyStore::Keyring)),
        Err(CredentialError::NoKeyring { .. }) => Ok(Found::Nothing(KeyStore::File)),
        Err(error) => Err(error.to_string()),
    }
}

/// Trusted before it is kept: a key that signs must never be unknown here.
fn make(host: &Host, store: KeyStore) -> Result<Kept, EffectError> {
    let (key, secret) = SigningKey::generate().map_err(|error| broken(&error))?;
    trust_key(&trust_file(host)?, &owner(host), &key.public()).map_err(|error| broken(&error))?;
    let (store, name) = match store {
        KeyStore::Keyring => {
            let keyring = KeyringStore::system(STORING, host.environment().bus_socket());
            (Store::Keyring(keyring), KEYRING)
        }
        KeyStore::File => (Store::File(key_file(host)?), FILE),
    };
    store.set(NAME, &secret).map_err(|error| not_kept(&error))?;
    tracing::info!(key = %key.public().id(), store = name, "made a key that signs evidence");
    Ok(Kept { key, store: name })
}

fn not_kept(error: &CredentialError) -> EffectError {
    let mut effect = EffectError::from_error(Cause::Tool, "key-not-stored", error);
    effect.hint = error.hint();
    effect.suggest_steps(error.next_steps())
}

fn key_file(host: &Host) -> Result<FileStore, EffectError> {
    host.environment()
        .credentials_file()
        .map(FileStore::new)
        .ok_or_else(no_home)
}

fn no_home() -> EffectError {
    EffectError::new(Cause::Usage, "no-home", "there is no home folder to keep keys in").hint("set `HOME`")
}

/// The list of trusted keys: `allowed_signers` among the user's settings, in OpenSSH's form.
///
/// # Errors
/// When there is no home folder.
pub fn trust_file(host: &Host) -> Result<PathBuf, EffectError> {
    let dir = host.environment().config_dir().ok_or_else(no_home)?;
    Ok(dir.join("allowed_signers"))
}

/// The keys whose signatures count.
///
/// # Errors
/// When the list cannot be read.
pub fn trusted(host: &Host) -> Result<Vec<TrustedKey>, EffectError> {
    match trust_file(host) {
        Ok(path) => trusted_keys(&path).map_err(|error| broken(&error)),
        Err(_) => Ok(Vec::new()),
    }
}

/// Lets a key count from now on; false when it did already.
///
/// # Errors
/// When the list cannot be written.
pub fn trust(host: &Host, name: &str, key: &PublicKey) -> Result<bool, EffectError> {
    trust_key(&trust_file(host)?, name, key).map_err(|error| broken(&error))
}

/// The user's name in a form that the list takes.
fn owner(host: &Host) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = host.environment().user().chars().filter(plain).take(60).collect();
    if name.is_empty() { "me".to_owned() } else { name }
}

impl Host {
    /// Shows the user's evidence key and those that are trusted.
    ///
    /// # Errors
    /// If the key or the list cannot be read.
    pub fn evidence_keys(&self) -> Result<KeyReport, EffectError> {
        let own = existing(self).map_err(|why| {
            let message = format!("the key cannot be read: {why}");
            EffectError::new(Cause::Tool, "no-signing-key", message)
        })?;
        report(self, own.as_ref())
    }

    /// Makes a new evidence key. True if it is the first one; older ones go on counting for what they signed.
    ///
    /// # Errors
    /// If it cannot be made or kept.
    pub fn rotate_evidence_key(&self, store: Option<KeyStore>) -> Result<(KeyReport, bool), EffectError> {
        let is_first = trusted(self)?.is_empty();
        let kept = rotate(self, store)?;
        Ok((report(self, Some(&kept))?, is_first))
    }

    /// Lets keys count from now on: a file with OpenSSH's lines, or such a line itself. Returns each with whether it is new.
    ///
    /// # Errors
    /// If there is no Ed25519 key, or the list cannot be written.
    pub fn trust_evidence_keys(&self, name: &str, given: &str) -> Result<Vec<(String, bool)>, EffectError> {
        let text = match given.starts_with("ssh-ed25519 ") {
            true => given.to_owned(),
            false => files::text_file(self.environment(), Path::new(given), 1 << 20)?,
        };
        let keys: Vec<PublicKey> = text.lines().filter_map(PublicKey::from_line).collect();
        if keys.is_empty() {
            return Err(usage("there is no Ed25519 key in what was given")
                .hint("give a file with lines as `ssh-ed25519 AAAA…`, or such a line itself"));
        }
        let trusted = keys.iter().map(|key| Ok((key.id(), trust(self, name, key)?)));
        trusted.collect()
    }
}

fn report(host: &Host, own: Option<&Kept>) -> Result<KeyReport, EffectError> {
    Ok(KeyReport {
        version: 1,
        key: own.map(|kept| OwnKey {
            id: kept.key.public().id(),
            public: kept.key.public().line(),
            store: kept.store.to_owned(),
        }),
        trusted: trusted(host)?.iter().map(known).collect(),
    })
}

fn known(key: &TrustedKey) -> KnownKey {
    KnownKey {
        name: key.name.clone(),
        id: key.key.id(),
        public: key.key.line(),
    }
}
