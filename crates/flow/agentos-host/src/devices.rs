//! The devices with which a person signs approvals: `devices.json` in the folder of the user's settings.
//!
//! Owns: the file, and the check of a signature before a change lands. Never: has the private key of a device, or trusts one by
//! itself: a person adds each of them.

use std::path::PathBuf;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::{ApprovalStatement, PublicKey};
use agentos_policy::{ApprovalHashes, ConsentProof};
use agentos_tool::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::error::usage_error;
use crate::host::Host;
use crate::own_file::{lock_own_text, read_own_text, write_own_text};

/// Name of the file.
const FILE: &str = "devices.json";
/// Largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;
/// Version of the file.
const VERSION: u32 = 1;
/// Most devices that are not revoked.
const MOST_DEVICES: usize = 32;
/// Longest name of a device, in characters.
const LONGEST_NAME: usize = 60;
/// Code of errors about the file.
const CODE: &str = "bad-devices";

/// The file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceFile {
    version: u32,
    devices: Vec<PairedDevice>,
}

/// Device with which a person signs approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairedDevice {
    /// Name that the person gave it. Untrusted.
    pub name: String,
    /// Public key, as OpenSSH writes it.
    pub key: String,
    /// Time of the pairing.
    pub paired: Timestamp,
    /// Time from which its signatures do not count any more. `None` if they count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Timestamp>,
}

impl PairedDevice {
    /// Returns the fingerprint of the key, as in `SHA256:…`. Empty if the file has no key there.
    #[must_use]
    pub fn id(&self) -> String {
        PublicKey::from_line(&self.key).map_or_else(String::new, |key| key.id())
    }
}

/// Approval that a device sent.
#[derive(Debug, Clone, Copy)]
pub struct DeviceApproval<'a> {
    /// The run that asked.
    pub request: &'a str,
    /// State that the person saw.
    pub hashes: &'a ApprovalHashes,
    /// SHA-256 of what the device must have shown, 64 hexadecimal digits.
    pub rendering_sha256: &'a str,
    /// Public key of the device, as OpenSSH writes it.
    pub key: &'a str,
    /// Signature, in base64.
    pub signature: &'a str,
}

/// Returns the 64 bits of a device's key that two people compare, in groups. `None` if it is no Ed25519 key.
///
/// A relay that put a key of its own in place of the device's would have to find one with the same 64 bits.
#[must_use]
pub fn pairing_code(key: &str) -> Option<String> {
    let key = PublicKey::from_line(key)?;
    let hash = agentos_chain::hash_bytes(key.line().as_bytes());
    let digits = hash.strip_prefix("sha256:").unwrap_or(&hash).get(..16)?;
    let groups: Vec<&str> = [0, 4, 8, 12]
        .iter()
        .filter_map(|at| digits.get(*at..at + 4))
        .collect();
    Some(groups.join(" "))
}

impl Host {
    /// Lists the devices, also revoked ones, the oldest first.
    ///
    /// # Errors
    /// If the file cannot be read, or other users can change it.
    pub fn list_devices(&self) -> Result<Vec<PairedDevice>, EffectError> {
        Ok(read_devices(self)?.devices)
    }

    /// Adds a device, because a person has compared its code.
    ///
    /// # Errors
    /// If it is known already, its key is none, there are too many, or the file cannot be written.
    pub fn add_device(&self, name: &str, key: &str) -> Result<PairedDevice, EffectError> {
        let key = PublicKey::from_line(key).ok_or_else(|| usage_error("the device has no Ed25519 key"))?;
        let name: String = name.trim().chars().take(LONGEST_NAME).collect();
        let device = PairedDevice {
            name: if name.is_empty() {
                "device".to_owned()
            } else {
                name
            },
            key: key.line(),
            paired: clock::now(),
            revoked: None,
        };
        change_devices(self, |devices| {
            // A revoked key stays revoked: whoever has it may have it still.
            if devices.iter().any(|known| known.key == device.key) {
                return Err(usage_error("this key is known already").hint("let the device make a new one"));
            }
            if devices.iter().filter(|known| known.revoked.is_none()).count() >= MOST_DEVICES {
                return Err(usage_error(format!("there are {MOST_DEVICES} devices")).hint("revoke one first"));
            }
            devices.push(device.clone());
            Ok(device.clone())
        })
    }

    /// Revokes a device by its fingerprint. Approvals that it signed before stay valid in the evidence.
    ///
    /// # Errors
    /// If there is no such device, or the file cannot be written.
    pub fn revoke_device(&self, id: &str) -> Result<PairedDevice, EffectError> {
        change_devices(self, |devices| {
            let found = devices
                .iter_mut()
                .find(|device| device.id() == id && device.revoked.is_none());
            let device = found.ok_or_else(|| usage_error("there is no such device"))?;
            device.revoked = Some(clock::now());
            Ok(device.clone())
        })
    }

    /// Checks the signature of an approval. Returns the proof for the record.
    ///
    /// # Errors
    /// If the device is not paired or was revoked, or the signature is of another state, another request, or of something else that
    /// was shown.
    pub fn check_approval(&self, approval: DeviceApproval<'_>) -> Result<ConsentProof, EffectError> {
        let refuse = |code: &str, what: &str| EffectError::new(Cause::Consent, code, what);
        let key = PublicKey::from_line(approval.key)
            .ok_or_else(|| refuse("unknown-device", "this device is not paired"))?;
        let devices = self.list_devices()?;
        let device = devices
            .iter()
            .find(|device| PublicKey::from_line(&device.key) == Some(key));
        let device = match device {
            None => return Err(refuse("unknown-device", "this device is not paired")),
            Some(device) if device.revoked.is_some() => {
                return Err(refuse("revoked-device", "this device was revoked"));
            }
            Some(device) => device,
        };
        let hashes = approval.hashes;
        let statement = ApprovalStatement {
            request: approval.request,
            diff_sha256: &hashes.diff_sha256,
            base_commit: &hashes.base_commit,
            policy_sha256: &hashes.policy_sha256,
            target_ref: &hashes.target_ref,
            writes: &hashes.writes,
            rendering_sha256: approval.rendering_sha256,
        };
        if !statement.is_signed(&key, approval.signature) {
            let what = "the device signed something else than what would land now";
            return Err(refuse("wrong-signature", what).hint("read the request again"));
        }
        Ok(ConsentProof {
            device: device.name.clone(),
            key: key.line(),
            rendering_sha256: approval.rendering_sha256.to_owned(),
            signature: approval.signature.to_owned(),
        })
    }
}

/// Returns an Ed25519 key in OpenSSH's form from its 32 bytes in base64, as browsers export it. `None` if it is none.
#[must_use]
pub fn device_key(raw: &str) -> Option<String> {
    Some(PublicKey::from_base64(raw)?.line())
}

fn find_file(host: &Host) -> Result<PathBuf, EffectError> {
    let folder = host.environment().config_dir();
    folder.map(|folder| folder.join(FILE)).ok_or_else(|| {
        EffectError::new(Cause::Usage, "no-home", "there is no home folder for settings").hint("set `HOME`")
    })
}

fn read_devices(host: &Host) -> Result<DeviceFile, EffectError> {
    let path = find_file(host)?;
    let Some(text) = read_own_text(host.environment(), &path, CODE, LARGEST_FILE)? else {
        return Ok(DeviceFile {
            version: VERSION,
            devices: Vec::new(),
        });
    };
    let name = host.environment().shorten_below_home(&path);
    let refuse = |why: String| {
        let message = format!("`{name}` is not a list of devices: {why}");
        EffectError::new(Cause::Usage, CODE, message)
    };
    let file: DeviceFile = serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    match file.version {
        VERSION => Ok(file),
        other => Err(refuse(format!("it has version {other} instead of {VERSION}"))),
    }
}

/// Changes the devices under the lock of the file.
fn change_devices<T>(
    host: &Host,
    change: impl FnOnce(&mut Vec<PairedDevice>) -> Result<T, EffectError>,
) -> Result<T, EffectError> {
    let path = find_file(host)?;
    // Two services at once would otherwise both begin with the same list, and one change would be lost.
    let _lock = lock_own_text(&path, CODE)?;
    let mut file = read_devices(host)?;
    let done = change(&mut file.devices)?;
    let text = serde_json::to_string_pretty(&file)
        .map_err(|error| EffectError::from_error(Cause::Internal, CODE, &error))?;
    write_own_text(&path, &(text + "\n"), CODE)?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_of_one_key_and_both_forms_of_a_key_are_the_same() {
        let raw = "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";
        let line = device_key(raw).unwrap();
        insta::assert_snapshot!(line, @"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM");
        let code = pairing_code(&line).unwrap();
        assert_eq!((code.len(), code.split(' ').count()), (19, 4), "{code}");
        assert_ne!(
            Some(code),
            pairing_code(&device_key(&raw.replace('P', "Q")).unwrap())
        );
        for wrong in [
            "",
            "AAAA",
            "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zg",
            "<script>",
        ] {
            assert_eq!(device_key(wrong), None, "{wrong}");
            assert_eq!(pairing_code(wrong), None, "{wrong}");
        }
    }
}
