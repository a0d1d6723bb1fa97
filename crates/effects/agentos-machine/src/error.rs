//! Errors of samples.
//!
//! Owns: their wording. Never: decides what follows from one.

/// Error of a source of samples.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// A line of a script is no sample.
    #[error("line {line} of the script is no sample of a machine")]
    WrongLine {
        /// Number of the line, from 1.
        line: usize,
        /// Reason.
        source: serde_json::Error,
    },
    /// A script has no line.
    #[error("the script has no sample of a machine")]
    EmptyScript,
}
