//! What a caller may ask for, as plain values.
//!
//! Owns: the options of sessions, providers and programs. Never: how a front end spells them.

use std::path::PathBuf;

use agentos_executor::TargetSpec;
use agentos_tool::EditFormat;

use crate::provider_kind::ProviderKind;

/// Where a change lands, and how little may be written.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// Commit on this branch instead of the one that is checked out.
    pub branch: Option<String>,
    /// Write index and work tree, and make no commit.
    pub no_commit: bool,
    /// Write nothing but evidence.
    pub dry_run: bool,
    /// Policy files that narrow what is allowed in this call.
    pub policies: Vec<PathBuf>,
    /// Only look at the change: whatever state the repository is in, nothing lands.
    pub look_only: bool,
}

impl SessionOptions {
    /// Options under which nothing is written.
    #[must_use]
    pub fn looking() -> Self {
        Self {
            look_only: true,
            ..Self::default()
        }
    }

    /// Returns the executor's target for these options.
    pub(crate) fn target_spec(&self) -> TargetSpec {
        let real = match (&self.branch, self.no_commit) {
            (Some(branch), _) => TargetSpec::Branch(branch.clone()),
            (None, true) => TargetSpec::WorkTreeOnly,
            (None, false) => TargetSpec::CurrentBranch,
        };
        match (self.look_only, self.dry_run) {
            (true, _) => TargetSpec::AtHead,
            (false, true) => TargetSpec::DryRun(Box::new(real)),
            (false, false) => real,
        }
    }
}

/// A provider and the settings that win over its profile for one call.
#[derive(Debug, Clone, Default)]
pub struct ProviderChoice {
    /// The provider.
    pub provider: ProviderKind,
    /// The recording that the provider `replay` answers with.
    pub replay: Option<Recording>,
    /// Settings that win over the profile.
    pub overrides: ProviderOverrides,
    /// Most tokens that the answer may have; the profile's where there is none.
    pub max_output_tokens: Option<u64>,
    /// The form in which edits are asked for; the profile's where there is none.
    pub edit_format: Option<EditFormat>,
}

impl ProviderChoice {
    /// Chooses a provider with the settings of its profile.
    #[must_use]
    pub fn named(provider: impl Into<ProviderKind>) -> Self {
        Self {
            provider: provider.into(),
            ..Self::default()
        }
    }
}

/// A recorded answer.
#[derive(Debug, Clone)]
pub enum Recording {
    /// In a file.
    File(PathBuf),
    /// At hand.
    Text(String),
}

/// Settings that win over a profile.
#[derive(Debug, Clone, Default)]
pub struct ProviderOverrides {
    /// Address of the service.
    pub base_url: Option<String>,
    /// Send the provider's key there although it is for another address.
    pub send_key: bool,
    /// Model to use.
    pub model: Option<String>,
    /// Seconds for one answer.
    pub timeout_seconds: Option<u64>,
}

/// A program as the tool, and how it is confined.
#[derive(Debug, Clone, Default)]
pub struct ProgramOptions {
    /// The program and its arguments, for the providers `command` and `tool`.
    pub command: Vec<String>,
    /// Files and folders that the program may read besides the system's.
    pub readable: Vec<PathBuf>,
    /// Folders that git ignores, shown read-only in the program's copy.
    pub shared: Vec<PathBuf>,
    /// Refuse a tool that the kernel does not confine with every layer.
    pub require_sandbox: bool,
    /// The call has a check, which may read what is named here whatever the provider is.
    pub for_check: bool,
}

/// A shell command that a change must pass before anybody is asked about it.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// The command, as the shell reads it.
    pub command: String,
    /// Seconds that it may take.
    pub timeout_seconds: u64,
}

/// Where a secret is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStore {
    /// The system's keyring.
    Keyring,
    /// A file that its owner alone can read.
    File,
}
