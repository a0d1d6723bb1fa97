//! Options of a task, to the tape and back.
//!
//! Owns: which option is recorded in which form. Never: records a key, or an address on another machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_engine::task_options::TaskOptions;
use agentos_profile::TimeoutsFile;
use agentos_tool::BaseUrl;

use crate::retry::BegunTask;
use agentos_ground::Ground;
use agentos_ground::options::{
    BaseRule, CheckOptions, ChoiceOrigin, ProgramOptions, ProviderChoice, ProviderOverrides, SessionOptions,
};
use agentos_ground::paths;
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::task_spec::{ContextMode, TaskSpec};
use agentos_ground::task_spec::{ExploreLimits, ExploreMode};
use agentos_providers::session::Session;

/// Returns the options of a task as the tape keeps them. `pool` is the pool that the task named, in whose place `spec` has a member.
pub(crate) fn record_options(
    ground: &Ground,
    session: &Session,
    spec: &TaskSpec,
    pool: Option<String>,
) -> TaskOptions {
    let over = &spec.provider.overrides;
    let target = session.options();
    let name_path = |path: &PathBuf| {
        let environment = ground.environment();
        // Relative to the home folder: an export must not name the user, and another folder may be current at a retry.
        environment.shorten_below_home(&environment.cwd.join(path))
    };
    let (base_url, left_out) = match &over.base_url {
        Some(url) if is_on_machine(url) => (Some(url.clone()), Vec::new()),
        Some(_) => (None, vec!["base-url".to_owned()]),
        None => (None, Vec::new()),
    };
    let explore = spec.explore.limits();
    TaskOptions {
        files: paths::paths_inside(&ground.repository_dir(), session.work_dir(), &spec.files)
            .unwrap_or_else(|_| spec.files.clone()),
        symbols: spec.symbols.clone(),
        context: spec.context.map(|mode| match mode {
            ContextMode::Auto => "auto".to_owned(),
            ContextMode::Named => "named".to_owned(),
        }),
        // The member's own; a retry chooses again.
        model: over.model.clone().filter(|_| pool.is_none()),
        pool,
        needs: spec.provider.needs.clone(),
        base_url,
        left_out,
        seconds: list_seconds(over, spec.check.as_ref(), explore),
        max_output_tokens: spec.provider.max_output_tokens,
        edit_format: spec.provider.edit_format,
        thinking: over.thinking,
        command: spec.program.command.clone(),
        wordless: spec.task.is_none(),
        readable: spec.program.readable.iter().map(name_path).collect(),
        shared: spec.program.shared.iter().map(name_path).collect(),
        require_sandbox: spec.program.require_sandbox,
        check: spec.check.as_ref().map(|check| check.command.clone()),
        skip_base_check: spec
            .check
            .as_ref()
            .is_some_and(|check| check.base == BaseRule::Skip),
        attempts: spec.attempts,
        own_message: spec.message.is_some(),
        partial: spec.partial,
        branch: target.branch.clone(),
        no_commit: target.no_commit,
        dry_run: target.dry_run,
        policies: target.policies.iter().map(name_path).collect(),
        explore_rounds: explore.map(|limits| limits.rounds),
        toolboxes: spec.toolboxes.clone(),
    }
}

/// Returns true if an address is on this machine. The path of another address may be a secret, as with gateways that have a
/// token in it, and evidence has no more of it than host and port.
fn is_on_machine(url: &str) -> bool {
    BaseUrl::parse(url).is_ok_and(|url| url.is_loopback())
}

fn list_seconds(
    over: &ProviderOverrides,
    check: Option<&CheckOptions>,
    explore: Option<ExploreLimits>,
) -> BTreeMap<String, u64> {
    let limits = [
        ("timeout", over.timeout_seconds),
        ("connect", over.timeouts.connect_seconds),
        ("first-byte", over.timeouts.first_byte_seconds),
        ("idle", over.timeouts.idle_seconds),
        ("total", over.timeouts.total_seconds),
        ("check", check.map(|check| check.timeout_seconds)),
        ("explore", explore.map(|limits| limits.seconds)),
    ];
    let set = limits
        .into_iter()
        .filter_map(|(name, seconds)| Some((name.to_owned(), seconds?)));
    set.collect()
}

/// Time limit of a check whose record does not state one, in seconds.
const CHECK_SECONDS: u64 = 600;

/// Makes the task of recorded options, with the files of `work_dir`.
pub(crate) fn restore_task(
    ground: &Ground,
    work_dir: &Path,
    begun: &BegunTask,
    options: &TaskOptions,
) -> TaskSpec {
    let seconds = |name: &str| options.seconds.get(name).copied();
    let place = |path: &String| find_path(ground, path);
    TaskSpec {
        task: (!options.wordless).then(|| begun.instruction.clone()),
        provider: ProviderChoice {
            provider: ProviderKind::from(options.pool.as_ref().unwrap_or(&begun.provider)),
            replay: None,
            overrides: ProviderOverrides {
                base_url: options.base_url.clone(),
                send_key: false,
                model: options.model.clone(),
                timeout_seconds: seconds("timeout"),
                retries: None,
                thinking: options.thinking,
                timeouts: TimeoutsFile {
                    connect_seconds: seconds("connect"),
                    first_byte_seconds: seconds("first-byte"),
                    idle_seconds: seconds("idle"),
                    total_seconds: seconds("total"),
                },
                without_repository: false,
            },
            max_output_tokens: options.max_output_tokens,
            edit_format: options.edit_format,
            needs: options.needs.clone(),
            origin: ChoiceOrigin::Named,
        },
        program: ProgramOptions {
            command: options.command.clone(),
            readable: options.readable.iter().map(place).collect(),
            shared: options.shared.iter().map(place).collect(),
            require_sandbox: options.require_sandbox,
            for_check: false,
        },
        // Whole paths: recorded ones begin at the top of the repository, and typed ones in the current folder.
        files: options
            .files
            .iter()
            .map(|file| work_dir.join(file).display().to_string())
            .collect(),
        symbols: options.symbols.clone(),
        context: match options.context.as_deref() {
            Some("auto") => Some(ContextMode::Auto),
            Some("named") => Some(ContextMode::Named),
            Some(_) | None => None,
        },
        usual_context: None,
        check: options.check.as_ref().map(|command| CheckOptions {
            command: command.clone(),
            timeout_seconds: seconds("check").unwrap_or(CHECK_SECONDS),
            base: match options.skip_base_check {
                true => BaseRule::Skip,
                false => BaseRule::Require,
            },
        }),
        attempts: options.attempts.max(1),
        message: None,
        partial: options.partial,
        follows: None,
        explore: match options.explore_rounds {
            Some(rounds) => ExploreMode::IfModel(ExploreLimits {
                rounds,
                seconds: seconds("explore").unwrap_or(ExploreLimits::default().seconds),
            }),
            None => ExploreMode::Never,
        },
        toolboxes: options.toolboxes.clone(),
    }
}

/// Makes the target of recorded options. A target that the caller names replaces the recorded one.
pub(crate) fn restore_session(
    ground: &Ground,
    options: &TaskOptions,
    mine: &SessionOptions,
) -> SessionOptions {
    let names_target = mine.branch.is_some() || mine.no_commit || mine.dry_run;
    let mut policies: Vec<PathBuf> = options
        .policies
        .iter()
        .map(|path| find_path(ground, path))
        .collect();
    // Never fewer than those of the earlier run, which restricted it.
    policies.extend(mine.policies.iter().cloned());
    let target = SessionOptions {
        branch: options.branch.clone(),
        no_commit: options.no_commit,
        dry_run: options.dry_run,
        ..SessionOptions::default()
    };
    SessionOptions {
        policies,
        hooks: mine.hooks,
        ..if names_target { mine.clone() } else { target }
    }
}

/// Returns the place of a recorded path.
fn find_path(ground: &Ground, recorded: &str) -> PathBuf {
    match (recorded.strip_prefix("~/"), ground.environment().home_dir()) {
        (Some(below), Some(home)) => home.join(below),
        (_, _) => PathBuf::from(recorded),
    }
}
