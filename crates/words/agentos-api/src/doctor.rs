//! Report about the health of a machine and a repository.
//!
//! Owns: the shape of the report of `agentos doctor`. Never: performs a check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cause, NextStep};

/// Report of `agentos doctor --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// True if no check has the status `wrong`.
    pub ok: bool,
    /// Checks, in the order in which they ran.
    pub checks: Vec<DoctorCheck>,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// The name in the committed schema is older than the type's name of two words; readers generate code from it.
#[schemars(rename = "Check")]
pub struct DoctorCheck {
    /// Stable name of the check, as in `identity`.
    pub name: String,
    /// Status of the checked item.
    pub status: CheckStatus,
    /// Stable code of the problem. `None` if there is no problem.
    pub code: Option<String>,
    /// Observation, in one sentence.
    pub details: String,
    /// Remedy, in words. `None` if nothing needs to be done or `next` describes it.
    pub fix: Option<String>,
    /// Remedies as data: alternatives, the best first.
    // `next` is newer than the shape's version 1: a report without steps must stay the document that it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
    /// Cause from which the exit status is computed. `None` if the check passed. Not part of the JSON: `code` is more specific.
    #[serde(skip)]
    pub cause: Option<Cause>,
}

impl DoctorCheck {
    fn with_status(name: &str, status: CheckStatus, details: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            status,
            code: None,
            details: details.into(),
            fix: None,
            next: Vec::new(),
            cause: None,
        }
    }

    /// Creates the result of a check that passed.
    #[must_use]
    pub fn fine(name: &str, details: impl Into<String>) -> Self {
        Self::with_status(name, CheckStatus::Ok, details)
    }

    /// Creates the result of a check that needs attention, with a remedy in words.
    #[must_use]
    pub fn attention(name: &str, code: &str, details: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            code: Some(code.to_owned()),
            fix: Some(fix.into()),
            ..Self::with_status(name, CheckStatus::Attention, details)
        }
    }

    /// Creates the result of a check that needs attention, with remedies as data.
    #[must_use]
    pub fn attention_with_steps(
        name: &str,
        code: &str,
        details: impl Into<String>,
        steps: impl IntoIterator<Item = NextStep>,
    ) -> Self {
        Self {
            code: Some(code.to_owned()),
            next: steps.into_iter().collect(),
            ..Self::with_status(name, CheckStatus::Attention, details)
        }
    }

    /// Creates an entry for a check that did not run, with the reason.
    #[must_use]
    pub fn skipped(name: &str, why: impl Into<String>) -> Self {
        Self::with_status(name, CheckStatus::Skipped, why)
    }
}

/// Status of a checked item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// Other enums of this crate are kebab-case. Each of these variants is one word, which both spellings write
// alike.
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// The check passed.
    Ok,
    /// The item works, but something should be improved.
    Attention,
    /// A landing, a tool or the evidence would fail.
    Wrong,
    /// The check did not run, because it was impossible or not wanted.
    Skipped,
}
