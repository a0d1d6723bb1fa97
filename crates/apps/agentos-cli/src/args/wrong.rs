//! Command lines that cannot be parsed, shown like every other failure.
//!
//! Owns: the message, and the verb or flag to suggest. Never: prints, or reads the process's arguments.

use agentos_host::{EffectError, ProviderKind, nearest_word, usage_error};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::{Cli, Common};

/// Verbs that people type in a group that lacks them, and the verb of that group to suggest.
const MEANT: &[(&str, &str)] = &[("list", "status"), ("ls", "list")];

/// Words that people type as a verb, and what to say: a command, or a sentence. Looked up if no verb of the program has a
/// similar name, or one of the same name in a group.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("version", "agentos --version"),
    ("login", "agentos tool auth set"),
    ("logout", "agentos tool auth clear"),
    ("auth", "agentos tool auth status"),
    ("key", "agentos tool auth status"),
    ("keys", "agentos tool auth status"),
    ("health", "agentos tool health"),
    ("ping", "agentos tool health"),
    ("providers", "agentos tool list"),
    ("tools", "agentos tool list"),
    ("history", "agentos log"),
    ("list", "agentos log"),
    ("ls", "agentos log"),
    ("runs", "agentos log"),
    ("st", "agentos status"),
    ("info", "agentos status"),
    ("settings", "agentos config"),
    ("default", "agentos use"),
    ("setup", "agentos init"),
    ("new", "agentos init"),
    ("start", "agentos init"),
    ("ask", "agentos chat send"),
    ("talk", "agentos chat send"),
    ("commit", "agentos apply"),
    ("patch", "agentos apply"),
    ("accept", "agentos approve"),
    ("yes", "agentos approve"),
    ("reject", "agentos deny"),
    ("no", "agentos deny"),
    ("revert", "agentos undo"),
    ("rollback", "agentos undo"),
    ("reset", "agentos undo"),
    ("fix", "agentos recover"),
    ("lint", "agentos policy lint"),
    ("check", "agentos policy check"),
    ("verify", "agentos evidence verify"),
    ("audit", "agentos evidence verify"),
    ("replay", "agentos evidence replay"),
    ("export", "agentos evidence export"),
    ("stats", "agentos evidence stats"),
    ("completion", "agentos completions"),
    ("manual", "agentos man"),
    ("schemas", "agentos schema --list"),
];

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
    let line = &reword_number(line);
    // clap quotes with apostrophes. An odd number means that the typed text contains one itself.
    match line.matches('\'').count() % 2 {
        0 => line.replace('\'', "`"),
        _ => line.to_owned(),
    }
}

/// Rewords what the standard library and clap say about a number.
fn reword_number(line: &str) -> String {
    let line = line.replace("invalid digit found in string", "it is not a whole number");
    let Some((before, range)) = line.split_once(" is not in ") else {
        return line;
    };
    match range.split_once("..=") {
        // The largest value of the type is no limit that a person set.
        Some((least, most)) if most.len() >= 10 => format!("{before} is less than {least}"),
        Some((least, most)) => format!("{before} is not between {least} and {most}"),
        None => line,
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
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(unknown) = context_text(error, ContextKind::InvalidArg)
        && let Some(meant) = value_meant(path, unknown, flags)
    {
        return meant;
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

/// Returns a hint about a word that is meant as a value: one that begins with `-`, or a task without quotes. `None` if the word
/// is probably a mistyped option.
fn value_meant(path: &[String], unknown: &str, flags: &[&str]) -> Option<String> {
    let root = Cli::command();
    let verb = path
        .iter()
        .skip(1)
        .try_fold(&root, |command, verb| command.find_subcommand(verb))?;
    let at = flags.iter().position(|word| *word == unknown);
    if unknown.starts_with('-') {
        let before = flags.get(at?.checked_sub(1)?)?;
        let name = before.strip_prefix("--");
        let letter = before.strip_prefix('-').and_then(|rest| rest.chars().next());
        let is_meant = |arg: &&clap::Arg| {
            let is_long = name.is_some() && arg.get_long() == name;
            let is_short = name.is_none() && arg.get_short().is_some() && arg.get_short() == letter;
            (is_long || is_short) && arg.get_action().takes_values()
        };
        let option = verb.get_arguments().find(is_meant)?.get_long()?;
        return Some(format!(
            "a value that begins with `-` needs `=`: `--{option}={unknown}`"
        ));
    }
    let has_task = verb.get_arguments().any(|arg| arg.get_id() == "task");
    has_task.then(|| format!("write the task in quotes: {} \"TASK\"", path.join(" ")))
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
    // An exact word says more than a similar one: `lint` is no mistyped `init`.
    if let Some((_, meant)) = OTHER_WORDS
        .iter()
        .find(|(said, _)| *said == unknown && path.len() == 1)
    {
        return Some((*meant).to_owned());
    }
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
          invalid value `99` for `--attempts <N>`: 99 is not between 1 and 10
          next: see `agentos run --help`
        run -p openai x --context al
          invalid value `al` for `--context <HOW>` [possible values: show, text, auto, none]
          next: see `agentos run --help`
        tool
          `agentos tool` needs a verb
          next: see `agentos tool --help`
        ");
    }

    #[test]
    fn every_word_that_people_type_leads_to_a_command_that_parses() {
        for (said, meant) in OTHER_WORDS {
            let words = ["agentos".to_owned(), (*said).to_owned()];
            let error = Cli::command().try_get_matches_from(&words).unwrap_err();
            let hint = BadUsage::from_clap(&error, &words).error.hint.unwrap();
            assert_eq!(hint, format!("did you mean `{meant}`?"), "{said}");
            let mut command = &Cli::command();
            for word in meant.split(' ').skip(1).filter(|word| !word.starts_with('-')) {
                command = command.find_subcommand(word).unwrap();
            }
        }
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
