//! The abilities of a profile's model, and the location of the model.
//!
//! Owns: the rules that abilities declared for one address do not apply to another, that `cloud` applies to all, and that a
//! repository may declare `cloud` but not `local`. Never: measures anything.

use std::collections::BTreeMap;

use agentos_tool::{Ability, BaseUrl, DiffQuality, ExecutionMode, ToolCapabilities};

use crate::stack::{LayerStack, LayeredValue, derived_value, note_origin};
use crate::{CapabilitiesFile, Origin};

/// Collects the declared abilities.
pub(crate) fn collect_abilities(
    stack: &LayerStack,
    base_url: Option<&LayeredValue<BaseUrl>>,
    origins: &mut BTreeMap<&'static str, Origin>,
) -> ToolCapabilities {
    fn pick_declared<T>(
        stack: &LayerStack,
        get: impl Fn(&CapabilitiesFile) -> Option<T>,
    ) -> Option<LayeredValue<T>> {
        stack.pick(|file| file.capabilities.as_ref().and_then(&get))
    }
    let mut ability = |field: &'static str, get: fn(&CapabilitiesFile) -> Option<bool>| {
        pick_declared(stack, get).map_or(Ability::Unknown, |can| {
            Ability::from(note_origin(origins, field, can))
        })
    };
    let mut all = ToolCapabilities::diff_only(ExecutionMode::Cloud, DiffQuality::Medium);
    // Unknown until a layer declares it: an ability that nobody stated is no promise.
    all.supports_diff = ability("capabilities.supports_diff", |c| c.supports_diff);
    all.supports_patch = ability("capabilities.supports_patch", |c| c.supports_patch);
    all.supports_health_check = ability("capabilities.supports_health_check", |c| c.supports_health_check);
    all.chat = ability("capabilities.chat", |c| c.chat);
    all.tools = ability("capabilities.tools", |c| c.tools);
    all.vision = ability("capabilities.vision", |c| c.vision);
    all.stream = ability("capabilities.stream", |c| c.stream);
    all.json_mode = ability("capabilities.json_mode", |c| c.json_mode);
    all.grammar = ability("capabilities.grammar", |c| c.grammar);
    all.context_window = pick_declared(stack, |c| c.context_window)
        .map(|value| note_origin(origins, "capabilities.context_window", value));
    if let Some(quality) = pick_declared(stack, |c| c.diff_quality) {
        all.diff_quality = note_origin(origins, "capabilities.diff_quality", quality);
    }
    all.execution_mode = note_origin(
        origins,
        "capabilities.execution_mode",
        execution_mode(stack, base_url),
    );
    all
}

/// Decides the location of the model. `cloud` of a file applies whatever the address is; `local` applies only to the address that it
/// was declared for.
fn execution_mode(
    stack: &LayerStack,
    base_url: Option<&LayeredValue<BaseUrl>>,
) -> LayeredValue<ExecutionMode> {
    let by_place = base_url.map_or(ExecutionMode::Cloud, |url| url.value.execution_mode());
    // An address can look local and lead elsewhere: a tunnel, a name that the network resolves. The built-in profiles describe their
    // own server only.
    let cloud = stack.pick_by(|origin, file| {
        let mode = file.capabilities.as_ref().and_then(|c| c.execution_mode)?;
        (mode == ExecutionMode::Cloud && *origin != Origin::BuiltIn).then_some(mode)
    });
    if let Some(cloud) = cloud {
        return cloud;
    }
    let stated = stack.pick_by(|origin, file| {
        let mode = file.capabilities.as_ref().and_then(|c| c.execution_mode)?;
        // A model that counts as local may read more under the usual rules, so a repository must not declare one.
        let loosens = *origin == Origin::ProjectFile && mode == ExecutionMode::Local;
        (!loosens).then_some(mode)
    });
    match stated {
        // A layer above may have set another address since: the declaration says nothing about that server.
        Some(stated) if base_url.is_none_or(|url| url.origin <= stated.origin) => stated,
        Some(_) | None => derived_value(by_place),
    }
}
