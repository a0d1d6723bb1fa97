//! The form of a body that was too long for its line: a reference to the blob that contains the body.
//!
//! Owns: which bodies refer to a blob. Never: reads the blob.
//!
//! A reader that takes such a body from the line and a reader that takes it from the blob would see two bodies. So every reader asks
//! [`SpilledBody::find`].

use agentos_chain::parse_hash;
use serde_json::Value;

/// Reference to the blob of a body that was too long for its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpilledBody<'a> {
    /// Name of the blob.
    pub id: &'a str,
    /// Length of the body in bytes.
    pub bytes: u64,
}

/// A body that has members of a reference to a blob, and is no such reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MixedBody;

impl<'a> SpilledBody<'a> {
    /// Returns the reference that a body is. `None` if the body itself is on the line.
    ///
    /// # Errors
    /// Fails if the body has a member of a reference, and is not exactly a reference.
    pub fn find(body: &'a Value) -> Result<Option<Self>, MixedBody> {
        let Some(members) = body.as_object() else {
            return Ok(None);
        };
        let (id, bytes) = (members.get("body_sha256"), members.get("body_bytes"));
        if id.is_none() && bytes.is_none() {
            return Ok(None);
        }
        let is_member = |(name, value): (&String, &Value)| match name.as_str() {
            "body_sha256" | "body_bytes" => true,
            // These link the record to the history even if the blob is lost.
            "commit" | "tree" => value.is_string(),
            _ => false,
        };
        let id = id.and_then(Value::as_str).filter(|id| parse_hash(id).is_some());
        match (id, bytes.and_then(Value::as_u64)) {
            (Some(id), Some(bytes)) if members.iter().all(is_member) => Ok(Some(Self { id, bytes })),
            _ => Err(MixedBody),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_a_reference_exactly_or_on_its_line() {
        let id = format!("sha256:{}", "a".repeat(64));
        let spilled = Ok(Some(SpilledBody { id: &id, bytes: 2 }));
        for (body, expected) in [
            (json!(null), Ok(None)),
            (json!({ "answer_sha256": id, "given": true }), Ok(None)),
            (json!({ "body_sha256": id, "body_bytes": 2 }), spilled),
            (
                json!({ "body_sha256": id, "body_bytes": 2, "commit": "c", "tree": "t" }),
                spilled,
            ),
            (
                json!({ "body_sha256": id, "body_bytes": 2, "tree": 1 }),
                Err(MixedBody),
            ),
            (
                json!({ "body_sha256": id, "body_bytes": 2, "given": true }),
                Err(MixedBody),
            ),
            (json!({ "body_sha256": id }), Err(MixedBody)),
            (json!({ "body_bytes": 2 }), Err(MixedBody)),
            (json!({ "body_sha256": "other", "body_bytes": 2 }), Err(MixedBody)),
            (json!({ "body_sha256": id, "body_bytes": -2 }), Err(MixedBody)),
        ] {
            assert_eq!(SpilledBody::find(&body), expected, "{body}");
        }
    }
}
