//! What an adapter needs to know of one server.
//!
//! Owns: the settings every HTTP provider shares. Never: reads a profile, the environment or a key store; the
//! caller fills it.

use std::time::Duration;

use agentos_tool::{Ability, Constrain, DiffQuality, ExecutionMode, KeyObstacle, Secret, ToolCapabilities};

/// The placeholder for "whatever model the server has loaded".
pub const ANY_MODEL: &str = "local-model";

/// One server, its model and its key.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The provider's name, as in `lmstudio`.
    pub provider: String,
    /// Where it listens, with the version part of its path where the wire has one: `http://localhost:1234/v1`.
    pub base_url: Option<String>,
    /// The model to ask for; none or [`ANY_MODEL`] leaves it to the server.
    pub model: Option<String>,
    /// The key.
    pub key: Option<Secret>,
    /// Why no key is sent although there may be one. `None` if one is sent, or there is none.
    pub key_obstacle: Option<KeyObstacle>,
    /// It never answers without a key, so nothing is sent without one.
    pub requires_key: bool,
    /// Does what is sent stay on machines of the user's own?
    pub execution_mode: ExecutionMode,
    /// The declared quality of its diffs.
    pub diff_quality: DiffQuality,
    /// Limit of one health check.
    pub probe_timeout: Duration,
    /// Requests after the first, where asking again can help.
    pub retries: u32,
    /// Tokens of an answer where the task sets no limit of its own.
    pub max_tokens: Option<u64>,
    /// Sent only when set.
    pub temperature: Option<f64>,
    /// Sent only when set.
    pub top_p: Option<f64>,
    /// Sent only when set.
    pub seed: Option<u64>,
    /// Texts at which an answer ends; sent only when there are any.
    pub stop: Vec<String>,
    /// What the server is asked to hold the answer to.
    pub constrain: Constrain,
    /// Tokens that fit, where the profile says so.
    pub context_window: Option<u64>,
}

impl ServerSettings {
    /// Settings in which nothing optional is set.
    #[must_use]
    pub fn new(provider: &str, execution_mode: ExecutionMode) -> Self {
        Self {
            provider: provider.to_owned(),
            base_url: None,
            model: None,
            key: None,
            key_obstacle: None,
            requires_key: false,
            execution_mode,
            diff_quality: DiffQuality::Medium,
            probe_timeout: Duration::from_secs(5),
            retries: 2,
            max_tokens: None,
            temperature: None,
            top_p: None,
            seed: None,
            stop: Vec::new(),
            constrain: Constrain::Off,
            context_window: None,
        }
    }

    /// The model that was named, unless the server may choose.
    #[must_use]
    pub fn named_model(&self) -> Option<&str> {
        self.model
            .as_deref()
            .filter(|model| !model.is_empty() && *model != ANY_MODEL)
    }

    /// True when there is a key to send.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.key.as_ref().is_some_and(|key| !key.is_empty())
    }

    /// What a server with these settings can do; chat and streaming are the wire's.
    #[must_use]
    pub fn capabilities(&self) -> ToolCapabilities {
        let mut can = ToolCapabilities::diff_only(self.execution_mode, self.diff_quality);
        can.stream = Ability::Yes;
        can.context_window = self.context_window;
        can
    }
}
