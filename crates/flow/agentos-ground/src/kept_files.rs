//! Files that stay withheld although their name is not: a person approved a change that moved withheld text there, and did not release it.
//!
//! The list is a policy file with `same_readers` alone, in the folder of the evidence. An unpacked archive can contain that folder, so a
//! list with anything else is refused: as a source of the user, it could loosen rules. Each consent on the tape states whether the text
//! was released.
//!
//! Owns: the file. Never: removes an entry; the user removes the lines of an entry for that. Never follows a link.

use std::path::PathBuf;

use agentos_credentials::{lock_own_file, replace_own_file};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_executor::Repository;
use agentos_policy::{Layer, PolicySource, TakenText};

use crate::repository_id::read_state_text;

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
/// If it cannot be read, or contains anything but entries.
pub(crate) fn read_kept(repo: &Repository) -> Result<Option<PolicySource>, EffectError> {
    Ok(read_list(repo)?.map(|text| PolicySource {
        layer: Layer::User,
        name: format!("kept/{FILE}"),
        text,
    }))
}

/// Adds the files to which a change adds text of withheld files. Policy knows them when it is read the next time.
///
/// # Errors
/// If the list cannot be read or written.
pub(crate) fn add_kept(repo: &Repository, taken: &[TakenText]) -> Result<(), EffectError> {
    if taken.is_empty() {
        return Ok(());
    }
    let path = path_of(repo);
    // Before the lock, which makes a file in a folder that may be a link.
    read_list(repo)?;
    let failed = |error| EffectError::from_error(Cause::Policy, CODE, &error);
    let _lock = lock_own_file(&path).map_err(failed)?;
    let mut text = read_list(repo)?.unwrap_or_else(|| HEADER.to_owned());
    for taken in taken {
        let entry = format_entry(taken);
        if !text.contains(&entry) {
            text.push_str(&entry);
        }
    }
    replace_own_file(&path, &text).map_err(failed)
}

fn read_list(repo: &Repository) -> Result<Option<String>, EffectError> {
    let refuse = || {
        let message = format!("`{}` is not a list of kept files", path_of(repo).display());
        EffectError::new(Cause::Policy, CODE, message).hint("remove it if you did not make it")
    };
    let text = read_state_text(repo.common_dir(), FILE, LARGEST_FILE).map_err(|_| refuse())?;
    match text {
        Some(text) if !has_entries_alone(&text) => Err(refuse()),
        text => Ok(text),
    }
}

/// Returns true if a text is the header and entries, line by line as this module writes them.
fn has_entries_alone(text: &str) -> bool {
    let Some(entries) = text.strip_prefix(HEADER) else {
        return false;
    };
    let is_string = |line: &str, key: &str| {
        let value = line.strip_prefix(key);
        value.is_some_and(|value| serde_json::from_str::<String>(value).is_ok())
    };
    let lines: Vec<&str> = entries.lines().filter(|line| !line.is_empty()).collect();
    lines.chunks(3).all(|entry| {
        matches!(entry, ["[[same_readers]]", path, of] if is_string(path, "path = ") && is_string(of, "of = "))
    })
}

/// Writes an entry. A JSON string is a TOML string as well.
fn format_entry(taken: &TakenText) -> String {
    let [path, of] = [&taken.path, &taken.from].map(|text| serde_json::json!(text));
    format!("\n[[same_readers]]\npath = {path}\nof = {of}\n")
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
            assert!(has_entries_alone(&format!("{HEADER}{entry}")), "{entry}");
            let source = PolicySource {
                layer: Layer::User,
                name: FILE.to_owned(),
                text: format!("{HEADER}{entry}"),
            };
            assert!(PolicySet::load(&[source]).is_ok(), "{entry}");
        }
    }

    #[test]
    fn a_list_with_anything_else_is_refused() {
        let entry = format_entry(&TakenText {
            path: "a.md".to_owned(),
            from: "private/plan.txt".to_owned(),
        });
        assert!(has_entries_alone(HEADER));
        for planted in [
            "preset = \"none\"\n",
            "[[rule]]\nid = \"all\"\neffect = \"allow\"\n",
            "[[same_readers]]\npath = \"a\"\nof = \"b\"\npreset = \"none\"\n",
            "[[same_readers]]\npath = \"a\" # \"\nof = \"b\"\n",
        ] {
            for text in [
                format!("{HEADER}{planted}"),
                format!("{HEADER}{entry}{planted}"),
                planted.to_owned(),
            ] {
                assert!(!has_entries_alone(&text), "{text}");
            }
        }
    }
}
