//! Arrangement of the help: groups of verbs, groups of options, and a short form that fits a screen.
//!
//! Owns: the groups and their order. Never: names an option or a verb that does not exist; a test checks that. Changes nothing
//! about how a command line is parsed, so the arrangement is only made when help is shown.

use clap::{Arg, ArgAction, Command};

use crate::render::layout::wrap_text;

/// Groups of verbs in `agentos --help`. A verb in none of them is listed at the end.
const VERB_GROUPS: &[(&str, &[&str])] = &[
    (
        "Daily",
        &["run", "apply", "approve", "deny", "land", "retry", "undo", "chat"],
    ),
    ("Look", &["status", "log", "show", "diff", "cost", "budget"]),
    (
        "Set up",
        &[
            "demo",
            "init",
            "use",
            "config",
            "doctor",
            "tool",
            "profile",
            "models",
            "pool",
            "serve",
            "open",
            "mcp",
            "completions",
            "man",
        ],
    ),
    (
        "Evidence and policy",
        &["policy", "trust", "evidence", "recover", "store", "schema"],
    ),
];

/// Verbs of maintenance, which the list leaves out so that it fits a screen. The reference, completions and their own help have them.
const UNLISTED_VERBS: &[&str] = &["store", "schema"];

/// Widest line of the help, as for the lines that clap writes.
const WIDEST: usize = 100;

/// Heading of the verbs that no group names.
const OTHER_VERBS: &str = "Other";

/// Heading of the options that every verb has.
const GLOBAL: &str = "Global options";

/// Options of every verb.
const GLOBAL_OPTIONS: &[&str] = &["repo", "json", "quiet", "no_pager", "verbose"];

/// Verbs whose options are grouped: those with more than one screen of them.
const GROUPED_VERBS: &[&str] = &["apply", "chat send", "land", "retry", "run", "tool run"];

/// Groups of options, by the names of their arguments. An option in none of them stays under "Options", which comes first.
const OPTION_GROUPS: &[(&str, &[&str])] = &[
    (
        "What to show",
        &[
            "files",
            "symbols",
            "context",
            "explore",
            "no_explore",
            "explore_rounds",
            "explore_time",
            "toolboxes",
        ],
    ),
    (
        "Where it lands",
        &[
            "branch",
            "no_commit",
            "dry_run",
            "partial",
            "yes",
            "policy",
            "message",
            "run_hooks",
            "no_hooks",
            "allow_empty",
        ],
    ),
    (
        "Check",
        &["check", "no_check", "check_base", "check_timeout", "attempts"],
    ),
    (
        "Provider",
        &[
            "replay",
            "base_url",
            "send_key",
            "timeout",
            "connect_timeout",
            "first_byte_timeout",
            "idle_timeout",
            "total_timeout",
            "max_output_tokens",
            "edit_format",
        ],
    ),
    ("Program", &["readable", "shared", "require_sandbox"]),
];

/// Options that the short help leaves out, because few calls need them.
const RARE_OPTIONS: &[&str] = &[
    "partial",
    "policy",
    "allow_empty",
    "run_hooks",
    "no_hooks",
    "no_explore",
    "explore_rounds",
    "explore_time",
    "toolboxes",
    "no_check",
    "check_base",
    "check_timeout",
    "replay",
    "send_key",
    "timeout",
    "connect_timeout",
    "first_byte_timeout",
    "idle_timeout",
    "total_timeout",
    "max_output_tokens",
    "edit_format",
    "shared",
    "require_sandbox",
    "quiet",
    "no_pager",
    "verbose",
];

/// Arranges the help of the program and of its verbs.
pub fn arrange_help(program: Command) -> Command {
    let verbs = list_verbs(&program);
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .global(true)
        .action(ArgAction::Help)
        .help_heading(GLOBAL)
        .help("Print a summary with `-h`, and everything with `--help`");
    arrange_options(program, "")
        .disable_help_flag(true)
        .arg(help)
        // clap lists verbs without groups, so the list is written here.
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{verbs}{GLOBAL}:\n{{options}}{{after-help}}"
        ))
}

/// Returns the verbs with one line each, by group.
fn list_verbs(program: &Command) -> String {
    let known: Vec<&Command> = program
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set() && !UNLISTED_VERBS.contains(&verb.get_name()))
        .collect();
    let is_grouped = |verb: &&&Command| {
        let mut groups = VERB_GROUPS.iter();
        groups.any(|(_, names)| names.contains(&verb.get_name()))
    };
    let in_groups = VERB_GROUPS.iter().map(|(heading, names)| {
        let find = |name: &&str| known.iter().find(|verb| verb.get_name() == *name).copied();
        (*heading, names.iter().filter_map(find).collect::<Vec<_>>())
    });
    let others: Vec<&Command> = known.iter().filter(|verb| !is_grouped(verb)).copied().collect();
    // Not the width of another stream: redirected help must not depend on the terminal.
    let width = terminal_size::terminal_size_of(std::io::stdout());
    let width = width.map_or(WIDEST, |(width, _)| usize::from(width.0).min(WIDEST));
    let mut out = String::new();
    for (heading, verbs) in in_groups.chain([(OTHER_VERBS, others)]) {
        if verbs.is_empty() {
            continue;
        }
        out.push_str(&format!("{heading}:\n"));
        for verb in verbs {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            let line = format!("  {:<12}  {about}\n", verb.get_name());
            out.push_str(&wrap_text(&line, width));
        }
        out.push('\n');
    }
    out
}

/// Puts the options of a verb, and of the verbs below it, under their headings.
fn arrange_options(command: Command, path: &str) -> Command {
    let groups = if GROUPED_VERBS.contains(&path) {
        OPTION_GROUPS
    } else {
        &[]
    };
    let command = command.mut_args(|arg| {
        let name = arg.get_id().as_str().to_owned();
        let heading = if GLOBAL_OPTIONS.contains(&name.as_str()) {
            Some(GLOBAL)
        } else {
            let mut groups = groups.iter();
            groups
                .find(|(_, names)| names.contains(&name.as_str()))
                .map(|(heading, _)| *heading)
        };
        let is_rare = RARE_OPTIONS.contains(&name.as_str());
        let arg = arg.hide_short_help(is_rare && (heading.is_some()));
        match heading {
            Some(heading) => arg.help_heading(heading),
            None => arg,
        }
    });
    command.mut_subcommands(|verb| {
        let name = verb.get_name().to_owned();
        let below = if path.is_empty() {
            name
        } else {
            format!("{path} {name}")
        };
        arrange_options(verb, &below)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::args::full_command;

    fn short_help(path: &[&str], width: usize) -> String {
        let mut program = full_command().term_width(width);
        program.build();
        let mut verb = &mut program;
        for word in path {
            verb = verb.find_subcommand_mut(word).unwrap();
        }
        verb.render_help().to_string()
    }

    #[test]
    fn the_short_help_of_every_verb_fits_a_screen() {
        fn paths(command: &Command, above: &[String], found: &mut Vec<Vec<String>>) {
            found.push(above.to_vec());
            for verb in command.get_subcommands() {
                let path = [above, &[verb.get_name().to_owned()]].concat();
                paths(verb, &path, found);
            }
        }
        let mut all = Vec::new();
        paths(&full_command(), &[], &mut all);
        for path in all {
            let words: Vec<&str> = path.iter().map(String::as_str).collect();
            let lines = short_help(&words, 100).lines().count();
            assert!(lines <= 52, "{path:?}: {lines} lines");
        }
    }

    #[test]
    fn every_grouped_option_exists_and_globals_come_last() {
        let program = full_command();
        let mut known = BTreeSet::new();
        for verb in ["apply", "run"] {
            let verb = program.find_subcommand(verb).unwrap();
            known.extend(verb.get_arguments().map(|arg| arg.get_id().as_str().to_owned()));
        }
        for name in OPTION_GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(known.contains(*name), "{name}");
        }
        let help = short_help(&["run"], 100);
        let last = help
            .lines()
            .filter(|line| line.ends_with(':') && !line.starts_with(' '));
        let headings: Vec<&str> = last.collect();
        assert_eq!(
            headings,
            [
                "Arguments:",
                "Options:",
                "What to show:",
                "Where it lands:",
                "Check:",
                "Provider:",
                "Program:",
                "Global options:",
                "Examples:"
            ]
        );
    }

    #[test]
    fn every_verb_of_the_program_is_in_a_group() {
        let help = short_help(&[], 100);
        assert!(!help.contains(OTHER_VERBS), "{help}");
        insta::assert_snapshot!(help, @r"
        Point any model at a git repository, certain that a tool can only propose a diff

        Usage: agentos [OPTIONS] [COMMAND]

        Daily:
          run           Request a change from a tool and land it as a commit, or explain the refusal
          apply         Land an untrusted diff or a model's whole reply as a commit, or explain the refusal
          approve       Consent to a run that waits for a person and land it, or list all waiting runs
          deny          Decline a run that waits for a person
          land          Land the recorded answer of an earlier run without asking the tool again
          retry         Request the change of an earlier run again, with a remark on its answer
          undo          Undo a landed run with a new commit
          chat          Talk to a model in a session that lasts, or send it single messages

        Look:
          status        Show the repository, the machine with its loaded models, and possible next steps
          log           List earlier runs, newest first, one line each
          show          Show an earlier run: task, answer, files, decision and result, or one of its texts
          diff          Convert edits in any dialect to the canonical git diff
          cost          Show what calls of models cost, of all repositories
          budget        Limit what calls of models may cost

        Set up:
          demo          Show the path of a change in a temporary repository: no model, key or network
          init          Add a policy to this repository; finds servers and keys
          use           Choose the provider of tasks that name none
          config        List, get and set your own defaults
          doctor        Check the machine and the repository, and show a fix for each problem
          tool          List tools, check their health, manage their keys, run one without landing
          profile       List, show, create and validate provider profiles
          models        List, show, add, import, load and unload models; choose the default one
          pool          List pools of models; show the member that a turn is given, and why
          serve         Serve the page where you see and approve, and one address for programs
          open          Open the page of the running service in your browser
          mcp           Offer this repository's tools to an agent that may propose and not write (MCP)
          completions   Print a script that lets your shell complete verbs, flags, providers and runs
          man           Print the manual page of a verb or of the whole program

        Evidence and policy:
          policy        Judge changes without landing them; create, explain, test and check policies
          trust         Review the policy of this repository, and let it replace the preset `default`
          evidence      List and show runs; verify, replay and export evidence
          recover       Finish or roll back an interrupted landing; every verb that lands does this first

        Global options:
              --repo <DIR>  Use the repository in this folder [default: the current one]
              --json        Print one JSON document instead of text
          -h, --help        Print a summary with `-h`, and everything with `--help`
          -V, --version     Print version

        Examples:
          agentos demo
        ");
    }
}
