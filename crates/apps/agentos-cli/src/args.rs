//! The command line as typed: one struct for each verb, whose doc comments are the help text.
//!
//! Owns: names, flags and help. Never: reads the environment or decides anything.

pub mod evidence;
pub mod examples;
pub mod land;
pub mod policy;
pub mod shell;
pub mod start;
pub mod tool;
pub mod wrong;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use self::wrong::Wrong;

/// Point any model at a git repository, certain that a tool can only propose a diff.
#[derive(Debug, Parser)]
#[command(
    name = "agentos",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
#[command(after_help = crate::exit::table())]
pub struct Cli {
    /// Flags of every verb.
    #[command(flatten)]
    pub common: Common,
    /// The verb; without one, where you are and what you can do next.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// The command line with its examples.
pub fn command() -> Command {
    examples::with_examples(Cli::command())
}

impl Cli {
    /// Reads the process's arguments; a call for help or the version ends here.
    ///
    /// # Errors
    /// When the call is wrong.
    pub fn of_process() -> Result<Self, Box<Wrong>> {
        let typed = asked_for_help(std::env::args_os().collect());
        let parsed = |command: Command| {
            let found = command.try_get_matches_from(&typed)?;
            Self::from_arg_matches(&found)
        };
        // Examples cost more than all the rest of the command line, and only help shows them.
        let is_help = |error: &clap::Error| {
            matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            )
        };
        let read = match parsed(Self::command()) {
            Err(error) if is_help(&error) => parsed(command()),
            read => read,
        };
        read.map_err(|error| {
            let words: Vec<String> = typed
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            let wrong = Wrong::of(&error, &words);
            // A verb without its own verb shows help to a person.
            let shows_help = is_help(&error) && !wrong.common.json;
            if shows_help || !error.use_stderr() {
                error.exit();
            }
            Box::new(wrong)
        })
    }
}

/// `agentos help VERB` is `agentos VERB --help`.
fn asked_for_help(mut typed: Vec<OsString>) -> Vec<OsString> {
    if typed.get(1).is_some_and(|word| word == "help") {
        typed.remove(1);
        typed.push("--help".into());
    }
    typed
}

/// Flags of every verb.
#[derive(Debug, Clone, Default, Args)]
pub struct Common {
    /// The repository [default: the one you are in]
    #[arg(long, value_name = "DIR", global = true)]
    pub repo: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Print data and errors only
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print long text at once instead of in `$AGENTOS_PAGER`, `$PAGER` or `less`
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// Say more; twice for debugging
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show the whole way of a change in a temporary repository: no model, no key, no network
    Demo(land::DemoArgs),
    /// Put a policy and a provider's profile into this repository: looks for local servers and for keys first
    Init(start::InitArgs),
    /// Check everything that a landing and a tool need here, with a fix for each thing that is wrong
    Doctor(start::DoctorArgs),
    /// Land an untrusted diff or a model's whole reply as a commit, or say why not
    Apply(land::ApplyArgs),
    /// Ask a tool for a change and land it as a commit, or say why not
    Run(land::RunArgs),
    /// Diffs: turn any edit dialect into the canonical git diff
    #[command(subcommand)]
    Diff(land::DiffVerb),
    /// Say yes to a run that waits for a person, and land it; without a run, list what waits
    Approve(land::ApproveArgs),
    /// Say no to a run that waits for a person
    Deny(land::DenyArgs),
    /// Take a landed run back, as a commit of its own
    Undo(land::UndoArgs),
    /// Finish or take back what a killed landing left; every verb that lands does this first
    Recover,
    /// Policy: judge a change without landing it, explain, test and check the rules, begin with a preset
    #[command(subcommand)]
    Policy(policy::PolicyVerb),
    /// Tools: list them, check their health, keep their keys, ask one without landing
    #[command(subcommand)]
    Tool(tool::ToolVerb),
    /// Evidence: list runs, show one as a story, verify the tape
    #[command(subcommand)]
    Evidence(evidence::EvidenceVerb),
    /// Provider profiles: list them, show one and where its values come from, make one, validate one
    #[command(subcommand)]
    Profile(tool::ProfileVerb),
    /// Models: list those that are known without asking a server, show what one can do
    #[command(subcommand)]
    Models(tool::ModelsVerb),
    /// Print the JSON Schema of a published shape
    Schema(evidence::SchemaArgs),
    /// Print what makes your shell complete verbs, flags, providers, runs and policies
    Completions(shell::CompletionsArgs),
    /// Print a manual page; without a name, the one of the program
    Man(shell::ManArgs),
}
