//! Arguments of `evidence` and `schema`.
//!
//! Owns: their names, flags and help. Never: reads a tape.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::tool::StoreArg;

/// The verbs of `evidence`.
#[derive(Debug, Subcommand)]
pub enum EvidenceVerb {
    /// List the runs of a repository, newest last
    List(EvidenceListArgs),
    /// Tell one run as a story
    Show(EvidenceShowArgs),
    /// Check that no record was changed, dropped, reordered or cut off, that signatures hold, and that commits and
    /// tape agree
    Verify(EvidenceVerifyArgs),
    /// Derive landing, decision and tree again from what was recorded, without a model
    Replay(EvidenceReplayArgs),
    /// Count runs, landings, refusals, calls and tokens by provider and model
    Stats,
    /// Copy the evidence into a folder that verifies by itself, with a page for people
    Export(EvidenceExportArgs),
    /// The key that signs the end of a run, and those whose signatures count
    #[command(subcommand)]
    Key(KeyVerb),
}

/// Arguments of `evidence verify`.
#[derive(Debug, Args)]
pub struct EvidenceVerifyArgs {
    /// An exported folder instead of the repository's own evidence; commits are checked where `--repo` is given too
    #[arg(long, value_name = "EXPORT")]
    pub dir: Option<PathBuf>,
    /// Only this commit is checked against the tape
    #[arg(long, value_name = "REVISION", conflicts_with = "range")]
    pub commit: Option<String>,
    /// Only these commits, as in `main..HEAD`
    #[arg(long, value_name = "A..B")]
    pub range: Option<String>,
    /// A commit of the range without evidence, and a run or an export without a signature by a key that counts, are faults
    #[arg(long)]
    pub require: bool,
    /// The keys that count, in OpenSSH's `allowed_signers` form [default: those you trust]
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
}

/// The verbs of `evidence key`.
#[derive(Debug, Subcommand)]
pub enum KeyVerb {
    /// Show the key that signs here, and those that are trusted
    Show,
    /// Make a new key; the older ones go on counting for what they signed
    Rotate(KeyRotateArgs),
    /// Let somebody else's signatures count
    Trust(KeyTrustArgs),
}

/// Arguments of `evidence key rotate`.
#[derive(Debug, Args)]
pub struct KeyRotateArgs {
    /// Where its secret half is kept [default: where the last one is]
    #[arg(long, value_enum)]
    pub store: Option<StoreArg>,
}

/// Arguments of `evidence key trust`.
#[derive(Debug, Args)]
pub struct KeyTrustArgs {
    /// A file with public keys as OpenSSH writes them, or one such line
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Whose it is
    #[arg(long, value_name = "NAME")]
    pub name: String,
}

/// Arguments of `evidence list`.
#[derive(Debug, Args)]
pub struct EvidenceListArgs {
    /// At most so many, the newest ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Only runs of this provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Only runs whose answer touches this file, or a file below this folder
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// Only runs about which policy said this
    #[arg(long, value_enum)]
    pub decision: Option<DecisionArg>,
    /// Only runs begun since, as in `2026-11-21`, `2026-11-21T09:00` (UTC) or `2days`
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only the run that made this commit; the first digits are enough
    #[arg(long, value_name = "ID")]
    pub commit: Option<String>,
}

/// What policy said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DecisionArg {
    /// It may land
    Allow,
    /// A person must agree
    Ask,
    /// It may not
    Deny,
}

/// Arguments of `evidence replay`.
#[derive(Debug, Args)]
pub struct EvidenceReplayArgs {
    /// The run [default: the newest]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Every run
    #[arg(long, conflicts_with = "run")]
    pub all: bool,
}

/// Arguments of `evidence export`.
#[derive(Debug, Args)]
pub struct EvidenceExportArgs {
    /// The folder, which is made or must be empty
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Leave out what was asked, answered and decided; salted digests of it stay, and everything else is still proved
    #[arg(long)]
    pub redact: bool,
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
