//! Arguments of `policy`.
//!
//! Owns: their names, flags and help. Never: reads a rule.

use std::path::PathBuf;

use agentos_host::Preset;
use clap::{Args, Subcommand, ValueEnum};

/// Verbs of `policy`.
#[derive(Debug, Subcommand)]
pub enum PolicyVerb {
    /// Add a policy to the repository, for you to read, change and commit
    Init(PolicyInitArgs),
    /// Show the decision about a diff, a commit or a read; without any, check that the rules can be used
    Check(JudgeArgs),
    /// Show the decision as a tree: each question, its facts, the rules that matched and those that nearly matched
    Explain(JudgeArgs),
    /// Test the rules with the examples in their files
    Test(RulesArgs),
    /// Find rules that are shadowed, unreachable or without effect, and rules that allow without limits
    Lint(RulesArgs),
    /// Show every active rule
    Show(ShowArgs),
    /// Print an example policy file with a rule for every fact
    Facts,
}

/// Presets of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PresetArg {
    /// Rules that apply without any policy file
    Default,
    /// Rules for one developer with their own tools
    Solo,
    /// Rules for several people
    Team,
    /// Rules for small edits only
    Strict,
}

/// Arguments of `policy init`.
#[derive(Debug, Args)]
#[command(
    after_help = "It adds the one file of the preset that you name, so it does not ask. `agentos init` chooses by what it finds, so it \
                        asks, and without a terminal needs `--yes`."
)]
pub struct PolicyInitArgs {
    /// Preset to start with
    #[arg(long, value_enum, default_value_t = PresetArg::Team)]
    pub preset: PresetArg,
    /// Print the file and write nothing
    #[arg(long)]
    pub print: bool,
}

/// Examples of `trust`.
pub const TRUST_EXAMPLES: &[&str] = &["agentos trust", "agentos trust --yes", "agentos trust --list"];

/// Arguments of `trust`.
#[derive(Debug, Args)]
#[command(
    after_help = "A preset that a repository names is added to `default`: the stricter answer wins. It replaces `default` only if you \
                  agree to the exact text of the policy in HEAD. `agentos init` and `agentos policy init` agree to the file that they \
                  write."
)]
pub struct TrustPolicyArgs {
    /// Agree without a question to what is shown
    #[arg(long, conflicts_with_all = ["list", "clear"])]
    pub yes: bool,
    /// List the repositories with a policy to which you agreed
    #[arg(long, conflicts_with = "clear")]
    pub list: bool,
    /// Forget the agreement to the policy of this repository
    #[arg(long)]
    pub clear: bool,
}

/// Rules in addition to, or instead of, the repository's own.
#[derive(Debug, Clone, Args)]
pub struct RulesArgs {
    /// Add a policy file that further restricts what is allowed; can be repeated
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
    /// Use the policy files of this folder instead of the committed ones
    #[arg(long, value_name = "DIR")]
    pub rules: Option<PathBuf>,
}

/// Arguments of `policy check` and `policy explain`.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// File with a diff or reply; `-` reads standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["commit", "read"])]
    pub file: Option<PathBuf>,
    /// Judge the change that this commit made, by the policy of its parent
    #[arg(long, value_name = "REV", conflicts_with = "read")]
    pub commit: Option<String>,
    /// Decide whether a tool may see this file as it is in HEAD
    #[arg(long, value_name = "PATH")]
    pub read: Option<String>,
    /// Judge as if the change came from this provider
    #[arg(long, value_name = "NAME", default_value = "patch")]
    pub provider: String,
    /// Judge as if the change came from this model
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Judge as if the change landed on this branch [default: the branch that is checked out]
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Judge as if the change had passed the check of `run --check`
    #[arg(long)]
    pub checked: bool,
    /// Judge as if the tool worked at a vendor
    #[arg(long)]
    pub cloud: bool,
    /// Rules to use.
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// Arguments of `policy show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Show the file and line of each rule
    #[arg(long)]
    pub origin: bool,
    /// Rules to use.
    #[command(flatten)]
    pub rules: RulesArgs,
}

impl From<PresetArg> for Preset {
    fn from(arg: PresetArg) -> Self {
        match arg {
            PresetArg::Default => Self::Default,
            PresetArg::Solo => Self::Solo,
            PresetArg::Team => Self::Team,
            PresetArg::Strict => Self::Strict,
        }
    }
}
