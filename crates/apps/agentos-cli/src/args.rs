//! Command line as typed: one struct for each verb, whose doc comments are the help text.
//!
//! Owns: names, flags and help. Never: reads the environment or decides anything.

pub mod budget;
pub mod chat;
pub mod config;
pub mod cost;
pub mod evidence;
pub mod examples;
pub mod help;
pub mod land;
pub mod mcp;
pub mod models;
pub mod policy;
pub mod pool;
pub mod record;
pub mod serve;
pub mod service_token;
pub mod shell;
pub mod start;
pub mod tool;
pub mod wrong;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use self::wrong::BadUsage;

/// Point any model at a git repository, certain that a tool can only propose a diff
#[derive(Debug, Parser)]
#[command(
    name = "agentos",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
#[command(after_help = crate::exit::exit_table())]
pub struct Cli {
    /// Flags of every verb.
    #[command(flatten)]
    pub common: Common,
    /// Verb. Without one, the program shows the state of the repository and possible next steps.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// Returns the command line with its examples.
pub fn full_command() -> Command {
    help::arrange_help(examples::with_examples(Cli::command()))
}

impl Cli {
    /// Parses the process's arguments. Exits the process if they ask for help or the version.
    ///
    /// # Errors
    /// Fails if the arguments do not form a valid command line.
    pub fn of_process() -> Result<Self, Box<BadUsage>> {
        // People type `help VERB`. clap's own verb for it is disabled, so that help, completions and the reference list
        // only verbs of this program.
        let typed = asked_for_help(std::env::args_os().collect());
        if let Some(line) = McpLine::parse(&typed) {
            return Ok(line);
        }
        let parsed = |command: Command| {
            let found = command.try_get_matches_from(&typed)?;
            Self::from_arg_matches(&found)
        };
        // Building the examples takes longer than all other parsing, and only help shows them.
        let is_help = |error: &clap::Error| {
            matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            )
        };
        let read = match parsed(Self::command()) {
            Err(error) if is_help(&error) => parsed(full_command()),
            read => read,
        };
        read.map_err(|error| {
            let words: Vec<String> = typed
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            let wrong = BadUsage::from_clap(&error, &words);
            // A group such as `agentos tool` without a verb shows help to a person, and an error to a program.
            let shows_help = is_help(&error) && !wrong.common.json;
            // `--help` and `--version` are successes that clap prints to standard output; everything else is a failure
            // of this program.
            if shows_help || !error.use_stderr() {
                error.exit();
            }
            Box::new(wrong)
        })
    }
}

/// Command line of `mcp` alone. An agent starts such a process for each of its sessions, and the parser of all verbs would be a third of
/// what the process does and keeps until its first answer.
#[derive(Debug, Parser)]
#[command(name = "agentos mcp")]
struct McpLine {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    args: mcp::McpArgs,
}

impl McpLine {
    /// Parses words that begin with this verb. `None` for all others, and for what it does not understand: the whole parser reads those.
    fn parse(typed: &[OsString]) -> Option<Cli> {
        let words = typed
            .get(1..)
            .filter(|words| words.first().is_some_and(|word| word == "mcp"))?;
        let line = Self::try_parse_from(words).ok()?;
        Some(Cli {
            common: line.common,
            verb: Some(Verb::Mcp(line.args)),
        })
    }
}

/// Rewrites `agentos help VERB` to `agentos VERB --help`.
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
    /// Use the repository in this folder [default: the current one]
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
    /// Show more details; give it twice for debugging
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Verbs of the program.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show the path of a change in a temporary repository: no model, key or network
    Demo(land::DemoArgs),
    /// Add a policy to this repository; finds servers and keys
    Init(start::InitArgs),
    /// Choose the provider of tasks that name none
    Use(config::UseArgs),
    /// List, get and set your own defaults
    Config(config::ConfigArgs),
    /// Check the machine and the repository, and show a fix for each problem
    Doctor(start::DoctorArgs),
    /// Land an untrusted diff or a model's whole reply as a commit, or explain the refusal
    Apply(land::ApplyArgs),
    /// Request a change from a tool and land it as a commit, or explain the refusal
    Run(Box<land::RunArgs>),
    /// Talk to a model in a session that lasts, or send it single messages
    Chat(Box<chat::ChatArgs>),
    /// Land the recorded answer of an earlier run without asking the tool again
    Land(land::LandArgs),
    /// Request the change of an earlier run again, with a remark on its answer
    Retry(land::RetryArgs),
    /// Convert edits in any dialect to the canonical git diff
    #[command(subcommand)]
    Diff(land::DiffVerb),
    /// Show the repository, the machine with its loaded models, and possible next steps
    Status(start::StatusArgs),
    /// List earlier runs, newest first, one line each
    Log(record::LogArgs),
    /// Show what calls of models cost, of all repositories
    Cost(cost::CostArgs),
    /// Limit what calls of models may cost
    #[command(subcommand)]
    Budget(budget::BudgetVerb),
    /// Show an earlier run: task, answer, files, decision and result, or one of its texts
    Show(record::ShowArgs),
    /// Consent to a run that waits for a person and land it, or list all waiting runs
    Approve(land::ApproveArgs),
    /// Decline a run that waits for a person
    Deny(land::DenyArgs),
    /// Undo a landed run with a new commit
    Undo(land::UndoArgs),
    /// Finish or roll back an interrupted landing; every verb that lands does this first
    Recover,
    /// Judge changes without landing them; create, explain, test and check policies
    #[command(subcommand)]
    Policy(policy::PolicyVerb),
    /// Review the policy of this repository, and let it replace the preset `default`
    Trust(policy::TrustPolicyArgs),
    /// List tools, check their health, manage their keys, run one without landing
    #[command(subcommand)]
    Tool(tool::ToolVerb),
    /// List and show runs; verify, replay and export evidence
    #[command(subcommand)]
    Evidence(evidence::EvidenceVerb),
    /// List, show, create and validate provider profiles
    #[command(subcommand)]
    Profile(tool::ProfileVerb),
    /// List, show, add, import, load and unload models; choose the default one
    #[command(subcommand, visible_alias = "model")]
    Models(models::ModelsVerb),
    /// List pools of models; show the member that a turn is given, and why
    #[command(subcommand)]
    Pool(pool::PoolVerb),
    /// Offer this repository's tools to an agent that may propose and not write (MCP)
    Mcp(mcp::McpArgs),
    /// Serve the page where you see and approve, and one address for programs
    Serve(serve::ServeArgs),
    /// Open the page of the running service in your browser
    Open(serve::OpenArgs),
    /// Manage the database that is made from the ledger
    #[command(subcommand)]
    Store(cost::StoreVerb),
    /// Print the JSON Schema of a published shape
    Schema(evidence::SchemaArgs),
    /// Print a script that lets your shell complete verbs, flags, providers and runs
    Completions(shell::CompletionsArgs),
    /// Print the manual page of a verb or of the whole program
    Man(shell::ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_parser_of_mcp_reads_what_the_whole_parser_reads() {
        let lines = [
            "agentos mcp",
            "agentos mcp --branch b --repo r",
            "agentos mcp -q -vv --json --no-pager",
            "agentos mcp install --client codex --write",
        ];
        for line in lines {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let short = McpLine::parse(&words).unwrap();
            let whole = Cli::try_parse_from(&words).unwrap();
            assert_eq!(format!("{short:?}"), format!("{whole:?}"), "{line}");
        }
        let others = [
            "agentos",
            "agentos --repo r mcp",
            "agentos mcp --repo r install --client zed",
            "agentos mcp --help",
            "agentos mcp install --help",
            "agentos mcp --version",
            "agentos mcp install",
            "agentos mcp --branch b install --client zed",
            "agentos mcp x",
            "agentos status",
        ];
        for line in others {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(McpLine::parse(&words).is_none(), "{line}");
        }
    }
}
