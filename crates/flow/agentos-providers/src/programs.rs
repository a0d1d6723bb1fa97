//! Programs as tools: finding the program, its copy and its sandbox.
//!
//! Owns: the providers `command` and `tool`, and programs of profiles. Never: starts a program by itself.

use std::path::{Path, PathBuf};

use agentos_api::{NextStep, Notice, RunOption};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_profile::{AdapterKind, ResolvedProfile, split_address};
use agentos_programs::{Agent, Places, Program, Speaker, TaskInput};
use agentos_sandbox::{Sandbox, SandboxProbe};
use agentos_tool::{Adapter, Constrain, EditFormat, Enforcement, Secret, TokenPrices};

use crate::check_needs::{UnshownRemedy, toolchain_folders, unshown_notice};
use crate::session::Session;
use crate::tool_notices;
use crate::tools::{KeySent, Tool};
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::keys;
use agentos_ground::options::ProgramOptions;
use agentos_ground::provider_kind::ProviderKind;

mod copies;
mod given_paths;
mod own_server;

pub use copies::ExecutorCopies;
use copies::NoCopies;
use given_paths::name_files;
pub use given_paths::{readable_paths, require_own_place, shared_folders};
use own_server::{OwnServer, reach_own_server};

/// Default time limit of a program, in seconds.
const TIMEOUT: u64 = 600;

/// Makes a tool of the command line's program, which works in a copy.
///
/// # Errors
/// If no program is named, or a folder cannot be shared with it.
pub fn make_any_program(
    ground: &Ground,
    flags: &ProgramOptions,
    timeout_seconds: Option<u64>,
    session: &Session,
) -> Result<Tool, EffectError> {
    let mut program = program_from_flags(ground, &ProviderKind::AnyProgram, flags)?;
    program.shared = shared_folders(ground, flags, session)?;
    let tool = make_in_copy(ground, program, session)?;
    Ok(with_timeout(tool, timeout_seconds.unwrap_or(TIMEOUT)))
}

/// Makes a tool of the command line's program, which speaks the tool protocol.
///
/// # Errors
/// If no program is named, or there is no place for its folders.
pub fn make_tool_program(
    ground: &Ground,
    flags: &ProgramOptions,
    timeout_seconds: Option<u64>,
    session: &Session,
) -> Result<Tool, EffectError> {
    let mut program = program_from_flags(ground, &ProviderKind::ToolProgram, flags)?;
    name_files(ground, &mut program)?;
    let folder = session.open_copies()?.path().to_owned();
    let tool = make_speaker(ground, program, folder)?;
    Ok(with_timeout(tool, timeout_seconds.unwrap_or(TIMEOUT)))
}

/// Makes a tool of the program that a profile names.
///
/// # Errors
/// If the profile is wrong, or a folder cannot be shared with the program.
pub fn make_profiled(
    ground: &Ground,
    resolved: &ResolvedProfile,
    flags: &ProgramOptions,
    session: &Session,
) -> Result<Tool, EffectError> {
    if resolved.profile.adapter.offers_tools() {
        return Err(not_answering(&resolved.profile.provider));
    }
    let (mut program, tool) = program_from_profile(ground, resolved)?;
    program.readable = readable_paths(ground, flags)?;
    if resolved.profile.adapter == AdapterKind::Tool {
        let made = make_speaker(ground, program, session.open_copies()?.path().to_owned())?;
        return Ok(with_settings(made, tool));
    }
    program.shared = shared_folders(ground, flags, session)?;
    let made = make_in_copy(ground, program, session)?;
    Ok(with_settings(made, tool))
}

/// Refuses a program on the command line for a provider that takes none.
///
/// # Errors
/// If a program is named.
pub fn refuse_command(flags: &ProgramOptions) -> Result<(), EffectError> {
    if flags.command.is_empty() {
        return Ok(());
    }
    Err(
        usage_error("a command after `--` belongs to the providers `command` and `tool`")
            .hint("leave it out, or name one of these providers"),
    )
}

/// Refuses files and folders to share if neither the tool nor a check is a program.
///
/// # Errors
/// If such files or folders are named.
pub fn refuse_sharing(flags: &ProgramOptions) -> Result<(), EffectError> {
    if flags.for_check || (flags.readable.is_empty() && flags.shared.is_empty()) {
        return Ok(());
    }
    let option = RunOption::Reading;
    Err(
        usage_error("only a program or a check can be given files and folders of this machine")
            .suggest_steps([NextStep::LeaveOut { option }]),
    )
}

/// Makes the tool of a profile that names a program, for a health check. It cannot be given a task.
///
/// # Errors
/// If the profile is wrong.
pub fn make_probed(ground: &Ground, resolved: &ResolvedProfile) -> Result<Tool, EffectError> {
    let (program, tool) = program_from_profile(ground, resolved)?;
    let (places, sandbox) = (program_places(ground), make_sandbox(ground)?);
    // The probe of the sandbox starts a process, which is not worth it for a program that is not installed.
    let held = match program.installed(&places) {
        Some(_) => sandbox.start_probe(),
        None => SandboxProbe::known(Err("it is not installed".to_owned())),
    };
    let agent = Agent::new(program, places, sandbox, held, Box::new(NoCopies));
    Ok(with_settings(default_tool(Box::new(agent), false), tool))
}

/// Makes the tool of the providers `command` and `tool` without a program, to report how one would be confined.
///
/// # Errors
/// If this program's own file cannot be found.
pub fn make_unnamed(ground: &Ground, provider: &ProviderKind) -> Result<Tool, EffectError> {
    let (sandbox, held) = start_sandbox(ground, ToolUse::Run)?;
    // Any installed program will do, and `sh` is installed wherever a program can be confined.
    let program = Program::new(provider.name(), "sh", &[]);
    let agent = Agent::new(program, program_places(ground), sandbox, held, Box::new(NoCopies));
    Ok(default_tool(Box::new(agent), false))
}

/// Makes the tool of `tool conform`, which needs no repository.
///
/// # Errors
/// If this program's own file cannot be found, or there is no place for the tool's folders.
pub fn make_conforming(ground: &Ground, flags: &ProgramOptions) -> Result<Tool, EffectError> {
    let mut program = program_from_flags(ground, &ProviderKind::ToolProgram, flags)?;
    name_files(ground, &mut program)?;
    let cache = ground
        .environment()
        .cache_dir()
        .ok_or_else(|| usage_error("there is no home folder to run the tool in").hint("set `HOME`"))?;
    make_speaker(ground, program, cache.join("tools"))
}

/// Makes the program that the command line names.
fn program_from_flags(
    ground: &Ground,
    provider: &ProviderKind,
    flags: &ProgramOptions,
) -> Result<Program, EffectError> {
    let Some((name, args)) = flags.command.split_first() else {
        let provider = provider.name().to_owned();
        return Err(usage_error(format!("the provider `{provider}` needs a program"))
            .suggest_steps([NextStep::NameProgram { provider }]));
    };
    let mut program = Program::new(provider.name(), name, args);
    program.readable = readable_paths(ground, flags)?;
    Ok(program)
}

/// Makes the program of a profile, and the tool's other settings.
fn program_from_profile(
    ground: &Ground,
    resolved: &ResolvedProfile,
) -> Result<(Program, ProgramSettings), EffectError> {
    let profile = &resolved.profile;
    let file = profile
        .program
        .as_ref()
        .ok_or_else(|| usage_error("the profile names no program"))?;
    let usable = keys::find_usable_key(ground, resolved);
    let mut program = Program::new(&profile.provider, &file.command, &[]);
    let inside = match &profile.base_url {
        Some(url) => Some(reach_own_server(&mut program, resolved, file, &url.to_string())?),
        None => None,
    };
    let filled = OwnServer {
        base_url: inside.as_deref(),
        model: profile.model.as_deref(),
    };
    program.args = filled.list_arguments(file);
    program.version_args.clone_from(&file.version_args);
    program.model.clone_from(&profile.model);
    if profile.adapter == AdapterKind::Acp {
        program.task_input = TaskInput::Acp;
    }
    program.own_files.clone_from(&file.own_files);
    program.env = file.env.clone().into_iter().collect();
    program.mode = profile.execution_mode();
    let needs_sign_in = !file.sign_in.is_empty() || file.key_variable.is_some();
    let mut key = usable.key.clone();
    program.sign_in_command.clone_from(&file.sign_in_command);
    program.install_command.clone_from(&file.install_command);
    program.takes_base_url = file.takes_base_url();
    match &inside {
        None => {
            program.home_files = file.home_files.iter().map(PathBuf::from).collect();
            let files = || file.sign_in.iter().map(PathBuf::from).collect();
            program.sign_in = needs_sign_in.then(files);
            let hosts = file.hosts.iter().filter_map(|host| split_address(host));
            program.hosts = hosts.map(|(host, port)| (host.to_owned(), port)).collect();
        }
        // A server of the user's own: the program gets none of the vendor's sign-in files, and reaches no other host.
        Some(inside) => {
            let values = file.base_url_env.iter();
            let values = values.map(|(name, value)| (name.clone(), filled.fill(value)));
            program.env.extend(values);
            let variable = file.base_url_variable.iter();
            program
                .env
                .extend(variable.map(|name| (name.clone(), inside.clone())));
            let files = file.base_url_files.iter();
            program.settings_files = files
                .map(|(path, text)| (path.into(), filled.fill(text)))
                .collect();
            // The programs do not start without a key, and local servers accept any.
            key = key.or_else(|| Some(Secret::new("none")));
        }
    }
    program.key = file.key_variable.clone().zip(key);
    let settings = ProgramSettings {
        model: profile.model.clone(),
        timeout_seconds: profile.timeouts.total_seconds,
        notices: tool_notices::collect_notices(ground.environment(), resolved, &usable),
        key: usable.key.as_ref().map(|key| KeySent {
            variable: usable.variable.clone(),
            ending: key.hint(),
        }),
    };
    Ok((program, settings))
}

/// The settings of a profile besides its program.
struct ProgramSettings {
    model: Option<String>,
    timeout_seconds: u64,
    notices: Vec<Notice>,
    key: Option<KeySent>,
}

fn with_settings(tool: Tool, settings: ProgramSettings) -> Tool {
    Tool {
        model: settings.model,
        timeout_seconds: settings.timeout_seconds,
        notices: settings.notices.into_iter().chain(tool.notices).collect(),
        key: settings.key,
        ..tool
    }
}

fn with_timeout(tool: Tool, timeout_seconds: u64) -> Tool {
    Tool {
        timeout_seconds,
        ..tool
    }
}

/// Refuses a tool that the kernel does not confine, if the run requires that.
///
/// # Errors
/// If the kernel does not confine it.
pub fn require_confined(tool: &Tool, flags: &ProgramOptions) -> Result<(), EffectError> {
    if !flags.require_sandbox || tool.adapter.confinement().enforcement == Enforcement::Kernel {
        return Ok(());
    }
    let provider = tool.adapter.provider();
    Err(EffectError::new(
        Cause::Tool,
        "not-confined",
        format!("`{provider}` is not confined by the kernel here, and this run requires it"),
    )
    .suggest_steps([NextStep::LeaveOut {
        option: RunOption::Sandbox,
    }]))
}

/// Returns the task in words: the user's own, or the command line.
pub fn describe_task(words: Option<&str>, flags: &ProgramOptions) -> String {
    match words {
        Some(words) => words.to_owned(),
        None => flags.command.join(" "),
    }
}

/// Purpose for which a tool is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolUse {
    /// Starting it.
    Run,
    /// Describing it: nothing is sent to it.
    Preview,
}

/// Makes a sandbox with this program as its helper, and a probe of what it can confine, on which policy may depend. For a run,
/// both start in the background, and the caller waits only when it reads the result.
///
/// # Errors
/// If this program's own file cannot be found.
pub fn start_sandbox(ground: &Ground, tool_use: ToolUse) -> Result<(Sandbox, SandboxProbe), EffectError> {
    let sandbox = make_sandbox(ground)?;
    let held = match tool_use {
        ToolUse::Run => {
            // At the same time as the probe. If nothing can be confined, the helper ends when `sandbox` is dropped.
            sandbox.prepare();
            sandbox.start_probe()
        }
        // Each of the two takes 10 ms of processor time, and few rules depend on the answer.
        ToolUse::Preview => sandbox.probe_on_demand(),
    };
    Ok((sandbox, held))
}

/// Makes a sandbox as [`start_sandbox`] does, but with no helper that waits: it would end with the thread of the caller, and a process
/// of a model may live longer.
///
/// # Errors
/// If this program's own file cannot be found.
pub fn probe_sandbox(ground: &Ground) -> Result<(Sandbox, SandboxProbe), EffectError> {
    let sandbox = make_sandbox(ground)?;
    let held = sandbox.start_probe();
    Ok((sandbox, held))
}

/// Makes a sandbox whose helper is this program.
fn make_sandbox(ground: &Ground) -> Result<Sandbox, EffectError> {
    let helper = ground.environment().helper_program().map_err(|error| {
        let message = format!("cannot find this program's own file: {error}");
        EffectError::from_source(Cause::Internal, "helper", message, &error)
    })?;
    Ok(Sandbox::new(helper))
}

/// Makes a tool of a program that works in a copy.
fn make_in_copy(ground: &Ground, program: Program, session: &Session) -> Result<Tool, EffectError> {
    let (sandbox, held) = start_sandbox(ground, ToolUse::Run)?;
    let copies = ExecutorCopies::new(session, &program, held.clone())?;
    let places = program_places(ground);
    let notice = program_notice(ground, &program, &places);
    let agent = Agent::new(program, places, sandbox, held, Box::new(copies));
    let mut tool = default_tool(Box::new(agent), true);
    tool.notices.extend(notice);
    Ok(tool)
}

/// Makes a tool of a program that speaks the tool protocol. `folder` is where its runs may have folders of their own.
fn make_speaker(ground: &Ground, program: Program, folder: PathBuf) -> Result<Tool, EffectError> {
    let (sandbox, held) = start_sandbox(ground, ToolUse::Run)?;
    let places = program_places(ground);
    let notice = program_notice(ground, &program, &places);
    let speaker = Speaker::new(program, places, sandbox, held, folder);
    let mut tool = default_tool(Box::new(speaker), false);
    tool.notices.extend(notice);
    Ok(tool)
}

/// Makes the notice about files of a program that are not shown, because only the repository names them. `None` if there are none.
fn program_notice(ground: &Ground, program: &Program, places: &Places) -> Option<Notice> {
    let found = places.find(&program.name)?;
    unshown_notice(
        ground.environment(),
        &places.unshown(&found),
        UnshownRemedy::Reading,
    )
}

/// Makes a tool with default settings.
pub(crate) fn default_tool(adapter: Box<dyn Adapter>, in_copy: bool) -> Tool {
    Tool {
        adapter,
        model: None,
        price: TokenPrices::default(),
        silent: None,
        max_tokens: None,
        window: None,
        bounding_window: None,
        reports_window: false,
        timeout_seconds: TIMEOUT,
        edit_format: EditFormat::default(),
        constrain: Constrain::Off,
        notices: Vec::new(),
        key: None,
        in_copy,
        has_tools: false,
        hosting: None,
        served: None,
        address: None,
    }
}

/// Returns the folders in which programs are found, according to the user's environment.
pub fn program_places(ground: &Ground) -> Places {
    let path = ground.environment().get("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    let from = ground.repository_dir();
    let from = from.canonicalize().unwrap_or(from);
    // The top of the repository, not the current folder below it.
    let top = from.ancestors().find(|folder| folder.join(".git").exists());
    Places {
        repository: top.map(Path::to_owned),
        // A relative folder would mean another program in every folder, as one that a repository provides.
        path: folders.filter(|folder| folder.is_absolute()).collect(),
        home: ground.environment().home_dir(),
        toolchains: toolchain_folders(ground.environment()),
        rustup_home: ground.environment().get("RUSTUP_HOME").map(PathBuf::from),
        system_root: ground
            .environment()
            .get("SystemRoot")
            .filter(|_| cfg!(windows))
            .map(PathBuf::from),
    }
}

/// Makes the error of a provider that offers tools, where a task needs an answer.
fn not_answering(name: &str) -> EffectError {
    usage_error(format!(
        "`{name}` is a toolbox: it offers tools to models, and answers no task"
    ))
    .suggest_steps([NextStep::OfferToolbox {
        toolbox: name.to_owned(),
    }])
}

#[cfg(test)]
mod tests;
