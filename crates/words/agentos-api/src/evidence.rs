//! Evidence that left the repository, and the keys that sign it.
//!
//! Owns: the reports of `agentos evidence export` and `agentos evidence key`. Never: holds a secret key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `agentos evidence export --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The folder.
    pub dir: String,
    /// Records in it.
    pub records: u64,
    /// Blobs in it.
    pub blobs: u64,
    /// Blobs that could not be copied: gone, or not what was stored.
    pub lost: u64,
    /// Content was left out.
    pub redacted: bool,
    /// The hash of its last record.
    pub head: String,
    /// The key that signed `head.json` and `export.json`, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
}

/// `agentos evidence key … --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The key that signs here, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<OwnKey>,
    /// The keys whose signatures count.
    pub trusted: Vec<KnownKey>,
}

/// The user's own key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnKey {
    /// Its fingerprint, as `ssh-keygen -l` shows it.
    pub id: String,
    /// Its public half, as OpenSSH writes it.
    pub public: String,
    /// Where its secret half is kept: `file` or `keyring`.
    pub store: String,
}

/// A key whose signatures count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownKey {
    /// Whose it is.
    pub name: String,
    /// Its fingerprint.
    pub id: String,
    /// Itself, as OpenSSH writes it.
    pub public: String,
}
