//! What a person can do next, as data.
//!
//! Owns: the published list of steps. Never: words one for a front end: a terminal names a flag, a page shows a button.
//!
//! A failure brings a list of steps: alternatives, the best first. A step holds what a front end needs to offer it, as the
//! branch or the run it is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step that a person can take after a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum NextStep {
    /// Go to a repository, or name one.
    NameRepository,
    /// Land on a branch that is named.
    NameBranch {
        /// Kind of branch that helps.
        choice: BranchChoice,
    },
    /// Run a command of git, which has the same words in every front end.
    RunGit {
        /// The command, as a person types it.
        command: String,
    },
    /// Commit or stash work that is in the way.
    ClearWork {
        /// The files with that work.
        paths: Vec<String>,
    },
    /// Run it again, on the branch that is checked out now. Nothing was landed there so far.
    RunOnCheckedOut,
    /// Allow more of what ran out.
    RaiseLimit {
        /// The limit.
        limit: RunLimit,
    },
    /// Ask for less.
    GiveLess {
        /// The part that is too large.
        part: TaskPart,
    },
    /// Say more in the task.
    ChangeTask {
        /// The thing to say, after "say in the task".
        advice: String,
    },
    /// Look at the records of a run.
    ShowRun {
        /// The run.
        run: String,
    },
    /// Look at the change, and consent to it when the run is started again.
    ConsentAtOnce,
    /// Answer the request for consent that a run left open.
    AnswerRequest {
        /// The run.
        run: String,
    },
    /// Verify the evidence, which lists everything that is wrong with it.
    VerifyEvidence {
        /// The tape itself is damaged: after recovery it is kept for a look and moved aside, so that runs begin a new one.
        set_aside: bool,
    },
    /// Make a new key that signs evidence.
    MakeSigningKey {
        /// The machine has no keyring: the key is to be kept in a file.
        #[serde(default, skip_serializing_if = "is_false")]
        in_file: bool,
    },
    /// Look at what the tool of this run wrote, which the evidence keeps.
    ShowTranscript,
    /// Look at the runs that left evidence, to name one.
    ListRuns,
    /// Look at the runs that wait for a person's answer.
    ListRequests,
    /// Name a folder into which evidence was exported.
    NameExport,
    /// Store the key of a provider.
    SetKey {
        /// The provider. Absent if the step is about any of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// The machine has no keyring: the key is to be kept in a file.
        #[serde(default, skip_serializing_if = "is_false")]
        in_file: bool,
    },
    /// Put the right key into an environment variable, which wins over every stored key.
    SetKeyVariable {
        /// The name of the variable.
        variable: String,
    },
    /// Look where the key of each provider comes from.
    ListKeys,
    /// Keep the secret in a file that only its owner can read.
    KeepInFile,
    /// Send the key to an address that it was not stored for.
    SendKey {
        /// The address to name as well. Absent if it is the one that the person chose already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_url: Option<String>,
    },
    /// Make a profile for a provider.
    MakeProfile {
        /// The provider.
        provider: String,
    },
    /// Write over the profile that is there.
    ReplaceProfile,
    /// Look at the values of a provider's profile, and correct the one that is wrong.
    CorrectProfile {
        /// The provider.
        provider: String,
    },
    /// Name the address of a provider's server.
    NameBaseUrl {
        /// An address of the right form. Absent if an address is set, and only its server does not answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        example: Option<String>,
    },
    /// Name a model that the server has.
    NameModel,
    /// Name the recording that is played back.
    NameRecording,
    /// Name the program that is run as the tool.
    NameProgram {
        /// The provider that needs it: `command`, or `tool` for a program that speaks the tool protocol.
        provider: String,
    },
    /// Ask the providers whether they can be used, and what each one needs.
    CheckHealth,
    /// Let a program read more files of this machine. It runs in a copy, without the home folder and without network.
    AllowReading,
    /// Try a program that is to speak the tool protocol.
    CheckProtocol,
    /// Leave out an option of the run.
    LeaveOut {
        /// The option.
        option: RunOption,
    },
    /// Refuse tools that the kernel does not confine.
    RequireSandbox,
    /// Print long text at once, without a pager.
    PrintAtOnce,
    /// See the whole way of a change in a repository made for it.
    StartDemo,
    /// Put a policy and a provider's profile into the repository.
    InitRepository,
    /// Check everything that a landing and a tool need.
    Diagnose,
    /// Finish or take back a landing that was cut short.
    Recover,
    /// Ask a tool for a change, and land it.
    RunTask {
        /// The provider to ask. Absent if any may be chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
    },
    /// Land a diff, or a model's whole reply.
    LandDiff,
    /// Take the last landed run back.
    UndoRun,
    /// Name another run to take back.
    NameUndone,
}

/// Returns true for false: a flag that is not set is left out of JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A limit of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunLimit {
    /// Time for the check of a change.
    CheckTime,
    /// Time for the answer of a tool.
    ToolTime,
    /// Tokens of an answer.
    OutputTokens,
    /// Attempts of a tool.
    Attempts,
}

/// A part of what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskPart {
    /// The answer that a tool gives at once.
    Answer,
    /// The tests of the check.
    Check,
}

/// An option of a run that can stand in its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunOption {
    /// The check of a change before it lands.
    Check,
    /// The form in which edits are asked for.
    EditFormat,
    /// The demand that the kernel confines the tool.
    Sandbox,
    /// The recording that is played back.
    Recording,
    /// Files and folders of this machine that are shown to a program.
    Reading,
    /// The search for files that belong to the task.
    Context,
}

/// The branch that a person is to name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BranchChoice {
    /// Any branch: nothing is checked out that could be meant.
    Any,
    /// Any branch, or one that is checked out first: HEAD names a commit now.
    CheckOutOrName,
    /// Another branch than the one that is checked out.
    Other,
    /// Another branch, which git merges afterwards.
    OtherThenMerge,
    /// The branch that the run began with.
    BeganWith,
}
