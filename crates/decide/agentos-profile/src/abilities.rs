//! The abilities of a profile's model, and the location of the model.
//!
//! Owns: the rules that abilities declared for one address do not apply to another, and that a repository may declare
//! `cloud` but not `local`. Never: measures anything.

use std::collections::BTreeMap;

use agentos_tool::{Ability, BaseUrl, DiffQuality, ExecutionMode, ToolCapabilities};

use crate::stack::{Stack, Value, derived, note};
use crate::{CapabilitiesFile, Origin};

/// Collects the declared abilities.
pub(crate) fn capabilities(
    stack: &Stack,
    base_url: Option<&Value<BaseUrl>>,
    origins: &mut BTreeMap<&'static str, Origin>,
) -> ToolCapabilities {
    fn of<T>(stack: &Stack, get: impl Fn(&CapabilitiesFile) -> Option<T>) -> Option<Value<T>> {
        stack.pick(|file| file.capabilities.as_ref().and_then(&get))
    }
    let mut ability = |field: &'static str, get: fn(&CapabilitiesFile) -> Option<bool>| {
        of(stack, get).map_or(Ability::Unknown, |can| Ability::from(note(origins, field, can)))
    };
    let mut all = ToolCapabilities::diff_only(ExecutionMode::Cloud, DiffQuality::Medium);
    all.supports_diff = ability("capabilities.supports_diff", |c| c.supports_diff);
    all.supports_patch = ability("capabilities.supports_patch", |c| c.supports_patch);
    all.supports_health_check = ability("capabilities.supports_health_check", |c| c.supports_health_check);
    all.chat = ability("capabilities.chat", |c| c.chat);
    all.tools = ability("capabilities.tools", |c| c.tools);
    all.vision = ability("capabilities.vision", |c| c.vision);
    all.stream = ability("capabilities.stream", |c| c.stream);
    all.json_mode = ability("capabilities.json_mode", |c| c.json_mode);
    all.grammar = ability("capabilities.grammar", |c| c.grammar);
    all.context_window =
        of(stack, |c| c.context_window).map(|value| note(origins, "capabilities.context_window", value));
    if let Some(quality) = of(stack, |c| c.diff_quality) {
        all.diff_quality = note(origins, "capabilities.diff_quality", quality);
    }
    all.execution_mode = note(
        origins,
        "capabilities.execution_mode",
        execution_mode(stack, base_url),
    );
    all
}

/// Decides the location of the model. A declaration applies only to the address that it was made for.
fn execution_mode(stack: &Stack, base_url: Option<&Value<BaseUrl>>) -> Value<ExecutionMode> {
    let by_place = base_url.map_or(ExecutionMode::Cloud, |url| url.value.execution_mode());
    let stated = stack.pick_by(|origin, file| {
        let mode = file.capabilities.as_ref().and_then(|c| c.execution_mode)?;
        let loosens = *origin == Origin::ProjectFile && mode == ExecutionMode::Local;
        (!loosens).then_some(mode)
    });
    match stated {
        Some(stated) if base_url.is_none_or(|url| url.origin <= stated.origin) => stated,
        Some(_) | None => derived(by_place),
    }
}
