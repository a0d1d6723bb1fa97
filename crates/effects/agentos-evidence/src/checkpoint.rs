//! The body of a checkpoint record: the signed statements of a run's end.
//!
//! Owns: making and reading it, and the link from its first statement to the others. Never: decides which keys count.
//!
//! Each statement is an envelope with its own signature, so that it can be used alone. The first one, about the checkpoint
//! itself, contains the digests of the other envelopes, including their signatures. So one verified signature proves that
//! this key made all of them, and that none is missing. Verifying an Ed25519 signature is the most expensive step of a
//! verification (see the crate's `bench/report.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dsse::EnvelopeRef;
use crate::{Envelope, EvidenceError, PublicKey, SigningKey};

/// Member of the first statement that lists the others in order, each by the SHA-256 of its envelope's canonical JSON.
const NAMED: &str = "envelopes";

/// Body of a checkpoint record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Key in OpenSSH's form that claims to have signed, which does not mean that it is trusted. Left out if nothing is
    /// signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Signed statements; the first is about the checkpoint itself.
    pub envelopes: Vec<Envelope>,
    /// Reason why nothing is signed. Left out if there is a signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsigned: Option<String>,
}

/// Statements to be signed at a run's end.
#[derive(Debug)]
pub(crate) struct RunStatements {
    /// Statement about the checkpoint itself.
    pub first: Value,
    /// Statements about the run's commit and its decision.
    pub others: Vec<Value>,
}

impl Checkpoint {
    pub(crate) fn new(
        mut statements: RunStatements,
        signer: Result<&SigningKey, &str>,
    ) -> Result<Self, EvidenceError> {
        let key = match signer {
            Ok(key) => key,
            Err(why) => {
                return Ok(Self {
                    key: None,
                    envelopes: Vec::new(),
                    unsigned: Some(why.to_owned()),
                });
            }
        };
        // The others are signed first, because the first statement contains the digests of their envelopes.
        let others = statements.others.iter();
        let others: Vec<Envelope> = others
            .map(|statement| Envelope::sign_statement(statement, key))
            .collect::<Result<_, _>>()?;
        if let Some(predicate) = statements
            .first
            .pointer_mut("/predicate")
            .and_then(Value::as_object_mut)
        {
            let digests: Result<Vec<String>, _> = others.iter().map(Envelope::canonical_digest).collect();
            predicate.insert(NAMED.to_owned(), digests?.into());
        }
        let mut envelopes = vec![Envelope::sign_statement(&statements.first, key)?];
        envelopes.extend(others);
        Ok(Self {
            key: Some(key.public().line()),
            envelopes,
            unsigned: None,
        })
    }

    pub(crate) fn to_body(&self) -> Result<Value, EvidenceError> {
        serde_json::to_value(self).map_err(EvidenceError::Json)
    }

    pub(crate) fn from_body(body: &Value) -> Option<Self> {
        Self::deserialize(body).ok()
    }
}

/// Body of a checkpoint record, borrowed from its line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckpointRef<'a> {
    #[serde(default)]
    pub key: Option<String>,
    #[serde(borrow)]
    pub envelopes: Vec<EnvelopeRef<'a>>,
    #[serde(default, rename = "unsigned")]
    _unsigned: Option<String>,
}

impl<'a> CheckpointRef<'a> {
    /// Parses the text of a checkpoint's body. `None` if it has another form.
    pub fn read(body: &'a str) -> Option<Self> {
        serde_json::from_str(body).ok()
    }

    /// Returns the statements that this key signed, the one about the checkpoint first. `None` if a signature is not valid.
    ///
    /// If the first statement contains the digests of the other envelopes, they are compared, and only the first statement
    /// is returned. Checkpoints of earlier versions have no digests: then each signature is verified, and all statements
    /// are returned.
    pub fn open(&self, key: &PublicKey) -> Option<Vec<Value>> {
        let (first, others) = self.envelopes.split_first()?;
        let first = first.open(key)?;
        let named = first.get("predicate").and_then(|predicate| predicate.get(NAMED));
        if let Some(named) = named {
            // The digests cover the signatures too. So the others need not be verified, nor even parsed.
            let digests: Result<Vec<String>, _> = others.iter().map(EnvelopeRef::canonical_digest).collect();
            return (Value::from(digests.ok()?) == *named).then(|| vec![first]);
        }
        let others = others.iter().map(|envelope| envelope.open(key));
        std::iter::once(Some(first)).chain(others).collect()
    }
}
