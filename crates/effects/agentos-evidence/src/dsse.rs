//! DSSE envelopes around in-toto Statements.
//!
//! Owns: the envelope and the bytes that its signature covers. Never: decides whether a key is trusted.
//! Source: DSSE v1.0.2 (`PAE(type, body)`), in-toto Attestation Framework v1.

use std::borrow::Cow;

use agentos_chain::{hash_texts, write_canonical};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::EvidenceError;
use crate::sign::{PublicKey, SigningKey};

/// Media type of every payload.
pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Type of every statement.
pub(crate) const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// Signed statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope {
    /// Media type of the payload: `application/vnd.in-toto+json`.
    pub payload_type: String,
    /// Statement in base64.
    pub payload: String,
    /// Signatures of the statement.
    pub signatures: Vec<Signature>,
}

/// Signature of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Fingerprint of the key, as in `SHA256:…`.
    pub keyid: String,
    /// Ed25519 signature in base64.
    pub sig: String,
}

impl Envelope {
    /// Signs a statement.
    ///
    /// # Errors
    /// When it cannot be expressed as canonical JSON.
    pub fn sign_statement(statement: &Value, key: &SigningKey) -> Result<Self, EvidenceError> {
        let payload = write_canonical(statement)?;
        let signature = Signature {
            keyid: key.public().id(),
            sig: STANDARD.encode(key.sign_message(&signed_bytes(PAYLOAD_TYPE, payload.as_bytes()))),
        };
        Ok(Self {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: STANDARD.encode(payload),
            signatures: vec![signature],
        })
    }

    /// Returns the statement. `None` if this key did not sign it.
    #[must_use]
    pub fn open(&self, key: &PublicKey) -> Option<Value> {
        self.borrow_parts().open(key)
    }

    /// Returns the digest of the envelope's canonical JSON, as in `sha256:…`.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub(crate) fn canonical_digest(&self) -> Result<String, EvidenceError> {
        self.borrow_parts().canonical_digest()
    }

    fn borrow_parts(&self) -> EnvelopeRef<'_> {
        let signatures = self.signatures.iter().map(|signature| SignatureRef {
            keyid: Cow::from(&signature.keyid),
            sig: Cow::from(&signature.sig),
        });
        EnvelopeRef {
            payload_type: Cow::from(&self.payload_type),
            payload: Cow::from(&self.payload),
            signatures: signatures.collect(),
        }
    }
}

/// Envelope whose texts are borrowed from a line of the tape.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EnvelopeRef<'a> {
    #[serde(borrow)]
    payload_type: Cow<'a, str>,
    #[serde(borrow)]
    payload: Cow<'a, str>,
    #[serde(borrow)]
    signatures: Vec<SignatureRef<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureRef<'a> {
    #[serde(borrow)]
    keyid: Cow<'a, str>,
    #[serde(borrow)]
    sig: Cow<'a, str>,
}

impl EnvelopeRef<'_> {
    /// Returns the statement. `None` if this key did not sign it.
    pub fn open(&self, key: &PublicKey) -> Option<Value> {
        // The signature covers the decoded payload, so only these bytes may be parsed (DSSE, `protocol.md`).
        let payload = STANDARD.decode(self.payload.as_bytes()).ok()?;
        let covered = signed_bytes(&self.payload_type, &payload);
        let id = key.id();
        // The key id is only a hint by which a signature is selected (DSSE, `protocol.md`). It proves nothing, and several
        // signatures may carry the same one.
        let mine = self.signatures.iter().filter(|signature| signature.keyid == id);
        let mut signed = mine.filter_map(|signature| STANDARD.decode(signature.sig.as_bytes()).ok());
        let holds =
            self.payload_type == PAYLOAD_TYPE && signed.any(|sig| key.verify_signature(&covered, &sig));
        holds.then(|| serde_json::from_slice(&payload).ok()).flatten()
    }

    /// Returns the digest of the envelope's canonical JSON, as in `sha256:…`.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn canonical_digest(&self) -> Result<String, EvidenceError> {
        // The members in the order of RFC 8785. Hashing the parts avoids a copy of the payload.
        let mut parts = vec![
            "{\"payload\":\"",
            &self.payload,
            "\",\"payloadType\":\"",
            &self.payload_type,
            "\",\"signatures\":[",
        ];
        for (number, signature) in self.signatures.iter().enumerate() {
            parts.push(if number == 0 { "" } else { "," });
            parts.extend([
                "{\"keyid\":\"",
                &signature.keyid,
                "\",\"sig\":\"",
                &signature.sig,
                "\"}",
            ]);
        }
        parts.push("]}");
        let texts = self.signatures.iter().flat_map(|one| [&one.keyid, &one.sig]);
        let mut texts = texts.chain([&self.payload, &self.payload_type]);
        // Only a text that needs no escapes in JSON is hashed as it is.
        let is_plain = |text: &str| {
            text.bytes()
                .fold(true, |plain, b| plain & (b >= b' ') & (b != b'"') & (b != b'\\'))
        };
        if texts.all(|text| is_plain(text)) {
            return Ok(hash_texts(&parts));
        }
        let json = serde_json::to_value(self).map_err(EvidenceError::Json)?;
        Ok(hash_texts(&[&write_canonical(&json)?]))
    }
}

/// Returns the pre-authentication encoding, the bytes that a signature covers. The two lengths keep type and payload apart.
fn signed_bytes(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The example of the specification, `protocol.md`.
    #[test]
    fn the_signature_covers_type_and_payload() {
        let covered = signed_bytes("http://example.com/HelloWorld", b"hello world");
        assert_eq!(covered, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn the_digest_is_that_of_the_canonical_json() {
        let (key, _) = SigningKey::generate().unwrap();
        let good = Envelope::sign_statement(&json!({ "_type": STATEMENT_TYPE }), &key).unwrap();
        for (text, more) in [("x", 0), ("\"\\ \u{1} é", 1), ("", 2)] {
            let mut envelope = good.clone();
            envelope.payload_type.push_str(text);
            let again = std::iter::repeat_n(good.signatures[0].clone(), more);
            envelope.signatures.extend(again);
            let json = write_canonical(&serde_json::to_value(&envelope).unwrap()).unwrap();
            assert_eq!(
                envelope.canonical_digest().unwrap(),
                hash_texts(&[&json]),
                "{text}"
            );
        }
    }

    #[test]
    fn an_envelope_opens_for_its_key_alone() {
        let (key, _) = SigningKey::generate().unwrap();
        let (other, _) = SigningKey::generate().unwrap();
        let statement = json!({ "_type": STATEMENT_TYPE });
        let envelope = Envelope::sign_statement(&statement, &key).unwrap();
        assert_eq!(envelope.open(&key.public()), Some(statement.clone()));
        assert_eq!(envelope.open(&other.public()), None);
        let mut renamed = Envelope::sign_statement(&statement, &other).unwrap();
        renamed.signatures[0].keyid = key.public().id();
        assert_eq!(renamed.open(&key.public()), None);
        let mut retyped = envelope.clone();
        retyped.payload_type.push('x');
        assert_eq!(retyped.open(&key.public()), None);
        let mut unsigned = envelope;
        unsigned.signatures.clear();
        assert_eq!(unsigned.open(&key.public()), None);
    }
}
