//! Reason why a key is not sent to a server.
//!
//! Owns: the reason and its remedies, as plain values. Never: contains a key.

use std::fmt;

use agentos_api::NextStep;
use serde::{Deserialize, Serialize};

/// Reason why no key is sent, although there may be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyObstacle {
    /// Reason, as a sentence that names no flag or verb of a front end.
    pub why: String,
    /// Remedies as data: alternatives, the best first. A front end words them.
    #[serde(default)]
    pub next: Vec<NextStep>,
}

impl KeyObstacle {
    /// Creates an obstacle without remedies.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            next: Vec::new(),
        }
    }

    /// Adds alternative remedies.
    #[must_use]
    pub fn suggest_steps(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.next.extend(steps);
        self
    }
}

impl fmt::Display for KeyObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}
