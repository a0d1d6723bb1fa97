//! Signatures that `ssh-keygen -Y verify` accepts.
//!
//! Owns: making and checking them. Never: accepts a text that `ssh-keygen -Y sign` would not write for an Ed25519 key.
//! Source: OpenSSH, `PROTOCOL.sshsig`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha512};

use crate::sign::{PublicKey, SigningKey, put_string};
use crate::trust::NAMESPACE;

const MAGIC: &[u8] = b"SSHSIG";
const HASH: &[u8] = b"sha512";
/// Length of a line of base64, as `ssh-keygen` breaks it.
const COLUMNS: usize = 70;

/// Bytes of an Ed25519 key.
const KEY: usize = 32;
/// Bytes of an Ed25519 signature.
const SIGNATURE: usize = 64;
/// Bytes before the key: the magic, the version, and two lengths and the type name of the key's wire form.
const BEFORE_KEY: usize = 6 + 4 + 4 + 4 + 11 + 4;

impl SigningKey {
    /// Signs these bytes in the namespace `agentos-evidence` and returns the armoured text.
    #[must_use]
    pub fn ssh_signature(&self, message: &[u8]) -> String {
        let signature = self.sign_message(&signed_bytes(message));
        armour_blob(&signature_blob(&self.public(), &signature))
    }
}

impl PublicKey {
    /// Returns the key that signed a message. `None` if the armoured text is not a signature of it in the namespace
    /// `agentos-evidence`, or differs from the one text that `ssh-keygen` and AgentOS write for this signature.
    #[must_use]
    pub fn of_ssh_signature(armoured: &[u8], message: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(armoured).ok()?;
        let base64: String = text.strip_prefix(BEGIN)?.strip_suffix(END)?.split('\n').collect();
        let found = STANDARD.decode(base64).ok()?;
        let key = found.get(BEFORE_KEY..BEFORE_KEY + KEY)?;
        let key = Self::from_bytes(key.try_into().ok()?);
        let signature = found.get(found.len().checked_sub(SIGNATURE)?..)?;
        // Everything except key and signature is fixed. So the text is built again from the two and compared, which needs no
        // parser for the other parts.
        let genuine = armour_blob(&signature_blob(&key, signature)) == text
            && key.verify_signature(&signed_bytes(message), signature);
        genuine.then_some(key)
    }
}

/// Returns the bytes that a signature covers.
fn signed_bytes(message: &[u8]) -> Vec<u8> {
    let mut covered = MAGIC.to_vec();
    put_string(&mut covered, NAMESPACE.as_bytes());
    // A reserved field, which must be empty (PROTOCOL.sshsig, section 2).
    put_string(&mut covered, b"");
    put_string(&mut covered, HASH);
    put_string(&mut covered, &Sha512::digest(message));
    covered
}

/// Returns the binary form of a signature file.
fn signature_blob(key: &PublicKey, signature: &[u8]) -> Vec<u8> {
    let mut typed = Vec::new();
    put_string(&mut typed, b"ssh-ed25519");
    put_string(&mut typed, signature);

    let mut blob = MAGIC.to_vec();
    blob.extend_from_slice(&1_u32.to_be_bytes());
    put_string(&mut blob, &key.wire_form());
    put_string(&mut blob, NAMESPACE.as_bytes());
    put_string(&mut blob, b"");
    put_string(&mut blob, HASH);
    put_string(&mut blob, &typed);
    blob
}

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----\n";
const END: &str = "\n-----END SSH SIGNATURE-----\n";

fn armour_blob(blob: &[u8]) -> String {
    let mut text = BEGIN.to_owned();
    for (at, letter) in STANDARD.encode(blob).chars().enumerate() {
        if at > 0 && at % COLUMNS == 0 {
            text.push('\n');
        }
        text.push(letter);
    }
    text.push_str(END);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_names_its_key_for_its_message_alone() {
        let key = SigningKey::generate().unwrap().0;
        let text = key.ssh_signature(b"this");
        let of = |text: &str, message: &[u8]| PublicKey::of_ssh_signature(text.as_bytes(), message);
        assert_eq!(of(&text, b"this"), Some(key.public()));
        assert_eq!(of(&text, b"that"), None);
        let spoiled = [
            text.replace('\n', "\r\n"),
            text.trim_end().to_owned(),
            format!("{text}\n"),
            text.replacen("\n", "\n\n", 1),
            text.replace("SSH", "PGP"),
            String::new(),
        ];
        for text in spoiled {
            assert_eq!(of(&text, b"this"), None, "{text}");
        }
    }

    #[test]
    fn no_changed_letter_is_accepted() {
        let key = SigningKey::generate().unwrap().0;
        let text = key.ssh_signature(b"this");
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(PublicKey::of_ssh_signature(&bytes, b"this"), None, "{at}");
        }
    }
}
