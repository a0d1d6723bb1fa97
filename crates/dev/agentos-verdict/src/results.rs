//! The verdict of a gate, as it is written to `reports/gate_results.json`.
//!
//! Owns: that versioned shape, and how checks make a verdict. Never: writes a file.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a check, or a whole gate, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// It held.
    Passed,
    /// It did not hold.
    Failed,
    /// It could not be judged; never counts as passed.
    Skipped,
}

impl CheckStatus {
    /// Returns the word on the screen.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "PASS",
            Self::Failed => "FAIL",
            Self::Skipped => "SKIP",
        }
    }

    /// Returns failed if anything failed, else skipped if anything was skipped, else passed. Nothing judged is skipped.
    #[must_use]
    pub fn of(checks: &[Check]) -> Self {
        let any = |status| checks.iter().any(|check| check.status == status);
        if any(Self::Failed) {
            Self::Failed
        } else if any(Self::Skipped) || checks.is_empty() {
            Self::Skipped
        } else {
            Self::Passed
        }
    }
}

/// With whose settings the program was run. Neither mode ever uses a mock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `AGENTOS_GATE_MODE=1`: an empty home and environment, so that the verdict depends on nobody's machine.
    Gate,
    /// The settings and keys of the person who started it.
    Manual,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// As in `LMS-A`.
    pub id: String,
    /// What is checked, in words.
    pub name: String,
    /// How it ended.
    pub status: CheckStatus,
    /// What was seen; the reasons where it did not hold.
    pub details: Vec<String>,
}

impl Check {
    /// Returns a check that held, or did not.
    pub fn new(id: impl Into<String>, name: &str, held: bool, said: impl Into<String>) -> Self {
        let status = if held {
            CheckStatus::Passed
        } else {
            CheckStatus::Failed
        };
        Self::ended(id, name, status, said)
    }

    /// Returns a check that could not be made.
    pub fn skipped(id: impl Into<String>, name: &str, why: impl Into<String>) -> Self {
        Self::ended(id, name, CheckStatus::Skipped, why)
    }

    fn ended(id: impl Into<String>, name: &str, status: CheckStatus, said: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.to_owned(),
            status,
            details: vec![said.into()],
        }
    }
}

/// How many checks ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Held.
    pub passed: usize,
    /// Did not hold.
    pub failed: usize,
    /// Could not be judged.
    pub skipped: usize,
}

/// `reports/gate_results.json`: the whole verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateResults {
    /// The version of this shape.
    pub version: u32,
    /// As in `tl_r2_lmstudio`.
    pub gate: String,
    /// When it began: RFC 3339, UTC, milliseconds, as in `2026-11-21T09:14:00.000Z`.
    pub started_at: String,
    /// With whose settings.
    pub mode: Mode,
    /// Every check, in order.
    pub checks: Vec<Check>,
    /// The verdict.
    pub status: CheckStatus,
    /// How many checks ended how.
    pub counts: Counts,
}

impl GateResults {
    /// Returns the verdict over these checks.
    #[must_use]
    pub fn new(gate: &str, started_at: &str, mode: Mode, checks: Vec<Check>) -> Self {
        let count = |status| checks.iter().filter(|check| check.status == status).count();
        Self {
            version: 1,
            gate: gate.to_owned(),
            started_at: started_at.to_owned(),
            mode,
            status: CheckStatus::of(&checks),
            counts: Counts {
                passed: count(CheckStatus::Passed),
                failed: count(CheckStatus::Failed),
                skipped: count(CheckStatus::Skipped),
            },
            checks,
        }
    }

    /// Reads the verdict that a gate left in its folder.
    ///
    /// # Errors
    /// When there is none or it has another shape.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let file = folder.join("reports/gate_results.json");
        let shown = file.display();
        let text = std::fs::read(&file).map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
        serde_json::from_slice(&text).map_err(|error| format!("`{shown}` is not understood: {error}"))
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
            let checks = given.iter().map(|status| Check::ended("x", "an x", *status, ""));
            let checks: Vec<Check> = checks.collect();
            assert_eq!(CheckStatus::of(&checks), verdict, "{given:?}");
        }
    }
}
