//! The state of the server in a connectivity gate, as written to `reports/health_summary.json`.
//!
//! Owns: that versioned shape. Never: writes a file.

use agentos_tool::{Endpoint, ErrorCategory, HealthStatus, Timestamp, ToolHealth};
use agentos_verdict::Check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `reports/health_summary.json`: the program's report about the server, and the verdict of the gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthSummary {
    /// The version of this shape.
    pub version: u32,
    /// The provider's id, such as `lmstudio`.
    pub provider: String,
    /// The state, one of six; `None` if the program's report cannot be read.
    pub status: Option<HealthStatus>,
    /// The category of the error; `None` if the server is connected.
    pub error_category: Option<ErrorCategory>,
    /// The start of the check.
    pub checked_at: Timestamp,
    /// The observations.
    pub details: String,
    /// The next step for a person; `None` if there is none.
    pub fix: Option<String>,
    /// The server's `host:port`; `None` if no address is set.
    pub endpoint: Option<Endpoint>,
    /// True if the whole gate passed.
    pub gate_passed: bool,
}

impl HealthSummary {
    /// Creates the summary of the program's report. The gate has not passed yet.
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

    /// Creates the summary for a report that cannot be read.
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
            // False until the verdict is known, so that a summary written by mistake too early never claims a
            // pass.
            gate_passed: false,
        }
    }
}

/// The result of a gate: its checks and, for a connectivity gate, a summary.
pub(crate) struct JudgedGate {
    pub(crate) checks: Vec<Check>,
    /// The state of the server; `None` if the gate is not a connectivity gate.
    pub(crate) summary: Option<HealthSummary>,
}

impl From<Vec<Check>> for JudgedGate {
    fn from(checks: Vec<Check>) -> Self {
        Self {
            checks,
            summary: None,
        }
    }
}
