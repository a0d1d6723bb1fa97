//! Command lines that cannot be parsed, shown like every other failure.
//!
//! Owns: the message, and the verb or flag to suggest. Never: prints, or reads the process's arguments.

use agentos_host::{EffectError, ProviderKind, nearest_word, usage_error};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::{Cli, Common};

/// Verbs that people type in a group that lacks them, and the verb of that group to suggest.
const MEANT: &[(&str, &str)] = &[("list", "status"), ("ls", "list")];

/// Command line that cannot be parsed.
#[derive(Debug)]
pub struct BadUsage {
    /// Failure to show, with the next step.
    pub error: EffectError,
    /// Common flags, as far as they decide how the failure is shown.
    pub common: Common,
}

impl BadUsage {
    /// Converts clap's error about `typed`, whose first word is the program's name.
    pub fn from_clap(error: &clap::Error, typed: &[String]) -> Self {
        // Words after `--` belong to a program, so a `--json` there is not this program's flag.
        let flags: Vec<&str> = typed
            .iter()
            .map(String::as_str)
            .take_while(|word| *word != "--")
            .collect();
        let path = verb_path(&flags);
        Self {
            error: usage_error(clap_message(error, &path)).hint(hint(error, &path, &flags)),
            common: Common {
                json: flags.contains(&"--json"),
                ..Common::default()
            },
        }
    }
}

/// Returns the first paragraph of clap's message as one line, with typed words in backticks.
fn clap_message(error: &clap::Error, path: &[String]) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return format!("`{}` needs a verb", path.join(" "));
    }
    let text = error.render().to_string();
    // clap adds its own tip and usage after the first paragraph. This program words the next step itself, in `hint`.
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    // clap quotes with apostrophes. An odd number means that the typed text contains one itself.
    match line.matches('\'').count() % 2 {
        0 => line.replace('\'', "`"),
        _ => line.to_owned(),
    }
}

fn hint(error: &clap::Error, path: &[String], flags: &[&str]) -> String {
    let help = format!("see `{} --help`", path.join(" "));
    if let Some(unknown) = context_text(error, ContextKind::InvalidSubcommand) {
        return match verb_meant(path, unknown) {
            Some(verb) => format!("did you mean `{verb}`?"),
            None => help,
        };
    }
    if error.kind() == ErrorKind::MissingRequiredArgument {
        let missing = clap_message(error, path);
        if missing.contains("--provider") {
            return format!("`agentos tool list` names the providers; {help}");
        }
        // The task may be omitted only if a program is given, so with these providers a missing TASK means a missing
        // program.
        let programs = [ProviderKind::AnyProgram, ProviderKind::ToolProgram];
        let program = programs.iter().find(|kind| flags.contains(&kind.name()));
        if let (Some(kind), true) = (program, missing.contains("<TASK>")) {
            return format!(
                "give the program after --: {} -p {} -- COMMAND",
                path.join(" "),
                kind.name()
            );
        }
    }
    let suggested = [ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    match suggested.into_iter().find_map(|kind| context_text(error, kind)) {
        Some(word) => format!("did you mean `{word}`? {help}"),
        None => help,
    }
}

fn context_text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word),
        // clap sorts its suggestions by rising similarity, so the last one is the closest.
        Some(ContextValue::Strings(words)) => words.last().map(String::as_str),
        Some(_) | None => None,
    }
}

/// Returns the innermost verb that was typed correctly, as in `agentos tool auth`.
fn verb_path(flags: &[&str]) -> Vec<String> {
    let root = Cli::command();
    let (mut path, mut command) = (vec![root.get_name().to_owned()], &root);
    for word in flags.iter().skip(1) {
        // A word that is not a verb is a flag, its value, or the mistake itself.
        if let Some(verb) = command.find_subcommand(word) {
            path.push(verb.get_name().to_owned());
            command = verb;
        }
    }
    path
}

/// Returns the verb that was probably meant: a similar one in the same group, or one of this name in another group. `None`
/// if there is neither.
fn verb_meant(path: &[String], unknown: &str) -> Option<String> {
    let root = Cli::command();
    let here = path
        .iter()
        .skip(1)
        .try_fold(&root, |command, verb| command.find_subcommand(verb))?;
    let names: Vec<&str> = here.get_subcommands().map(Command::get_name).collect();
    let other = MEANT
        .iter()
        .find(|(said, meant)| *said == unknown && names.contains(meant));
    // A group is searched before the whole program: a verb next to the typed one is more likely to be meant.
    let found = other
        .map(|(_, meant)| *meant)
        .or_else(|| nearest_word(unknown, names.iter().copied()));
    match found {
        Some(name) => Some(format!("{} {name}", path.join(" "))),
        None => find_elsewhere(&root, "agentos", unknown),
    }
}

fn find_elsewhere(command: &Command, path: &str, name: &str) -> Option<String> {
    command.get_subcommands().find_map(|sub| {
        let path = format!("{path} {}", sub.get_name());
        if sub.get_name() == name {
            return Some(path);
        }
        find_elsewhere(sub, &path, name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_call_says_what_is_wrong_and_what_is_meant() {
        let mut told = String::new();
        for call in [
            "aply",
            "health",
            "tool auth list",
            "tool helth",
            "frobnicate",
            "apply --explian",
            "apply a b",
            "tool auth set",
            "run -p command",
            "run -p openai x --attempts 99",
            "run -p openai x --context al",
            "tool",
        ] {
            let words: Vec<String> = std::iter::once("agentos")
                .chain(call.split(' '))
                .map(str::to_owned)
                .collect();
            let error = Cli::command().try_get_matches_from(&words).unwrap_err();
            let wrong = BadUsage::from_clap(&error, &words).error;
            told.push_str(&format!(
                "{call}\n  {}\n  next: {}\n",
                wrong.message,
                wrong.hint.unwrap_or_default()
            ));
        }
        insta::assert_snapshot!(told, @r"
        aply
          unrecognized subcommand `aply`
          next: did you mean `agentos apply`?
        health
          unrecognized subcommand `health`
          next: did you mean `agentos tool health`?
        tool auth list
          unrecognized subcommand `list`
          next: did you mean `agentos tool auth status`?
        tool helth
          unrecognized subcommand `helth`
          next: did you mean `agentos tool health`?
        frobnicate
          unrecognized subcommand `frobnicate`
          next: see `agentos --help`
        apply --explian
          unexpected argument `--explian` found
          next: did you mean `--explain`? see `agentos apply --help`
        apply a b
          unexpected argument `b` found
          next: see `agentos apply --help`
        tool auth set
          the following required arguments were not provided: --provider <NAME>
          next: `agentos tool list` names the providers; see `agentos tool auth set --help`
        run -p command
          the following required arguments were not provided: <TASK>
          next: give the program after --: agentos run -p command -- COMMAND
        run -p openai x --attempts 99
          invalid value `99` for `--attempts <N>`: 99 is not in 1..=10
          next: see `agentos run --help`
        run -p openai x --context al
          invalid value `al` for `--context <HOW>` [possible values: show, auto, none]
          next: see `agentos run --help`
        tool
          `agentos tool` needs a verb
          next: see `agentos tool --help`
        ");
    }

    #[test]
    fn json_is_asked_for_by_a_flag_of_ours_alone() {
        for (call, json) in [
            (&["agentos", "aply", "--json"][..], true),
            (&["agentos", "--json", "aply"], true),
            (&["agentos", "aply"], false),
        ] {
            let words: Vec<String> = call.iter().map(|word| (*word).to_owned()).collect();
            let error = Cli::command().try_get_matches_from(&words).unwrap_err();
            assert_eq!(BadUsage::from_clap(&error, &words).common.json, json, "{call:?}");
        }
    }
}
