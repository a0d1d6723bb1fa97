//! Report of the engine about one call of a tool: its proposal, and the measurements before and after it.
//!
//! Owns: `ToolResult` and the measured boundary. Never: relies on a tool's claim for `wrote_files` or `committed`; both are
//! computed from two measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Endpoint, ErrorCategory, ExactCost, ExecutionMode, RunId, Timestamp, TokenPrices, Usage};

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// An answer of the requested kind.
    Success,
    /// An answer of which only a part is usable.
    PartialSuccess,
    /// No usable answer, or the boundary was crossed.
    Failed,
    /// The time limit was reached.
    Timeout,
}

/// Kind of answer. `diff` if and only if there is a valid diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// A change that lands.
    Diff,
    /// Steps to take.
    Plan,
    /// Findings.
    Analysis,
    /// Explanatory text.
    Explanation,
    /// Reason why something failed.
    Diagnosis,
}

/// Way in which the boundary around a tool was enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// The operating system's kernel prevented writes.
    Kernel,
    /// Nothing was prevented; the states before and after the call were compared.
    Observed,
}

impl Enforcement {
    /// Returns the name used in JSON, in policies and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Observed => "observed",
        }
    }
}

/// Confinement of a tool while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Confinement {
    /// Enforcement. `kernel` only if no layer is missing.
    pub enforcement: Enforcement,
    /// Names of the active layers.
    pub layers: Vec<String>,
    /// ABI version of Landlock, the kernel's access rules for files. `None` if Landlock is not active.
    pub landlock_abi: Option<u32>,
    /// Names of the limits that apply to all processes of a run together: `disk`, `memory`, `processes`.
    pub run_limits: Vec<String>,
    /// System calls of the last run that the seccomp filter refused. `None` if the kernel does not report them.
    pub refused: Option<Vec<RefusedCall>>,
}

/// System call that a tool attempted and the kernel refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedCall {
    /// Name of the call; for a socket, also its family and type.
    pub call: String,
    /// Number of refusals.
    pub times: u64,
}

impl Confinement {
    /// Returns the confinement of a tool that nothing confines: only the states before and after are compared.
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

/// State of a repository at one moment, each part as a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateMeasurement {
    /// Ref or commit that HEAD names, and the commit that it resolves to.
    pub head: String,
    /// SHA-256 over all refs.
    pub refs: String,
    /// SHA-256 of the index file.
    pub index: String,
    /// SHA-256 over path, kind, size and times of everything in the working tree.
    pub worktree: String,
    /// SHA-256 over the repository's configuration and hooks.
    pub git_files: String,
}

/// Measured boundary: the states before and after a call, and their differences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Boundary {
    /// Way in which the boundary was enforced.
    pub enforcement: Enforcement,
    /// Names of the layers that were active.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// ABI version of Landlock. Absent if Landlock was not active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landlock_abi: Option<u32>,
    /// Limits that applied to all processes of a run together: `disk`, `memory`, `processes`. A limit that is not listed was not
    /// available for the whole run; each single process was still limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_limits: Vec<String>,
    /// System calls that the tool attempted and the seccomp filter refused. Absent if the kernel does not report them.
    ///
    /// Refused paths are not listed: a hidden path fails without a record, and the kernel reports refusals by Landlock
    /// only to root, in the audit log. A call that a seccomp filter of the tool itself refuses first is not listed either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Vec<RefusedCall>>,
    /// State before the call. Absent if there was no repository to measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<StateMeasurement>,
    /// State after the call. Absent if there was no repository to measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<StateMeasurement>,
    /// Ids of other runs that landed while the tool worked and that explain every difference between the two states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed_meanwhile: Vec<String>,
    /// Changes as text for people, as in `working tree: src/a.rs` or `HEAD`. Empty if nothing changed.
    pub violations: Vec<String>,
    /// True if files or the index changed.
    pub wrote_files: bool,
    /// True if HEAD or a ref changed.
    pub committed: bool,
}

impl Boundary {
    /// Creates a boundary without violations for two measurements whose differences are all explained by other runs that
    /// landed meanwhile.
    #[must_use]
    pub fn with_landings(
        confinement: &Confinement,
        before: StateMeasurement,
        after: StateMeasurement,
        runs: Vec<String>,
    ) -> Self {
        // Compared with itself: the other runs explain every difference, so none of them counts against the tool.
        let untouched = Self::compare_states(confinement, after.clone(), after, &[]);
        Self {
            before: Some(before),
            landed_meanwhile: runs,
            ..untouched
        }
    }

    /// Compares two measurements. `paths` lists paths in the working tree that differ, as many as should be shown.
    #[must_use]
    pub fn compare_states(
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
            violations.extend(paths.iter().map(|path| format!("working tree: {path}")));
            // The digest covers times and kinds too, so it can differ although no path was found to list.
            if paths.is_empty() {
                violations.push("working tree".to_owned());
            }
        }
        Self {
            enforcement: confinement.enforcement,
            layers: confinement.layers.clone(),
            landlock_abi: confinement.landlock_abi,
            run_limits: confinement.run_limits.clone(),
            refused: confinement.refused.clone(),
            // Git's own files count as written files: a hook or a changed configuration runs code at the user's next git command.
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

    /// Returns true if nothing changed.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        !self.wrote_files && !self.committed
    }
}

/// Judgment of landing on the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffValidation {
    /// True if the answer lands on the base commit that it was judged against.
    pub is_valid: bool,
    /// Refusal code. `None` if the answer lands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Reasons why the answer does not land.
    pub errors: Vec<String>,
    /// Repairs that landing made.
    pub warnings: Vec<String>,
    /// Number of hunks or edits found.
    pub hunks: u32,
}

/// Result of one call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// Name of the tool, as in `llamacpp`.
    pub tool: String,
    /// Outcome of the call.
    pub status: ResultStatus,
    /// Kind of answer.
    pub output_kind: OutputKind,
    /// Canonical diff. `None` if the kind is not `diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// SHA-256 of the canonical diff. `None` if there is no diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff_sha256: Option<String>,
    /// Paths that the change touches, taken from the change itself.
    pub files_touched: Vec<String>,
    /// Number of added and removed lines.
    pub line_count: u64,
    /// Id of this call.
    pub tool_run_id: RunId,
    /// Id of the task that the call belongs to.
    pub task_id: RunId,
    /// Time at which the call began.
    pub timestamp: Timestamp,
    /// Model that answered. `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// Place where the work was done, `cloud` or `local`. The field keeps the name that the source system gives it.
    pub provider: ExecutionMode,
    /// Address of the server, as `host:port`. `None` if the tool is a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Token counts. `None` if the tool reported none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Cost of the tokens in millionths of a US dollar, rounded to the nearest. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Cost of the tokens in US dollars, exact. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<ExactCost>,
    /// The prices from which the cost is computed. `None` if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrices>,
    /// Time from the request to the last byte, in milliseconds.
    pub latency_ms: u64,
    /// Category of the failure. `None` if the call succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_category: Option<ErrorCategory>,
    /// Description of the failure. `None` if the call succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Judgment of landing on the answer.
    pub diff_validation: DiffValidation,
    /// Measured boundary.
    pub boundary: Boundary,
    /// True if files or the index changed during the call, as measured.
    pub wrote_files: bool,
    /// True if HEAD or a ref changed during the call, as measured.
    pub committed: bool,
    /// Reason, if the answer was not made by a model. `None` for every real provider.
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
            (state("main", "w2"), false, true, false, "working tree: src/a.rs"),
            (state("main2", "w"), false, false, true, "HEAD: main -> main2"),
        ];
        for (after, held, wrote, committed, first) in cases {
            let boundary = Boundary::compare_states(
                &Confinement::observed(),
                state("main", "w"),
                after,
                &["src/a.rs".to_owned()],
            );
            assert_eq!(boundary.is_intact(), held);
            assert_eq!(boundary.wrote_files, wrote);
            assert_eq!(boundary.committed, committed);
            assert_eq!(boundary.violations.first().map_or("", String::as_str), first);
        }
    }
}
