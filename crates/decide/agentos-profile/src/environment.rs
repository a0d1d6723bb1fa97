//! The names of a provider's environment variables.
//!
//! Owns: the names. Never: reads one; the caller does.

/// Names of environment variables for each setting, in the order in which they are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvNames {
    /// Variables for the base URL.
    pub base_url: Vec<String>,
    /// Variables for the model.
    pub model: Vec<String>,
    /// Variables for the key.
    pub api_key: Vec<String>,
}

/// Returns the names for a provider: this program's own first, then the vendor's.
#[must_use]
pub fn env_names(provider: &str) -> EnvNames {
    let own = |setting: &str| {
        let provider: String = provider
            .chars()
            .map(|c| {
                // POSIX names of variables have letters, digits and `_` only, and providers have `-` in theirs.
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_uppercase()
                } else {
                    '_'
                }
            })
            .collect();
        format!("AGENTOS_{provider}_{setting}")
    };
    let (base_url, api_key) = match provider {
        "openai" => (Some("OPENAI_BASE_URL"), Some("OPENAI_API_KEY")),
        "anthropic" => (Some("ANTHROPIC_BASE_URL"), Some("ANTHROPIC_API_KEY")),
        "llamacpp" => (None, Some("LLAMA_API_KEY")),
        // These programs read the vendor's variable themselves, so users have set it already.
        "aider" | "codex" => (None, Some("OPENAI_API_KEY")),
        "claude-code" => (None, Some("ANTHROPIC_API_KEY")),
        "gemini" | "gemini-cli" => (None, Some("GEMINI_API_KEY")),
        "openrouter" => (None, Some("OPENROUTER_API_KEY")),
        "zai" => (None, Some("ZAI_API_KEY")),
        _ => (None, None),
    };
    let list = |setting: &str, vendor: Option<&str>| {
        // This program's own first: a user sets it for this program, the vendor's for all.
        std::iter::once(own(setting))
            .chain(vendor.map(str::to_owned))
            .collect()
    };
    EnvNames {
        base_url: list("BASE_URL", base_url),
        model: list("MODEL", None),
        api_key: list("API_KEY", api_key),
    }
}
