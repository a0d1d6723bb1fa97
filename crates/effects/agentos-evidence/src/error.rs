//! Failures to write or read evidence.
//!
//! Owns: the error and its stable codes. Never: quotes the content of a record, which may be untrusted.

use std::io;
use std::path::{Path, PathBuf};

use agentos_api::NextStep;

/// Failure to write or read evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// A system call failed.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// Attempted action, as in `append to`.
        action: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Error that the system reported.
        source: io::Error,
    },
    /// The tape is shorter than `head.json` says: its end was cut off.
    #[error("the tape ends at record {found}, but {expected} records were written")]
    CutOff {
        /// Number of records that were written.
        expected: u64,
        /// Number of records that were found.
        found: u64,
    },
    /// The tape does not continue at a place where an earlier reader stopped.
    #[error("the tape does not continue where it was last read: it was replaced")]
    WrongMark,
    /// The last record is not the one that was written.
    #[error("the tape's last line is not a valid record")]
    BrokenTail,
    /// A line of the tape is not a valid record.
    #[error("line {line} of the tape is not a valid record")]
    BrokenRecord {
        /// Number of the line, 1 for the first.
        line: u64,
    },
    /// A number that some readers of JSON would round.
    #[error("`{at}` contains a number greater than 2^53 - 1, which cannot be recorded exactly")]
    NumberTooLarge {
        /// Position in the body, as in `body.usage.tokens`.
        at: String,
    },
    /// A record or a blob is larger than its limit.
    #[error("the record is {bytes} bytes long, more than {limit}")]
    RecordTooLarge {
        /// Length in bytes.
        bytes: usize,
        /// Limit in bytes.
        limit: usize,
    },
    /// The body is nested deeper than readers of JSON accept.
    #[error("the record is nested too deeply")]
    TooDeep,
    /// A run, a time or a name does not have the required form.
    #[error("`{value}` is not a valid {what}")]
    BadField {
        /// Kind of value that is required.
        what: &'static str,
        /// Value that was passed.
        value: String,
    },
    /// The blob does not exist.
    #[error("there is no blob `{id}`")]
    NoBlob {
        /// Requested id.
        id: String,
    },
    /// The content of a blob does not match its hash.
    #[error("the content of the blob `{id}` does not match its hash: it was changed or damaged")]
    BlobChanged {
        /// Requested id.
        id: String,
    },
    /// Verifying the tape would take more memory than any real tape needs.
    #[error("the tape has too many {0} to be verified: more than any tape that AgentOS writes")]
    TooMuch(&'static str),
    /// The list of an export's files cannot be read.
    #[error("`export.json` is not a valid list of an export's files: {0}")]
    BadExport(String),
    /// The files of a published tape are not those of a publication, or there are more than one may have.
    #[error("not a publication of evidence: {0}")]
    BadPublication(String),
    /// There is no tape to work on.
    #[error("no run has left evidence here yet")]
    NoTape,
    /// A key cannot be made or used.
    #[error("{0}")]
    Key(&'static str),
    /// The record cannot be written as JSON.
    #[error("the record cannot be written as JSON: {0}")]
    Json(#[source] serde_json::Error),
}

impl From<serde_json::Error> for EvidenceError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

impl EvidenceError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "evidence-not-durable",
            Self::CutOff { .. } => "evidence-cut-off",
            Self::BrokenTail
            | Self::WrongMark
            | Self::BrokenRecord { .. }
            | Self::TooMuch(_)
            | Self::BadExport(_)
            | Self::BadPublication(_) => "evidence-broken",
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

    /// Returns what to do next as a sentence that names no flag of a front end. `None` if the error needs no advice, or
    /// [`Self::next_steps`] has it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        self.find_advice().0
    }

    /// Returns what can be done next, as alternatives that a front end puts into words.
    #[must_use]
    pub fn next_steps(&self) -> Vec<NextStep> {
        self.find_advice().1.into_iter().collect()
    }

    /// Returns the hint and the next step. Both are `None` if the message says all that a person can use.
    fn find_advice(&self) -> (Option<&'static str>, Option<NextStep>) {
        match self {
            // No step: what to do about a full or read-only disk is outside the product.
            Self::Io { .. } => (
                Some("free some space, or make the folder writable, and run the command again"),
                None,
            ),
            Self::CutOff { .. } | Self::BrokenTail | Self::BrokenRecord { .. } | Self::BlobChanged { .. } => {
                (None, Some(NextStep::VerifyEvidence { set_aside: true }))
            }
            Self::Key(_) => (None, Some(NextStep::MakeSigningKey { in_file: false })),
            Self::WrongMark
            | Self::NumberTooLarge { .. }
            | Self::RecordTooLarge { .. }
            | Self::TooDeep
            | Self::BadField { .. }
            | Self::NoBlob { .. }
            | Self::NoTape
            | Self::TooMuch(_)
            | Self::BadExport(_)
            | Self::BadPublication(_)
            | Self::Json(_) => (None, None),
        }
    }

    /// Adds the action and the path to a system's error.
    pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
