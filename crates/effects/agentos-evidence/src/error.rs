//! What can go wrong with the evidence.
//!
//! Owns: the error and its stable codes. Never: quotes a record's content; it may be untrusted.

use std::io;
use std::path::{Path, PathBuf};

use agentos_api::NextStep;

/// The evidence cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The disk said no.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried, as in `append to`.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The tape is shorter than it was when the last record was written.
    #[error("the tape ends at record {found}, but {expected} records were written")]
    CutOff {
        /// Records once written.
        expected: u64,
        /// Records found.
        found: u64,
    },
    /// The last record is not what was written.
    #[error("the tape's last line is not a valid record")]
    BrokenTail,
    /// A record cannot be read.
    #[error("line {line} of the tape is not a valid record")]
    BrokenRecord {
        /// 1 for the first line.
        line: u64,
    },
    /// A number that not every reader of JSON keeps exactly.
    #[error("`{at}` holds a number beyond 2^53 - 1, which cannot be recorded exactly")]
    NumberTooLarge {
        /// Where in the body.
        at: String,
    },
    /// A record over the limit.
    #[error("the record is {bytes} bytes long, more than {limit}")]
    RecordTooLarge {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Nested deeper than a reader can be expected to follow.
    #[error("the record is nested too deeply")]
    TooDeep,
    /// The run or the time is not in the form that a record holds.
    #[error("`{value}` is not a valid {what}")]
    BadField {
        /// What it should be.
        what: &'static str,
        /// What it is.
        value: String,
    },
    /// No such blob.
    #[error("there is no blob `{id}`")]
    NoBlob {
        /// The id asked for.
        id: String,
    },
    /// A blob whose content does not match its name.
    #[error("the blob `{id}` was changed")]
    BlobChanged {
        /// The id asked for.
        id: String,
    },
    /// A tape that would take more memory to verify than any that was written here.
    #[error("the tape has more {0} than any tape that was written here")]
    TooMuch(&'static str),
    /// A list of an export's files that cannot be read.
    #[error("`export.json` is not what an export has: {0}")]
    BadExport(String),
    /// There is no tape to work on.
    #[error("no run has left evidence here yet")]
    NoTape,
    /// A key that cannot be made or used.
    #[error("{0}")]
    Key(&'static str),
    /// The record cannot be expressed as JSON.
    #[error("the record cannot be written as JSON: {0}")]
    Json(String),
}

impl From<serde_json::Error> for EvidenceError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error.to_string())
    }
}

impl EvidenceError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "evidence-not-durable",
            Self::CutOff { .. } => "evidence-cut-off",
            Self::BrokenTail | Self::BrokenRecord { .. } | Self::TooMuch(_) | Self::BadExport(_) => {
                "evidence-broken"
            }
            Self::NumberTooLarge { .. }
            | Self::RecordTooLarge { .. }
            | Self::TooDeep
            | Self::BadField { .. }
            | Self::Json(_) => "evidence-invalid-record",
            Self::NoBlob { .. } => "evidence-no-blob",
            Self::BlobChanged { .. } => "evidence-blob-changed",
            Self::Key(_) => "evidence-key",
            Self::NoTape => "no-runs",
        }
    }

    /// Returns what to do next, where that is a sentence which names no flag of a front end.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { .. } => {
                Some("free some space, or make the folder writable, and run the command again")
            }
            Self::CutOff { .. }
            | Self::BrokenTail
            | Self::BrokenRecord { .. }
            | Self::BlobChanged { .. }
            | Self::Key(_)
            | Self::NumberTooLarge { .. }
            | Self::RecordTooLarge { .. }
            | Self::TooDeep
            | Self::BadField { .. }
            | Self::NoBlob { .. }
            | Self::NoTape
            | Self::TooMuch(_)
            | Self::BadExport(_)
            | Self::Json(_) => None,
        }
    }

    /// Returns what can be done next, as alternatives that a front end words.
    #[must_use]
    pub fn next_steps(&self) -> Vec<NextStep> {
        match self {
            Self::CutOff { .. } | Self::BrokenTail | Self::BrokenRecord { .. } | Self::BlobChanged { .. } => {
                vec![NextStep::VerifyEvidence { set_aside: true }]
            }
            Self::Key(_) => vec![NextStep::MakeSigningKey],
            Self::Io { .. }
            | Self::NumberTooLarge { .. }
            | Self::RecordTooLarge { .. }
            | Self::TooDeep
            | Self::BadField { .. }
            | Self::NoBlob { .. }
            | Self::NoTape
            | Self::TooMuch(_)
            | Self::BadExport(_)
            | Self::Json(_) => Vec::new(),
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
