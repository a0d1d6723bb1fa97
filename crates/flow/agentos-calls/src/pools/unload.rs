//! Unloading the model that a pool leaves when it switches to a smaller one.
//!
//! Owns: when a model is unloaded, and the record of it. Never: fails a turn, or unloads where the pool does not say so.

use std::time::Duration;

use agentos_pool::{PoolChoice, UnloadedModel};
use agentos_tool::ExecutionMode;

use super::LoadedPool;
use crate::Calls;
use crate::machine::pool_state::SwitchReport;
use crate::model_memory::{ModelAction, ModelActionSpec};
use agentos_ground::Ground;
use agentos_ground::runtime::block_on_other_thread;

/// Longest time for unloading. The new member is asked only afterwards, so that both models are never in memory together. The caller
/// waits meanwhile.
const LONGEST: Duration = Duration::from_secs(5);

/// Unloads the model that a switch to a smaller member leaves. `None` if the pool does not want it, or nothing has to be unloaded.
pub(super) fn unload_left(
    ground: &Ground,
    pool: &LoadedPool,
    choice: &PoolChoice,
    switch: &SwitchReport,
) -> Option<UnloadedModel> {
    if pool.file.unload != Some(true) {
        return None;
    }
    let need = |alias: &str| {
        let mut models = choice.input.models.iter();
        models
            .find(|model| model.alias == alias)
            .map(|model| model.needed_memory())
    };
    if need(&switch.from)? <= need(&switch.to)? {
        return None;
    }
    let find = |alias: &str| pool.members.iter().find(|member| member.model.alias == alias);
    let (left, next) = (find(&switch.from)?, find(&switch.to)?);
    let is_same = left.model.provider == next.model.provider && left.model.model == next.model.model;
    if left.execution_mode != ExecutionMode::Local || is_same {
        return None;
    }
    let spec = ModelActionSpec {
        model: left.model.model.clone()?,
        provider: Some(left.model.provider.clone()),
        action: ModelAction::Unload,
        limit: LONGEST,
    };
    let ended = block_on_other_thread(|| Calls::of(ground).change_model(&spec)).flatten();
    Some(UnloadedModel {
        alias: left.model.alias.clone(),
        model: left.name_model(),
        failure: ended.err().map(|error| error.message),
    })
}
