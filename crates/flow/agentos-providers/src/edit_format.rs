//! The edit format of a task.
//!
//! Owns: which format is requested of the tool. Never: reads an answer: landing finds out its format by itself.

use agentos_api::{NextStep, RunOption};
use agentos_engine::ports::EffectError;
use agentos_tool::EditFormat;

use crate::tools::Tool;
use agentos_ground::error::usage_error;

/// Chooses the edit format: the requested one, else the profile's.
///
/// # Errors
/// If the profile constrains answers to another format.
pub fn choose_format(asked: Option<EditFormat>, tool: &Tool) -> Result<EditFormat, EffectError> {
    let Some(format) = asked else {
        return Ok(tool.edit_format);
    };
    if tool.constrain.edit_format().is_none_or(|held| held == format) {
        return Ok(format);
    }
    Err(usage_error(format!(
        "the profile's `constrain` is `{}`, which forces another edit format than this run requests",
        tool.constrain.as_str()
    ))
    .hint("set `constrain` to `off` in the profile")
    .suggest_steps([NextStep::LeaveOut {
        option: RunOption::EditFormat,
    }]))
}
