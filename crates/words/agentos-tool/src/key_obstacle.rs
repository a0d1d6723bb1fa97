//! Why a key is not sent to a server.
//!
//! Owns: the reason and what can be done about it, as plain values. Never: holds a key.

use std::fmt;

use agentos_api::NextStep;
use serde::{Deserialize, Serialize};

/// The reason why no key is sent although there may be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyObstacle {
    /// The reason, as a sentence that names no flag or verb of a front end.
    pub why: String,
    /// What can be done about it, as alternatives that a front end words, the best first.
    #[serde(default)]
    pub next: Vec<NextStep>,
}

impl KeyObstacle {
    /// Makes an obstacle about which nothing is known to help.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            next: Vec::new(),
        }
    }

    /// Adds alternatives to what can be done about it.
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
