//! Signatures that `ssh-keygen -Y verify` accepts.
//!
//! Owns: their form. Never: checks one; `ssh-keygen` does. Source: OpenSSH, `PROTOCOL.sshsig`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha512};

use crate::sign::{SigningKey, put};
use crate::trust::NAMESPACE;

const MAGIC: &[u8] = b"SSHSIG";
const HASH: &[u8] = b"sha512";
const COLUMNS: usize = 70;

impl SigningKey {
    /// An armoured signature of these bytes, in the namespace `agentos-evidence`.
    #[must_use]
    pub fn ssh_signature(&self, message: &[u8]) -> String {
        let mut covered = MAGIC.to_vec();
        put(&mut covered, NAMESPACE.as_bytes());
        put(&mut covered, b"");
        put(&mut covered, HASH);
        put(&mut covered, &Sha512::digest(message));
        let mut signature = Vec::new();
        put(&mut signature, b"ssh-ed25519");
        put(&mut signature, &self.sign(&covered));

        let mut blob = MAGIC.to_vec();
        blob.extend_from_slice(&1_u32.to_be_bytes());
        put(&mut blob, &self.public().wire());
        put(&mut blob, NAMESPACE.as_bytes());
        put(&mut blob, b"");
        put(&mut blob, HASH);
        put(&mut blob, &signature);

        let mut text = "-----BEGIN SSH SIGNATURE-----\n".to_owned();
        for (at, letter) in STANDARD.encode(blob).chars().enumerate() {
            if at > 0 && at % COLUMNS == 0 {
                text.push('\n');
            }
            text.push(letter);
        }
        text.push_str("\n-----END SSH SIGNATURE-----\n");
        text
    }
}
