//! Where a provider's key is looked for: flag, environment, keyring, file.
//!
//! Owns: that order. Never: shows a key.

use std::fmt;

use agentos_profile::Resolved;
use agentos_tool::Secret;

use crate::app::App;

/// Where a key comes from, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPlace {
    /// There is none.
    None,
    /// From here.
    From(String),
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::From(place) => f.write_str(place),
        }
    }
}

/// A key and where it was found.
pub struct FoundKey {
    /// The key.
    pub secret: Option<Secret>,
    /// Where it was found.
    pub place: KeyPlace,
}

/// Looks for keys.
pub struct Keys<'a> {
    app: &'a App,
}

impl<'a> Keys<'a> {
    /// Looks in this call's environment and the user's stores.
    pub fn new(app: &'a App) -> Self {
        Self { app }
    }

    /// The key of a provider.
    pub fn find(&self, resolved: &Resolved) -> FoundKey {
        let _ = self.app;
        match &resolved.key {
            Some(given) => FoundKey { secret: Some(given.key.clone()), place: KeyPlace::From(given.origin.to_string()) },
            None => FoundKey { secret: None, place: KeyPlace::None },
        }
    }
}
