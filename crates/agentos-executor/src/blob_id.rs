//! The name of content, to be compared with a name that is known.
//!
//! Owns: SHA-1 over a blob, as fast as the processor can. Never: names what is written; libgit2 does that, and looks for
//! made collisions on the way, which takes five times as long.

use sha1::{Digest, Sha1};

use crate::ExecError;
use crate::splice::oid;

/// Is this the content of a blob? Its header is `blob`, its length and a NUL (gitformat-loose).
pub(crate) fn is_blob(content: &[u8], id: &str) -> Result<bool, ExecError> {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    Ok(hash.finalize().as_slice() == oid(id)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use git2::{ObjectType, Oid};

    use super::*;

    #[test]
    fn content_has_the_name_that_libgit2_gives_it() {
        for content in ["", "a\n", &"long\n".repeat(10_000)] {
            let id = Oid::hash_object(ObjectType::Blob, content.as_bytes()).unwrap();
            assert!(is_blob(content.as_bytes(), &id.to_string()).unwrap());
            assert!(!is_blob(b"other", &id.to_string()).unwrap());
        }
        assert!(is_blob(b"", "no id").is_err());
    }
}
