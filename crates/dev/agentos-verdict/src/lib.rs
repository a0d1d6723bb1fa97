//! Verdicts of the gates, for whoever judges: the program of the gates, and the automation for the source tree.
//!
//! Owns: the list of the gates, the shape of a verdict, and the files that one leaves. Never: judges anything; names a
//! product crate but `agentos-chain`, so that a tree can be judged whose product does not build.

mod evidence;
mod list;
mod results;

pub use evidence::{EvidenceError, Tape, write_report};
pub use list::{GateSpec, ProviderSpec, all, find};
pub use results::{Check, CheckStatus, Counts, GateResults, Mode};
