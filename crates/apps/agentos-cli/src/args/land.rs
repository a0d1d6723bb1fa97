//! Arguments of the verbs that change a repository.
//!
//! Owns: `demo`, `apply`, `run`, `undo`. Never: checks more than the shape.

use std::path::PathBuf;

use agentos_host::{ProgramOptions, SessionOptions};
use agentos_tool::EditFormat;
use clap::{Args, Subcommand, ValueEnum};

use super::tool::ProviderFlags;

/// Where a change lands.
#[derive(Debug, Clone, Args)]
pub struct TargetFlags {
    /// Commit on this branch and leave the work tree alone; made from HEAD if it is new
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["no_commit", "dry_run"])]
    pub branch: Option<String>,
    /// Change index and work tree without a commit
    #[arg(long, conflicts_with = "dry_run")]
    pub no_commit: bool,
    /// Say what would happen and write nothing but evidence
    #[arg(long)]
    pub dry_run: bool,
    /// Land the parts of the answer that have one place, although others have none; says what is left out
    #[arg(long)]
    pub partial: bool,
    /// Consent to what policy answers with ask; never to a deny
    #[arg(short, long)]
    pub yes: bool,
    /// A policy file that narrows what is allowed here; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
    /// Commit message [default: made from the task, or from the name of the file]
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Make the repository in this new folder instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// The diff or reply; `-` reads standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    /// Where it lands.
    #[command(flatten)]
    pub target: TargetFlags,
    /// Print how each hunk would be placed and write nothing but evidence
    #[arg(long, conflicts_with_all = ["branch", "no_commit"])]
    pub explain: bool,
}

/// The form a tool is asked to answer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EditFormatArg {
    /// A unified diff
    Diff,
    /// Search/replace blocks
    SearchReplace,
    /// Whole files
    WholeFile,
    /// JSON edits
    Json,
}

/// How files to show to a tool are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ContextArg {
    /// Print what would be sent, and why; send nothing
    Show,
    /// Those the task names, then those its words lead to, as many as fit
    Auto,
    /// No others
    None,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to do, in your words
    #[arg(value_name = "TASK", required_unless_present = "command")]
    pub task: Option<String>,
    /// The provider and its settings.
    #[command(flatten)]
    pub provider: ProviderFlags,
    /// What a program is given, and what it must be held by.
    #[command(flatten)]
    pub program: ProgramFlags,
    /// A committed file to show to the tool; may be given more than once
    #[arg(short, long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// How files to show are found beside those named with `--file` [default: auto without --file, else none]
    #[arg(long, value_enum, value_name = "HOW")]
    pub context: Option<ContextArg>,
    /// Where it lands.
    #[command(flatten)]
    pub target: TargetFlags,
    /// A shell command that the change must pass before you are asked, run in the sandbox on a copy with the change in
    /// it; its failure is told to the tool. `--read` and `--share` show it more
    #[arg(long, value_name = "COMMAND")]
    pub check: Option<String>,
    /// Seconds that the check may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600, requires = "check", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub check_timeout: u64,
    /// How often the tool may try; it is told why the last answer did not land
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=10))]
    pub attempts: u32,
}

/// A program as the tool, and how it is held.
#[derive(Debug, Clone, Default, Args)]
pub struct ProgramFlags {
    /// The program and its arguments. Provider `command`: it works in a copy of its own and the difference is its answer;
    /// provider `tool`: it reads a task and writes an answer, line by line
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// A file or folder that the program may read besides the system's; may be given more than once
    #[arg(long = "read", value_name = "PATH")]
    pub readable: Vec<PathBuf>,
    /// A folder that git ignores, as `target` or `node_modules`, to show read-only in the program's copy; may be given
    /// more than once
    #[arg(long = "share", value_name = "PATH")]
    pub shared: Vec<PathBuf>,
    /// Refuse a tool that the kernel does not hold back with every layer
    #[arg(long)]
    pub require_sandbox: bool,
}

/// The verbs of `diff`.
#[derive(Debug, Subcommand)]
pub enum DiffVerb {
    /// Read an answer in any dialect and print the one canonical git diff it means; writes nothing
    Normalize(NormalizeArgs),
}

/// Arguments of `diff normalize`.
#[derive(Debug, Args)]
pub struct NormalizeArgs {
    /// The diff or reply; `-` reads standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    /// The commit it is placed in
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    pub base: String,
}

/// Arguments of `undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// A policy file that narrows what is allowed here; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
    /// The run to take back [default: the last one that landed]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Consent to what policy answers with ask; never to a deny
    #[arg(short, long)]
    pub yes: bool,
    /// Say what would happen and write nothing but evidence
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `approve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a run, lists what waits for a person. A yes is bound to the change, the base, the policy and the\n\
                        target that were asked about; when one of them is another by now, nothing lands."
)]
pub struct ApproveArgs {
    /// The run that asked
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Print the change as a diff and answer nothing
    #[arg(long, requires = "run")]
    pub show: bool,
    /// Do not ask again at the terminal
    #[arg(short, long)]
    pub yes: bool,
    /// A policy file that narrowed the run; the same as then
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
}

/// Arguments of `deny`.
#[derive(Debug, Args)]
pub struct DenyArgs {
    /// The run that asked
    #[arg(value_name = "RUN")]
    pub run: String,
}

impl From<&TargetFlags> for SessionOptions {
    fn from(flags: &TargetFlags) -> Self {
        Self {
            branch: flags.branch.clone(),
            no_commit: flags.no_commit,
            dry_run: flags.dry_run,
            policies: flags.policy.clone(),
            look_only: false,
        }
    }
}

impl From<&ProgramFlags> for ProgramOptions {
    fn from(flags: &ProgramFlags) -> Self {
        Self {
            command: flags.command.clone(),
            readable: flags.readable.clone(),
            shared: flags.shared.clone(),
            require_sandbox: flags.require_sandbox,
            for_check: false,
        }
    }
}

impl From<EditFormatArg> for EditFormat {
    fn from(arg: EditFormatArg) -> Self {
        match arg {
            EditFormatArg::Diff => Self::UnifiedDiff,
            EditFormatArg::SearchReplace => Self::SearchReplace,
            EditFormatArg::WholeFile => Self::WholeFile,
            EditFormatArg::Json => Self::JsonEdits,
        }
    }
}
