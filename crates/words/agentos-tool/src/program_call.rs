//! Calls of the user's own programs that a tool made while it worked.
//!
//! Owns: `ProgramCall`. Never: judges what a program answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Call of a tool of one of the user's toolboxes, with everything that was sent and that came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramCall {
    /// Name of the tool, with its toolbox in front.
    pub name: String,
    /// Arguments as JSON. Untrusted: a model wrote them.
    pub arguments: String,
    /// Text that the program answered, or why it did not. Untrusted. `None` if the call was stopped before its end.
    pub result: Option<String>,
    /// True if the call failed, or was stopped.
    pub is_error: bool,
}
