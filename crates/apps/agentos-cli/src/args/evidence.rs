//! Arguments of `evidence` and `schema`.
//!
//! Owns: their names, flags and help. Never: reads a tape.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::tool::StoreArg;

/// Verbs of `evidence`.
#[derive(Debug, Subcommand)]
pub enum EvidenceVerb {
    /// List the runs of a repository, newest first (with `--json`, newest last)
    List(EvidenceListArgs),
    /// Show the records of one run, station by station; `agentos show` is shorter
    Show(EvidenceShowArgs),
    /// Check that no record was changed, removed, reordered or cut off, that signatures are valid, and that commits and
    /// tape agree
    Verify(EvidenceVerifyArgs),
    /// Derive landing, decision and tree again from the evidence, without a model
    Replay(EvidenceReplayArgs),
    /// Count runs, landings, refusals, calls and tokens by provider and model
    Stats,
    /// Copy the evidence to a folder that others can verify, with a web page for people
    Export(EvidenceExportArgs),
    /// Write the evidence to a git ref that can be pushed, so that `evidence verify` finds it in every clone that fetches it
    Publish(EvidencePublishArgs),
    /// Manage the key that signs runs, and the keys whose signatures are trusted
    #[command(subcommand)]
    Key(KeyVerb),
}

/// Arguments of `evidence verify`.
#[derive(Debug, Args)]
pub struct EvidenceVerifyArgs {
    /// Verify an exported folder instead of the repository's evidence; checks commits if `--repo` is given too
    #[arg(long, value_name = "EXPORT")]
    pub dir: Option<PathBuf>,
    /// Verify your own ledger of turns and costs instead of a repository's evidence
    #[arg(long, conflicts_with_all = ["dir", "commit", "range"])]
    pub ledger: bool,
    /// Check only this commit against the tape
    #[arg(long, value_name = "REVISION", conflicts_with = "range")]
    pub commit: Option<String>,
    /// Check only these commits, as in `main..HEAD`
    #[arg(long, value_name = "A..B")]
    pub range: Option<String>,
    /// Fail if a commit of the range has no evidence, or a run or an export has no signature by a trusted key
    #[arg(long)]
    pub require: bool,
    /// Trust the keys in this file, in OpenSSH's `allowed_signers` format [default: the keys that you trust]
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
}

/// Verbs of `evidence key`.
#[derive(Debug, Subcommand)]
pub enum KeyVerb {
    /// Show the key that signs on this machine, and the trusted keys
    Show,
    /// Create a new key; signatures of older keys stay valid
    Rotate(KeyRotateArgs),
    /// Trust another person's or machine's signatures
    Trust(KeyTrustArgs),
}

/// Arguments of `evidence key rotate`.
#[derive(Debug, Args)]
pub struct KeyRotateArgs {
    /// Store for the private key [default: the store of the last key]
    #[arg(long, value_enum)]
    pub store: Option<StoreArg>,
}

/// Arguments of `evidence key trust`.
#[derive(Debug, Args)]
pub struct KeyTrustArgs {
    /// File with public keys in OpenSSH format, or one such line
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Name of the key's owner
    #[arg(long, value_name = "NAME")]
    pub name: String,
}

/// Arguments of `evidence list`.
#[derive(Debug, Args)]
pub struct EvidenceListArgs {
    /// Show at most this many runs, the newest ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Show only runs of this provider
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Show only runs whose answer touches this file, or a file below this folder
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// Show only runs with this policy decision
    #[arg(long, value_enum)]
    pub decision: Option<DecisionArg>,
    /// Show only runs that began since this time, as in `2026-11-21`, `2026-11-21T09:00` (UTC) or `2days`
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Show only the run that made this commit; the first digits of its id are enough
    #[arg(long, value_name = "ID")]
    pub commit: Option<String>,
}

/// Decision of policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DecisionArg {
    /// The change may land
    Allow,
    /// A person must consent
    Ask,
    /// The change must not land
    Deny,
}

/// Arguments of `evidence replay`.
#[derive(Debug, Args)]
pub struct EvidenceReplayArgs {
    /// Run; `agentos log --help` lists the forms [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Replay every run
    #[arg(long, conflicts_with = "run")]
    pub all: bool,
}

/// Arguments of `evidence export`.
#[derive(Debug, Args)]
pub struct EvidenceExportArgs {
    /// Folder for the export, created if missing; must be empty
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace the texts of tasks, answers and decisions by salted digests; everything else can still be verified
    #[arg(long)]
    pub redact: bool,
}

/// Arguments of `evidence publish`.
#[derive(Debug, Args)]
pub struct EvidencePublishArgs {
    /// Publish the texts of tasks, answers, diffs and decisions too; without it, only what `export --redact` keeps, and the
    /// diffs of commits that the remote has
    #[arg(long)]
    pub full: bool,
    /// Remote that the evidence is meant for
    #[arg(long, value_name = "NAME", default_value = "origin")]
    pub remote: String,
}

/// Arguments of `evidence show`.
#[derive(Debug, Args)]
pub struct EvidenceShowArgs {
    /// Run; `agentos log --help` lists the forms [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Name of the shape; without it, list all names
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// List all names
    #[arg(long)]
    pub list: bool,
}
