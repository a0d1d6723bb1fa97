//! Manual pages in the format of `man`.
//!
//! Owns: the sections of a page, and what every page says about the environment and files. Never: describes an option in its own
//! words; clap's definitions have them.

use std::io;

use agentos_host::SETTINGS;
use clap::{Arg, Command};
use clap_mangen::Man;

use crate::exit::Exit;

/// Variables that the program reads, besides those of the settings.
const VARIABLES: &[(&str, &str)] = &[
    (
        "AGENTOS_PROVIDER_API_KEY",
        "key of a provider, with its name in capitals for PROVIDER; _BASE_URL and _MODEL set its address and model",
    ),
    ("AGENTOS_LOG", "filter for a log on standard error, as in debug"),
    (
        "PAGER",
        "program that shows long text, if AGENTOS_PAGER is not set",
    ),
    (
        "NO_COLOR",
        "output without color; FORCE_COLOR asks for it on a pipe",
    ),
    ("COLUMNS", "width of the terminal"),
    ("XDG_CONFIG_HOME", "folder of settings, instead of ~/.config"),
    (
        "XDG_CACHE_HOME",
        "folder of the copies that programs work in, instead of ~/.cache",
    ),
];

/// Files that the program reads or writes.
const FILES: &[(&str, &str)] = &[
    (
        "~/.config/agentos/config.toml",
        "your settings; see agentos-config(1)",
    ),
    (
        "~/.config/agentos/profiles/NAME.json",
        "your profiles of providers",
    ),
    ("~/.config/agentos/policy/*.toml", "your own rules"),
    ("~/.agentos/credentials.json", "keys, if no keyring keeps them"),
    ("/etc/agentos/policy/*.toml", "rules of the machine"),
    (
        ".agentos/policy/*.toml",
        "rules of a repository, active once they are committed",
    ),
    (".agentos/profiles/NAME.json", "models of a repository"),
    (".agentosignore", "files that no tool is shown"),
    (".git/agentos/", "evidence of every run"),
];

/// Returns the page of a verb, whose full name is `name`.
///
/// # Errors
/// Fails if the page cannot be composed.
pub fn render_manual(command: &Command, name: &str) -> io::Result<String> {
    let version = format!("agentos {}", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.clone())
        .title(name.replace(' ', "-"))
        .source(version)
        .manual("AgentOS manual");
    let mut out = Vec::new();
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    out.extend_from_slice(write_synopsis(command, name).as_bytes());
    page.render_description_section(&mut out)?;
    page.render_options_section(&mut out)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut out)?;
    }
    let mut text = String::from_utf8_lossy(&out).into_owned();
    let after = command
        .get_after_long_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let (notes, examples) = after.split_once("Examples:").unwrap_or((&after, ""));
    // The table of exit codes is the note of the whole program, and has a section of its own here.
    if !notes.trim().is_empty() && !notes.starts_with("Exit codes:") {
        text.push_str(&format!(".SH NOTES\n{}\n", escape_roff(notes.trim())));
    }
    let exits = Exit::ALL
        .iter()
        .map(|exit| (format!("{}", *exit as u8), exit.meaning()));
    text.push_str(&write_list("EXIT STATUS", exits));
    let settings = SETTINGS
        .iter()
        .filter_map(|known| Some((known.variable?.to_owned(), known.meaning)));
    let variables = VARIABLES
        .iter()
        .map(|(name, meaning)| ((*name).to_owned(), *meaning));
    text.push_str(&write_list("ENVIRONMENT", settings.chain(variables)));
    let files = FILES.iter().map(|(name, meaning)| ((*name).to_owned(), *meaning));
    text.push_str(&write_list("FILES", files));
    if !examples.trim().is_empty() {
        let lines = examples.trim().lines().map(|line| escape_roff(line.trim()));
        let lines: Vec<String> = lines.collect();
        text.push_str(&format!(".SH EXAMPLES\n.nf\n{}\n.fi\n", lines.join("\n")));
    }
    Ok(text)
}

/// Returns the synopsis: every option of the verb with its value, then its arguments.
fn write_synopsis(command: &Command, name: &str) -> String {
    let is_own = |arg: &&Arg| {
        let is_common = arg.is_global_set() || ["help", "version"].contains(&arg.get_id().as_str());
        !arg.is_hide_set() && !is_common
    };
    let mut parts = Vec::new();
    for option in command
        .get_arguments()
        .filter(is_own)
        .filter(|arg| !arg.is_positional())
    {
        let long = option.get_long().map(|long| format!("--{long}"));
        let flag = option
            .get_short()
            .map(|short| format!("-{short}"))
            .or(long)
            .unwrap_or_default();
        let value = match option.get_action().takes_values() {
            true => format!(" {}", value_name(option)),
            false => String::new(),
        };
        let part = format!("{flag}{value}");
        parts.push(if option.is_required_set() {
            part
        } else {
            format!("[{part}]")
        });
    }
    if command.has_subcommands() {
        parts.push("COMMAND".to_owned());
    }
    for argument in command.get_positionals() {
        let many = if argument
            .get_num_args()
            .is_some_and(|count| count.max_values() > 1)
        {
            "..."
        } else {
            ""
        };
        let dashes = if argument.is_last_set() { "-- " } else { "" };
        let part = format!("{dashes}{}{many}", value_name(argument));
        parts.push(if argument.is_required_set() {
            part
        } else {
            format!("[{part}]")
        });
    }
    format!(
        ".SH SYNOPSIS\n\\fB{}\\fR {}\n",
        escape_roff(name),
        escape_roff(&parts.join(" "))
    )
}

fn value_name(arg: &Arg) -> String {
    let name = arg.get_value_names().and_then(|names| names.first());
    name.map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string)
}

fn write_list<'a>(heading: &str, rows: impl Iterator<Item = (String, &'a str)>) -> String {
    let rows = rows
        .map(|(name, meaning)| format!(".TP\n\\fB{}\\fR\n{}\n", escape_roff(&name), escape_roff(meaning)));
    format!(".SH \"{heading}\"\n{}", rows.collect::<String>())
}

/// Escapes text for roff: its escape character, hyphens that must stay hyphens, and lines that look like requests.
fn escape_roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    let lines = escaped.lines().map(|line| match line.chars().next() {
        Some('.' | '\'') => format!("\\&{line}"),
        Some(_) | None => line.to_owned(),
    });
    lines.collect::<Vec<String>>().join("\n")
}
