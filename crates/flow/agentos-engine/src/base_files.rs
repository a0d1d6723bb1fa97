//! The files of a base, as a search sees them.
//!
//! Owns: which files a search leaves out. Never: reads the text of a file other than `.agentosignore`.

use agentos_context::IgnorePatterns;
use agentos_landing::{Base, EntryKind};

use crate::context::unreadable_base;
use crate::ports::EffectError;

/// File of patterns whose matches are left out of the search.
const IGNORE_FILE: &str = ".agentosignore";
/// Folder of the repository's rules and profiles.
const OWN_FOLDER: &str = ".agentos";

/// Visits every file of a base with its path and object id, except those that are left out of a search.
///
/// # Errors
/// If the base cannot be read.
pub fn walk_files(
    base: &dyn Base,
    ignore: &IgnorePatterns,
    mut visit: impl FnMut(String, String),
) -> Result<(), EffectError> {
    walk_all_files(base, |path, id| {
        // Our own settings are part of a task only if the user names them as files to show.
        let is_own = path
            .strip_prefix(OWN_FOLDER)
            .is_some_and(|rest| rest.starts_with('/'));
        if !is_own && !ignore.leaves_out(&path) {
            visit(path, id);
        }
    })
}

/// Visits every file of a base with its path and object id.
///
/// # Errors
/// If the base cannot be read.
pub(crate) fn walk_all_files(
    base: &dyn Base,
    mut visit: impl FnMut(String, String),
) -> Result<(), EffectError> {
    // A list instead of recursion: the depth of the folders comes from untrusted content.
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for found in base.list(&folder).map_err(|error| unreadable_base(&error))? {
            // A tool is given paths as text, so a name that is not UTF-8 cannot be shown.
            let Ok(name) = String::from_utf8(found.name) else {
                continue;
            };
            let path = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            match found.entry.kind {
                EntryKind::Directory => folders.push(path),
                EntryKind::File(_) => visit(path, found.entry.id),
                EntryKind::Symlink | EntryKind::Gitlink => {}
            }
        }
    }
    Ok(())
}

/// Reads the patterns of files to leave out; there are none without the file.
///
/// # Errors
/// If the base cannot be read.
pub fn read_ignore(base: &dyn Base) -> Result<IgnorePatterns, EffectError> {
    let entry = base.entry(IGNORE_FILE).map_err(|error| unreadable_base(&error))?;
    // A link would be a path as text, whose words would be taken for patterns.
    let Some(entry) = entry.filter(|entry| matches!(entry.kind, EntryKind::File(_))) else {
        return Ok(IgnorePatterns::default());
    };
    let text = base.read(&entry.id).map_err(|error| unreadable_base(&error))?;
    Ok(IgnorePatterns::parse(&String::from_utf8_lossy(&text)))
}
