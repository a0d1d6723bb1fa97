//! The tool of a task, made from the provider that the user named or a pool chose.
//!
//! Owns: which options a kind of provider takes. Never: chooses a provider.

use agentos_api::{NextStep, RunOption};
use agentos_engine::ports::EffectError;
use agentos_profile::ResolvedProfile;

use crate::explore;
use agentos_calls::{budgets, hosted};
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::options::ProgramOptions;
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::task_spec::ExploreMode;
use agentos_ground::task_spec::TaskSpec;
use agentos_providers::called_tool::make_called_tool;
use agentos_providers::programs;
use agentos_providers::programs::ToolUse;
use agentos_providers::session::{Session, SessionFolders};
use agentos_providers::tools::{self, Tool, Tools};

/// Makes the tool of a provider. Options that only other kinds of providers have are refused.
pub(crate) fn make_tool(
    ground: &Ground,
    session: &Session,
    spec: &TaskSpec,
    tool_use: ToolUse,
) -> Result<Tool, EffectError> {
    let tools = Tools::read(ground, Some(session.work_dir()))?;
    let choice = &spec.provider;
    let overrides = &choice.overrides;
    let timeout_seconds = overrides.timeouts.total_seconds.or(overrides.timeout_seconds);
    let flags = ProgramOptions {
        // A check is a program too: it may be given files even if the tool is a server, which may not.
        for_check: spec.check.is_some(),
        ..spec.program.clone()
    };
    explore::require_profile(spec.explore, &choice.provider)?;
    match &choice.provider {
        ProviderKind::AnyProgram => programs::make_any_program(ground, &flags, timeout_seconds, session),
        ProviderKind::ToolProgram => programs::make_tool_program(ground, &flags, timeout_seconds, session),
        ProviderKind::Replay => {
            programs::refuse_command(&flags)?;
            programs::refuse_sharing(&flags)?;
            tools::make_replay(ground, choice.replay.as_ref())
        }
        ProviderKind::Profile(name) => {
            programs::refuse_command(&flags)?;
            let resolved = tools.resolve_profile(ground, name, &choice.overrides)?;
            if resolved.profile.adapter.is_program() {
                if matches!(spec.explore, ExploreMode::Always(_)) {
                    return Err(explore::without_tools(name));
                }
                let tool = programs::make_profiled(ground, &resolved, &flags, session)?;
                return budgets::guard_tool(ground, tool, &resolved.profile);
            }
            programs::refuse_sharing(&flags)?;
            if choice.replay.is_some() {
                return Err(
                    usage_error("only the provider `replay` plays a recording back").suggest_steps([
                        NextStep::LeaveOut {
                            option: RunOption::Recording,
                        },
                    ]),
                );
            }
            make_server(ground, &session.folders(), spec, &resolved, tool_use)
        }
    }
}

/// Makes the tool of a server for a task.
///
/// # Errors
/// If its wire is invalid, or the task needs tools that the model does not take.
pub(crate) fn make_server(
    ground: &Ground,
    folders: &SessionFolders<'_>,
    spec: &TaskSpec,
    resolved: &ResolvedProfile,
    tool_use: ToolUse,
) -> Result<Tool, EffectError> {
    if let Some(limits) = explore::choose_limits(spec.explore, &resolved.profile) {
        return explore::make_explorer(ground, folders, resolved, limits, &spec.toolboxes);
    }
    // Not in `make_server_tool`: a health check sends no task, so its adapter need not be confined.
    let tool = make_called_tool(ground, resolved)?;
    let tool = hosted::confine_adapter(ground, tool, folders, tool_use)?;
    budgets::guard_tool(ground, tool, &resolved.profile)
}
