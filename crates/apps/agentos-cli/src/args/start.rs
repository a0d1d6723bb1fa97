//! Arguments of `init`, `doctor` and `status`.
//!
//! Owns: their names, flags and help. Never: reads the repository or contacts a server.

use clap::Args;

use super::policy::PresetArg;

/// Examples of `status`.
pub const STATUS_EXAMPLES: &[&str] = &[
    "agentos status",
    "agentos status --watch",
    "agentos status --watch=10 --json",
];

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(
    after_help = "Existing files are never overwritten. Keys are never written: only the names of environment variables are \
                        read.\nWithout a terminal, `--yes` is needed to write."
)]
pub struct InitArgs {
    /// Provider to offer as the default [default: the first local server that answers]
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Preset of rules to start with [default: `solo` or `team`, as you answer; `team` without a terminal]
    #[arg(long, value_enum)]
    pub preset: Option<PresetArg>,
    /// Write without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Print the files and write nothing
    #[arg(long, conflicts_with = "yes")]
    pub print: bool,
    /// Do not search for local servers
    #[arg(long)]
    pub offline: bool,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exits with 0 if nothing is wrong, otherwise with the exit code of the first problem. Checks that only need \
                        attention do not change the exit code."
)]
pub struct DoctorArgs {
    /// Do not contact any provider
    #[arg(long)]
    pub offline: bool,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(
    after_help = "Servers on this machine that are set up are asked which models they have loaded; none is loaded for that. \
                        `agentos` alone contacts no server.\n`--watch` shows the machine alone, ends with Ctrl-C and exit code 130, \
                        and with `--json` prints one document in each line."
)]
pub struct StatusArgs {
    /// Show the machine and its loaded models every SECONDS seconds until Ctrl-C [default: 2]
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub watch: Option<u64>,
}
