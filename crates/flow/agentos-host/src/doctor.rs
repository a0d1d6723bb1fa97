//! `agentos doctor`: everything that a landing and a tool need here, checked one after the other.
//!
//! Owns: the order of the checks, the report and the exit code. Never: mends anything, or stops at the first fault.

mod machine;
mod repository;

use agentos_api::NextStep;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::host::Host;

/// `agentos doctor --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// True when no check found something wrong.
    pub ok: bool,
    /// The checks, in the order in which they were made.
    pub checks: Vec<Check>,
}

/// What one check found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Check {
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

/// How a checked thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
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

impl Check {
    fn made(name: &str, status: CheckStatus, details: impl Into<String>) -> Self {
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

    /// As it should be.
    pub fn fine(name: &str, details: impl Into<String>) -> Self {
        Self::made(name, CheckStatus::Ok, details)
    }

    /// Something that could be better, with what to do.
    pub fn attention(name: &str, code: &str, details: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            code: Some(code.to_owned()),
            fix: Some(fix.into()),
            ..Self::made(name, CheckStatus::Attention, details)
        }
    }

    /// Not checked.
    pub fn skipped(name: &str, why: impl Into<String>) -> Self {
        Self::made(name, CheckStatus::Skipped, why)
    }

    /// What would fail, from the failure that it would be.
    pub fn wrong(name: &str, error: &EffectError) -> Self {
        Self {
            code: Some(error.code.clone()),
            fix: error.hint.clone(),
            next: error.next.clone(),
            cause: Some(error.cause),
            ..Self::made(name, CheckStatus::Wrong, &error.message)
        }
    }
}

impl Host {
    /// Checks everything that a landing and a tool need here, one after the other. `is_offline` leaves providers out.
    ///
    /// # Errors
    /// If a profile folder cannot be read, or the system refuses to wait for providers. What a check finds is in the report.
    pub fn examine(&self, is_offline: bool) -> Result<DoctorReport, EffectError> {
        let mut checks = Vec::new();
        let repo = repository::open(self, &mut checks);
        if let Some(repo) = &repo {
            repository::checks(self, repo, &mut checks)?;
        }
        machine::checks(self, repo.as_ref(), is_offline, &mut checks)?;
        Ok(DoctorReport {
            version: 1,
            ok: checks.iter().all(|check| check.cause.is_none()),
            checks,
        })
    }
}
