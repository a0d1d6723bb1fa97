//! The verdict of a gate, as written to `reports/gate_results.json`.
//!
//! Owns: that versioned shape, and how a verdict follows from the checks. Never: writes a file.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a check or of a whole gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// The check held.
    Passed,
    /// The check did not hold.
    Failed,
    /// The check could not be made; this never counts as passed.
    Skipped,
}

impl CheckStatus {
    /// Returns the word that is printed for this result.
    #[must_use]
    pub fn display_word(self) -> &'static str {
        match self {
            Self::Passed => "PASS",
            Self::Failed => "FAIL",
            Self::Skipped => "SKIP",
        }
    }

    /// Returns the verdict over some checks: failed if any failed, otherwise skipped if any was skipped, otherwise passed.
    #[must_use]
    pub fn from_checks(checks: &[Check]) -> Self {
        let any = |status| checks.iter().any(|check| check.status == status);
        if any(Self::Failed) {
            Self::Failed
        // A gate without checks has judged nothing, and that must not pass.
        } else if any(Self::Skipped) || checks.is_empty() {
            Self::Skipped
        } else {
            Self::Passed
        }
    }
}

/// The settings with which a gate runs the program. Neither mode uses a mock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `AGENTOS_GATE_MODE=1`: an empty home and environment, so that the verdict does not depend on the machine's settings.
    Gate,
    /// The settings and keys of the person who started it.
    Manual,
}

/// A check of a gate, with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The check's id, such as `LMS-A`.
    pub id: String,
    /// The checked property, in words.
    pub name: String,
    /// The result.
    pub status: CheckStatus,
    /// The observations, or the reasons why the check did not hold or could not be made.
    pub details: Vec<String>,
}

impl Check {
    /// Creates a check that held or did not hold.
    pub fn new(id: impl Into<String>, name: &str, held: bool, said: impl Into<String>) -> Self {
        let status = if held {
            CheckStatus::Passed
        } else {
            CheckStatus::Failed
        };
        Self::with_status(id, name, status, said)
    }

    /// Creates a check that could not be made.
    pub fn skipped(id: impl Into<String>, name: &str, why: impl Into<String>) -> Self {
        Self::with_status(id, name, CheckStatus::Skipped, why)
    }

    fn with_status(id: impl Into<String>, name: &str, status: CheckStatus, said: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.to_owned(),
            status,
            details: vec![said.into()],
        }
    }
}

/// The number of checks for each result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckCounts {
    /// Checks that held.
    pub passed: usize,
    /// Checks that did not hold.
    pub failed: usize,
    /// Checks that could not be made.
    pub skipped: usize,
}

/// `reports/gate_results.json`: the whole verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateResults {
    /// The version of this shape.
    pub version: u32,
    /// The gate's name, such as `tl_r2_lmstudio`.
    pub gate: String,
    /// The start of the run: RFC 3339, UTC, milliseconds, such as `2026-11-21T09:14:00.000Z`.
    pub started_at: String,
    /// The settings that were used.
    pub mode: Mode,
    /// Every check, in order.
    pub checks: Vec<Check>,
    /// The verdict.
    pub status: CheckStatus,
    /// The number of checks for each result.
    pub counts: CheckCounts,
}

impl GateResults {
    /// Creates the verdict over these checks.
    #[must_use]
    pub fn new(gate: &str, started_at: &str, mode: Mode, checks: Vec<Check>) -> Self {
        // Kept in the file although they follow from `checks`, so that a reader of the verdict need not count.
        let count = |status| checks.iter().filter(|check| check.status == status).count();
        Self {
            version: 1,
            gate: gate.to_owned(),
            started_at: started_at.to_owned(),
            mode,
            status: CheckStatus::from_checks(&checks),
            counts: CheckCounts {
                passed: count(CheckStatus::Passed),
                failed: count(CheckStatus::Failed),
                skipped: count(CheckStatus::Skipped),
            },
            checks,
        }
    }

    /// Reads the verdict that a gate wrote to its evidence folder.
    ///
    /// # Errors
    /// When there is no verdict or it does not have this shape.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let file = folder.join("reports/gate_results.json");
        let shown = file.display();
        let text = std::fs::read(&file).map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
        serde_json::from_slice(&text)
            .map_err(|error| format!("`{shown}` is not a verdict of a gate: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_fails_and_one_skip_skips() {
        use CheckStatus::{Failed, Passed, Skipped};
        let cases = [
            (&[Passed, Passed][..], Passed),
            (&[Passed, Skipped], Skipped),
            (&[Skipped, Failed], Failed),
            (&[], Skipped),
        ];
        for (given, verdict) in cases {
            let checks = given
                .iter()
                .map(|status| Check::with_status("x", "an x", *status, ""));
            let checks: Vec<Check> = checks.collect();
            assert_eq!(CheckStatus::from_checks(&checks), verdict, "{given:?}");
        }
    }
}
