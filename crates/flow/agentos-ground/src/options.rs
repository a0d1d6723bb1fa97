//! Options of a call, as plain values.
//!
//! Owns: the options of sessions, providers and programs. Never: knows how a front end spells them.

use std::path::PathBuf;

use agentos_executor::TargetSpec;
use agentos_profile::TimeoutsFile;
use agentos_tool::{EditFormat, ThinkingLevel};

use crate::provider_kind::ProviderKind;

/// The target of a change, and limits on what may be written.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    /// The branch to commit on. `None` means the checked-out one.
    pub branch: Option<String>,
    /// Write index and working tree, and make no commit.
    pub no_commit: bool,
    /// Write nothing but evidence.
    pub dry_run: bool,
    /// Policy files that restrict this call further.
    pub policies: Vec<PathBuf>,
    /// The repository's own hooks before a commit.
    pub hooks: HookRule,
    /// Only judge the change, in whatever state the repository is. Nothing lands.
    pub look_only: bool,
}

impl SessionOptions {
    /// Makes options under which nothing is written.
    #[must_use]
    pub fn writing_nothing() -> Self {
        Self {
            look_only: true,
            ..Self::default()
        }
    }

    /// Returns the executor's target for these options.
    pub fn target_spec(&self) -> TargetSpec {
        let real = match (&self.branch, self.no_commit) {
            (Some(branch), _) => TargetSpec::Branch(branch.clone()),
            (None, true) => TargetSpec::WorkTreeOnly,
            (None, false) => TargetSpec::CurrentBranch,
        };
        match (self.look_only, self.dry_run) {
            // First, because `AtHead` is the only target that does not require a state in which something can land.
            (true, _) => TargetSpec::AtHead,
            (false, true) => TargetSpec::DryRun(Box::new(real)),
            (false, false) => real,
        }
    }
}

/// A provider, and the settings that override its profile for one call.
#[derive(Debug, Clone, Default)]
pub struct ProviderChoice {
    /// The provider.
    pub provider: ProviderKind,
    /// The recording with which the provider `replay` answers. `None` if there is none.
    pub replay: Option<Recording>,
    /// Settings that override the profile.
    pub overrides: ProviderOverrides,
    /// Most tokens of the answer. `None` means the profile's limit.
    pub max_output_tokens: Option<u64>,
    /// The edit format. `None` means the profile's format.
    pub edit_format: Option<EditFormat>,
    /// Needs of the turn, as in `supports_vision=true`, by which a pool chooses. Empty for a provider that is no pool.
    pub needs: Vec<String>,
    /// Origin of the choice.
    pub origin: ChoiceOrigin,
}

/// Origin of the provider of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChoiceOrigin {
    /// The call or its session names it.
    #[default]
    Named,
    /// Default of the user; nothing else names a provider.
    Usual,
    /// Default of the user, and a person agreed that a session which was answered on this machine goes on in a cloud.
    Agreed,
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

    /// Returns why the answer is not a model's. `None` if it is one's.
    pub fn describe_mock(&self) -> Option<String> {
        (self.provider == ProviderKind::Replay).then(|| "a recorded answer".to_owned())
    }
}

/// A recorded answer.
#[derive(Debug, Clone)]
pub enum Recording {
    /// The file that contains it.
    File(PathBuf),
    /// The answer itself.
    Text(String),
}

/// Settings that override a profile. `None` keeps the profile's value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderOverrides {
    /// Address of the service.
    pub base_url: Option<String>,
    /// Send the provider's key to this address, although it is for another one.
    pub send_key: bool,
    /// Model to use.
    pub model: Option<String>,
    /// Seconds of silence of a server, or of the whole run of a program.
    pub timeout_seconds: Option<u64>,
    /// Time limits, one by one.
    pub timeouts: TimeoutsFile,
    /// Number of times that a failed call is sent again. `None` for the adapter's usual number.
    pub retries: Option<u32>,
    /// Thinking that is requested of the model.
    pub thinking: Option<ThinkingLevel>,
    /// Leave out the repository's profile of the provider. The members of a pool are as its owner set them, wherever they are asked.
    pub without_repository: bool,
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
    /// True if the call has a check, which may read the files named here whatever the provider is.
    pub for_check: bool,
}

/// A shell command that a change must pass before consent is requested.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// The command, as the shell reads it.
    pub command: String,
    /// Time limit in seconds.
    pub timeout_seconds: u64,
    /// The check on the base, before a tool is called.
    pub base: BaseRule,
}

/// The rule about the repository's own hooks before a commit. A repository's configuration has no part in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HookRule {
    /// No hook runs.
    #[default]
    Skip,
    /// `pre-commit` and `commit-msg` run in the sandbox.
    Run,
    /// The user's setting says whether they run.
    Usual,
}

/// The rule about a check that fails on the base, without any change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BaseRule {
    /// The check must pass there before a tool is called. A result on the tape counts.
    #[default]
    Require,
    /// The tool is called in any case: making the check pass may be its task.
    Skip,
}

/// A store for secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStore {
    /// The system's keyring.
    Keyring,
    /// A file that its owner alone can read.
    File,
}
