//! The tool of a task, made from the provider that the user named or a pool chose.
//!
//! Owns: which options a kind of provider takes. Never: chooses a provider.

use agentos_api::{NextStep, RunOption};
use agentos_engine::ports::EffectError;
use agentos_profile::ResolvedProfile;

use crate::error::usage_error;
use crate::host::Host;
use crate::options::ProgramOptions;
use crate::prices::prove_prices_now;
use crate::programs::ToolUse;
use crate::provider_kind::ProviderKind;
use crate::session::{Session, SessionFolders};
use crate::task_spec::ExploreMode;
use crate::task_spec::TaskSpec;
use crate::tools::{self, Tool, Tools};
use crate::{budgets, explore, hosted, programs};

/// Makes the tool of a provider. Options that only other kinds of providers have are refused.
pub(crate) fn make_tool(
    host: &Host,
    session: &Session,
    spec: &TaskSpec,
    tool_use: ToolUse,
) -> Result<Tool, EffectError> {
    let tools = Tools::read(host, Some(session.work_dir()))?;
    let choice = &spec.provider;
    let overrides = &choice.overrides;
    let timeout_seconds = overrides.timeouts.total_seconds.or(overrides.timeout_seconds);
    let flags = ProgramOptions {
        // A check is a program too: it may be given files even if the tool is a server, which may not.
        for_check: spec.check.is_some(),
        ..spec.program.clone()
    };
    spec.explore.require_profile(&choice.provider)?;
    match &choice.provider {
        ProviderKind::AnyProgram => programs::make_any_program(host, &flags, timeout_seconds, session),
        ProviderKind::ToolProgram => programs::make_tool_program(host, &flags, timeout_seconds, session),
        ProviderKind::Replay => {
            programs::refuse_command(&flags)?;
            programs::refuse_sharing(&flags)?;
            tools::make_replay(host, choice.replay.as_ref())
        }
        ProviderKind::Profile(name) => {
            programs::refuse_command(&flags)?;
            let resolved = tools.resolve_profile(host, name, &choice.overrides)?;
            if resolved.profile.adapter.is_program() {
                if matches!(spec.explore, ExploreMode::Always(_)) {
                    return Err(explore::without_tools(name));
                }
                let tool = programs::make_profiled(host, &resolved, &flags, session)?;
                return budgets::guard_tool(host, tool, &resolved.profile);
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
            make_server(host, &session.folders(), spec, &resolved, tool_use)
        }
    }
}

/// Makes the tool of a server for calls, whose cost counts. Asks a server on this machine which one it is.
///
/// # Errors
/// If its wire is invalid.
pub(crate) fn make_called_tool(host: &Host, resolved: &ResolvedProfile) -> Result<Tool, EffectError> {
    let mut tool = tools::make_server_tool(host, resolved)?;
    tool.price = prove_prices_now(tool.price, &resolved.profile);
    Ok(tool)
}

/// Makes the tool of a server for a task.
///
/// # Errors
/// If its wire is invalid, or the task needs tools that the model does not take.
pub(crate) fn make_server(
    host: &Host,
    folders: &SessionFolders<'_>,
    spec: &TaskSpec,
    resolved: &ResolvedProfile,
    tool_use: ToolUse,
) -> Result<Tool, EffectError> {
    if let Some(limits) = spec.explore.choose_limits(&resolved.profile) {
        return explore::make_explorer(host, folders, resolved, limits, &spec.toolboxes);
    }
    // Not in `make_server_tool`: a health check sends no task, so its adapter need not be confined.
    let tool = make_called_tool(host, resolved)?;
    let tool = hosted::confine_adapter(host, tool, folders, tool_use)?;
    budgets::guard_tool(host, tool, &resolved.profile)
}
