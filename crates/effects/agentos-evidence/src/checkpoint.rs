//! The body of a checkpoint record: the signed statements of a run's end.
//!
//! Owns: making and reading it, and how its statements hold together. Never: decides which keys count.
//!
//! Each statement is an envelope that is signed by itself, for whoever reads that one alone. The first, the checkpoint's
//! own, names the digests of the others as they stand, signatures included: its one signature is enough to know that they
//! are what this key put there, all of them and no more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dsse::EnvelopeRef;
use crate::{Envelope, EvidenceError, PublicKey, SigningKey};

/// Where the first statement names the others, in their order: SHA-256 of each envelope's canonical JSON.
const NAMED: &str = "envelopes";

/// A checkpoint as it stands on the tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The key in OpenSSH's form. It says who claims to have signed, not that this key is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The statements, the checkpoint's own first.
    pub envelopes: Vec<Envelope>,
    /// Why there is no signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsigned: Option<String>,
}

/// What is to be signed at a run's end.
#[derive(Debug)]
pub(crate) struct Statements {
    /// The checkpoint's own.
    pub first: Value,
    /// The others.
    pub others: Vec<Value>,
}

impl Checkpoint {
    pub(crate) fn new(
        mut statements: Statements,
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
        let others = statements.others.iter();
        let others: Vec<Envelope> = others
            .map(|statement| Envelope::seal(statement, key))
            .collect::<Result<_, _>>()?;
        if let Some(predicate) = statements
            .first
            .pointer_mut("/predicate")
            .and_then(Value::as_object_mut)
        {
            let digests: Result<Vec<String>, _> = others.iter().map(Envelope::digest).collect();
            predicate.insert(NAMED.to_owned(), digests?.into());
        }
        let mut envelopes = vec![Envelope::seal(&statements.first, key)?];
        envelopes.extend(others);
        Ok(Self {
            key: Some(key.public().line()),
            envelopes,
            unsigned: None,
        })
    }

    pub(crate) fn to_body(&self) -> Result<Value, EvidenceError> {
        serde_json::to_value(self).map_err(|error| EvidenceError::Json(error.to_string()))
    }

    pub(crate) fn from_body(body: &Value) -> Option<Self> {
        Self::deserialize(body).ok()
    }
}

/// A checkpoint as it is read, borrowed from its line.
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
    /// Reads the text of a checkpoint's body.
    pub fn read(body: &'a str) -> Option<Self> {
        serde_json::from_str(body).ok()
    }

    /// What this key signed: the checkpoint's own statement first. The others that it names are this key's word as they
    /// stand, and nothing more is asked of them; where it names none, as in those of old, each signature has to hold, and
    /// they follow.
    pub fn open(&self, key: &PublicKey) -> Option<Vec<Value>> {
        let (first, others) = self.envelopes.split_first()?;
        let first = first.open(key)?;
        let named = first.get("predicate").and_then(|predicate| predicate.get(NAMED));
        if let Some(named) = named {
            let digests: Result<Vec<String>, _> = others.iter().map(EnvelopeRef::digest).collect();
            return (Value::from(digests.ok()?) == *named).then(|| vec![first]);
        }
        let others = others.iter().map(|envelope| envelope.open(key));
        std::iter::once(Some(first)).chain(others).collect()
    }
}
