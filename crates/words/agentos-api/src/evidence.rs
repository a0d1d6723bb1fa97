//! Reports about exported evidence and the keys that sign evidence.
//!
//! Owns: the reports of `agentos evidence export`, `publish` and `key`. Never: holds a secret key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Report of `agentos evidence export --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Folder that contains the export.
    pub dir: String,
    /// Number of exported records.
    pub records: u64,
    /// Number of exported blobs.
    pub blobs: u64,
    /// Number of blobs that could not be copied, because they are missing or damaged.
    pub lost: u64,
    /// True if blob contents were left out.
    pub redacted: bool,
    /// Hash of the last exported record.
    pub head: String,
    /// Key that signed `head.json` and `export.json`. `None` if they are unsigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
}

/// Report of `agentos evidence publish --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PublishReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Ref that holds the evidence. It is in this repository only, until it is pushed.
    pub refname: String,
    /// Commit that the ref leads to.
    pub commit: String,
    /// False if the ref already held this evidence.
    pub changed: bool,
    /// Number of published records.
    pub records: u64,
    /// Number of published blobs.
    pub blobs: u64,
    /// True if texts were left out.
    pub redacted: bool,
    /// Hash of the last published record.
    pub head: String,
    /// Key that signed the last record and the list of files. `None` if they are unsigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
}

/// Report of `agentos evidence key … --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Key that signs evidence on this machine. `None` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<OwnKey>,
    /// Keys whose signatures are trusted.
    pub trusted: Vec<KnownKey>,
}

/// Signing key of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnKey {
    /// Fingerprint, as `ssh-keygen -l` shows it.
    pub id: String,
    /// Public key, in OpenSSH format.
    pub public: String,
    /// Store of the private key: `file` or `keyring`.
    pub store: String,
}

/// Key whose signatures are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownKey {
    /// Name of the key's owner, as the user entered it.
    pub name: String,
    /// Fingerprint, as `ssh-keygen -l` shows it.
    pub id: String,
    /// Public key, in OpenSSH format.
    pub public: String,
}
