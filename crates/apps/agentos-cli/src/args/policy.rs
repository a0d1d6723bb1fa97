//! Arguments of `policy`.
//!
//! Owns: their names, flags and help. Never: reads a rule.

use std::path::PathBuf;

use agentos_host::Preset;
use clap::{Args, Subcommand, ValueEnum};

/// The verbs of `policy`.
#[derive(Debug, Subcommand)]
pub enum PolicyVerb {
    /// Put a policy into the repository, to be read, changed and committed
    Init(PolicyInitArgs),
    /// Say what policy answers to a diff, a commit or a read; without any, whether the rules can be used
    Check(JudgeArgs),
    /// The same as a tree: each question, its facts, the rules that matched and those that nearly did
    Explain(JudgeArgs),
    /// Ask the rules the examples beside them
    Test(RulesArgs),
    /// Look for rules without effect, shadowed or unreachable ones, and for allows without limits
    Lint(RulesArgs),
    /// Show every rule in force
    Show(ShowArgs),
    /// Print a policy file with a rule for every fact that can be asked about
    Facts,
}

/// The presets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PresetArg {
    /// What is in force without any policy
    Default,
    /// One developer with tools of their own
    Solo,
    /// Several people
    Team,
    /// Small edits only
    Strict,
}

/// Arguments of `policy init`.
#[derive(Debug, Args)]
pub struct PolicyInitArgs {
    /// The rules to begin with
    #[arg(long, value_enum, default_value_t = PresetArg::Team)]
    pub preset: PresetArg,
    /// Print the file and write nothing
    #[arg(long)]
    pub print: bool,
}

/// Rules that are not the repository's own.
#[derive(Debug, Clone, Args)]
pub struct RulesArgs {
    /// A policy file that narrows what is allowed; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub policy: Vec<PathBuf>,
    /// Judge by the rule files of this folder in place of the repository's committed ones
    #[arg(long, value_name = "DIR")]
    pub rules: Option<PathBuf>,
}

/// Arguments of `policy check` and `policy explain`.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// A diff or reply; `-` reads standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["commit", "read"])]
    pub file: Option<PathBuf>,
    /// The change that this commit made, by the policy before it
    #[arg(long, value_name = "REV", conflicts_with = "read")]
    pub commit: Option<String>,
    /// Whether a tool may see this file, as HEAD has it
    #[arg(long, value_name = "PATH")]
    pub read: Option<String>,
    /// As if it came from this provider
    #[arg(long, value_name = "NAME", default_value = "patch")]
    pub provider: String,
    /// As if it came from this model
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// As if it landed on this branch; on the one that is checked out unless stated
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// As if it had passed the check of `run --check`
    #[arg(long)]
    pub checked: bool,
    /// As if the tool worked at a vendor's
    #[arg(long)]
    pub cloud: bool,
    /// The rules.
    #[command(flatten)]
    pub rules: RulesArgs,
}

/// Arguments of `policy show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Show the file and line of each rule as well
    #[arg(long)]
    pub origin: bool,
    /// The rules.
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
