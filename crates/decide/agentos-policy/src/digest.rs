//! Digests that identify a set of rules.
//!
//! Owns: the input of each digest. Never: reads a source.

use sha2::{Digest, Sha256};

use crate::{Layer, PolicySource, touch};

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

/// Returns the digest of the repository's policy: the names and texts of its files. `None` if it has none.
#[must_use]
pub fn repository_digest(sources: &[PolicySource]) -> Option<String> {
    let mut files: Vec<&PolicySource> = sources
        .iter()
        .filter(|source| source.layer == Layer::Repository)
        .collect();
    files.sort_by(|a, b| (&a.name, &a.text).cmp(&(&b.name, &b.text)));
    let parts = files
        .iter()
        .flat_map(|source| [source.name.as_str(), source.text.as_str()]);
    (!files.is_empty()).then(|| hash_parts(std::iter::once("agentos repository policy 1").chain(parts)))
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
