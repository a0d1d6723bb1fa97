//! The body of a checkpoint record: the signed statements of a run's end.
//!
//! Owns: making and reading it. Never: decides which keys count.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Envelope, EvidenceError, SigningKey};

/// A checkpoint as it stands on the tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Checkpoint {
    /// The key in OpenSSH's form. It says who claims to have signed, not that this key is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The statements, the checkpoint's own first.
    pub envelopes: Vec<Envelope>,
    /// Why there is no signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsigned: Option<String>,
}

impl Checkpoint {
    pub fn new(statements: &[Value], signer: Result<&SigningKey, &str>) -> Result<Self, EvidenceError> {
        match signer {
            Ok(key) => Ok(Self {
                key: Some(key.public().line()),
                envelopes: statements
                    .iter()
                    .map(|statement| Envelope::seal(statement, key))
                    .collect::<Result<_, _>>()?,
                unsigned: None,
            }),
            Err(why) => Ok(Self {
                key: None,
                envelopes: Vec::new(),
                unsigned: Some(why.to_owned()),
            }),
        }
    }

    pub fn to_body(&self) -> Result<Value, EvidenceError> {
        serde_json::to_value(self).map_err(|error| EvidenceError::Json(error.to_string()))
    }

    pub fn from_body(body: &Value) -> Option<Self> {
        Self::deserialize(body).ok()
    }
}
