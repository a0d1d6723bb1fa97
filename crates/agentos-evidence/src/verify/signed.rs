//! Checkpoints: each signature, and that it stands where it was made.
//!
//! Owns: both, and who signed. Never: lets a key count because the tape names it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Checks, Finding, KeyUse, Tampering};
use crate::checkpoint::CheckpointRef;
use crate::facts::CHECKPOINT;
use crate::glimpse::Glimpse;
use crate::record::hex_of;
use crate::runs::fact_of;
use crate::{PublicKey, RecordKind};

/// What the checkpoints of a tape say.
pub(super) struct Signed {
    trusted: BTreeSet<PublicKey>,
    require: bool,
    /// Runs that have not ended, with the commit they made.
    open: BTreeMap<String, Option<String>>,
    keys: BTreeMap<PublicKey, u64>,
    signed: u64,
    unsigned: u64,
}

/// The same in the end.
pub(super) struct Tally {
    pub signed: u64,
    pub unsigned: u64,
    pub keys: Vec<KeyUse>,
}

/// Why a checkpoint does not hold.
type Flaw = (Tampering, String);

impl Signed {
    pub fn new(checks: &Checks<'_>) -> Self {
        Self {
            trusted: checks.keys.iter().copied().collect(),
            require: checks.require,
            open: BTreeMap::new(),
            keys: BTreeMap::new(),
            signed: 0,
            unsigned: 0,
        }
    }

    /// Takes in a record.
    pub fn take(&mut self, line: u64, record: &Glimpse<'_>, body: &Value, findings: &mut Vec<Finding>) {
        if record.kind != RecordKind::Checkpoint {
            if !self.open.contains_key(record.run) {
                self.open.insert(record.run.to_owned(), None);
            }
            if record.kind == RecordKind::Receipt {
                self.open.insert(record.run.to_owned(), fact_of(body, "commit"));
            }
            return;
        }
        let commit = self.open.remove(record.run).flatten();
        match self.check(record, commit.as_deref()) {
            Ok(true) => self.signed += 1,
            Ok(false) => {
                self.unsigned += 1;
                if self.require {
                    let detail = format!("the run `{}` is not signed", record.run);
                    findings.push(Finding::new(Tampering::RunUnsigned, Some(line), detail));
                }
            }
            Err((tampering, detail)) => findings.push(Finding::new(tampering, Some(line), detail)),
        }
    }

    /// True when it is signed, false when it says that it is not.
    fn check(&mut self, record: &Glimpse<'_>, commit: Option<&str>) -> Result<bool, Flaw> {
        let invalid = |detail: &str| Err((Tampering::SignatureInvalid, detail.to_owned()));
        let Some(checkpoint) = CheckpointRef::read(record.body_text()) else {
            return invalid("the checkpoint is not what one looks like");
        };
        if checkpoint.key.is_none() && checkpoint.envelopes.is_empty() {
            return Ok(false);
        }
        let Some(key) = checkpoint.key.as_deref().and_then(PublicKey::from_line) else {
            return invalid("the checkpoint names no key that could have signed it");
        };
        let Some(statements) = checkpoint.open(&key) else {
            return invalid("the signature of the checkpoint does not hold");
        };
        if !speaks_of(record, commit, &statements) {
            return invalid("the checkpoint was signed for another place");
        }
        *self.keys.entry(key).or_default() += 1;
        if self.trusted.is_empty() || self.trusted.contains(&key) {
            return Ok(true);
        }
        let detail = format!(
            "the run is signed by `{}`, a key that is not trusted here",
            key.id()
        );
        Err((Tampering::KeyUnknown, detail))
    }

    /// What is left when the tape has ended: runs that never came to a checkpoint.
    pub fn finish(self, checks: &Checks<'_>, findings: &mut Vec<Finding>, notes: &mut Vec<String>) -> Tally {
        if checks.require {
            for run in self.open.keys() {
                let detail = format!("the run `{run}` has no end that is signed");
                findings.push(Finding::new(Tampering::RunUnsigned, None, detail));
            }
        }
        let unsigned = self.unsigned + u64::try_from(self.open.len()).unwrap_or(u64::MAX);
        let keys: Vec<KeyUse> = self
            .keys
            .iter()
            .map(|(key, signed)| KeyUse {
                id: key.id(),
                trusted: self.trusted.contains(key),
                signed: *signed,
            })
            .collect();
        if self.trusted.is_empty() && !keys.is_empty() {
            notes.push(
                "no key is trusted here: the signatures hold, and whose they are is not known".to_owned(),
            );
        }
        Tally {
            signed: self.signed,
            unsigned,
            keys,
        }
    }
}

/// Were these statements signed for this run, right after the record before this one, and about its commit?
fn speaks_of(record: &Glimpse<'_>, commit: Option<&str>, statements: &[Value]) -> bool {
    let Some(first) = statements.first() else {
        return false;
    };
    let text = |pointer: &str| first.pointer(pointer).and_then(Value::as_str);
    let subject = match commit {
        Some(commit) => text("/subject/0/digest/gitCommit") == Some(commit),
        None => text("/subject/0/digest/sha256") == hex_of(record.prev),
    };
    let one_subject = statements
        .iter()
        .all(|statement| statement.get("subject") == first.get("subject"));
    text("/predicateType") == Some(CHECKPOINT)
        && text("/predicate/run") == Some(record.run)
        && text("/predicate/tape/head") == Some(record.prev)
        && first.pointer("/predicate/tape/seq").and_then(Value::as_u64) == record.seq.checked_sub(1)
        && subject
        && one_subject
}
