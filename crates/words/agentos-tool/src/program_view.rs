//! Files of a repository that a program in a sandbox could read.
//!
//! Owns: the shape of this report. Never: contains a text of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Files that a program could read in its copy: all files of a commit, except those that policy withheld from the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramView {
    /// The commit.
    pub commit: String,
    /// The tree of the commit.
    pub tree: String,
    /// Paths of the files that policy withheld, with `/` between their parts.
    pub withheld: Vec<String>,
}
