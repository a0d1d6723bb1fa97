//! One file's change as text.
//!
//! Owns: which changes a diff can express as text, and how the others are written so that landing refuses them by name.
//! Never: reads a file.

use std::sync::Arc;

use agentos_landing::{FileMode, FileState, RepoPath, quote_name};

use super::PathContent;

/// A path with its state before and after; `None` if there is no file.
pub(super) type PathStates = (RepoPath, Option<FileState>, Option<FileState>);

/// Returns the states of a path before and after. `None` if a diff cannot express them as text, if a file becomes a link or a
/// link a file, or if the path may not be changed.
pub(super) fn expressed_states(
    path: &str,
    old: Option<&PathContent>,
    new: Option<&PathContent>,
) -> Option<PathStates> {
    let is_link = |side: Option<&PathContent>| matches!(side, Some(PathContent::Link(_)));
    if old.is_some() && new.is_some() && is_link(old) != is_link(new) {
        return None;
    }
    let state = |side: Option<&PathContent>| match side {
        None => Some(None),
        Some(PathContent::File(state)) => is_expressed(state).then(|| Some(state.clone())),
        Some(PathContent::Link(to)) => Some(Some(FileState {
            mode: FileMode::Symlink,
            content: Arc::from(to.as_bytes()),
        })),
    };
    // A file that is there may have a name that other systems reserve.
    let checked = old.map_or_else(|| RepoPath::new(path), |_| RepoPath::of_base(path));
    Some((checked.ok()?, state(old)?, state(new)?))
}

/// Returns true for UTF-8 and for content that a diff holds as binary data. Other encodings are lines of a diff, and an answer is
/// UTF-8.
fn is_expressed(state: &FileState) -> bool {
    state.is_binary() || std::str::from_utf8(&state.content).is_ok()
}

/// Formats a change that a text diff cannot express as git would print it, so that landing refuses it with a reason.
pub(super) fn format_refused(path: &str, old: Option<&PathContent>, new: Option<&PathContent>) -> String {
    let name = |side: Option<&PathContent>, prefix: &str| match side {
        Some(_) => quote_name(prefix, path),
        None => "/dev/null".to_owned(),
    };
    let (before, after) = (name(old, "a/"), name(new, "b/"));
    // A tool chooses the name. A line break in it could otherwise begin another file's diff.
    let head = format!(
        "diff --git {} {}\n",
        quote_name("a/", path),
        quote_name("b/", path)
    );
    match (old, new) {
        // Mode 120000 is git's for a symbolic link, whose content is its target. A line break in the target could otherwise
        // begin another file's diff.
        (_, Some(PathContent::Link(to))) => format!(
            "{head}new file mode 120000\n--- {before}\n+++ {after}\n@@ -0,0 +1 @@\n+{}\n\\ No newline at end of file\n",
            to.replace(['\n', '\r'], "?")
        ),
        (Some(PathContent::Link(to)), None) => format!(
            "{head}deleted file mode 120000\n--- {before}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{}\n\\ No newline at end of \
             file\n",
            to.replace(['\n', '\r'], "?")
        ),
        _ => format!("{head}Binary files {before} and {after} differ\n"),
    }
}

/// Builds the state of a file from its content.
pub(super) fn file_state(content: Vec<u8>, executable: bool) -> FileState {
    FileState {
        mode: if executable {
            FileMode::Executable
        } else {
            FileMode::Regular
        },
        content: Arc::from(content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_line_break_begins_no_other_diff() {
        let path = "a\ndiff --git a/x b/x";
        let file = PathContent::File(file_state(b"\xff".to_vec(), false));
        let link = PathContent::Link("t\n+++ b/x".to_owned());
        let quoted = |prefix: &str| format!("\"{prefix}/a\\ndiff --git a/x b/x\"");
        let head = format!("diff --git {} {}\n", quoted("a"), quoted("b"));
        assert_eq!(
            format_refused(path, None, Some(&file)),
            format!("{head}Binary files /dev/null and {} differ\n", quoted("b"))
        );
        for (old, new) in [(None, Some(&link)), (Some(&link), None)] {
            let text = format_refused(path, old, new);
            assert!(text.starts_with(&head), "{text}");
            assert_eq!(text.matches("\ndiff --git").count(), 0, "{text}");
            assert_eq!(text.matches("\n+++ ").count(), 1, "{text}");
        }
    }
}
