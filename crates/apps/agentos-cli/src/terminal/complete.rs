//! Completions for a command line that is being typed.
//!
//! Owns: the arguments that complete to providers, runs and policies. Never: reports an error: a shell cannot show it in the
//! middle of a line, so nothing is completed instead.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use agentos_host::{Environment, Host, LoggedRun};
use clap::Command;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::CompleteEnv;

use crate::args::full_command;
use crate::escape;

/// Name of the program in completion scripts.
pub const PROGRAM: &str = "agentos";
/// Environment variable by which a script requests completions. Contains the name of the shell.
pub const VARIABLE: &str = "AGENTOS_COMPLETE";
/// Maximum number of runs offered, the newest first. About one screen.
const MOST_RUNS: usize = 40;

/// Answers a shell that requests completions. Returns false if none does.
///
/// # Errors
/// Fails if the request cannot be parsed or the answer cannot be written.
pub fn complete_line(environment: &Environment, args: Vec<OsString>) -> Result<bool, clap::Error> {
    CompleteEnv::with_factory(|| with_candidates(full_command()))
        .var(VARIABLE)
        .try_complete(args, Some(&environment.cwd))
}

/// Adds sources of completions to the arguments.
fn with_candidates(command: Command) -> Command {
    command
        .mut_args(|argument| match argument.get_id().as_str() {
            "provider" | "providers" => argument.add(ArgValueCandidates::new(list_providers)),
            "run" => argument.add(ArgValueCompleter::new(list_runs)),
            "policy" => argument.add(ArgValueCompleter::new(list_policies)),
            _ => argument,
        })
        .mut_subcommands(with_candidates)
}

fn list_providers() -> Vec<CompletionCandidate> {
    let names = open_host()
        .and_then(|host| host.provider_names().ok())
        .unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns policy files: those of the repository and the user by name, and the files below the typed folder.
fn list_policies(typed: &OsStr) -> Vec<CompletionCandidate> {
    let is_rules = |path: &Path| path.extension().is_some_and(|ending| ending == "toml");
    // Folders are offered too, because the file that is meant may be below one.
    let mut found = PathCompleter::any()
        .filter(move |path| path.is_dir() || is_rules(path))
        .complete(typed);
    let Some(host) = open_host() else { return found };
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

/// Returns the newest runs by their short ids, or by whole ids if one is being typed.
fn list_runs(typed: &OsStr) -> Vec<CompletionCandidate> {
    let begun = typed.to_string_lossy();
    let runs = open_host()
        .map(|host| host.newest_runs(MOST_RUNS))
        .unwrap_or_default();
    let candidate = |run: LoggedRun| {
        let id = [run.short, run.run]
            .into_iter()
            .find(|id| id.starts_with(&*begun))?;
        // A shell shows the help next to the id. What a tape contains could hold control characters.
        let task = run.task.map(|task| escape::line(&task).into());
        Some(CompletionCandidate::new(id).help(task))
    };
    runs.into_iter().filter_map(candidate).collect()
}

/// Creates a host without an observer, so that nothing is printed between the completions.
fn open_host() -> Option<Host> {
    Some(Host::new(Environment::read().ok()?))
}
