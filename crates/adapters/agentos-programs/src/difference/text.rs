//! One file's change as text.
//!
//! Owns: which changes a text diff can say, and how the others are written so that landing refuses them by name.
//! Never: reads a file.

use std::sync::Arc;

use agentos_landing::{FileMode, FileState, RepoPath};

use super::Side;

/// A path with its state before and after; `None` if there is no file.
pub(super) type PathStates = (RepoPath, Option<FileState>, Option<FileState>);

/// Returns the states of a change of text files under names that may be touched. `None` if it is another change.
pub(super) fn expressible(path: &str, old: Option<&Side>, new: Option<&Side>) -> Option<PathStates> {
    let file = |side: Option<&Side>| match side {
        None => Some(None),
        Some(Side::File(state)) if is_text(&state.content) => Some(Some(state.clone())),
        Some(Side::File(_) | Side::Link(_)) => None,
    };
    Some((RepoPath::new(path).ok()?, file(old)?, file(new)?))
}

fn is_text(content: &[u8]) -> bool {
    !content.contains(&0) && std::str::from_utf8(content).is_ok()
}

/// Formats a change that no text diff can say, as git would print it: landing refuses it and names why.
pub(super) fn inexpressible(path: &str, old: Option<&Side>, new: Option<&Side>) -> String {
    let name = |side: Option<&Side>, prefix: &str| match side {
        Some(_) => format!("{prefix}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (before, after) = (name(old, "a"), name(new, "b"));
    let head = format!("diff --git a/{path} b/{path}\n");
    match (old, new) {
        (_, Some(Side::Link(to))) => format!(
            "{head}new file mode 120000\n--- {before}\n+++ {after}\n@@ -0,0 +1 @@\n+{}\n\\ No newline at end of file\n",
            to.replace(['\n', '\r'], "?")
        ),
        (Some(Side::Link(to)), None) => format!(
            "{head}deleted file mode 120000\n--- {before}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{}\n\\ No newline at end of \
             file\n",
            to.replace(['\n', '\r'], "?")
        ),
        _ => format!("{head}Binary files {before} and {after} differ\n"),
    }
}

/// Builds the state of a file from its content.
pub(super) fn state(content: Vec<u8>, executable: bool) -> FileState {
    FileState {
        mode: if executable {
            FileMode::Executable
        } else {
            FileMode::Regular
        },
        content: Arc::from(content),
    }
}
