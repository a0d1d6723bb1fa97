//! The profiles that are compiled into the program, so that it needs no files next to it.
//!
//! Owns: the list of the built-in files, which lie in `profiles/` at the top of the repository. Never: changes a value of
//! a profile.

use std::collections::BTreeMap;

use crate::{ProfileError, ProfileFile, file};

/// Returns the built-in profiles by provider.
///
/// # Errors
/// If a file is not a valid profile. A test parses them all, so this does not happen in a release.
pub fn builtin_profiles() -> Result<BTreeMap<String, ProfileFile>, ProfileError> {
    let mut all = BTreeMap::new();
    for (name, text) in FILES {
        let profile = file::parse_profile(name, text)?;
        all.insert(profile.provider.clone(), profile);
    }
    Ok(all)
}

/// Path and text of each file. Error messages name the path.
const FILES: &[(&str, &str)] = &[
    (
        "profiles/agents/aider.json",
        include_str!("../../../../profiles/agents/aider.json"),
    ),
    (
        "profiles/agents/claude-code.json",
        include_str!("../../../../profiles/agents/claude-code.json"),
    ),
    (
        "profiles/agents/codex.json",
        include_str!("../../../../profiles/agents/codex.json"),
    ),
    (
        "profiles/agents/gemini-cli.json",
        include_str!("../../../../profiles/agents/gemini-cli.json"),
    ),
    (
        "profiles/agents/gemini-cli-acp.json",
        include_str!("../../../../profiles/agents/gemini-cli-acp.json"),
    ),
    (
        "profiles/agents/goose.json",
        include_str!("../../../../profiles/agents/goose.json"),
    ),
    (
        "profiles/agents/opencode.json",
        include_str!("../../../../profiles/agents/opencode.json"),
    ),
    (
        "profiles/agents/opencode-acp.json",
        include_str!("../../../../profiles/agents/opencode-acp.json"),
    ),
    (
        "profiles/llm/anthropic.json",
        include_str!("../../../../profiles/llm/anthropic.json"),
    ),
    (
        "profiles/llm/azure.json",
        include_str!("../../../../profiles/llm/azure.json"),
    ),
    (
        "profiles/llm/gemini.json",
        include_str!("../../../../profiles/llm/gemini.json"),
    ),
    (
        "profiles/llm/litellm.json",
        include_str!("../../../../profiles/llm/litellm.json"),
    ),
    (
        "profiles/llm/llamacpp.json",
        include_str!("../../../../profiles/llm/llamacpp.json"),
    ),
    (
        "profiles/llm/lmstudio.json",
        include_str!("../../../../profiles/llm/lmstudio.json"),
    ),
    (
        "profiles/llm/ollama.json",
        include_str!("../../../../profiles/llm/ollama.json"),
    ),
    (
        "profiles/llm/openai.json",
        include_str!("../../../../profiles/llm/openai.json"),
    ),
    (
        "profiles/llm/openrouter.json",
        include_str!("../../../../profiles/llm/openrouter.json"),
    ),
    (
        "profiles/llm/vllm.json",
        include_str!("../../../../profiles/llm/vllm.json"),
    ),
    (
        "profiles/llm/zai.json",
        include_str!("../../../../profiles/llm/zai.json"),
    ),
];
