//! The time limits of a call, merged from the layers.
//!
//! A profile of the first generation has one number, `timeout_seconds`, which was the limit of a whole answer. A local model of 7
//! billion parameters writes 5 to 20 tokens a second, so any such number was too short for some answer. It is read as a limit on
//! silence now, and each limit has a field of its own, which is stronger within the same file.
//!
//! Owns: the default limits and their range. Never: measures time.

use std::collections::BTreeMap;

use crate::stack::{LayerStack, check_value, note_origin};
use crate::{AdapterKind, Origin, ProfileError, ProfileFile, Timeouts, ToolboxClass};

/// Default time limits of a server. The first byte comes after the prompt was read, which takes a laptop minutes; the limit on the
/// whole call only stops a stream without end.
const SERVER_TIMEOUTS: Timeouts = Timeouts {
    // Less than the 5 s of a whole health check, which otherwise could not tell a connection that is not established from a server
    // that is slow to answer.
    connect_seconds: 4,
    first_byte_seconds: 600,
    idle_seconds: 300,
    total_seconds: 7200,
};
/// Default time limit of a program that works on a task.
const PROGRAM_SECONDS: u64 = 1800;

/// Reads one limit of a file.
type ReadLimit = fn(&ProfileFile) -> Option<u64>;

/// Picks the time limits.
///
/// # Errors
/// [`ProfileError::Value`] if one is out of its range.
pub(crate) fn pick_timeouts(
    stack: &LayerStack,
    adapter: AdapterKind,
    class: Option<ToolboxClass>,
    origins: &mut BTreeMap<&'static str, Origin>,
) -> Result<Timeouts, ProfileError> {
    // Checked under its own name: the limits below would name a field that the file does not have.
    let silence = stack.pick(|file| file.timeout_seconds);
    check_value(silence.as_ref(), "timeout_seconds", is_in_range, RANGE)?;
    let mut pick = |field, read: ReadLimit, usual| {
        let seconds = stack.pick_or(read, usual);
        check_value(Some(&seconds), field, is_in_range, RANGE)?;
        Ok(note_origin(origins, field, seconds))
    };
    let (usual, whole_run) = (SERVER_TIMEOUTS, adapter.is_program());
    Ok(Timeouts {
        // Not from `timeout_seconds`: the speed of a model says nothing about the network.
        connect_seconds: pick(
            "timeouts.connect_seconds",
            |file| file.timeouts?.connect_seconds,
            usual.connect_seconds,
        )?,
        first_byte_seconds: pick(
            // Within one file the exact field takes precedence. `timeout_seconds` of a stronger layer still takes precedence over
            // the exact field of a weaker one, since a layer is picked first.
            "timeouts.first_byte_seconds",
            |file| {
                file.timeouts
                    .and_then(|all| all.first_byte_seconds)
                    .or(file.timeout_seconds)
            },
            usual.first_byte_seconds,
        )?,
        idle_seconds: pick(
            "timeouts.idle_seconds",
            |file| {
                file.timeouts
                    .and_then(|all| all.idle_seconds)
                    .or(file.timeout_seconds)
            },
            usual.idle_seconds,
        )?,
        // The output of a program says nothing about its progress, so there `timeout_seconds` is the limit of the whole run.
        total_seconds: if whole_run {
            pick(
                "timeouts.total_seconds",
                |file| {
                    file.timeouts
                        .and_then(|all| all.total_seconds)
                        .or(file.timeout_seconds)
                },
                match adapter {
                    AdapterKind::Toolbox | AdapterKind::Mcp => class.unwrap_or_default().limit_seconds(),
                    AdapterKind::Agent
                    | AdapterKind::Acp
                    | AdapterKind::Tool
                    | AdapterKind::Openai
                    | AdapterKind::Lmstudio
                    | AdapterKind::Llamacpp
                    | AdapterKind::Ollama
                    | AdapterKind::Anthropic
                    | AdapterKind::Gemini
                    | AdapterKind::GenericHttp
                    | AdapterKind::Pool => PROGRAM_SECONDS,
                },
            )?
        } else {
            pick(
                "timeouts.total_seconds",
                |file| file.timeouts?.total_seconds,
                usual.total_seconds,
            )?
        },
    })
}

const RANGE: &str = "must be 1 to 86400";

fn is_in_range(seconds: &u64) -> bool {
    // 0 would end every call at once; a day is more than any call takes.
    (1..=86_400).contains(seconds)
}

#[cfg(test)]
mod tests {
    use crate::{ProfileFlags, ProfileLayers, TimeoutsFile, parse_profile, resolve_profile};

    #[test]
    fn an_old_limit_means_silence_and_each_limit_has_a_field_of_its_own() {
        let resolved = |provider, file: &str, flags| {
            let layers = ProfileLayers {
                user: Some(parse_profile("x.json", file).unwrap()),
                flags,
                ..ProfileLayers::default()
            };
            let all = resolve_profile(provider, &layers).unwrap().profile.timeouts;
            [
                all.connect_seconds,
                all.first_byte_seconds,
                all.idle_seconds,
                all.total_seconds,
            ]
        };
        let none = ProfileFlags::default;
        let seed = r#"{"provider":"llamacpp","timeout_seconds":30,"params":{"max_tokens":256}}"#;
        assert_eq!(resolved("llamacpp", seed, none()), [4, 30, 30, 7200]);
        let own = r#"{"provider":"llamacpp","timeout_seconds":30,"timeouts":{"idle_seconds":60,"total_seconds":90}}"#;
        assert_eq!(resolved("llamacpp", own, none()), [4, 30, 60, 90]);
        let flags = ProfileFlags {
            timeout_seconds: Some(5),
            timeouts: TimeoutsFile {
                idle_seconds: Some(7),
                ..TimeoutsFile::default()
            },
            ..none()
        };
        assert_eq!(resolved("llamacpp", own, flags.clone()), [4, 5, 7, 90]);
        assert_eq!(resolved("codex", r#"{"provider":"codex"}"#, flags), [4, 5, 7, 5]);
    }
}
