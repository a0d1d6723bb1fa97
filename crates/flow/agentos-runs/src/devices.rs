//! The devices with which a person signs approvals: `devices.json` in the folder of the user's settings.
//!
//! Owns: the file, and the check of a signature before a change lands. Never: has the private key of a device, or trusts one by
//! itself: a person adds each of them.

mod recorded;

use std::path::PathBuf;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::{ActionStatement, ApprovalStatement, PublicKey};
use agentos_policy::{ApprovalHashes, ConsentProof};
use agentos_tool::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Runs;
use agentos_ground::Ground;
use agentos_ground::clock;
use agentos_ground::error::usage_error;
use agentos_ground::own_file::{lock_own_text, read_own_text, write_own_text};
use agentos_providers::Providers;

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

/// Contributions to a pairing, as one end knows them.
#[derive(Debug, Clone, Copy)]
pub struct PairingFacts<'a> {
    /// Random text of the service.
    pub service: &'a str,
    /// Random text of the device.
    pub device: &'a str,
    /// Public key of the device, as OpenSSH writes it.
    pub key: &'a str,
}

/// Returns the 64 bits of a pairing that a person compares, in groups. `None` if it has no Ed25519 key.
///
/// Each end computes them from what it knows itself: the service from the key that arrived, the device from the key that it made. A relay
/// that put a key of its own in place of the device's would have to find a contribution that gives the same 64 bits, while the person waits.
#[must_use]
pub fn pairing_code(facts: PairingFacts<'_>) -> Option<String> {
    let key = PublicKey::from_line(facts.key)?.base64();
    let PairingFacts { service, device, .. } = facts;
    let text = format!("agentos pairing 1\nservice {service}\ndevice {device}\nkey {key}\n");
    let hash = agentos_chain::hash_bytes(text.as_bytes());
    let digits = hash.strip_prefix("sha256:").unwrap_or(&hash).get(..16)?;
    let groups: Vec<&str> = [0, 4, 8, 12]
        .iter()
        .filter_map(|at| digits.get(*at..at + 4))
        .collect();
    Some(groups.join(" "))
}

impl Runs<'_> {
    /// Lists the devices, also revoked ones, the oldest first.
    ///
    /// # Errors
    /// If the file cannot be read, or other users can change it.
    pub fn list_devices(self) -> Result<Vec<PairedDevice>, EffectError> {
        Ok(read_devices(self.ground)?.devices)
    }

    /// Adds a device, because a person has compared its code.
    ///
    /// # Errors
    /// If it is known already, its key is none, there are too many, or the file cannot be written.
    pub fn add_device(self, name: &str, key: &str) -> Result<PairedDevice, EffectError> {
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
        change_devices(self.ground, |devices| {
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
    pub fn revoke_device(self, id: &str) -> Result<PairedDevice, EffectError> {
        change_devices(self.ground, |devices| {
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
    pub fn check_approval(self, approval: DeviceApproval<'_>) -> Result<ConsentProof, EffectError> {
        let (device, key) = self.find_device(approval.key)?;
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
            device: device.name,
            key: key.line(),
            rendering_sha256: approval.rendering_sha256.to_owned(),
            signature: approval.signature.to_owned(),
        })
    }

    /// Checks the signature of a form that a device sent. Returns the device.
    ///
    /// # Errors
    /// If the device is not paired or was revoked, or it signed another form.
    pub fn check_action(
        self,
        statement: ActionStatement<'_>,
        key: &str,
        signature: &str,
    ) -> Result<PairedDevice, EffectError> {
        let (device, key) = self.find_device(key)?;
        match statement.is_signed(&key, signature) {
            true => Ok(device),
            false => Err(refuse(
                "wrong-signature",
                "the device signed something else than what it sent; load the page again",
            )),
        }
    }

    /// Requires that signatures of a key count now.
    ///
    /// # Errors
    /// If its device is not paired, or was revoked.
    pub(crate) fn require_paired(self, key: &str) -> Result<(), EffectError> {
        self.find_device(key).map(drop)
    }

    /// Finds the paired device with a key.
    fn find_device(self, key: &str) -> Result<(PairedDevice, PublicKey), EffectError> {
        let unknown = || refuse("unknown-device", "this device is not paired");
        let key = PublicKey::from_line(key).ok_or_else(unknown)?;
        let mut devices = self.list_devices()?.into_iter();
        let device = devices.find(|device| PublicKey::from_line(&device.key) == Some(key));
        let device = device.ok_or_else(unknown)?;
        match device.revoked {
            Some(_) => Err(refuse("revoked-device", "this device was revoked")),
            None => Ok((device, key)),
        }
    }

    /// Reads the addresses at which the user's other devices reach the service.
    ///
    /// # Errors
    /// If the settings cannot be read, or an address is none at which a browser keeps keys.
    pub fn device_addresses(self) -> Result<Vec<DeviceAddress>, EffectError> {
        let settings = Providers::of(self.ground).read_settings()?;
        let text = settings.text("device_addresses").unwrap_or_default();
        text.split_whitespace().map(parse_address).collect()
    }
}

/// Address at which another device reaches the service: over a tunnel, a proxy of the user that speaks TLS, or TLS of the service itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceAddress {
    /// Value of Host.
    pub host: String,
    /// Value of Origin.
    pub origin: String,
    /// Name and port at which the service itself speaks TLS, as in `192.0.2.7:7418`. `None` for a tunnel or a proxy.
    pub listens: Option<String>,
}

impl DeviceAddress {
    /// Returns the name or the IP address, without the port and the brackets of IPv6.
    #[must_use]
    pub fn name(&self) -> &str {
        host_name(&self.host).trim_matches(['[', ']'])
    }
}

/// Returns a host without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        // An IPv6 address without a port ends with a bracket.
        Some((name, port)) if !port.ends_with(']') => name,
        Some(_) | None => host,
    }
}

/// Parses such an address. Browsers keep keys in a secure context alone: over TLS, or at a name that is the device itself
/// (W3C, "Secure Contexts", section 3.1).
fn parse_address(text: &str) -> Result<DeviceAddress, EffectError> {
    let bad = |why: &str| {
        let message = format!("`{text}` in the setting `device_addresses` {why}");
        EffectError::new(Cause::Usage, "bad-settings", message)
    };
    let (scheme, host) = text
        .split_once("://")
        .ok_or_else(|| bad("has no `http://`, `https://` or `tls://`"))?;
    let host = host.trim_end_matches('/').to_ascii_lowercase();
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-.:[]".contains(char);
    if host.is_empty() || !host.chars().all(is_plain) {
        return Err(bad(
            "is not the address of a page; a blank stands between two addresses",
        ));
    }
    let name = host_name(&host);
    let is_itself =
        name == "localhost" || name.ends_with(".localhost") || name == "127.0.0.1" || name == "[::1]";
    match scheme {
        "tls" => parse_own_tls(&host).map_err(bad),
        "https" => Ok(DeviceAddress {
            origin: format!("https://{host}"),
            host,
            listens: None,
        }),
        "http" if is_itself => Ok(DeviceAddress {
            origin: format!("http://{host}"),
            host,
            listens: None,
        }),
        "http" => Err(bad(
            "is neither `https` nor a name such as `localhost`, so browsers keep no key there",
        )),
        _ => Err(bad("has no `http://`, `https://` or `tls://`")),
    }
}

/// Parses a host with a port at which the service itself speaks TLS.
fn parse_own_tls(host: &str) -> Result<DeviceAddress, &'static str> {
    let name = host_name(host);
    let port = host.get(name.len()..).and_then(|port| port.strip_prefix(':'));
    let port: u16 = port
        .and_then(|port| port.parse().ok())
        .filter(|port| *port != 0)
        .ok_or("has no port, as in `tls://192.0.2.7:7418`")?;
    // The address is also the name in the certificate, which no browser takes for every address.
    if name == "0.0.0.0" || name == "[::]" || name.is_empty() {
        return Err("names every address of the machine; name the one that your devices reach");
    }
    let shown = match port {
        // Browsers leave out the usual port of HTTPS.
        443 => name.to_owned(),
        port => format!("{name}:{port}"),
    };
    Ok(DeviceAddress {
        origin: format!("https://{shown}"),
        host: shown,
        listens: Some(format!("{name}:{port}")),
    })
}

fn refuse(code: &str, what: &str) -> EffectError {
    EffectError::new(Cause::Consent, code, what)
}

/// Returns an Ed25519 key in OpenSSH's form from its 32 bytes in base64, as browsers export it. `None` if it is none.
#[must_use]
pub fn device_key(raw: &str) -> Option<String> {
    Some(PublicKey::from_base64(raw)?.line())
}

fn find_file(ground: &Ground) -> Result<PathBuf, EffectError> {
    let folder = ground.environment().config_dir();
    folder.map(|folder| folder.join(FILE)).ok_or_else(|| {
        EffectError::new(Cause::Usage, "no-home", "there is no home folder for settings").hint("set `HOME`")
    })
}

fn read_devices(ground: &Ground) -> Result<DeviceFile, EffectError> {
    let path = find_file(ground)?;
    let Some(text) = read_own_text(ground.environment(), &path, CODE, LARGEST_FILE)? else {
        return Ok(DeviceFile {
            version: VERSION,
            devices: Vec::new(),
        });
    };
    let name = ground.environment().shorten_below_home(&path);
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
    ground: &Ground,
    change: impl FnOnce(&mut Vec<PairedDevice>) -> Result<T, EffectError>,
) -> Result<T, EffectError> {
    let path = find_file(ground)?;
    // Two services at once would otherwise both begin with the same list, and one change would be lost.
    let _lock = lock_own_text(&path, CODE)?;
    let mut file = read_devices(ground)?;
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
        let code =
            |service: &str, device: &str, key: &str| pairing_code(PairingFacts { service, device, key });
        let shown = code("a", "b", &line).unwrap();
        assert_eq!((shown.len(), shown.split(' ').count()), (19, 4), "{shown}");
        // As `device.js` computes it (Node: `createHash("sha256")` over the same text).
        insta::assert_snapshot!(shown, @"9250 d9de 6ce5 62f0");
        let other = device_key(&raw.replace('P', "Q")).unwrap();
        for changed in [
            code("c", "b", &line),
            code("a", "c", &line),
            code("a", "b", &other),
        ] {
            assert_ne!(changed, Some(shown.clone()));
        }
        for wrong in [
            "",
            "AAAA",
            "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zg",
            "<script>",
        ] {
            assert_eq!(device_key(wrong), None, "{wrong}");
            assert_eq!(code("a", "b", wrong), None, "{wrong}");
        }
    }
    #[test]
    fn an_address_of_devices_is_one_at_which_browsers_keep_keys() {
        for (text, expected) in [
            ("http://localhost:7417", Some("localhost:7417")),
            ("http://LocalHost:7417/", Some("localhost:7417")),
            ("https://laptop.example", Some("laptop.example")),
            ("http://ab.localhost:1", Some("ab.localhost:1")),
            ("http://[::1]:7417", Some("[::1]:7417")),
            ("http://[::1]", Some("[::1]")),
            ("tls://192.0.2.7:7418", Some("192.0.2.7:7418")),
            ("tls://laptop.example:443", Some("laptop.example")),
            ("tls://[2001:db8::1]:7418", Some("[2001:db8::1]:7418")),
            ("tls://laptop.example", None),
            ("tls://[2001:db8::1]", None),
            ("tls://0.0.0.0:7418", None),
            ("tls://[::]:7418", None),
            ("tls://:7418", None),
            ("tls://a:0", None),
            ("http://laptop.example", None),
            ("http://localhost.example", None),
            ("localhost:7417", None),
            ("ftp://localhost", None),
            ("https://", None),
            ("https://a/b", None),
            ("https://u@a", None),
        ] {
            let found = parse_address(text).ok().map(|address| address.host);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_address_for_tls_has_a_name_for_its_certificate() {
        for (text, name, listens) in [
            (
                "tls://[2001:db8::1]:443",
                "2001:db8::1",
                Some("[2001:db8::1]:443"),
            ),
            (
                "tls://laptop.example:443",
                "laptop.example",
                Some("laptop.example:443"),
            ),
            ("tls://192.0.2.7:7418", "192.0.2.7", Some("192.0.2.7:7418")),
            ("https://laptop.example:8443", "laptop.example", None),
            ("http://[::1]", "::1", None),
        ] {
            let found = parse_address(text).unwrap();
            assert_eq!(
                (found.name(), found.listens.as_deref()),
                (name, listens),
                "{text}"
            );
        }
    }
}
