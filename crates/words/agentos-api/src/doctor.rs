//! What was checked on a machine and in a repository.
//!
//! Owns: the report of `agentos doctor`. Never: checks anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cause, NextStep};

/// `agentos doctor --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// True when no check found something wrong.
    pub ok: bool,
    /// The checks, in the order in which they were made.
    pub checks: Vec<DoctorCheck>,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Check")]
pub struct DoctorCheck {
    /// What was checked, as in `identity`; the same in every version.
    pub name: String,
    /// How it is.
    pub status: CheckStatus,
    /// The stable code of what is wrong or wants attention.
    pub code: Option<String>,
    /// What was seen.
    pub details: String,
    /// What to do, in words.
    pub fix: Option<String>,
    /// What to do, as data: alternatives, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
    /// What the exit code would be: not part of the document, `code` says more.
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

    /// Makes a check of something that is as it should be.
    #[must_use]
    pub fn fine(name: &str, details: impl Into<String>) -> Self {
        Self::with_status(name, CheckStatus::Ok, details)
    }

    /// Makes a check of something that could be better, with what to do.
    #[must_use]
    pub fn attention(name: &str, code: &str, details: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            code: Some(code.to_owned()),
            fix: Some(fix.into()),
            ..Self::with_status(name, CheckStatus::Attention, details)
        }
    }

    /// Makes a check of something that could be better, with what to do as data.
    #[must_use]
    pub fn advised(
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

    /// Makes an entry for something that was not checked, with the reason.
    #[must_use]
    pub fn skipped(name: &str, why: impl Into<String>) -> Self {
        Self::with_status(name, CheckStatus::Skipped, why)
    }
}

/// How a checked thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// It works, and something could be better.
    Attention,
    /// A landing, a tool or the evidence would fail.
    Wrong,
    /// It could not be checked, or was not to be.
    Skipped,
}
