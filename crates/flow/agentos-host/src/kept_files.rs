//! Files that stay withheld although their name is not: a person approved a change that moved withheld text there, and did not release it.
//!
//! The list is a policy file with `same_readers` alone, in the folder of the evidence: it can only restrict. Each consent on the tape
//! states whether the text was released.
//!
//! Owns: the file. Never: removes an entry; the user edits the file for that.

use std::path::PathBuf;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_executor::Repository;
use agentos_policy::{Layer, PolicySource, TakenText};

use crate::environment::Environment;
use crate::own_file::{lock_own_text, read_own_text, write_own_text};

/// Name of the file.
const FILE: &str = "withheld.toml";
const LARGEST_FILE: u64 = 1 << 20;
const CODE: &str = "policy-error";
const HEADER: &str =
    "# Files with text of withheld files. Whoever may not read `of` may not read `path`.\nversion = 1\n";

fn path_of(repo: &Repository) -> PathBuf {
    repo.state_dir().join(FILE)
}

/// Reads the list as a source of policy. `None` if nothing was ever kept.
///
/// # Errors
/// If it cannot be read, or other users can change it.
pub(crate) fn read_kept(
    environment: &Environment,
    repo: &Repository,
) -> Result<Option<PolicySource>, EffectError> {
    let text = read_own_text(environment, &path_of(repo), CODE, LARGEST_FILE).map_err(as_policy_fault)?;
    Ok(text.map(|text| PolicySource {
        layer: Layer::User,
        name: format!("kept/{FILE}"),
        text,
    }))
}

/// Adds the files to which a change adds text of withheld files. Policy knows them when it is read the next time.
///
/// # Errors
/// If the list cannot be read or written.
pub(crate) fn add_kept(
    environment: &Environment,
    repo: &Repository,
    taken: &[TakenText],
) -> Result<(), EffectError> {
    if taken.is_empty() {
        return Ok(());
    }
    let path = path_of(repo);
    let _lock = lock_own_text(&path, CODE).map_err(as_policy_fault)?;
    let text = read_own_text(environment, &path, CODE, LARGEST_FILE).map_err(as_policy_fault)?;
    let mut text = text.unwrap_or_else(|| HEADER.to_owned());
    for taken in taken {
        let entry = format_entry(taken);
        if !text.contains(&entry) {
            text.push_str(&entry);
        }
    }
    write_own_text(&path, &text, CODE).map_err(as_policy_fault)
}

/// Writes an entry. A JSON string is a TOML string as well.
fn format_entry(taken: &TakenText) -> String {
    let [path, of] = [&taken.path, &taken.from].map(|text| serde_json::json!(text));
    format!("\n[[same_readers]]\npath = {path}\nof = {of}\n")
}

fn as_policy_fault(error: EffectError) -> EffectError {
    EffectError {
        cause: Cause::Policy,
        ..error
    }
}

#[cfg(test)]
mod tests {
    use agentos_policy::PolicySet;

    use super::*;

    #[test]
    fn an_entry_is_toml_whatever_the_names_are() {
        for name in ["a.md", "a \"b\".md", "a\\b", "ä/\u{7}.md", "a'\n[x]"] {
            let entry = format_entry(&TakenText {
                path: name.to_owned(),
                from: "private/plan.txt".to_owned(),
            });
            let source = PolicySource {
                layer: Layer::User,
                name: FILE.to_owned(),
                text: format!("{HEADER}{entry}"),
            };
            assert!(PolicySet::load(&[source]).is_ok(), "{entry}");
        }
    }
}
