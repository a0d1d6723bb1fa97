//! Devices on a tape: where a person paired or revoked each key.
//!
//! Owns: the body of such a record, and which key counts at a place of the tape. Never: decides who may pair a device.
//!
//! The record has the kind `consent`: a person was asked whether the device is theirs. It answers no request.
//!
//! ```json
//! {"given": true, "consent": {"who": "Ann", "when": "2026-01-02T03:04:05.000Z", "how": "pair"},
//!  "device": {"name": "phone", "key": "ssh-ed25519 AAAA…", "standing": "paired"}}
//! ```

use std::collections::BTreeMap;

use agentos_tool::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::PublicKey;

/// Most keys of a tape that are remembered. A person has a few; a tape that names more is not believed about the rest.
const MOST_KEYS: usize = 10_000;

/// Standing of a device's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceStanding {
    /// Signatures of the key count from here on.
    Paired,
    /// Signatures of the key no longer count, and the key is never paired again.
    Revoked,
}

/// Body of the record by which a person pairs or revokes a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceBody {
    /// True: the person agreed.
    pub given: bool,
    /// The person, and when they agreed.
    pub consent: DeviceConsent,
    /// The device.
    pub device: DeviceKey,
}

/// Person who paired or revoked a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceConsent {
    /// Name of the person.
    pub who: String,
    /// Time of the pairing or the revocation.
    pub when: Timestamp,
    /// `pair` or `revoke`.
    pub how: String,
}

/// Key of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceKey {
    /// Name that the person gave the device. Untrusted.
    pub name: String,
    /// Public key, as OpenSSH writes it.
    pub key: String,
    /// Standing of the key from this record on.
    pub standing: DeviceStanding,
}

impl DeviceBody {
    /// Makes the body.
    #[must_use]
    pub fn new(who: String, when: Timestamp, device: DeviceKey) -> Self {
        let how = match device.standing {
            DeviceStanding::Paired => "pair",
            DeviceStanding::Revoked => "revoke",
        };
        let how = how.to_owned();
        Self {
            given: true,
            consent: DeviceConsent { who, when, how },
            device,
        }
    }
}

/// Keys of devices that a tape has paired so far.
#[derive(Debug, Default)]
pub struct PairedKeys(BTreeMap<PublicKey, DeviceStanding>);

impl PairedKeys {
    /// Takes the body of the next `consent` record. Every other answer changes nothing.
    pub(crate) fn take(&mut self, body: &Value) {
        let text = |place: &str| body.pointer(place).and_then(Value::as_str);
        let standing = match text("/device/standing") {
            Some("paired") => DeviceStanding::Paired,
            Some("revoked") => DeviceStanding::Revoked,
            Some(_) | None => return,
        };
        let key = text("/device/key").and_then(PublicKey::from_line);
        let is_given = body.get("given") == Some(&Value::Bool(true));
        // An approval pairs no device.
        let is_given = is_given && body.get("answers").is_none_or(Value::is_null);
        let Some(key) = key.filter(|_| is_given) else {
            return;
        };
        if self.0.len() < MOST_KEYS || self.0.contains_key(&key) {
            let known = self.0.entry(key).or_insert(standing);
            // Whoever has a revoked key may have it still, so a later pairing changes nothing.
            if *known == DeviceStanding::Paired {
                *known = standing;
            }
        }
    }

    /// Returns the standing of a key, as OpenSSH writes it. `None` if the tape does not name it.
    #[must_use]
    pub fn standing(&self, key: &str) -> Option<DeviceStanding> {
        self.0.get(&PublicKey::from_line(key)?).copied()
    }

    /// Checks the key that signed an approval. The first value of an error says whether that is a fault: tapes of earlier versions pair no
    /// device, and a tape that has paired a device knows all of them.
    pub(crate) fn check_signer(&self, body: &Value) -> Result<(), (bool, &'static str)> {
        let Some(key) = body.pointer("/consent/proof/key").and_then(Value::as_str) else {
            return Ok(());
        };
        match self.standing(key) {
            Some(DeviceStanding::Paired) => Ok(()),
            Some(DeviceStanding::Revoked) => {
                Err((true, "the approval is signed by a device that was revoked before"))
            }
            None if self.0.is_empty() => Err((
                false,
                "a device signed the approval, and nothing on this tape says whose it is",
            )),
            None => Err((true, "the approval is signed by a device that was never paired")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::SigningKey;

    fn body(key: &str, standing: DeviceStanding) -> Value {
        let device = DeviceKey {
            name: "phone".to_owned(),
            key: key.to_owned(),
            standing,
        };
        let when = Timestamp::parse("2026-01-02T03:04:05.000Z").unwrap();
        serde_json::to_value(DeviceBody::new("Ann".to_owned(), when, device)).unwrap()
    }

    #[test]
    fn a_key_counts_between_its_pairing_and_its_revocation() {
        use DeviceStanding::{Paired, Revoked};
        let [phone, other] = [1, 2].map(|_| SigningKey::generate().unwrap().0.public().line());
        let signed = json!({ "given": true, "consent": { "proof": { "key": &phone } } });
        for (records, is_fault) in [
            (vec![], Some(false)),
            (vec![(&other, Paired)], Some(true)),
            (vec![(&phone, Paired)], None),
            (vec![(&other, Paired), (&phone, Paired)], None),
            (vec![(&phone, Paired), (&phone, Revoked)], Some(true)),
            (vec![(&phone, Revoked)], Some(true)),
            (
                vec![(&phone, Paired), (&phone, Revoked), (&phone, Paired)],
                Some(true),
            ),
        ] {
            let mut keys = PairedKeys::default();
            for (key, standing) in &records {
                keys.take(&body(key, *standing));
            }
            let found = keys.check_signer(&signed).err().map(|(is_fault, _)| is_fault);
            assert_eq!(found, is_fault, "{records:?}");
        }
    }

    #[test]
    fn what_is_not_such_a_record_pairs_nothing() {
        let key = SigningKey::generate().unwrap().0.public().line();
        let sound = body(&key, DeviceStanding::Paired);
        for (place, value) in [
            ("/given", json!(false)),
            ("/device/standing", json!("trusted")),
            ("/device/key", json!("ssh-ed25519 AAAA")),
            ("/device", json!(["phone", &key, "paired"])),
            ("/answers", json!("run-a")),
        ] {
            let mut changed = sound.clone();
            match changed.pointer_mut(place) {
                Some(member) => *member = value,
                None => changed["answers"] = value,
            }
            let mut keys = PairedKeys::default();
            keys.take(&changed);
            assert_eq!(keys.standing(&key), None, "{place}");
        }
    }
}
