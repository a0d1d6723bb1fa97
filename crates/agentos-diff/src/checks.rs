//! The states of a change against the base: nothing passes through a link or a submodule, nothing collides.
//!
//! Owns: what a path's surroundings forbid. Never: judges the name itself; `path` does.

use crate::plan::States;
use crate::{Base, BaseError, EntryKind, Refusal, RefusalCode};

/// The first reason why these states cannot stand in the base.
pub(crate) fn check(states: &States, base: &dyn Base) -> Result<Option<Refusal>, BaseError> {
    for (path, _, new) in states {
        let gone = |path: &str| states.iter().any(|(other, _, new)| new.is_none() && other.as_str() == path);
        let mut end = 0;
        while let Some(at) = path.as_str().get(end..).and_then(|rest| rest.find('/')) {
            end += at;
            let above = path.as_str().get(..end).unwrap_or_default();
            end += 1;
            let Some(entry) = base.entry(above)? else { break };
            let (code, what) = match entry.kind {
                EntryKind::Directory => continue,
                EntryKind::Symlink => (RefusalCode::SymlinkTraversal, "is a symbolic link"),
                EntryKind::Gitlink => (RefusalCode::Submodule, "is a submodule"),
                EntryKind::File(_) if gone(above) => break,
                EntryKind::File(_) => (RefusalCode::DoesNotApply, "is a file, not a directory"),
            };
            return Ok(Some(
                Refusal::new(code, format!("`{path}` cannot be written: `{above}` {what}")).at(path.as_str()),
            ));
        }
        let _ = new;
    }
    Ok(None)
}
