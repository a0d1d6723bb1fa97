//! The profiles that are compiled in.
//!
//! Owns: which files of `profiles/llm/` these are. Never: changes them.

use std::collections::BTreeMap;

use crate::{ProfileError, ProfileFile, file};

/// The built-in profiles by provider.
///
/// # Errors
/// Never for the files as they stand; a test reads them.
pub fn builtin() -> Result<BTreeMap<String, ProfileFile>, ProfileError> {
    let mut all = BTreeMap::new();
    for (name, text) in FILES {
        let profile = file::parse(name, text)?;
        all.insert(profile.provider.clone(), profile);
    }
    Ok(all)
}

const FILES: &[(&str, &str)] = &[
    (
        "profiles/llm/llamacpp.json",
        include_str!("../../../profiles/llm/llamacpp.json"),
    ),
    (
        "profiles/llm/lmstudio.json",
        include_str!("../../../profiles/llm/lmstudio.json"),
    ),
    (
        "profiles/llm/openai.json",
        include_str!("../../../profiles/llm/openai.json"),
    ),
];
