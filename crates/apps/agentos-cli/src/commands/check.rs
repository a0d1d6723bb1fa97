//! The flags of a check.
//!
//! Owns: their translation into a check. Never: runs one.

use agentos_host::{BaseRule, CheckOptions, EffectError, Settings, usage_error};

use crate::args::land::CheckFlags;

/// Returns the check that the settings name. `None` if they name none.
pub fn usual_check(settings: &Settings) -> Option<CheckOptions> {
    Some(CheckOptions {
        command: settings.check_command()?.to_owned(),
        timeout_seconds: settings.number_or_usual("check_timeout"),
        base: settings.base_rule(),
    })
}

/// Returns the check of a task, in which the flags override what is usual for it. `None` if there is none, or the user wants none.
///
/// # Errors
/// If a flag limits a check, and there is none.
pub fn choose_check(
    flags: &CheckFlags,
    usual: Option<CheckOptions>,
    settings: &Settings,
) -> Result<Option<CheckOptions>, EffectError> {
    let command = flags.check.clone();
    let usual = usual.filter(|_| !flags.no_check);
    let Some(command) = command.or_else(|| Some(usual.as_ref()?.command.clone())) else {
        return match (flags.check_timeout, flags.check_base) {
            (Some(_), _) => Err(usage_error("`--check-timeout` limits a check, and there is none")
                .hint("name one with `--check COMMAND`, or leave `--check-timeout` out")),
            (None, Some(_)) => Err(usage_error("`--check-base` is about a check, and there is none")
                .hint("name one with `--check COMMAND`, or leave `--check-base` out")),
            (None, None) => Ok(None),
        };
    };
    let usual_seconds = usual.as_ref().map(|check| check.timeout_seconds);
    let usual_base = usual.as_ref().map(|check| check.base);
    Ok(Some(CheckOptions {
        command,
        timeout_seconds: flags
            .check_timeout
            .or(usual_seconds)
            .unwrap_or_else(|| settings.number_or_usual("check_timeout")),
        base: flags
            .check_base
            .map(BaseRule::from)
            .or(usual_base)
            .unwrap_or_else(|| settings.base_rule()),
    }))
}
