//! Arguments of `init` and `doctor`.
//!
//! Owns: their names, flags and help. Never: looks at anything.

use clap::Args;

use super::policy::PresetArg;

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(
    after_help = "What is there already is never overwritten. Keys are never written: only the names of variables are \
                        read.\nWithout a terminal, `--yes` is needed to write."
)]
pub struct InitArgs {
    /// The provider to write a profile for [default: the first local server that answers]
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// The rules to begin with
    #[arg(long, value_enum, default_value_t = PresetArg::Team)]
    pub preset: PresetArg,
    /// Write without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Print what would be written and write nothing
    #[arg(long, conflicts_with = "yes")]
    pub print: bool,
    /// Do not look for servers
    #[arg(long)]
    pub offline: bool,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Ends with 0 when nothing is wrong, else with the exit code of the first thing that is. What only \
                        wants attention does not count."
)]
pub struct DoctorArgs {
    /// Ask no provider
    #[arg(long)]
    pub offline: bool,
}
