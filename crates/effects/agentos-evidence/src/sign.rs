//! Ed25519 keys of the evidence, in the form that OpenSSH uses.
//!
//! Owns: making, using and naming keys. Never: stores a secret; the caller stores it with the user's other secrets.
//! Source of the form: RFC 8709 and RFC 4253 section 6.6 (`string "ssh-ed25519"`, `string key`); of the fingerprint:
//! `ssh-keygen -l`.

use std::fmt;

use agentos_tool::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use sha2::{Digest as _, Sha256};

use crate::EvidenceError;

/// Name of the key type (RFC 8709).
const KIND: &str = "ssh-ed25519";
/// Prefix of a stored secret, by which another text is refused.
const SECRET_MARK: &str = "agentos-ed25519:";
/// Message for a stored text that is no key.
const NOT_A_KEY: &str = "the stored signing key is not a valid key";

/// Private key that signs checkpoints, with its public key.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

/// Public key of a [`SigningKey`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl SigningKey {
    /// Makes a new key from the system's random numbers. Returns it, and the text that the caller stores.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn generate() -> Result<(Self, Secret), EvidenceError> {
        let mut seed = [0; 32];
        SystemRandom::new()
            .fill(&mut seed)
            .map_err(|_| EvidenceError::Key("the system gives no random numbers"))?;
        let secret = Secret::new(&format!("{SECRET_MARK}{}", STANDARD.encode(seed)));
        Ok((Self::from_seed(&seed)?, secret))
    }

    /// Reads the text that [`SigningKey::generate`] returned.
    ///
    /// # Errors
    /// When the text is not such a key.
    pub fn from_secret(secret: &Secret) -> Result<Self, EvidenceError> {
        let seed = secret.expose().trim().strip_prefix(SECRET_MARK);
        let seed = seed.and_then(|seed| STANDARD.decode(seed).ok());
        let seed = seed.ok_or(EvidenceError::Key(NOT_A_KEY))?;
        Self::from_seed(&seed)
    }

    fn from_seed(seed: &[u8]) -> Result<Self, EvidenceError> {
        let refused = |_| EvidenceError::Key(NOT_A_KEY);
        // "Unchecked" is the comparison with a stored public key, which there is none of: it is derived from the seed.
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(refused)?;
        let public = pair.public_key().as_ref().try_into().map(PublicKey);
        let public = public.map_err(|_| EvidenceError::Key(NOT_A_KEY))?;
        Ok(Self { pair, public })
    }

    /// Returns the public key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) fn sign_message(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public.id())
    }
}

impl PublicKey {
    /// Returns the fingerprint as `ssh-keygen -l` shows it: `SHA256:…`.
    #[must_use]
    pub fn id(&self) -> String {
        format!(
            "SHA256:{}",
            STANDARD_NO_PAD.encode(Sha256::digest(self.wire_form()))
        )
    }

    /// Returns the key as OpenSSH writes it: `ssh-ed25519 AAAA…`.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{KIND} {}", STANDARD.encode(self.wire_form()))
    }

    /// Returns the 32 bytes of the key in base64, as browsers export it.
    #[must_use]
    pub fn base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Parses the form that [`Self::line`] returns. Text before the key type and after the key is ignored. `None` if there
    /// is no such key in the line.
    #[must_use]
    pub fn from_line(line: &str) -> Option<Self> {
        // A line of an `allowed_signers` file begins with the name of the owner and options.
        let mut words = line.split_ascii_whitespace();
        words.find(|word| *word == KIND)?;
        let wire = STANDARD.decode(words.next()?).ok()?;
        // The bytes before the key are the same for every key, so they are compared and not parsed.
        let (head, key) = wire.split_at_checked(wire.len().checked_sub(32)?)?;
        let key = Self(key.try_into().ok()?);
        (key.wire_form().strip_suffix(&key.0) == Some(head)).then_some(key)
    }

    /// Parses the 32 bytes of a key in base64, as browsers export it. `None` if it has another length.
    #[must_use]
    pub fn from_base64(text: &str) -> Option<Self> {
        Some(Self(STANDARD.decode(text).ok()?.try_into().ok()?))
    }

    /// Returns the key with these bytes.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(crate) fn verify_signature(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0)
            .verify(message, signature)
            .is_ok()
    }

    /// Returns the key in OpenSSH's wire form.
    pub(crate) fn wire_form(&self) -> Vec<u8> {
        let mut wire = Vec::with_capacity(51);
        put_string(&mut wire, KIND.as_bytes());
        put_string(&mut wire, &self.0);
        wire
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id())
    }
}

/// Appends a string of the wire form: its length in four bytes, then its bytes (RFC 4251, section 5).
pub(crate) fn put_string(wire: &mut Vec<u8>, text: &[u8]) {
    let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
    wire.extend_from_slice(&len.to_be_bytes());
    wire.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 2.
    #[test]
    fn the_key_and_signature_of_the_rfc_come_out() {
        let seed = b"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
        let pairs = seed.chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        let seed: Vec<u8> = pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
        let key = SigningKey::from_seed(&seed).unwrap();
        insta::assert_snapshot!(key.public().line(), @r"
        ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM
        ");
        let hex: String = key
            .sign_message(&[0x72])
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            hex,
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        );
    }

    #[test]
    fn a_key_is_kept_as_a_text_and_shown_as_openssh_does() {
        let (key, secret) = SigningKey::generate().unwrap();
        let again = SigningKey::from_secret(&secret).unwrap();
        assert_eq!(again.public(), key.public());
        let line = key.public().line();
        for shown in [
            line.clone(),
            format!("{line} me@here"),
            format!("me namespaces=\"x\" {line}"),
        ] {
            assert_eq!(PublicKey::from_line(&shown), Some(key.public()));
        }
        for wrong in [
            "",
            "ssh-ed25519",
            "ssh-ed25519 AAAA",
            "ssh-rsa AAAA",
            "ssh-ed25519 ////",
        ] {
            assert_eq!(PublicKey::from_line(wrong), None, "{wrong}");
        }
        assert!(SigningKey::from_secret(&Secret::new("sk-123")).is_err());
    }

    #[test]
    fn a_signature_holds_for_its_message_and_key_alone() {
        let (key, _) = SigningKey::generate().unwrap();
        let (other, _) = SigningKey::generate().unwrap();
        let signature = key.sign_message(b"this");
        assert!(key.public().verify_signature(b"this", &signature));
        assert!(!key.public().verify_signature(b"that", &signature));
        assert!(!other.public().verify_signature(b"this", &signature));
        assert!(!key.public().verify_signature(b"this", b""));
    }
}
