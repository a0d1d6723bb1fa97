//! Computes the object id of a blob.
//!
//! Owns: SHA-1 over a blob, with the processor's own instructions. Never: decides the id under which an object is written:
//! libgit2 computes that, and checks for constructed SHA-1 collisions, which takes five times as long.

use git2::Oid;
use sha1::{Digest, Sha1};

use crate::ExecError;
use crate::splice::parse_oid;

/// Returns whether this is the content of a blob.
///
/// # Errors
/// When the id is not valid.
pub(crate) fn is_blob(content: &[u8], id: &str) -> Result<bool, ExecError> {
    Ok(hash_blob(content) == parse_oid(id)?.as_bytes())
}

/// Returns the id of a blob with this content.
///
/// # Errors
/// When libgit2 does not accept the digest as an id.
pub(crate) fn compute_id(content: &[u8]) -> Result<Oid, ExecError> {
    Oid::from_bytes(&hash_blob(content)).map_err(ExecError::git("hash a file"))
}

/// Hashes content as a blob.
fn hash_blob(content: &[u8]) -> [u8; 20] {
    let mut hash = Sha1::new();
    // The id covers a header: `blob`, the length and a NUL (gitformat-loose(5)).
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use git2::{ObjectType, Oid};

    use super::*;

    #[test]
    fn content_has_the_name_that_libgit2_gives_it() {
        for content in ["", "a\n", &"long\n".repeat(10_000)] {
            let id = Oid::hash_object(ObjectType::Blob, content.as_bytes()).unwrap();
            assert_eq!(compute_id(content.as_bytes()).unwrap(), id);
            assert!(is_blob(content.as_bytes(), &id.to_string()).unwrap());
            assert!(!is_blob(b"other", &id.to_string()).unwrap());
        }
        assert!(is_blob(b"", "no id").is_err());
    }
}
