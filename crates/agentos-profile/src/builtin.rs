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
        "profiles/llm/anthropic.json",
        include_str!("../../../profiles/llm/anthropic.json"),
    ),
    (
        "profiles/llm/gemini.json",
        include_str!("../../../profiles/llm/gemini.json"),
    ),
    (
        "profiles/llm/litellm.json",
        include_str!("../../../profiles/llm/litellm.json"),
    ),
    (
        "profiles/llm/llamacpp.json",
        include_str!("../../../profiles/llm/llamacpp.json"),
    ),
    (
        "profiles/llm/lmstudio.json",
        include_str!("../../../profiles/llm/lmstudio.json"),
    ),
    (
        "profiles/llm/ollama.json",
        include_str!("../../../profiles/llm/ollama.json"),
    ),
    (
        "profiles/llm/openai.json",
        include_str!("../../../profiles/llm/openai.json"),
    ),
    (
        "profiles/llm/openrouter.json",
        include_str!("../../../profiles/llm/openrouter.json"),
    ),
    (
        "profiles/llm/vllm.json",
        include_str!("../../../profiles/llm/vllm.json"),
    ),
];
