//! The settings of one server.
//!
//! Owns: the settings that all HTTP providers share. Never: reads a profile, the environment or a key store; the caller
//! does.

use std::time::Duration;

use agentos_tool::{
    Ability, Constrain, DiffQuality, ExecutionMode, KeyObstacle, Secret, ThinkingLevel, ToolCapabilities,
};

/// Model name that means "the model that the server has loaded".
pub const ANY_MODEL: &str = "local-model";

/// Settings of a server, with its model and its key.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Name of the provider, such as `lmstudio`.
    pub provider: String,
    /// Base URL, with the version part of the path if the wire has one: `http://localhost:1234/v1`. `None` if not set.
    pub base_url: Option<String>,
    /// Model to request. `None` or [`ANY_MODEL`] lets the server choose.
    pub model: Option<String>,
    /// API key. `None` if there is none.
    pub key: Option<Secret>,
    /// Reason why a key is not sent. `None` if it is sent, or there is none.
    pub key_obstacle: Option<KeyObstacle>,
    /// True if the server never answers without a key. Then nothing is sent without one.
    pub requires_key: bool,
    /// Location of the model: a machine of the user's own or the cloud.
    pub execution_mode: ExecutionMode,
    /// Declared quality of its diffs.
    pub diff_quality: DiffQuality,
    /// Timeout of one health check.
    pub probe_timeout: Duration,
    /// Time from sending a task to the first byte of its answer.
    pub first_byte_timeout: Duration,
    /// Time between two pieces of an answer.
    pub idle_timeout: Duration,
    /// Time for the whole answer of a conversation. A task has its own limit.
    pub total_timeout: Duration,
    /// Maximum number of retries of the first request of a turn.
    pub retries: u32,
    /// Maximum number of retries of a request that continues a turn after calls of tools: no other model can continue the turn.
    pub later_retries: u32,
    /// Maximum tokens of an answer if the task sets no limit of its own.
    pub max_tokens: Option<u64>,
    /// Sent only when set.
    pub temperature: Option<f64>,
    /// Sent only when set.
    pub top_p: Option<f64>,
    /// Sent only when set.
    pub seed: Option<u64>,
    /// Texts at which an answer ends; sent only if there are any.
    pub stop: Vec<String>,
    /// Thinking to ask for. `None` to send no such field.
    pub thinking: Option<ThinkingLevel>,
    /// Names of optional fields that requests leave out.
    pub omit: Vec<String>,
    /// Format to which the server is asked to constrain the answer.
    pub constrain: Constrain,
    /// Tokens of the context window. `None` if the profile does not say.
    pub context_window: Option<u64>,
}

impl ServerSettings {
    /// Makes settings in which nothing optional is set.
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
            // Enough for the documents of a probe: a busy llama.cpp or Ollama still answers them at once.
            probe_timeout: Duration::from_secs(5),
            // A laptop reads a prompt of 16,000 tokens at some 50 a second.
            first_byte_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(300),
            total_timeout: Duration::from_secs(7200),
            retries: 3,
            later_retries: 3,
            max_tokens: None,
            temperature: None,
            top_p: None,
            seed: None,
            stop: Vec::new(),
            thinking: None,
            omit: Vec::new(),
            constrain: Constrain::Off,
            context_window: None,
        }
    }

    /// Returns the model that was named. `None` if the server may choose.
    #[must_use]
    pub fn named_model(&self) -> Option<&str> {
        self.model
            .as_deref()
            // Newer versions of LM Studio refuse unknown names, so the placeholder must never be sent as one.
            .filter(|model| !model.is_empty() && *model != ANY_MODEL)
    }

    /// Returns true if there is a key to send.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.key.as_ref().is_some_and(|key| !key.is_empty())
    }

    /// Returns what a server with these settings can do. Chat and streaming depend on the wire.
    #[must_use]
    pub fn capabilities(&self) -> ToolCapabilities {
        let mut can = ToolCapabilities::diff_only(self.execution_mode, self.diff_quality);
        can.stream = Ability::Yes;
        can.context_window = self.context_window;
        can
    }
}
