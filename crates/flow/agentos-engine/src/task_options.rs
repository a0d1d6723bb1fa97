//! Options of a task as the tape keeps them, so that the same task can be given again.
//!
//! Owns: the recorded shape. Never: holds a key, or the path of a server's address unless the server is on this machine.

use std::collections::BTreeMap;

use agentos_tool::{EditFormat, ThinkingLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of a task. An option that the user did not set is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TaskOptions {
    /// Files that were named, inside the repository.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Names of definitions that were named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<String>,
    /// Search for more files: `auto` or `named`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Model that overrides the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Pool of models that the task named. `None` if it named a provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Needs that were stated for the choice in the pool, as in `supports_vision=true`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Address that overrides the profile, if it is on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Names of options that were set and are not recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Time limits in seconds, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub seconds: BTreeMap<String, u64>,
    /// Most tokens of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Edit format that overrides the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit_format: Option<EditFormat>,
    /// Thinking that was requested of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
    /// Program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// True if the program's command line is the whole task.
    #[serde(skip_serializing_if = "is_false")]
    pub wordless: bool,
    /// Files and folders that the program may read, those of the user relative to `~`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readable: Vec<String>,
    /// Folders that are shown in the program's copy, as above.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
    /// Refuse a tool that the kernel does not confine.
    #[serde(skip_serializing_if = "is_false")]
    pub require_sandbox: bool,
    /// Command of the check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Call the tool although the check may fail without a change.
    #[serde(skip_serializing_if = "is_false")]
    pub skip_base_check: bool,
    /// Most calls of the tool; 0 if nobody has decided.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// True if the user gave the commit message.
    #[serde(skip_serializing_if = "is_false")]
    pub own_message: bool,
    /// Land the edits that have one place, although others have none.
    #[serde(skip_serializing_if = "is_false")]
    pub partial: bool,
    /// Branch that was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Write index and working tree, and make no commit.
    #[serde(skip_serializing_if = "is_false")]
    pub no_commit: bool,
    /// Write nothing but evidence.
    #[serde(skip_serializing_if = "is_false")]
    pub dry_run: bool,
    /// Policy files that restricted the run, those of the user relative to `~`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// Answers of the model whose calls of tools were run, at most. `None` if the model did not read the repository itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explore_rounds: Option<u32>,
    /// Programs whose tools the model was offered, by the names of their profiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub toolboxes: Vec<String>,
}

/// The earlier run that a run follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FollowedRun {
    /// The earlier run.
    pub run: String,
    /// How this run follows it.
    pub how: FollowKind,
}

/// How a run follows an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FollowKind {
    /// Repetition of the same task.
    Retry,
    /// Task that continues the earlier one.
    Continue,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
