//! The engine's verdict on one call of a tool: what it proposed, and what was measured around it.
//!
//! Owns: `ToolResult` and the measurement of the boundary. Never: takes a tool's word for `wrote_files` or
//! `committed`; both are computed from two measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Endpoint, ErrorCategory, ExecutionMode, RunId, Timestamp, Usage};

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// An answer of the wanted kind.
    Success,
    /// An answer, of which only a part is usable.
    PartialSuccess,
    /// No usable answer, or the boundary was crossed.
    Failed,
    /// A time limit ran out.
    Timeout,
}

/// What kind of answer it is. `diff` if and only if there is a valid diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// A change that lands.
    Diff,
    /// Steps to take.
    Plan,
    /// Findings.
    Analysis,
    /// Words.
    Explanation,
    /// Why something failed.
    Diagnosis,
}

/// What held the tool back while it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// The kernel refused writes.
    Kernel,
    /// Nothing was refused; the state before and after was compared.
    Observed,
}

impl Enforcement {
    /// The word used in JSON, in policy and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Observed => "observed",
        }
    }
}

/// What holds a tool back while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confinement {
    /// Kernel only when no layer is missing.
    pub enforcement: Enforcement,
    /// The kernel's layers around it, by name.
    pub layers: Vec<String>,
    /// The level of Landlock, the kernel's file rules; none without it.
    pub landlock_abi: Option<u32>,
    /// Limits that hold for all processes of a run together, by name: `disk`, `memory`, `processes`.
    pub run_limits: Vec<String>,
    /// What it tried in its last run and the kernel's filter of calls refused; none where the kernel does not tell.
    pub refused: Option<Vec<RefusedCall>>,
}

/// A system call that a tool tried and the kernel refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCall {
    /// Its name, and of a socket its family and type.
    pub call: String,
    /// How often it was refused.
    pub times: u64,
}

impl Confinement {
    /// Nothing holds it; the state before and after is compared.
    #[must_use]
    pub fn observed() -> Self {
        Self {
            enforcement: Enforcement::Observed,
            layers: Vec::new(),
            landlock_abi: None,
            run_limits: Vec::new(),
            refused: None,
        }
    }
}

/// The state of a repository at one moment, each part as a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateMeasurement {
    /// What HEAD names and the commit it resolves to.
    pub head: String,
    /// SHA-256 over all refs.
    pub refs: String,
    /// SHA-256 of the index file.
    pub index: String,
    /// SHA-256 over path, kind, size and times of everything in the work tree.
    pub worktree: String,
    /// SHA-256 over the repository's configuration and hooks.
    pub git_files: String,
}

/// The measured boundary: before, after, and what differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Boundary {
    /// What held the tool back.
    pub enforcement: Enforcement,
    /// The kernel's layers that did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// The level of Landlock among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landlock_abi: Option<u32>,
    /// Limits that held for all processes of a run together: `disk`, `memory`, `processes`. One that is not named was missing;
    /// each single process was limited all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_limits: Vec<String>,
    /// System calls that the tool tried and the kernel refused, as far as the kernel tells; absent where it does not. Paths are
    /// not among them: what a tool is not shown is refused without a record, and what a rule about files refuses the
    /// kernel tells to nobody but root, in the system's audit. A call that a filter of the tool's own refuses first is
    /// refused all the same, and is not among them either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Vec<RefusedCall>>,
    /// State before the call; none when there was no repository to measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<StateMeasurement>,
    /// State after the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<StateMeasurement>,
    /// Runs of ours that landed while the tool worked, and account for every difference between the two states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed_meanwhile: Vec<String>,
    /// What changed, in words a person understands: `work tree: src/a.rs`, `HEAD`. Empty when it held.
    pub violations: Vec<String>,
    /// Files or the index changed.
    pub wrote_files: bool,
    /// HEAD or a ref changed.
    pub committed: bool,
}

impl Boundary {
    /// Compares two measurements whose every difference is what these runs of ours landed meanwhile: the tool wrote nothing.
    #[must_use]
    pub fn with_landings(
        confinement: &Confinement,
        before: StateMeasurement,
        after: StateMeasurement,
        runs: Vec<String>,
    ) -> Self {
        let untouched = Self::between(confinement, after.clone(), after, &[]);
        Self {
            before: Some(before),
            landed_meanwhile: runs,
            ..untouched
        }
    }

    /// Compares two measurements. `paths` names work-tree paths that differ, as many as are worth showing.
    #[must_use]
    pub fn between(
        confinement: &Confinement,
        before: StateMeasurement,
        after: StateMeasurement,
        paths: &[String],
    ) -> Self {
        let mut violations = Vec::new();
        if before.head != after.head {
            violations.push(format!("HEAD: {} -> {}", before.head, after.head));
        }
        if before.refs != after.refs {
            violations.push("refs".to_owned());
        }
        if before.index != after.index {
            violations.push("index".to_owned());
        }
        if before.git_files != after.git_files {
            violations.push("git configuration or hooks".to_owned());
        }
        if before.worktree != after.worktree {
            violations.extend(paths.iter().map(|path| format!("work tree: {path}")));
            if paths.is_empty() {
                violations.push("work tree".to_owned());
            }
        }
        Self {
            enforcement: confinement.enforcement,
            layers: confinement.layers.clone(),
            landlock_abi: confinement.landlock_abi,
            run_limits: confinement.run_limits.clone(),
            refused: confinement.refused.clone(),
            wrote_files: before.worktree != after.worktree
                || before.index != after.index
                || before.git_files != after.git_files,
            committed: before.head != after.head || before.refs != after.refs,
            before: Some(before),
            after: Some(after),
            landed_meanwhile: Vec::new(),
            violations,
        }
    }

    /// True when nothing changed.
    #[must_use]
    pub fn held(&self) -> bool {
        !self.wrote_files && !self.committed
    }
}

/// What landing said of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffValidation {
    /// It lands on the base it was judged against.
    pub is_valid: bool,
    /// The refusal code where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why it does not land.
    pub errors: Vec<String>,
    /// What had to be repaired.
    pub warnings: Vec<String>,
    /// Hunks or edits found.
    pub hunks: u32,
}

/// The result of one call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// The tool, as in `llamacpp`.
    pub tool: String,
    /// How it ended.
    pub status: ResultStatus,
    /// What it gave.
    pub output_kind: OutputKind,
    /// The canonical diff; only with kind `diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// SHA-256 of the canonical diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff_sha256: Option<String>,
    /// Paths the change touches, from the change itself.
    pub files_touched: Vec<String>,
    /// Lines added plus lines removed.
    pub line_count: u64,
    /// This call.
    pub tool_run_id: RunId,
    /// The task it belongs to.
    pub task_id: RunId,
    /// When the call began.
    pub timestamp: Timestamp,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// `cloud` or `local`: the source system's name for where the work was done.
    pub provider: ExecutionMode,
    /// `host:port`, nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What the tokens cost by the profile's price, in millionths of a US dollar; none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// From request to the last byte, in milliseconds.
    pub latency_ms: u64,
    /// Set when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_category: Option<ErrorCategory>,
    /// Set when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// What landing said.
    pub diff_validation: DiffValidation,
    /// What was measured.
    pub boundary: Boundary,
    /// Measured: files or the index changed during the call.
    pub wrote_files: bool,
    /// Measured: HEAD or a ref changed during the call.
    pub committed: bool,
    /// Set when the answer was not made by a model, with the reason; never set by a real provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mock: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(head: &str, worktree: &str) -> StateMeasurement {
        StateMeasurement {
            head: head.to_owned(),
            refs: "r".to_owned(),
            index: "i".to_owned(),
            worktree: worktree.to_owned(),
            git_files: "g".to_owned(),
        }
    }

    #[test]
    fn the_boundary_holds_only_when_nothing_changed() {
        let cases = [
            (state("main", "w"), true, false, false, ""),
            (state("main", "w2"), false, true, false, "work tree: src/a.rs"),
            (state("main2", "w"), false, false, true, "HEAD: main -> main2"),
        ];
        for (after, held, wrote, committed, first) in cases {
            let boundary = Boundary::between(
                &Confinement::observed(),
                state("main", "w"),
                after,
                &["src/a.rs".to_owned()],
            );
            assert_eq!(boundary.held(), held);
            assert_eq!(boundary.wrote_files, wrote);
            assert_eq!(boundary.committed, committed);
            assert_eq!(boundary.violations.first().map_or("", String::as_str), first);
        }
    }
}
