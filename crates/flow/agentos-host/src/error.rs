//! Errors that the host itself makes.
//!
//! Owns: the error of a wrong call. Never: words it for one front end.

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;

/// Makes the error of a wrong call: a wrong name, path or combination of options.
pub fn usage_error(message: impl Into<String>) -> EffectError {
    EffectError::new(Cause::Usage, "usage", message)
}
