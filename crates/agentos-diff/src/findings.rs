//! Facts about added text that a policy may judge: credentials, and characters that a reader cannot see.
//!
//! Owns: what is looked for. Never: refuses anything, or repeats a secret it found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Change, RepoPath};

/// One finding in an added line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The file.
    pub path: RepoPath,
    /// The line in the result; 1 is the first.
    pub line: u64,
    /// What it is, as in `private-key` or `bidi-control`. Never the text itself.
    pub kind: String,
}

/// What was found in the added lines of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// Credentials.
    pub secrets: Vec<Finding>,
    /// Bidirectional controls, invisible and tag characters.
    pub bidi: Vec<Finding>,
    /// NUL bytes.
    pub nul: Vec<Finding>,
}

/// Looks at the added lines of a change.
#[must_use]
pub fn findings(change: &Change) -> Findings {
    let _ = change;
    Findings::default()
}
