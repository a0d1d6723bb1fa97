//! Health of a tool: one of six states, with its reason and remedy.
//!
//! Owns: `ToolHealth` and its rule that a state other than connected always names a category. Never: probes.

use std::fmt;

use agentos_api::NextStep;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Endpoint, Timestamp};

/// Health state: whether a tool can be used now, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// The expected service answered and accepts work.
    Connected,
    /// A required setting is missing: address, model or key.
    NotConfigured,
    /// The service rejected the key.
    InvalidToken,
    /// No service answered, or it cannot answer now.
    Unreachable,
    /// The service answers, but the model does not exist or is not loaded.
    ModelMissing,
    /// A server answers, but not in this provider's wire format.
    SchemaMismatch,
}

impl HealthStatus {
    /// All six states, in the order in which they are listed for people.
    pub const ALL: [Self; 6] = [
        Self::Connected,
        Self::NotConfigured,
        Self::InvalidToken,
        Self::Unreachable,
        Self::ModelMissing,
        Self::SchemaMismatch,
    ];

    /// Returns the name used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::NotConfigured => "not_configured",
            Self::InvalidToken => "invalid_token",
            Self::Unreachable => "unreachable",
            Self::ModelMissing => "model_missing",
            Self::SchemaMismatch => "schema_mismatch",
        }
    }

    /// Returns the usual category of a state. `None` if the state is connected. A probe may choose a more exact category:
    /// a model that is still loading is unreachable for a `runtime` reason.
    #[must_use]
    pub fn category(self) -> Option<ErrorCategory> {
        match self {
            Self::Connected => None,
            // Every other state names a category: a report of a failure without one would say that nothing failed.
            Self::NotConfigured => Some(ErrorCategory::Config),
            Self::InvalidToken => Some(ErrorCategory::Auth),
            Self::Unreachable => Some(ErrorCategory::Network),
            Self::ModelMissing => Some(ErrorCategory::Model),
            Self::SchemaMismatch => Some(ErrorCategory::Schema),
        }
    }
}

impl fmt::Display for HealthStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Category of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCategory {
    /// The user's settings.
    Config,
    /// The key.
    Auth,
    /// The connection to the service.
    Network,
    /// The model.
    Model,
    /// The format of the response.
    Schema,
    /// The service or the tool, while it worked.
    Runtime,
}

impl ErrorCategory {
    /// Returns the name used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Auth => "auth",
            Self::Network => "network",
            Self::Model => "model",
            Self::Schema => "schema",
            Self::Runtime => "runtime",
        }
    }
}

impl fmt::Display for ErrorCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Result of a health check of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolHealth {
    /// Name of the provider, as in `lmstudio`.
    pub provider: String,
    /// Health state.
    pub status: HealthStatus,
    /// Category of the failure. `None` if and only if the state is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_category: Option<ErrorCategory>,
    /// Machine-readable reason for the state, as in `refused` or `no-models`. `None` if the state needs no reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Observation, in one sentence.
    pub details: String,
    /// Remedy, in words. `None` if nothing needs to be done, or until a front end has worded `next`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Remedies as data: alternatives, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
    /// Address of the service, as `host:port`. `None` if there is no address, as for a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Model that would be used. `None` if no model is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models that the service lists.
    pub models: Vec<String>,
    /// Context window of the loaded model in tokens. `None` if the service does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Duration of the whole probe, in milliseconds.
    pub latency_ms: u64,
    /// Time at which the check began.
    pub checked_at: Timestamp,
}

impl ToolHealth {
    /// Creates a result with the usual category of its state, and without optional fields.
    #[must_use]
    pub fn new(
        provider: &str,
        status: HealthStatus,
        details: impl Into<String>,
        checked_at: Timestamp,
    ) -> Self {
        Self {
            provider: provider.to_owned(),
            status,
            error_category: status.category(),
            detail: None,
            details: details.into(),
            fix: None,
            next: Vec::new(),
            endpoint: None,
            model: None,
            models: Vec::new(),
            context_window: None,
            latency_ms: 0,
            checked_at,
        }
    }

    /// Returns true if the state is connected.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.status == HealthStatus::Connected
    }

    /// Sets the machine-readable reason.
    #[must_use]
    pub fn with_detail(mut self, detail: &str) -> Self {
        self.detail = Some(detail.to_owned());
        self
    }

    /// Sets the remedy, as a sentence that names no flag or verb of a front end.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Sets the remedy if there is one.
    #[must_use]
    pub fn with_optional_fix(mut self, fix: Option<String>) -> Self {
        // Kept if there is none, so that an earlier remedy is not lost.
        self.fix = fix.or(self.fix);
        self
    }

    /// Adds alternative remedies.
    #[must_use]
    pub fn suggest_steps(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.next.extend(steps);
        self
    }

    /// Returns true if the result contains a remedy, in words or as data.
    #[must_use]
    pub fn says_next(&self) -> bool {
        self.fix.is_some() || !self.next.is_empty()
    }

    /// Replaces the usual category of the state. Has no effect if the state is connected.
    #[must_use]
    pub fn with_category(mut self, category: ErrorCategory) -> Self {
        // A connected state has no category, and readers may rely on that.
        if !self.is_connected() {
            self.error_category = Some(category);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_but_connected_names_a_category() {
        for status in HealthStatus::ALL {
            let health = ToolHealth::new("x", status, "seen", Timestamp::from_unix_seconds(0));
            assert_eq!(health.error_category.is_none(), health.is_connected(), "{status}");
        }
    }

    #[test]
    fn a_health_is_stable_json() {
        let mut health = ToolHealth::new(
            "lmstudio",
            HealthStatus::ModelMissing,
            "no model is loaded",
            Timestamp::from_unix_seconds(0),
        )
        .with_detail("no-models")
        .with_fix("load a model in LM Studio");
        health.endpoint = Some(Endpoint::new("localhost", 1234));
        insta::assert_snapshot!(serde_json::to_string_pretty(&health).unwrap(), @r#"
        {
          "provider": "lmstudio",
          "status": "model_missing",
          "error_category": "model",
          "detail": "no-models",
          "details": "no model is loaded",
          "fix": "load a model in LM Studio",
          "endpoint": "localhost:1234",
          "models": [],
          "latency_ms": 0,
          "checked_at": "1970-01-01T00:00:00.000Z"
        }
        "#);
    }
}
