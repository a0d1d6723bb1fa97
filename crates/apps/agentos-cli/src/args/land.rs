//! Arguments of the verbs that change a repository.
//!
//! Owns: `demo`, `apply`, `run`, `land`, `retry`, `undo`, `approve`, `deny`, `diff`. Never: checks more than the syntax.

use std::path::PathBuf;

use agentos_host::{BaseRule, HookRule, ProgramOptions, SessionOptions};
use agentos_tool::EditFormat;
use clap::{Args, Subcommand, ValueEnum};

use super::tool::{OverrideFlags, ProviderFlags};

/// The repository's hooks before a commit.
#[derive(Debug, Clone, Args)]
pub struct HookFlags {
    /// Run the repository's hooks `pre-commit` and `commit-msg` before the commit
    ///
    /// They run in the sandbox, on a copy with the change: they may refuse the commit, and what they write is not taken
    #[arg(long, conflicts_with = "no_hooks")]
    pub run_hooks: bool,
    /// Run no hook, not even if your settings say so
    #[arg(long)]
    pub no_hooks: bool,
}

impl From<&HookFlags> for HookRule {
    fn from(flags: &HookFlags) -> Self {
        match (flags.run_hooks, flags.no_hooks) {
            (true, _) => Self::Run,
            (false, true) => Self::Skip,
            (false, false) => Self::Usual,
        }
    }
}

/// Target of a change.
#[derive(Debug, Clone, Args)]
pub struct TargetFlags {
    /// Commit on this branch and leave the working tree unchanged; a new branch starts at HEAD
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["no_commit", "dry_run"])]
    pub branch: Option<String>,
    /// Change index and working tree without a commit
    #[arg(long, conflicts_with_all = ["dry_run", "run_hooks"])]
    pub no_commit: bool,
    /// Show what would happen and write nothing but evidence
    #[arg(long)]
    pub dry_run: bool,
    /// Land the edits that have exactly one place, even if others have none, and list the ones left out
    #[arg(long)]
    pub partial: bool,
    /// Consent if policy asks for it; a deny stays a deny
    #[arg(short, long)]
    pub yes: bool,
    /// Add a policy file that further restricts what is allowed; can be repeated
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
    /// Exit with 0 if the repository has the change already
    #[arg(long)]
    pub allow_empty: bool,
    /// The repository's hooks before a commit.
    #[command(flatten)]
    pub hooks: HookFlags,
    /// Commit message [default: derived from the task or the file name]
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Create the repository in this new folder instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// File with the diff or reply; `-` reads standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    /// Target of the change.
    #[command(flatten)]
    pub target: TargetFlags,
    /// Show how each hunk would be placed and write nothing but evidence
    #[arg(long, conflicts_with_all = ["branch", "no_commit"])]
    pub explain: bool,
}

/// Arguments of `land`.
#[derive(Debug, Args)]
#[command(
    after_help = "Lands the last answer of RUN on the branch as it is now. The tool is not asked again; policy, consent and evidence\n\
                        are those of a new run. `agentos log --help` lists the forms of RUN."
)]
pub struct LandArgs {
    /// Run whose recorded answer lands: one that was refused, denied, stopped, dry or waits for consent
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Target of the change.
    #[command(flatten)]
    pub target: TargetFlags,
    /// Land the answer although it landed before, for example on another branch or after `agentos undo`
    #[arg(long)]
    pub again: bool,
    /// Land the answer although it did not pass the check of its run
    #[arg(long)]
    pub no_check: bool,
}

/// Arguments of `retry`.
#[derive(Debug, Args)]
#[command(
    after_help = "The tool is shown the earlier answer, what became of it, and the remark. Files, check, branch and other options are\n\
                        those of RUN, unless they are given. `agentos log --help` lists the forms of RUN."
)]
pub struct RetryArgs {
    /// Run whose task is done again
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Remark on the earlier answer for the tool, such as "keep the name" [usual: the comment of its denial]
    #[arg(long = "with", value_name = "TEXT")]
    pub remark: Option<String>,
    /// Ask this provider instead
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Show this file, lines (`PATH:10-80`), a folder or a pattern too; can be repeated
    #[arg(short, long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// Another check of the change.
    #[command(flatten)]
    pub check: CheckFlags,
    /// Settings that override the profile.
    #[command(flatten)]
    pub over: OverrideFlags,
    /// Target of the change.
    #[command(flatten)]
    pub target: TargetFlags,
}

/// Edit format that a tool is asked to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EditFormatArg {
    /// Unified diff
    Diff,
    /// Search/replace blocks
    SearchReplace,
    /// Whole files
    WholeFile,
    /// JSON edits
    Json,
}

/// Selection of the files that a tool is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ContextArg {
    /// Print which files and lines the same call without `--context` would send and why, and send nothing
    Show,
    /// Print the prompt that it would send, word for word, and send nothing
    Text,
    /// Send files that the task names, then files that match its words, as many as fit
    Auto,
    /// Send no other files
    None,
}

/// Rule about a check that fails without any change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckBaseArg {
    /// The check must pass before the tool is called
    Require,
    /// Call the tool in any case: making the check pass is the task
    Skip,
}

/// The check of a change before it can land.
#[derive(Debug, Clone, Args)]
pub struct CheckFlags {
    /// Shell command that must succeed before the change can land; `auto` selects the usual one of the project
    ///
    /// It runs in the sandbox, on a copy with the change, with the caches of cargo, npm, Python or Go. The tool is shown its
    /// failure. `--read` and `--share` give it access to more files
    #[arg(long, value_name = "COMMAND")]
    pub check: Option<String>,
    /// Run no check, not even the usual one
    #[arg(long, conflicts_with = "check")]
    pub no_check: bool,
    /// Require the check to pass without a change before the tool is called, or skip that [usual: require]
    ///
    /// It runs on the base once for each commit. A commit whose change passed the check is not tried again
    #[arg(long, value_enum, value_name = "RULE", conflicts_with = "no_check")]
    pub check_base: Option<CheckBaseArg>,
    /// Time limit of the check in seconds [usual: 600]
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_check", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub check_timeout: Option<u64>,
}

/// Tools with which a model reads the repository itself.
#[derive(Debug, Clone, Args)]
pub struct ExploreFlags {
    /// Let the model read the repository itself, with tools
    ///
    /// It sees the commit that the change is made on, as far as policy shows it to the provider: `list_files`, `read_file`, `search`,
    /// `git_log`, `git_show`, `time`. A change that does not land, or fails its check, goes back into the same conversation. Files are
    /// sent beforehand only if they are named
    #[arg(long, conflicts_with = "no_explore")]
    pub explore: bool,
    /// Give the model no tools, not even if your settings say so
    #[arg(long)]
    pub no_explore: bool,
    /// Limit on the answers of the model in which it calls tools, in each attempt [usual: 10]
    #[arg(long, value_name = "N", conflicts_with = "no_explore", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub explore_rounds: Option<u32>,
    /// Time limit of each attempt of a model with tools, in seconds [usual: 300]
    #[arg(long, value_name = "SECONDS", conflicts_with = "no_explore", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub explore_time: Option<u64>,
    /// Offer the model the tools of this toolbox too; can be repeated
    #[arg(long = "tool", value_name = "NAME", requires = "explore")]
    pub toolboxes: Vec<String>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Task in your own words; `-` reads it from standard input
    #[arg(value_name = "TASK", required_unless_present_any = ["command", "edit"])]
    pub task: Option<String>,
    /// Write the task in your editor; an empty or unchanged text ends the run
    #[arg(short, long)]
    pub edit: bool,
    /// Show this file, lines (`PATH:10-80`), a folder or a pattern; can be repeated
    ///
    /// Committed files are meant. In a pattern such as `'src/**/*.rs'`, `*` and `?` match inside a name, and `**` any folders. Of a
    /// file that does not fit the model's window, the parts are shown that the task is about
    #[arg(short, long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// Show the definitions of this name; can be repeated
    ///
    /// For example `open`, or `Shop::open` for the one in `Shop`
    #[arg(long = "symbol", value_name = "NAME")]
    pub symbols: Vec<String>,
    /// Show the tool the task and the answer of this earlier run first
    ///
    /// `agentos log --help` lists the forms of a run. Without `--file`, its files are shown again
    #[arg(long = "continue", value_name = "RUN", requires = "task")]
    pub follow: Option<String>,
    /// Select files to show in addition to `--file` [default: auto without --file, else none]
    #[arg(long, value_enum, value_name = "HOW")]
    pub context: Option<ContextArg>,
    /// Target of the change.
    #[command(flatten)]
    pub target: TargetFlags,
    /// The check of the change.
    #[command(flatten)]
    pub check: CheckFlags,
    /// Tools of the model.
    #[command(flatten)]
    pub explore: ExploreFlags,
    /// Maximum number of attempts; the tool sees why the last failed [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10))]
    pub attempts: Option<u32>,
    /// Provider and its settings.
    #[command(flatten)]
    pub provider: ProviderFlags,
    /// Program to run as the tool, with what it may read.
    #[command(flatten)]
    pub program: ProgramFlags,
}

/// Program to run as the tool, and its confinement.
#[derive(Debug, Clone, Default, Args)]
pub struct ProgramFlags {
    /// Program and its arguments, for the providers `command` and `tool`
    ///
    /// With provider `command`, it works in a copy of the repository, and the difference is its answer. With provider `tool`, it
    /// reads a task and writes an answer, as JSON lines
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Let the program read this file or folder in addition to the system's; can be repeated
    #[arg(long = "read", value_name = "PATH")]
    pub readable: Vec<PathBuf>,
    /// Show this folder read-only in the program's copy; must be ignored by git, such as `target` or `node_modules`; can be
    /// repeated. A check may write to it, and your folder stays as it is
    #[arg(long = "share", value_name = "PATH")]
    pub shared: Vec<PathBuf>,
    /// Refuse a tool that the operating system's kernel does not confine with every layer
    #[arg(long)]
    pub require_sandbox: bool,
}

/// Verbs of `diff`.
#[derive(Debug, Subcommand)]
pub enum DiffVerb {
    /// Print the canonical git diff of an answer in any dialect; writes nothing to the repository
    Normalize(NormalizeArgs),
}

/// Arguments of `diff normalize`.
#[derive(Debug, Args)]
pub struct NormalizeArgs {
    /// File with the diff or reply; `-` reads standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    /// Commit in which to place the edits
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    pub base: String,
}

/// Arguments of `undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// Add a policy file that further restricts what is allowed; can be repeated
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
    /// Run to undo; `agentos log --help` lists the forms [default: the last landed run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Consent if policy asks for it; a deny stays a deny
    #[arg(short, long)]
    pub yes: bool,
    /// Show what would happen and write nothing but evidence
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `approve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a run, walks through the requests at a terminal, one after the other, and lists them elsewhere.\n\
                        Consent is bound to the change, the base, the policy and\n\
                        the target. If the branch has moved since the request, the change is placed and decided again, and\n\
                        you are shown what differs. Without a terminal, `--yes` is needed. With `--yes`, it lands only if the\n\
                        same lines change and the same rules decide."
)]
pub struct ApproveArgs {
    /// Run that requested consent; `agentos log --help` lists the forms
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// List the runs that wait, also at a terminal
    #[arg(long, conflicts_with = "run")]
    pub list: bool,
    /// List every request, also those that were answered, are void or have expired
    #[arg(long, conflicts_with = "run")]
    pub all: bool,
    /// Print the change as a diff and leave the request open
    #[arg(long, requires = "run")]
    pub show: bool,
    /// Consent without a question at the terminal
    #[arg(short, long)]
    pub yes: bool,
    /// With `--yes`: release text of withheld files that the change has. Without this, whoever may not read those files may not
    /// read the changed ones either
    #[arg(long, requires = "yes")]
    pub release_withheld: bool,
    /// Add a policy file that the run used; needed if the run was started with one
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
    /// The repository's hooks before a commit.
    #[command(flatten)]
    pub hooks: HookFlags,
}

/// Arguments of `deny`.
#[derive(Debug, Args)]
pub struct DenyArgs {
    /// Run that requested consent; `agentos log --help` lists the forms
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Say why; the agent that proposed the change can read it, and `agentos retry` passes it on
    #[arg(short, long, value_name = "TEXT")]
    pub comment: Option<String>,
}

impl From<&TargetFlags> for SessionOptions {
    fn from(flags: &TargetFlags) -> Self {
        Self {
            branch: flags.branch.clone(),
            no_commit: flags.no_commit,
            dry_run: flags.dry_run,
            policies: flags.policy.clone(),
            hooks: (&flags.hooks).into(),
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

impl From<CheckBaseArg> for BaseRule {
    fn from(arg: CheckBaseArg) -> Self {
        match arg {
            CheckBaseArg::Require => Self::Require,
            CheckBaseArg::Skip => Self::Skip,
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
