//! Digests that identify a set of rules.
//!
//! Owns: the input of each digest. Never: reads a source.

use sha2::{Digest, Sha256};

use crate::{PolicySource, touch};

/// Returns the digest of all sources and of the built-in table of names.
pub(crate) fn digest_sources(sources: &[PolicySource]) -> String {
    let sources = sources
        .iter()
        .flat_map(|source| [source.layer.as_str(), &source.name, &source.text]);
    hash_parts(
        // The table is part of the input: with other names the same rules decide differently, and a consent is bound
        // to this digest.
        ["agentos policy 2", touch::table_digest()]
            .into_iter()
            .chain(sources),
    )
}

/// Returns the SHA-256 over the parts, each with its length in front, so that no two lists of parts give the same bytes.
pub(crate) fn hash_parts<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
