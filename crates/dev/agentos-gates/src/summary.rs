//! What a connectivity gate heard of its server, as it is written to `reports/health_summary.json`.
//!
//! Owns: that versioned shape. Never: writes a file.

use agentos_tool::{Endpoint, ErrorCategory, HealthStatus, Timestamp, ToolHealth};
use agentos_verdict::Check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
