//! Verdicts of the gates, for the two programs that judge: the gates, and the automation for the source tree.
//!
//! Owns: the list of the gates, the shape of a verdict, and the files of a run. Never: judges anything, or depends on
//! a product crate other than `agentos-chain`, so that a source tree can be judged even if its product does not build.

mod evidence;
mod list;
mod results;

pub use evidence::{EvidenceError, GateTape, write_report};
pub use list::{GateSpec, ProviderSpec, find_gate, load_gates};
pub use results::{Check, CheckCounts, CheckStatus, GateResults, Mode};
