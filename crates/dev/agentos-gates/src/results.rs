//! The verdict of a gate, as it is written to `reports/`.
//!
//! Owns: the versioned shapes of `gate_results.json` and `health_summary.json`, and how checks make a verdict.
//! Never: writes a file.

use agentos_tool::{Endpoint, ErrorCategory, HealthStatus, Timestamp, ToolHealth};
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
    /// The word on the screen.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "PASS",
            Self::Failed => "FAIL",
            Self::Skipped => "SKIP",
        }
    }

    /// Failed if anything failed, else skipped if anything was skipped, else passed. Nothing judged is skipped.
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
    /// When it began.
    pub started_at: Timestamp,
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
    /// The verdict over these checks.
    #[must_use]
    pub fn new(gate: &str, started_at: Timestamp, mode: Mode, checks: Vec<Check>) -> Self {
        let count = |status| checks.iter().filter(|check| check.status == status).count();
        let counts = Counts {
            passed: count(CheckStatus::Passed),
            failed: count(CheckStatus::Failed),
            skipped: count(CheckStatus::Skipped),
        };
        let status = CheckStatus::of(&checks);
        Self {
            version: 1,
            gate: gate.to_owned(),
            started_at,
            mode,
            checks,
            status,
            counts,
        }
    }
}

/// `reports/health_summary.json`: what the program said of the server, and what the gate made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthSummary {
    /// The version of this shape.
    pub version: u32,
    /// As in `lmstudio`.
    pub provider: String,
    /// One of the six states; none when the program gave no answer that can be read.
    pub status: Option<HealthStatus>,
    /// Set whenever the state is not connected.
    pub error_category: Option<ErrorCategory>,
    /// When the check began.
    pub checked_at: Timestamp,
    /// What was seen.
    pub details: String,
    /// What to do about it.
    pub fix: Option<String>,
    /// Where it was looked for, `host:port`.
    pub endpoint: Option<Endpoint>,
    /// True only when the whole gate passed.
    pub gate_passed: bool,
}

impl HealthSummary {
    /// Returns the summary of what the program said; the gate has not passed yet.
    pub(crate) fn new(health: &ToolHealth) -> Self {
        Self {
            status: Some(health.status),
            error_category: health.error_category,
            fix: health.fix.clone(),
            endpoint: health.endpoint.clone(),
            ..Self::unreadable(
                &health.provider,
                health.checked_at.clone(),
                health.details.clone(),
            )
        }
    }

    /// Returns the summary when the program said nothing that can be read.
    pub(crate) fn unreadable(provider: &str, checked_at: Timestamp, details: String) -> Self {
        Self {
            version: 1,
            provider: provider.to_owned(),
            status: None,
            error_category: None,
            checked_at,
            details,
            fix: None,
            endpoint: None,
            gate_passed: false,
        }
    }
}

/// What a gate found.
pub(crate) struct Judged {
    pub(crate) checks: Vec<Check>,
    /// What a connectivity gate heard of the server.
    pub(crate) summary: Option<HealthSummary>,
}

impl From<Vec<Check>> for Judged {
    fn from(checks: Vec<Check>) -> Self {
        Self {
            checks,
            summary: None,
        }
    }
}

impl Check {
    /// Returns a check that held, or did not.
    pub(crate) fn new(id: impl Into<String>, name: &str, held: bool, said: impl Into<String>) -> Self {
        let status = if held {
            CheckStatus::Passed
        } else {
            CheckStatus::Failed
        };
        Self::ended(id, name, status, said)
    }

    /// Returns a check that could not be made.
    pub(crate) fn skipped(id: impl Into<String>, name: &str, why: impl Into<String>) -> Self {
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
            let check = |status: &CheckStatus| Check {
                id: "x".to_owned(),
                name: "an x".to_owned(),
                status: *status,
                details: Vec::new(),
            };
            let checks: Vec<Check> = given.iter().map(check).collect();
            assert_eq!(CheckStatus::of(&checks), verdict, "{given:?}");
        }
    }
}
