//! The name of content, as git gives it.
//!
//! Owns: SHA-1 over a blob, as fast as the processor can. Never: has the last word on a name under which something is
//! written; libgit2 has, and looks for made collisions on the way, which takes five times as long.

use git2::Oid;
use sha1::{Digest, Sha1};

use crate::ExecError;
use crate::splice::oid;

/// Is this the content of a blob?
pub(crate) fn is_blob(content: &[u8], id: &str) -> Result<bool, ExecError> {
    Ok(digest(content) == oid(id)?.as_bytes())
}

/// The name of a blob with this content.
pub(crate) fn of(content: &[u8]) -> Result<Oid, ExecError> {
    Oid::from_bytes(&digest(content)).map_err(ExecError::git("hash a file"))
}

/// A blob's header is `blob`, its length and a NUL (gitformat-loose).
fn digest(content: &[u8]) -> [u8; 20] {
    let mut hash = Sha1::new();
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
            assert_eq!(of(content.as_bytes()).unwrap(), id);
            assert!(is_blob(content.as_bytes(), &id.to_string()).unwrap());
            assert!(!is_blob(b"other", &id.to_string()).unwrap());
        }
        assert!(is_blob(b"", "no id").is_err());
    }
}
