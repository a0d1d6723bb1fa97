//! One report about several tapes: the repository's own and those that were published in its refs.
//!
//! Owns: adding up, and naming the tape that a fault is in. Never: judges anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{MOST_KEPT, push_note};
use super::{ExportSummary, Finding, Tampering, VerifyReport};

/// Tape that was published in a ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedTape {
    /// Name of the ref.
    pub refname: String,
    /// True if nothing is wrong with it.
    pub ok: bool,
    /// Number of its lines.
    pub records: u64,
    /// Hash of its last record. Left out if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The publication as a whole. Left out if it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export: Option<ExportSummary>,
}

impl VerifyReport {
    /// Adds the report about a published tape.
    pub fn add_published(&mut self, refname: &str, other: Self) {
        let named = |text: &str| format!("`{refname}`: {text}");
        self.ok = self.ok && other.ok;
        self.records += other.records;
        self.blobs += other.blobs;
        self.commits = self.commits.zip(other.commits).map(|(one, other)| one + other);
        self.signed += other.signed;
        self.unsigned += other.unsigned;
        self.redacted += other.redacted;
        self.unproved += other.unproved;
        self.more_findings += other.more_findings;
        for finding in other.findings {
            let detail = named(&finding.detail);
            self.add_finding(Finding { detail, ..finding });
        }
        for note in other.notes {
            push_note(&mut self.notes, named(&note));
        }
        for moved in other.moved {
            if self.moved.len() < MOST_KEPT {
                self.moved.push(moved);
            }
        }
        for key in other.keys {
            match self.keys.iter_mut().find(|known| known.id == key.id) {
                Some(known) => known.signed += key.signed,
                None => self.keys.push(key),
            }
        }
        self.tapes.push(PublishedTape {
            refname: refname.to_owned(),
            ok: other.ok,
            records: other.records,
            head: other.head,
            export: other.export,
        });
    }

    /// Adds a published tape that cannot be verified. `detail` says why.
    pub fn add_unreadable(&mut self, refname: &str, detail: &str) {
        self.ok = false;
        let detail = format!("`{refname}`: {detail}");
        self.add_finding(Finding::new(Tampering::PublicationInvalid, None, detail));
        self.tapes.push(PublishedTape {
            refname: refname.to_owned(),
            ok: false,
            records: 0,
            head: None,
            export: None,
        });
    }

    fn add_finding(&mut self, finding: Finding) {
        if self.findings.len() < MOST_KEPT {
            self.findings.push(finding);
        } else {
            self.more_findings += 1;
        }
    }
}
