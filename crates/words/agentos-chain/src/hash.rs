//! SHA-256 as text.
//!
//! Owns: the form `sha256:` with 64 hexadecimal digits. Never: says what is hashed.

use sha2::{Digest, Sha256};

const PREFIX: &str = "sha256:";

/// Returns `sha256:` and the 64 hexadecimal digits of the hash of bytes.
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> String {
    name_hash(&Sha256::digest(bytes))
}

/// Returns the hash of texts that follow each other, as [`hash_bytes`] does.
#[must_use]
pub fn hash_texts(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    name_hash(&hasher.finalize())
}

/// Writes the bytes of a SHA-256 as `sha256:` and 64 hexadecimal digits.
#[must_use]
pub fn name_hash(hash: &[u8]) -> String {
    let mut text = String::with_capacity(PREFIX.len() + 64);
    text.push_str(PREFIX);
    append_hex(&mut text, hash);
    text
}

/// Returns the 64 hexadecimal digits of a hash in the form of [`hash_bytes`]; `None` if the text is anything else.
#[must_use]
pub fn parse_hash(text: &str) -> Option<&str> {
    let hex = text.strip_prefix(PREFIX)?;
    // Lower case only, so that a hash has one spelling and hashes are compared as text.
    let fits = hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    fits.then_some(hex)
}

/// Appends bytes in hexadecimal. Verifying does this for every record, so it does not go through the formatting
/// machinery.
pub fn append_hex(text: &mut String, bytes: &[u8]) {
    let digit = |value: u8| {
        char::from(if value < 10 {
            b'0' + value
        } else {
            b'a' + value - 10
        })
    };
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_written_and_parsed() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash_bytes(b"abc"), format!("sha256:{abc}"));
        assert_eq!(hash_texts(&["a", "", "bc"]), hash_bytes(b"abc"));
        assert_eq!(parse_hash(&hash_bytes(b"abc")), Some(abc));
        for other in [
            abc.to_owned(),
            format!("sha256:{abc}0"),
            hash_bytes(b"abc").replace('a', "A"),
        ] {
            assert_eq!(parse_hash(&other), None, "{other}");
        }
    }
}
