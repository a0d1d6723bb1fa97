//! Completions for a command line that is being typed.
//!
//! Owns: the arguments that complete to providers, runs, policies, branches, models and names of this program. Never: reports an error: a shell cannot show it in the
//! middle of a line, so nothing is completed instead.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use agentos_host::{
    Environment, Host, KnownSetting, LoggedRun, ResultKind, SETTINGS, known_models, schema_names,
};
use clap::{Arg, Command};
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
    add_candidates(command, "")
}

/// Adds sources of completions to the arguments of a verb, and of the verbs below it.
fn add_candidates(command: Command, path: &str) -> Command {
    let verb = path.to_owned();
    command
        .mut_args(|argument| complete_argument(argument, &verb))
        .mut_subcommands(|below| {
            let name = below.get_name().to_owned();
            let path = if path.is_empty() {
                name
            } else {
                format!("{path} {name}")
            };
            add_candidates(below, &path)
        })
}

/// Adds the source of completions that fits an argument of a verb.
fn complete_argument(argument: Arg, verb: &str) -> Arg {
    let name = argument.get_id().as_str().to_owned();
    match (verb, name.as_str()) {
        (_, "provider" | "providers") => argument.add(ArgValueCompleter::new(list_providers)),
        ("approve" | "deny", "run") => argument.add(ArgValueCompleter::new(list_waiting)),
        ("undo", "run") => argument.add(ArgValueCompleter::new(list_landed)),
        (_, "run") => argument.add(ArgValueCompleter::new(list_runs)),
        (_, "policy") => argument.add(ArgValueCompleter::new(list_policies)),
        (_, "branch" | "base") => argument.add(ArgValueCandidates::new(list_branches)),
        (_, "commit") => argument.add(ArgValueCompleter::new(list_commits)),
        ("models remove", "id") => argument.add(ArgValueCandidates::new(list_own_models)),
        ("models show", "model") | ("models default", "id") => {
            argument.add(ArgValueCandidates::new(list_model_ids))
        }
        (_, "model") => argument.add(ArgValueCandidates::new(list_models)),
        ("schema", "name") => argument.add(ArgValueCandidates::new(list_schemas)),
        ("config get" | "config set" | "config unset", "key") => {
            argument.add(ArgValueCandidates::new(list_settings))
        }
        ("man", "verb") => argument.add(ArgValueCandidates::new(list_verbs)),
        (_, "files" | "file" | "read" | "readable" | "path" | "keys" | "replay" | "images") => {
            argument.add(ArgValueCompleter::new(list_files))
        }
        (_, "repo" | "dir" | "out" | "rules" | "shared") => {
            argument.add(ArgValueCompleter::new(list_folders))
        }
        (_, _) => argument,
    }
}

/// Returns the files and folders below the typed folder.
fn list_files(typed: &OsStr) -> Vec<CompletionCandidate> {
    without_git_dir(PathCompleter::any().complete(typed))
}

/// Returns the forms of a typed path as text, for an argument inside a conversation.
#[cfg(unix)]
pub fn complete_file(typed: &OsStr) -> Vec<String> {
    let text = |found: &CompletionCandidate| found.get_value().to_string_lossy().into_owned();
    list_files(typed).iter().map(text).collect()
}

/// Returns the folders below the typed folder.
fn list_folders(typed: &OsStr) -> Vec<CompletionCandidate> {
    without_git_dir(PathCompleter::dir().complete(typed))
}

/// Leaves out git's own folder, which no option names. A filter of the completer does not see folders.
fn without_git_dir(mut found: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    found.retain(|path| {
        let name = Path::new(path.get_value()).file_name();
        name.is_none_or(|name| name != ".git")
    });
    found
}

fn list_branches() -> Vec<CompletionCandidate> {
    let names = open_host()
        .map(|host| host.stories().branch_names())
        .unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn list_model_ids() -> Vec<CompletionCandidate> {
    known_models()
        .iter()
        .map(|model| CompletionCandidate::new(model.id))
        .collect()
}

/// Returns the ids of the models that the user added.
fn list_own_models() -> Vec<CompletionCandidate> {
    let ids = open_host().and_then(|host| host.providers().own_model_ids().ok());
    let ids = ids.unwrap_or_default();
    ids.into_iter().map(CompletionCandidate::new).collect()
}

fn list_models() -> Vec<CompletionCandidate> {
    let mut names: Vec<&str> = known_models().iter().map(|model| model.name).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn list_schemas() -> Vec<CompletionCandidate> {
    schema_names().into_iter().map(CompletionCandidate::new).collect()
}

fn list_settings() -> Vec<CompletionCandidate> {
    let candidate =
        |known: &KnownSetting| CompletionCandidate::new(known.key).help(Some(known.meaning.into()));
    SETTINGS.iter().map(candidate).collect()
}

/// Returns each word of the verbs. A verb of several words is completed word by word.
fn list_verbs() -> Vec<CompletionCandidate> {
    fn collect(command: &Command, words: &mut Vec<String>) {
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            words.push(verb.get_name().to_owned());
            collect(verb, words);
        }
    }
    let mut words = Vec::new();
    collect(&full_command(), &mut words);
    words.sort();
    words.dedup();
    words.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns the commits that the newest runs made.
fn list_commits(typed: &OsStr) -> Vec<CompletionCandidate> {
    let begun = typed.to_string_lossy();
    let candidate = |run: LoggedRun| {
        let commit = run.result.commit?;
        let short = commit.get(..10).unwrap_or(&commit).to_owned();
        let task = run.task.map(|task| escape::line(&task).into());
        short
            .starts_with(&*begun)
            .then(|| CompletionCandidate::new(short).help(task))
    };
    newest_runs().into_iter().filter_map(candidate).collect()
}

/// Returns the providers, or the known models of one whose name and `/` are typed.
fn list_providers(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let names = match typed.contains('/') {
        true => known_models().iter().map(|model| model.id.to_owned()).collect(),
        false => open_host()
            .and_then(|host| host.providers().provider_names().ok())
            .unwrap_or_default(),
    };
    names
        .into_iter()
        .filter(|name: &String| name.starts_with(typed.as_ref()))
        .map(CompletionCandidate::new)
        .collect()
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
    let files = host.runs().policy_files();
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
    offer_runs(typed, |_| true)
}

/// Returns the runs that wait for a person.
fn list_waiting(typed: &OsStr) -> Vec<CompletionCandidate> {
    offer_runs(typed, |run| run.result.kind == ResultKind::Waiting)
}

/// Returns the runs that landed something.
fn list_landed(typed: &OsStr) -> Vec<CompletionCandidate> {
    offer_runs(typed, |run| run.result.kind == ResultKind::Landed)
}

fn newest_runs() -> Vec<LoggedRun> {
    open_host()
        .map(|host| host.stories().newest_runs(MOST_RUNS))
        .unwrap_or_default()
}

fn offer_runs(typed: &OsStr, fits: fn(&LoggedRun) -> bool) -> Vec<CompletionCandidate> {
    let begun = typed.to_string_lossy();
    let candidate = |run: LoggedRun| {
        let id = [run.short, run.run]
            .into_iter()
            .find(|id| id.starts_with(&*begun))?;
        // A shell shows the help next to the id. What a tape contains could hold control characters.
        let task = run.task.map(|task| escape::line(&task).into());
        Some(CompletionCandidate::new(id).help(task))
    };
    newest_runs()
        .into_iter()
        .filter(fits)
        .filter_map(candidate)
        .collect()
}

/// Creates a host without an observer, so that nothing is printed between the completions.
fn open_host() -> Option<Host> {
    Some(Host::new(Environment::read().ok()?))
}
