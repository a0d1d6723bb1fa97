//! What could come next on a command line that is being typed.
//!
//! Owns: which arguments complete to providers, to runs and to policies. Never: says what went wrong; a shell in the middle
//! of a line cannot use it, so it completes nothing instead.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use agentos_host::{Environment, Host};
use clap::Command;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::CompleteEnv;

use crate::args::command;

/// The program's name in scripts.
pub const PROGRAM: &str = "agentos";
/// The variable by which a script says that it asks, with the name of the shell.
pub const VARIABLE: &str = "AGENTOS_COMPLETE";
/// Runs offered: the newest ones, as many as a screen takes.
const MOST_RUNS: usize = 40;

/// Answers the shell that asks; false when none does.
///
/// # Errors
/// When the question cannot be read or the answer not be written.
pub fn answer(environment: &Environment, args: Vec<OsString>) -> Result<bool, clap::Error> {
    CompleteEnv::with_factory(|| with_candidates(command()))
        .var(VARIABLE)
        .try_complete(args, Some(&environment.cwd))
}

/// The same command line, with arguments that know what they may be.
fn with_candidates(command: Command) -> Command {
    command
        .mut_args(|argument| match argument.get_id().as_str() {
            "provider" | "providers" => argument.add(ArgValueCandidates::new(providers)),
            "run" => argument.add(ArgValueCandidates::new(runs)),
            "policy" => argument.add(ArgValueCompleter::new(policies)),
            _ => argument,
        })
        .mut_subcommands(with_candidates)
}

fn providers() -> Vec<CompletionCandidate> {
    let names = host()
        .and_then(|host| host.provider_names().ok())
        .unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Policy files: those of the repository and of the user, by name, and what lies below the folder that is typed.
fn policies(typed: &OsStr) -> Vec<CompletionCandidate> {
    let is_rules = |path: &Path| path.extension().is_some_and(|ending| ending == "toml");
    let mut found = PathCompleter::any()
        .filter(move |path| path.is_dir() || is_rules(path))
        .complete(typed);
    let Some(host) = host() else { return found };
    let begun = typed.to_string_lossy();
    let files = host.policy_files();
    let cwd = &host.environment().cwd;
    let shown = files.iter().map(|file| file.strip_prefix(cwd).unwrap_or(file));
    let fitting = shown.filter(|file| file.to_string_lossy().starts_with(&*begun));
    found.extend(fitting.map(CompletionCandidate::new));
    found.sort();
    found.dedup();
    found
}

fn runs() -> Vec<CompletionCandidate> {
    let runs = host().map(|host| host.newest_runs(MOST_RUNS)).unwrap_or_default();
    runs.into_iter().map(CompletionCandidate::new).collect()
}

/// A host that says nothing by itself.
fn host() -> Option<Host> {
    Some(Host::new(Environment::read().ok()?))
}
