//! Steps that a person can take next, as data.
//!
//! Owns: the published list of steps. Never: words a step for a front end: a terminal names a flag, a page shows a button.
//!
//! A failure contains a list of steps: alternatives, the best first. A step contains what a front end needs to offer it,
//! such as the branch or the run that it is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Step that a person can take after a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum NextStep {
    /// Change to a folder in a repository, or name a repository.
    NameRepository,
    /// Name the branch to land on.
    NameBranch {
        /// Kind of branch to name.
        choice: BranchChoice,
    },
    /// Run a git command, which is worded the same in every front end.
    RunGit {
        /// Command line, as a person types it.
        // Git's own command lines are the same in every front end, so this is the one step that contains its
        // words.
        command: String,
    },
    /// Commit or stash uncommitted work that prevents landing.
    ClearWork {
        /// Files with uncommitted work.
        paths: Vec<String>,
    },
    /// Run the task again, on the branch that is checked out now. Nothing was landed there yet.
    RunOnCheckedOut,
    /// Raise the limit that was reached.
    RaiseLimit {
        /// Limit to raise.
        limit: RunLimit,
    },
    /// Reduce the task.
    GiveLess {
        /// Part that is too large.
        part: TaskPart,
    },
    /// Add something to the task.
    ChangeTask {
        /// Text that continues the words "say in the task".
        advice: String,
    },
    /// Show the records of a run.
    ShowRun {
        /// Id of the run.
        run: String,
    },
    /// Read the answer that a run recorded.
    ShowAnswer {
        /// Id of the run.
        run: String,
    },
    /// Review the change, and consent to it when the run is started again.
    ConsentAtOnce,
    /// Answer the request for consent that a run left open.
    AnswerRequest {
        /// Id of the run.
        run: String,
    },
    /// Close the request for consent for good.
    DenyRequest {
        /// Id of the run.
        run: String,
    },
    /// Verify the evidence, which lists every fault in it.
    VerifyEvidence {
        /// True if the tape itself is damaged: after recovery it is moved to another name for inspection, and runs begin a new tape.
        set_aside: bool,
    },
    /// Create a new key to sign evidence.
    MakeSigningKey {
        /// True if the machine has no keyring, so that the key must be kept in a file.
        #[serde(default, skip_serializing_if = "is_false")]
        in_file: bool,
    },
    /// Show the output of this run's tool, which is in the evidence.
    ShowTranscript,
    /// List the runs in the evidence, to name one.
    ListRuns,
    /// List the runs that wait for a person's consent.
    ListRequests,
    /// Name a folder that contains exported evidence.
    NameExport,
    /// Store the key of a provider.
    SetKey {
        /// Provider. Absent if the step applies to any provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// True if the machine has no keyring, so that the key must be kept in a file.
        #[serde(default, skip_serializing_if = "is_false")]
        in_file: bool,
    },
    /// Set an environment variable to the right key; it takes precedence over every stored key.
    SetKeyVariable {
        /// Name of the variable.
        variable: String,
    },
    /// List the source of each provider's key.
    ListKeys,
    /// Store the secret in a file that only its owner can read.
    KeepInFile,
    /// Allow the key to be sent to an address that it was not stored for.
    SendKey {
        /// Address to name as well. Absent if the person already named the address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_url: Option<String>,
    },
    /// Create a profile for a provider.
    MakeProfile {
        /// Name of the provider.
        provider: String,
    },
    /// Sign in at a server of tools.
    SignIn {
        /// Name of the provider.
        provider: String,
    },
    /// Review the tools of a toolbox, and trust them.
    TrustToolbox {
        /// Name of the toolbox.
        toolbox: String,
    },
    /// Review the policy of the repository, and agree to it.
    ReviewPolicy,
    /// Offer the tools of a toolbox to a model.
    OfferToolbox {
        /// Name of the toolbox.
        toolbox: String,
    },
    /// Overwrite the existing profile.
    ReplaceProfile,
    /// Show the values of a provider's profile, and correct the wrong one.
    CorrectProfile {
        /// Name of the provider.
        provider: String,
    },
    /// Set the address of a provider's server.
    NameBaseUrl {
        /// Address of the right form. Absent if an address is set and its server does not answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        example: Option<String>,
    },
    /// Select a model that the server has.
    NameModel,
    /// Name the recording to play back.
    NameRecording,
    /// Name the program to run as the tool.
    NameProgram {
        /// Provider that needs a program: `command`, or `tool` for a program that speaks the tool protocol.
        provider: String,
    },
    /// Check which providers can be used now, and what the others need.
    CheckHealth,
    /// Call the tool although the check fails without a change, because making it pass is the task.
    SkipBaseCheck,
    /// Let a program read more files of this machine. By default it runs in a copy, without the home folder.
    AllowReading,
    /// Let a program reach more hosts. By default it reaches only those that its profile lists.
    AllowHosts {
        /// Hosts that it tried to reach, as `host:port`; untrusted. Empty if they are not known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hosts: Vec<String>,
    },
    /// Point an agent at a server of the user's own.
    UseOwnServer,
    /// Test whether a program speaks the tool protocol.
    CheckProtocol,
    /// Run without an option.
    LeaveOut {
        /// Option to leave out.
        option: RunOption,
    },
    /// Refuse tools that the operating system's kernel does not confine.
    RequireSandbox,
    /// Print long text at once, without a pager.
    PrintAtOnce,
    /// Watch the whole path of a change in a demonstration repository.
    StartDemo,
    /// Add a policy and a provider's profile to the repository.
    InitRepository,
    /// Check the machine and the repository for everything that a run needs.
    Diagnose,
    /// Finish or roll back an interrupted landing.
    Recover,
    /// Request a change from a tool, and land it.
    RunTask {
        /// Provider to use. Absent if any provider may be chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
    },
    /// Request a change from the default provider, and land it.
    RunDefault,
    /// Name the provider to use.
    NameProvider,
    /// Make a provider the default of tasks that name none.
    SetDefaultProvider {
        /// Name of the provider. Absent if any provider may be chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
    },
    /// List the settings with their values.
    ListSettings,
    /// List the budgets with what is spent of them, and raise one.
    ListBudgets,
    /// Start the local service.
    StartService,
    /// List the known models.
    ListModels,
    /// Land a diff, or a model's complete reply.
    LandDiff,
    /// Undo the last landed run.
    UndoRun,
    /// Name another run to undo.
    NameUndone,
    /// Land the recorded answer of a run, without a call of a tool.
    LandRecorded {
        /// Id of the run.
        run: String,
    },
    /// Say that a recorded answer should land although it landed before.
    LandAgain,
    /// Say that a recorded answer should land although it did not pass its check.
    LandUnchecked,
    /// Do the task of an earlier run again.
    RetryRun {
        /// Id of the run.
        run: String,
    },
}

/// Returns true if the flag is not set, so that serde leaves it out of JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Limit of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunLimit {
    /// Time limit of the check command.
    CheckTime,
    /// Time limit of the tool.
    ToolTime,
    /// Time limit of connecting to a server.
    ConnectTime,
    /// Time limit of the first byte of a server's answer.
    FirstByteTime,
    /// Time limit of silence in the middle of a server's answer.
    IdleTime,
    /// Time limit of a server's whole answer.
    TotalTime,
    /// Maximum number of tokens in an answer.
    OutputTokens,
    /// Maximum number of attempts.
    Attempts,
    /// Answers of a model whose calls of tools are run.
    ExploreRounds,
    /// Time limit of a model that reads the repository itself.
    ExploreTime,
}

/// Part of a task that can be made smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskPart {
    /// Answer that a tool gives in one call.
    Answer,
    /// Tests that the check command runs.
    Check,
}

/// Option of a run that can prevent its success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunOption {
    /// Check command that a change must pass before it lands.
    Check,
    /// Edit format that the tool is asked to use.
    EditFormat,
    /// Requirement that the operating system's kernel confines the tool.
    Sandbox,
    /// Recording to play back.
    Recording,
    /// Files and folders of this machine that a program may read.
    Reading,
    /// Search for files that belong to the task.
    Context,
    /// The repository's hooks before a commit.
    Hooks,
    /// Tools with which the model reads the repository itself.
    Explore,
}

/// Kind of branch that a person should name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BranchChoice {
    /// Any branch: no branch is checked out.
    Any,
    /// Any branch, or a branch that is checked out first: HEAD is detached.
    CheckOutOrName,
    /// A branch other than the one that is checked out.
    Other,
    /// Another branch, to be merged with git afterwards.
    OtherThenMerge,
    /// Branch on which the run began.
    BeganWith,
}
