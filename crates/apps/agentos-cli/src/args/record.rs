//! Arguments of the verbs that show earlier runs.
//!
//! Owns: the names, flags and help of `log` and `show`. Never: reads a tape.

use clap::Args;

/// Ways in which every verb accepts a run, for the end of the help.
const RUN_REFERENCES: &str = "A verb that takes a RUN accepts `@` (the last run; denials do not count), `@-` or `@~2` (one before it), the short id that `agentos log` shows, the beginning\n\
                                  of an id, or a commit that a run made.";

/// Arguments of `log`.
#[derive(Debug, Args)]
#[command(after_help = RUN_REFERENCES)]
pub struct LogArgs {
    /// Show at most this many runs, the newest ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Show only runs whose task or files contain this text; upper and lower case are equal
    #[arg(short, long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Show only runs for this branch
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Show only runs of this provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Show only runs that landed a change; with `--refused` or `--waiting`, those as well
    #[arg(long)]
    pub landed: bool,
    /// Show only runs whose change was refused or denied
    #[arg(long)]
    pub refused: bool,
    /// Show only runs that wait for a person's consent
    #[arg(long)]
    pub waiting: bool,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
#[command(after_help = RUN_REFERENCES)]
pub struct ShowArgs {
    /// Run to show [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Print the last answer exactly as the tool gave it
    #[arg(long, conflicts_with_all = ["prompt", "output", "diff", "context"])]
    pub answer: bool,
    /// Print what the tool was sent, without secrets
    #[arg(long, conflicts_with_all = ["output", "diff", "context"])]
    pub prompt: bool,
    /// Print the output of the program or agent, and of the check
    #[arg(long, conflicts_with_all = ["diff", "context"])]
    pub output: bool,
    /// Print the canonical diff of the change
    #[arg(long, conflicts_with = "context")]
    pub diff: bool,
    /// Print which files and lines the tool was shown, why, and what did not fit
    #[arg(long)]
    pub context: bool,
}
