//! Arguments of `use` and `config`.
//!
//! Owns: their names, flags and help. Never: lists the settings; the host has the table.

use clap::{Args, Subcommand};

/// Examples of `config list`.
pub const LIST_EXAMPLES: &[&str] = &["agentos config list", "agentos config list --json"];
/// Examples of `config path`.
pub const PATH_EXAMPLES: &[&str] = &["agentos config path", "$EDITOR \"$(agentos config path)\""];
/// Examples of `config get`.
pub const GET_EXAMPLES: &[&str] = &["agentos config get check", "agentos config get model"];

/// Arguments of `use`.
#[derive(Debug, Args)]
#[command(
    after_help = "The choice is written to your own settings (`agentos config path`), never to a repository. `-p` and \
                        `AGENTOS_PROVIDER` take\nprecedence over it. `agentos config unset provider` removes it."
)]
pub struct UseArgs {
    /// Provider for every task that names none, or provider and model as `openai/gpt-4o`; without it, show the present one
    #[arg(value_name = "NAME")]
    pub provider: Option<String>,
    /// Model of this provider [default: the model in its profile]
    #[arg(long, value_name = "NAME", requires = "provider")]
    pub model: Option<String>,
}

/// Arguments of `config`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "A value comes from the flag of a call, else from an environment variable, else from your settings file. A \
                        repository has no such\nfile."
)]
pub struct ConfigArgs {
    /// Verb. Without one, the settings are listed.
    #[command(subcommand)]
    pub verb: Option<ConfigVerb>,
    /// Settings to list.
    #[command(flatten)]
    pub list: ConfigListArgs,
}

/// Verbs of `config`.
#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// List the settings with their values
    List(ConfigListArgs),
    /// Print the value of a setting
    Get(ConfigGetArgs),
    /// Set a value in your settings file
    Set(ConfigSetArgs),
    /// Remove a value from your settings file
    Unset(ConfigUnsetArgs),
    /// Print the path of your settings file
    Path,
}

/// Arguments of `config list`.
#[derive(Debug, Clone, Args)]
pub struct ConfigListArgs {
    /// Show the source of each value
    #[arg(long)]
    pub origin: bool,
}

/// Arguments of `config get`.
#[derive(Debug, Args)]
pub struct ConfigGetArgs {
    /// Name of the setting
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Show the source of the value
    #[arg(long)]
    pub origin: bool,
}

/// Arguments of `config set`.
#[derive(Debug, Args)]
pub struct ConfigSetArgs {
    /// Name of the setting
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Value of the setting
    // A pager or a check may begin with `-`, as in `-` for a value that is not meant as a flag.
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub value: String,
}

/// Arguments of `config unset`.
#[derive(Debug, Args)]
pub struct ConfigUnsetArgs {
    /// Name of the setting
    #[arg(value_name = "KEY")]
    pub key: String,
}
