//! Arguments of `evidence` and `schema`.
//!
//! Owns: their names, flags and help. Never: reads a tape.

use clap::{Args, Subcommand};

/// The verbs of `evidence`.
#[derive(Debug, Subcommand)]
pub enum EvidenceVerb {
    /// List the runs of a repository, newest last
    List(EvidenceListArgs),
    /// Tell one run as a story
    Show(EvidenceShowArgs),
    /// Check that no record was changed, dropped, reordered or cut off, and that commits and tape agree
    Verify,
}

/// Arguments of `evidence list`.
#[derive(Debug, Args)]
pub struct EvidenceListArgs {
    /// At most so many, the newest ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

/// Arguments of `evidence show`.
#[derive(Debug, Args)]
pub struct EvidenceShowArgs {
    /// The run [default: the newest]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The shape; without it, all names are listed
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// List the names
    #[arg(long)]
    pub list: bool,
}
