//! New content that a part states as a whole: binary data, and the target of a symbolic link.
//!
//! Owns: the checks that tie such content to the base and to the ids of the header. Never: guesses a content that the
//! answer leaves out, or repairs data.

use std::sync::Arc;

use super::{LINK, PathAction, ResolvedPart, StopReason, refuse_path};
use crate::binary::{BinaryFault, unpack_data};
use crate::canonical::blob_id;
use crate::link::check_link;
use crate::parse::{BinaryPart, FileEdit, Hunk, LineMark};
use crate::{FileMode, RefusalCode, Repair};

/// Id that git writes for no content.
const NO_ID: &str = "0000000000000000000000000000000000000000";

/// Returns true if the header states that the file is a symbolic link.
pub(super) fn states_link(edit: &FileEdit) -> bool {
    let extended = &edit.extended;
    let modes = [&extended.new_file, &extended.index_mode, &extended.deleted];
    modes.into_iter().flatten().any(|mode| mode == LINK)
}

/// Returns the new content that the part states as a whole, with the old one of `most` bytes or
/// fewer if it is binary. Returns `None` if its hunks state it, or if the file is deleted.
pub(super) fn stated_content(
    edit: &FileEdit,
    resolved: &mut ResolvedPart,
    most: usize,
) -> Result<Option<Arc<[u8]>>, StopReason> {
    let is_link = |mode: Option<FileMode>| mode == Some(FileMode::Symlink);
    let was_link = is_link(resolved.base.as_ref().map(|base| base.mode));
    let deletes = resolved.action == PathAction::Delete;
    if let Some(part) = &edit.extended.binary {
        if was_link || is_link(resolved.mode) {
            let what = "is a symbolic link, and its target is no binary data";
            return Err(refuse_path(RefusalCode::Malformed, &resolved.path, what));
        }
        return binary_content(edit, part, resolved, most);
    }
    if deletes || !(was_link || is_link(resolved.mode)) {
        return Ok(None);
    }
    resolved.mode = Some(FileMode::Symlink);
    let target = link_target(edit, resolved)?;
    match check_link(&resolved.path, &target) {
        Ok(()) => Ok(Some(target)),
        Err(fault) => {
            let what = format!("would be a symbolic link that {fault}");
            Err(refuse_path(RefusalCode::SymlinkTraversal, &resolved.path, &what))
        }
    }
}

/// Returns the new target of a link. Git shows it as a file with one line and without a final newline.
fn link_target(edit: &FileEdit, resolved: &mut ResolvedPart) -> Result<Arc<[u8]>, StopReason> {
    let old = resolved.base.as_ref().map(|base| &base.content);
    let moved = matches!(resolved.action, PathAction::Move { .. });
    if let (Some(old), true, []) = (old, moved, edit.hunks()) {
        return Ok(Arc::clone(old));
    }
    let lines = |mark| {
        let lines = edit.hunks().iter().flat_map(|hunk| &hunk.lines);
        lines.filter(move |line| line.mark == mark)
    };
    let mut added = lines(LineMark::Add);
    let shown = (added.next(), added.next(), lines(LineMark::Context).count());
    let ([hunk], (Some(new), None, 0)) = (edit.hunks(), shown) else {
        let what = "is a symbolic link, and a link has one target";
        return Err(refuse_path(RefusalCode::Malformed, &resolved.path, what));
    };
    let target: Arc<[u8]> = Arc::from(new.text.as_ref());
    if !new.no_newline {
        resolved.repairs.push(Repair {
            kind: "link-newline".to_owned(),
            detail: "the target of a link has no final newline".to_owned(),
        });
    }
    let (code, what) = match old {
        Some(old) if *old == target => (RefusalCode::Empty, "is a link with this target already"),
        Some(old) if !removes_only(hunk, old) => (
            RefusalCode::DoesNotApply,
            "is a link with another target than the answer removes",
        ),
        Some(_) | None => return Ok(target),
    };
    Err(refuse_path(code, &resolved.path, what))
}

fn removes_only(hunk: &Hunk, old: &[u8]) -> bool {
    let mut removed = hunk.lines.iter().filter(|line| line.mark == LineMark::Remove);
    removed.next().is_some_and(|line| line.text == old) && removed.next().is_none()
}

/// Returns the content that a binary patch gives. The ids of the header must be those of the base and of the result.
fn binary_content(
    edit: &FileEdit,
    part: &BinaryPart,
    resolved: &ResolvedPart,
    most: usize,
) -> Result<Option<Arc<[u8]>>, StopReason> {
    let deletes = resolved.action == PathAction::Delete;
    let refuse = |code, what: &str| Err(refuse_path(code, &resolved.path, what));
    let malformed = |what: &str| refuse(RefusalCode::Malformed, what);
    if !edit.hunks().is_empty() {
        return malformed("has lines and binary data");
    }
    let data = match part {
        BinaryPart::Data(data) => data,
        // A deletion needs no content, and its `index` line is compared with the base like that of every deletion.
        BinaryPart::LeftOut if deletes && edit.extended.index.is_some() => return Ok(None),
        BinaryPart::LeftOut => {
            let what = "is binary, and the diff leaves out its content";
            return refuse(RefusalCode::Binary, what);
        }
    };
    let ids = edit.extended.index.as_ref();
    let Some((old, new)) = ids.filter(|(old, new)| old.len() == NO_ID.len() && new.len() == NO_ID.len())
    else {
        return malformed("is a binary patch without an `index` line that has both whole ids");
    };
    let base = resolved.id.as_deref().unwrap_or(NO_ID);
    if base == new {
        return refuse(RefusalCode::Empty, "has this content already");
    }
    if base != old {
        let what = "has other content than the one that the binary patch is for";
        return refuse(RefusalCode::Stale, what);
    }
    let before = resolved.base.as_ref().map(|base| base.content.as_ref());
    let before: &[u8] = before.unwrap_or_default();
    let room = most.checked_sub(before.len()).ok_or(BinaryFault::TooLarge);
    let content = match room.and_then(|room| unpack_data(data, before, room)) {
        Ok(content) => content,
        Err(BinaryFault::TooLarge) => {
            let what = "is larger than the binary files of one answer may be";
            return refuse(RefusalCode::TooLarge, what);
        }
        Err(BinaryFault::Damaged) => return malformed("is a binary patch whose data is damaged"),
        Err(BinaryFault::OtherBase) => return malformed("is a binary patch for content of another size"),
    };
    let is_result = if deletes {
        content.is_empty() && new == NO_ID
    } else {
        blob_id(&content) == *new
    };
    if !is_result {
        return malformed("is a binary patch with another result than its `index` line names");
    }
    Ok(Some(content))
}
