//! Providers as typed values: a name is parsed once, where it enters the product.
//!
//! Owns: the names of the providers that have no profile. Never: checks whether a profile exists.

/// A provider, by the kind of tool that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderKind {
    /// Any program, started in a copy of the files: `command`.
    AnyProgram,
    /// Any program that speaks the tool protocol: `tool`.
    ToolProgram,
    /// A recorded answer: `replay`.
    Replay,
    /// A provider with a profile of this name.
    Profile(String),
}

impl ProviderKind {
    /// The providers that need no profile.
    pub const WITHOUT_PROFILE: [Self; 3] = [Self::AnyProgram, Self::Replay, Self::ToolProgram];

    /// Returns the name that a person types.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::AnyProgram => "command",
            Self::ToolProgram => "tool",
            Self::Replay => "replay",
            Self::Profile(name) => name,
        }
    }
}

/// Names a provider with an empty name, so that a choice without a provider is refused like any unknown name.
impl Default for ProviderKind {
    fn default() -> Self {
        Self::Profile(String::new())
    }
}

impl From<&str> for ProviderKind {
    fn from(name: &str) -> Self {
        let known = Self::WITHOUT_PROFILE.into_iter().find(|kind| kind.name() == name);
        known.unwrap_or_else(|| Self::Profile(name.to_owned()))
    }
}

impl From<&String> for ProviderKind {
    fn from(name: &String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<String> for ProviderKind {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use agentos_engine::ReplayAdapter;
    use agentos_tool::Adapter;

    use super::*;

    #[test]
    fn a_name_is_parsed_to_what_answers_in_it_and_back() {
        let profile = |name: &str| ProviderKind::Profile(name.to_owned());
        for (name, kind) in [
            ("command", ProviderKind::AnyProgram),
            ("tool", ProviderKind::ToolProgram),
            ("replay", ProviderKind::Replay),
            ("ollama", profile("ollama")),
            ("Command", profile("Command")),
            ("", ProviderKind::default()),
        ] {
            assert_eq!(ProviderKind::from(name), kind);
            assert_eq!(kind.name(), name);
        }
        assert_eq!(ReplayAdapter::new(None).provider(), ProviderKind::Replay.name());
    }
}
