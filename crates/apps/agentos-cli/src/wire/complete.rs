//! What could come next on a command line that is being typed.
//!
//! Owns: which arguments complete to providers, to runs and to policies. Never: says what went wrong; a shell in the middle
//! of a line cannot use it, so it completes nothing instead.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use agentos_evidence::Store;
use clap::Command;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::CompleteEnv;

use crate::app::App;
use crate::args::{Common, command};
use crate::env::Env;
use crate::printer::Printer;
use crate::wire::policy::rule_files;
use crate::wire::{repository, tools::Tools};

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
pub fn answer(env: &Env, args: Vec<OsString>) -> Result<bool, clap::Error> {
    CompleteEnv::with_factory(|| with_candidates(command()))
        .var(VARIABLE)
        .try_complete(args, Some(&env.cwd))
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
    let Some(app) = app() else { return Vec::new() };
    let repo = repository::open(&app).ok();
    let work_dir = repo.as_ref().and_then(|repo| repo.work_dir());
    Tools::read(&app, work_dir).map_or_else(
        |_| Vec::new(),
        |tools| tools.providers().map(CompletionCandidate::new).collect(),
    )
}

/// Policy files: those of the repository and of the user, by name, and what lies below the folder that is typed.
fn policies(typed: &OsStr) -> Vec<CompletionCandidate> {
    let is_rules = |path: &Path| path.extension().is_some_and(|ending| ending == "toml");
    let mut found = PathCompleter::any()
        .filter(move |path| path.is_dir() || is_rules(path))
        .complete(typed);
    let Some(app) = app() else { return found };
    let begun = typed.to_string_lossy();
    let repo = repository::open(&app).ok();
    let of_repo = repo
        .as_ref()
        .and_then(|repo| repo.work_dir())
        .map(|dir| dir.join(".agentos/policy"));
    let of_user = app.env.config_dir().map(|dir| dir.join("policy"));
    for folder in of_repo.into_iter().chain(of_user) {
        let files = rule_files(&app.env, &folder).ok().flatten().unwrap_or_default();
        let shown = files
            .iter()
            .map(|file| file.strip_prefix(&app.env.cwd).unwrap_or(file));
        let fitting = shown.filter(|file| file.to_string_lossy().starts_with(&*begun));
        found.extend(fitting.map(CompletionCandidate::new));
    }
    found.sort();
    found.dedup();
    found
}

fn runs() -> Vec<CompletionCandidate> {
    let Some(repo) = app().and_then(|app| repository::open(&app).ok()) else {
        return Vec::new();
    };
    let dir = repo.state_dir();
    // Opening a store makes it, and completing a line must leave nothing behind.
    if !dir.is_dir() {
        return Vec::new();
    }
    let runs = Store::open(&dir)
        .and_then(|store| store.runs())
        .unwrap_or_default();
    let newest = runs.into_iter().rev().take(MOST_RUNS);
    newest
        .map(|run| CompletionCandidate::new(run.run.to_string()))
        .collect()
}

/// A call of the program that says nothing by itself.
fn app() -> Option<App> {
    Some(App {
        env: Env::read().ok()?,
        printer: Printer {
            quiet: true,
            json: false,
        },
        common: Common {
            repo: None,
            json: false,
            quiet: true,
            no_pager: true,
            verbose: 0,
        },
    })
}
