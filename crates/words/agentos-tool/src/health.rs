//! The six health states and what is said beside them.
//!
//! Owns: `ToolHealth` and its rule that a state other than connected always names a category. Never: probes.

use std::fmt;

use agentos_api::NextStep;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Endpoint, Timestamp};

/// Can this tool be used now? One of six answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// The right service answered and will take work.
    Connected,
    /// Something that we need is not set: address, model or key.
    NotConfigured,
    /// The service refused our key.
    InvalidToken,
    /// Nobody answered, or the service cannot answer now.
    Unreachable,
    /// The service answers, but the model is not there or not loaded.
    ModelMissing,
    /// Something answers, but not in the shape this provider speaks.
    SchemaMismatch,
}

impl HealthStatus {
    /// All six, in the order they are listed for people.
    pub const ALL: [Self; 6] = [
        Self::Connected,
        Self::NotConfigured,
        Self::InvalidToken,
        Self::Unreachable,
        Self::ModelMissing,
        Self::SchemaMismatch,
    ];

    /// The word used in JSON and on the screen.
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

    /// The category a state belongs to unless a probe knows better (a model that is still loading is
    /// unreachable for a `runtime` reason). None for connected.
    #[must_use]
    pub fn category(self) -> Option<ErrorCategory> {
        match self {
            Self::Connected => None,
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

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCategory {
    /// Our own settings.
    Config,
    /// The key.
    Auth,
    /// The way to the service.
    Network,
    /// The model.
    Model,
    /// The shape of what came back.
    Schema,
    /// The service or the tool while it worked.
    Runtime,
}

impl ErrorCategory {
    /// The word used in JSON and on the screen.
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

/// What a health check found out about one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolHealth {
    /// The provider that was asked, as in `lmstudio`.
    pub provider: String,
    /// One of six states.
    pub status: HealthStatus,
    /// Set whenever the state is not connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_category: Option<ErrorCategory>,
    /// The machine-readable reason beside the state, as in `refused` or `no-models`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What was seen, in one sentence.
    pub details: String,
    /// What to do about it, in words. `None` if nothing is to be done, and before a front end has worded `next`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// What to do about it, as data: alternatives, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
    /// Where the answer came from or should have come from, `host:port`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The model that would be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models the service lists.
    pub models: Vec<String>,
    /// Tokens that fit the loaded context, where the service says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How long the whole probe took, in milliseconds.
    pub latency_ms: u64,
    /// When the check began.
    pub checked_at: Timestamp,
}

impl ToolHealth {
    /// A health with the category that belongs to its state, and nothing optional set.
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

    /// True for connected alone.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.status == HealthStatus::Connected
    }

    /// Adds the machine-readable reason.
    #[must_use]
    pub fn with_detail(mut self, detail: &str) -> Self {
        self.detail = Some(detail.to_owned());
        self
    }

    /// Adds what to do next, as a sentence that names no flag or verb of a front end.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Adds alternatives to what can be done next.
    #[must_use]
    pub fn suggest_steps(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.next.extend(steps);
        self
    }

    /// Returns true if it says what to do next, in words or as data.
    #[must_use]
    pub fn says_next(&self) -> bool {
        self.fix.is_some() || !self.next.is_empty()
    }

    /// Replaces the category where the state alone does not tell; ignored for connected.
    #[must_use]
    pub fn with_category(mut self, category: ErrorCategory) -> Self {
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
