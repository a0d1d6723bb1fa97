//! Approvals that a person's device signed.
//!
//! Owns: the statement that a device signs, and the check of its signature. Never: decides which devices count.
//!
//! ```text
//! agentos approval 1
//! request RUN
//! diff SHA256
//! base COMMIT
//! policy SHA256
//! ref REF
//! writes KIND
//! rendering SHA256
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use crate::PublicKey;

/// First line of a statement. No other text that this program has signed begins so.
const FIRST_LINE: &str = "agentos approval 1";

/// Statement that a device signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalStatement<'a> {
    /// The run that asked.
    pub request: &'a str,
    /// SHA-256 of the canonical diff.
    pub diff_sha256: &'a str,
    /// Commit that the change is for.
    pub base_commit: &'a str,
    /// SHA-256 of the policy set.
    pub policy_sha256: &'a str,
    /// Ref that will be moved.
    pub target_ref: &'a str,
    /// Kind of landing.
    pub writes: &'a str,
    /// SHA-256 of what the device showed.
    pub rendering_sha256: &'a str,
}

impl ApprovalStatement<'_> {
    /// Returns the text that is signed. `None` if a part has a blank or a control character, so that two statements could have one
    /// text.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let parts = [
            ("request", self.request),
            ("diff", self.diff_sha256),
            ("base", self.base_commit),
            ("policy", self.policy_sha256),
            ("ref", self.target_ref),
            ("writes", self.writes),
            ("rendering", self.rendering_sha256),
        ];
        let mut text = format!("{FIRST_LINE}\n");
        for (name, part) in parts {
            let is_plain = !part.is_empty() && !part.chars().any(|c| c.is_whitespace() || c.is_control());
            if !is_plain {
                return None;
            }
            text.push_str(&format!("{name} {part}\n"));
        }
        Some(text)
    }

    /// Returns whether a signature in base64 is that of this key over this statement.
    #[must_use]
    pub fn is_signed(&self, key: &PublicKey, signature: &str) -> bool {
        let signature = STANDARD.decode(signature).ok();
        match (self.text(), signature) {
            (Some(text), Some(signature)) => key.verify_signature(text.as_bytes(), &signature),
            (_, _) => false,
        }
    }
}

/// Body of the record of a consent, as far as a device signs it.
#[derive(Deserialize)]
struct SignedBody<'a> {
    given: bool,
    answers: &'a str,
    #[serde(borrow)]
    hashes: SignedHashes<'a>,
    #[serde(borrow)]
    consent: SignedConsent<'a>,
}

#[derive(Deserialize)]
struct SignedConsent<'a> {
    #[serde(borrow)]
    hashes: SignedHashes<'a>,
    #[serde(borrow)]
    proof: SignedProof<'a>,
}

#[derive(Deserialize, PartialEq, Eq)]
struct SignedHashes<'a> {
    diff_sha256: &'a str,
    base_commit: &'a str,
    policy_sha256: &'a str,
    target_ref: &'a str,
    writes: &'a str,
}

#[derive(Deserialize)]
struct SignedProof<'a> {
    key: &'a str,
    rendering_sha256: &'a str,
    signature: &'a str,
}

/// Describes why the proof in a record of a consent does not hold. `None` if it holds, or there is none.
pub(crate) fn find_wrong_proof(body: &Value) -> Option<String> {
    body.pointer("/consent/proof")?;
    // Serde reads a list as a structure as well, and no record was ever written so.
    let places = ["", "/hashes", "/consent", "/consent/hashes", "/consent/proof"];
    let is_sound = places
        .iter()
        .all(|place| body.pointer(place).is_some_and(Value::is_object));
    let Some(body) = SignedBody::deserialize(body).ok().filter(|_| is_sound) else {
        return Some("the signed approval cannot be read".to_owned());
    };
    let (hashes, proof) = (&body.consent.hashes, &body.consent.proof);
    let statement = ApprovalStatement {
        request: body.answers,
        diff_sha256: hashes.diff_sha256,
        base_commit: hashes.base_commit,
        policy_sha256: hashes.policy_sha256,
        target_ref: hashes.target_ref,
        writes: hashes.writes,
        rendering_sha256: proof.rendering_sha256,
    };
    // The hashes of the record are those that landed, and those of the consent are what the person agreed to.
    if !body.given || body.hashes != *hashes {
        return Some("the signed approval is not for what this record says".to_owned());
    }
    let key = PublicKey::from_line(proof.key);
    let holds = key.is_some_and(|key| statement.is_signed(&key, proof.signature));
    (!holds).then(|| "the signature of the device does not match the approval".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::SigningKey;

    fn body(key: &SigningKey) -> Value {
        let hashes = json!({ "diff_sha256": "d1", "base_commit": "b1", "policy_sha256": "p1",
            "target_ref": "refs/heads/main", "writes": "commit-and-work-tree" });
        let text = "agentos approval 1\nrequest run-1\ndiff d1\nbase b1\npolicy p1\nref refs/heads/main\n\
                    writes commit-and-work-tree\nrendering r1\n";
        json!({ "given": true, "answers": "run-1", "hashes": hashes, "consent": { "who": "a", "hashes": hashes,
            "proof": { "device": "phone", "key": key.public().line(), "rendering_sha256": "r1",
                "signature": STANDARD.encode(key.sign_message(text.as_bytes())) } } })
    }

    #[test]
    fn a_signed_approval_holds_for_exactly_what_was_signed() {
        let (key, _) = SigningKey::generate().unwrap();
        let (other, _) = SigningKey::generate().unwrap();
        let signed = body(&key);
        assert_eq!(find_wrong_proof(&signed), None);
        assert_eq!(
            find_wrong_proof(&json!({ "given": true, "consent": { "who": "a" } })),
            None
        );
        for (place, value) in [
            ("/answers", json!("run-2")),
            ("/given", json!(false)),
            ("/hashes/diff_sha256", json!("d2")),
            ("/consent/hashes/diff_sha256", json!("d2")),
            ("/consent/hashes/base_commit", json!("b1\npolicy p1")),
            ("/consent/proof/rendering_sha256", json!("r2")),
            ("/consent/proof/rendering_sha256", json!("")),
            ("/consent/proof/key", json!(other.public().line())),
            ("/consent/proof/key", json!("")),
            ("/consent/proof/signature", json!("AAAA")),
            ("/consent/proof", json!({})),
        ] {
            let mut changed = signed.clone();
            *changed.pointer_mut(place).unwrap() = value;
            assert!(find_wrong_proof(&changed).is_some(), "{place}");
        }
    }
}
