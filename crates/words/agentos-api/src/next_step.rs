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
    MakeSigningKey,
}

/// A limit of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunLimit {
    /// Time for the check of a change.
    CheckTime,
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
