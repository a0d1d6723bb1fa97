//! Resolves the names and headers of one part to a path and an action.
//!
//! Owns: agreement of the header lines with each other and with the base. Never: follows a link, or picks one of two
//! files that a name could mean.

mod content;
mod names;

use std::sync::Arc;

use names::PartLookup;

use crate::parse::{EditBody, FileEdit, HeaderName};
use crate::path::{parent_dirs, split_name};
use crate::placement::content_of;
use crate::refusal::about_path;
use crate::{
    Base, BaseEntry, BaseError, ChangeError, EntryKind, FileMode, FileState, Refusal, RefusalCode, Repair,
    RepoPath, limits,
};

/// Action on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathAction {
    /// The file is created.
    Create,
    /// The bytes or the mode of the file change.
    Modify,
    /// The file is deleted.
    Delete,
    /// The file is renamed or copied.
    Move {
        /// Path of the source.
        from: RepoPath,
        /// True if the source stays.
        copy: bool,
    },
}

/// Part of an answer with its path in the base.
pub(crate) struct ResolvedPart {
    /// Path that is written.
    pub path: RepoPath,
    /// Action on the path.
    pub action: PathAction,
    /// New mode. `None` if none is stated.
    pub mode: Option<FileMode>,
    /// State of the source: of the path itself, or of the file that is moved. `None` for a new file.
    pub base: Option<FileState>,
    /// Object id of the source. `None` for a new file.
    pub id: Option<String>,
    /// New content, if the part states it as a whole: binary data, or the target of a link. `None` if its hunks do, or if
    /// the file is deleted without showing it.
    pub content: Option<Arc<[u8]>>,
    /// Repairs of the names.
    pub repairs: Vec<Repair>,
}

/// Reason to stop: a refusal, or a base that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StopReason {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Base(#[from] BaseError),
}

impl ResolvedPart {
    /// Returns the path of the base that the part changes: of the file itself, or of the one that is moved.
    pub(crate) fn source(&self) -> &str {
        match &self.action {
            PathAction::Move { from, .. } => from.as_str(),
            PathAction::Create | PathAction::Modify | PathAction::Delete => self.path.as_str(),
        }
    }
}

/// Resolves the names, the action, the modes and the content that is stated as a whole. A small answer can unpack to a large
/// content, so `binary_bytes` is what is left for binary content.
pub(crate) fn resolve_part(
    edit: &FileEdit,
    base: &dyn Base,
    binary_bytes: usize,
) -> Result<ResolvedPart, StopReason> {
    let repairs = Vec::new();
    let mut resolved = PartLookup { edit, base, repairs }.resolve_path()?;
    resolved.content = content::stated_content(edit, &mut resolved, binary_bytes)?;
    Ok(resolved)
}

impl PartLookup<'_> {
    /// Resolves the names, the action and the modes of one part.
    fn resolve_path(mut self) -> Result<ResolvedPart, StopReason> {
        let (path, from) = self.resolve_names()?;
        let (edit, base) = (self.edit, self.base);
        let mut resolved = ResolvedPart {
            action: PathAction::Modify,
            mode: stated_mode(edit, path.as_str())?,
            base: None,
            id: None,
            content: None,
            repairs: std::mem::take(&mut self.repairs),
            path,
        };
        if let Some(from) = from {
            return self.resolve_move(resolved, from);
        }
        let entry = base.entry(resolved.path.as_str())?;
        // A directory with this name is handled later, when it is known what the other parts delete.
        let entry = entry.filter(|entry| !(says_new(edit) && makes_room(entry)));
        resolved.action = self.path_action(&resolved.path, entry.as_ref())?;
        if let (Some(entry), PathAction::Modify | PathAction::Delete) = (entry, &resolved.action) {
            let is_link = content::states_link(edit);
            let state = self.source_state(&resolved.path, &entry, is_link)?;
            (resolved.base, resolved.id) = (Some(state), Some(entry.id));
        }
        check_old_mode(edit, &resolved)?;
        Ok(resolved)
    }

    fn resolve_move(&self, mut resolved: ResolvedPart, from: RepoPath) -> Result<ResolvedPart, StopReason> {
        let has_no_place = |path, what| Err(refuse_path(RefusalCode::DoesNotApply, path, what));
        let Some(entry) = self.base.entry(from.as_str())? else {
            return has_no_place(&from, "does not exist, so it cannot be moved");
        };
        let there = self.base.entry(resolved.path.as_str())?;
        if from != resolved.path && there.is_some_and(|entry| !makes_room(&entry)) {
            return has_no_place(&resolved.path, "already exists");
        }
        // A link that is only renamed keeps its target. The header of such a part states no mode.
        let is_link = entry.kind == EntryKind::Symlink && self.edit.hunks().is_empty();
        let state = self.source_state(&from, &entry, is_link)?;
        (resolved.base, resolved.id) = (Some(state), Some(entry.id));
        resolved.action = PathAction::Move {
            from,
            copy: self.edit.extended.copy,
        };
        check_old_mode(self.edit, &resolved)?;
        Ok(resolved)
    }

    /// Returns the state of a file of the base, or of a symbolic link if the part is about one.
    fn source_state(
        &self,
        path: &RepoPath,
        entry: &BaseEntry,
        is_link: bool,
    ) -> Result<FileState, StopReason> {
        let mode = match (&entry.kind, is_link) {
            (EntryKind::Symlink, true) => FileMode::Symlink,
            (_, true) => {
                let what = "is not a symbolic link";
                return Err(refuse_path(RefusalCode::ModeChange, path, what));
            }
            (EntryKind::File(mode), false) => *mode,
            // Writing through a link would change a file that the diff does not name.
            (kind, false) => {
                let (code, what) = obstacle(kind).unwrap_or((RefusalCode::DoesNotApply, "is a directory"));
                return Err(refuse_path(code, path, what));
            }
        };
        let content = self.base.read(&entry.id)?;
        if content.len() > limits::FILE_BYTES {
            let what = "is larger than the limit";
            return Err(refuse_path(RefusalCode::TooLarge, path, what));
        }
        Ok(FileState { mode, content })
    }

    /// Returns the action that the headers and the hunks state.
    fn path_action(&self, path: &RepoPath, entry: Option<&BaseEntry>) -> Result<PathAction, StopReason> {
        let creates = says_new(self.edit);
        let deletes =
            self.edit.delete || self.edit.new == HeaderName::Nothing || self.edit.extended.deleted.is_some();
        let refuse = |code, what: &str| Err(refuse_path(code, path, what));
        let malformed = |what: &str| refuse(RefusalCode::Malformed, what);
        // Each of these contradictions has two readings with different results, so none of them is picked.
        if creates && deletes {
            return malformed("is created and deleted by the same header");
        }
        // A new or deleted file has one mode, so a change of its mode contradicts the header.
        if (creates || deletes)
            && (self.edit.extended.new_mode.is_some() || self.edit.extended.old_mode.is_some())
        {
            return malformed("is created or deleted, but also changes its mode");
        }
        if creates
            && self
                .edit
                .hunks()
                .iter()
                .any(|hunk| hunk.old_lines().next().is_some())
        {
            return malformed("is stated as new, but its hunks contain old lines");
        }
        if deletes
            && self
                .edit
                .hunks()
                .iter()
                .any(|hunk| hunk.new_lines().next().is_some())
        {
            return malformed("is stated as deleted, but its hunks keep lines");
        }
        match entry {
            Some(entry) if creates && self.has_same_content(entry)? => {
                refuse(RefusalCode::Empty, "already exists with the same content")
            }
            Some(entry) if creates && turns_kind(self.edit, entry) => {
                Err(turned_kind_refusal(ChangeError::Link(path.clone())).into())
            }
            Some(_) if creates => refuse(RefusalCode::DoesNotApply, "is stated as new, but already exists"),
            Some(_) if deletes => Ok(PathAction::Delete),
            Some(_) => Ok(PathAction::Modify),
            None if creates => Ok(PathAction::Create),
            // Models often omit the header lines of a new file. The hunk itself shows that nothing was there.
            None if !deletes && describes_new_file(self.edit) => Ok(PathAction::Create),
            None => Err(self.missing_path(path, deletes)?),
        }
    }

    /// Returns true if the file has the content and the mode that the part would give it.
    fn has_same_content(&self, entry: &BaseEntry) -> Result<bool, BaseError> {
        let stated = self.edit.extended.new_file.as_deref().map(parse_mode);
        let regular = match entry.kind {
            EntryKind::File(mode) => stated.is_none_or(|stated| stated == Ok(mode)),
            EntryKind::Symlink => stated == Some(Ok(FileMode::Symlink)),
            EntryKind::Gitlink | EntryKind::Directory => false,
        };
        if self.edit.extended.binary.is_some() {
            // Binary data is not unpacked for the comparison: its id names it.
            let new = self.edit.extended.index.as_ref().map(|(_, new)| new);
            return Ok(regular && new == Some(&entry.id));
        }
        let lines = self.edit.hunks().iter().flat_map(|hunk| &hunk.lines);
        Ok(regular && *self.base.read(&entry.id)? == *content_of(lines))
    }

    fn missing_path(&self, path: &RepoPath, deletes: bool) -> Result<StopReason, StopReason> {
        /// Maximum number of suggested paths.
        const SHOWN: usize = 3;
        for above in parent_dirs(path.as_str()) {
            if let Some((code, what)) = self.base.entry(above)?.and_then(|entry| obstacle(&entry.kind)) {
                let what = format!("cannot be reached: `{above}` {what}");
                return Ok(refuse_path(code, path, &what));
            }
        }
        let (_, name) = split_name(path.as_str());
        let near = self.base.paths_ending_with(name, SHOWN)?;
        // Nothing of this name anywhere: the deletion was made before. With a similar path, the name may be wrong.
        if deletes && near.is_empty() {
            let what = "does not exist, so there is nothing to delete";
            return Ok(refuse_path(RefusalCode::Empty, path, what));
        }
        let mut refusal = about_path(RefusalCode::DoesNotApply, path, "is not in the repository");
        if !near.is_empty() {
            refusal = refusal.hint(format!("did you mean `{}`?", near.join("`, `")));
        }
        Ok(refusal.into())
    }
}

fn refuse_path(code: RefusalCode, path: &RepoPath, what: &str) -> StopReason {
    about_path(code, path, what).into()
}

/// Returns why no path may go through an object of this kind. Returns `None` for files and directories.
pub(crate) fn obstacle(kind: &EntryKind) -> Option<(RefusalCode, &'static str)> {
    match kind {
        EntryKind::Symlink => Some((RefusalCode::SymlinkTraversal, "is a symbolic link")),
        EntryKind::Gitlink => Some((RefusalCode::Submodule, "is a submodule")),
        EntryKind::File(_) | EntryKind::Directory => None,
    }
}

/// Returns true if the headers state that the file is new.
fn says_new(edit: &FileEdit) -> bool {
    edit.create || edit.old == HeaderName::Nothing || edit.extended.new_file.is_some()
}

/// Returns true if a new file may take the name of this directory. That needs the other parts to delete all files in
/// it, which `checks` verifies for the whole change.
fn makes_room(entry: &BaseEntry) -> bool {
    entry.kind == EntryKind::Directory
}

/// Returns true if the part gives a link where a file is, or a file where a link is.
fn turns_kind(edit: &FileEdit, entry: &BaseEntry) -> bool {
    let gives_link = edit.extended.new_file.as_deref() == Some(LINK);
    match entry.kind {
        EntryKind::File(_) => gives_link,
        EntryKind::Symlink => !gives_link,
        EntryKind::Gitlink | EntryKind::Directory => false,
    }
}

/// Returns the refusal of a change in which a file turns into a link, or a link into a file. It has the code of modes:
/// a person who agrees to a new content of a path does not agree to another kind of it, and no text diff shows the two
/// sides next to each other. Deleting the one and making the other are two changes, each with a consent of its own.
pub(crate) fn turned_kind_refusal(error: ChangeError) -> Refusal {
    Refusal::new(RefusalCode::ModeChange, error.to_string())
        .hint("delete it in one change, and make the other in the next one")
}

/// Returns true for a part that describes a new file without `/dev/null` or `new file mode`: one hunk of added lines
/// that states no old line.
fn describes_new_file(edit: &FileEdit) -> bool {
    match (&edit.body, edit.hunks()) {
        (EditBody::Whole(_), _) => true,
        (EditBody::Hunks(_), [only]) => {
            let (start, count) = (only.stated.old_start, only.stated.old_count);
            only.old_lines().next().is_none()
                && count.is_none_or(|count| count == 0)
                && start.is_none_or(|start| start == 0)
        }
        (EditBody::Hunks(_), _) => false,
    }
}

/// Mode of a symbolic link, as git prints it.
const LINK: &str = "120000";

/// Reads the stated modes. A file does not become a symbolic link by a change of its mode. Returns `None` if no new mode
/// is stated.
fn stated_mode(edit: &FileEdit, path: &str) -> Result<Option<FileMode>, StopReason> {
    let extended = &edit.extended;
    let mut stated = None;
    for text in [
        &extended.new_file,
        &extended.new_mode,
        &extended.index_mode,
        &extended.deleted,
        &extended.old_mode,
    ]
    .into_iter()
    .flatten()
    {
        let changes = extended.new_mode.as_ref() == Some(text) || extended.old_mode.as_ref() == Some(text);
        let mode = parse_mode(text).and_then(|mode| match mode {
            FileMode::Symlink if changes => Err(RefusalCode::ModeChange),
            FileMode::Symlink | FileMode::Regular | FileMode::Executable => Ok(mode),
        });
        let what = format!("has mode `{text}`, which cannot be landed");
        let mode = mode.map_err(|code| about_path(code, path, &what))?;
        // Every stated mode is checked, but only these two set the mode of the result.
        let new = Some(text) == extended.new_file.as_ref() || Some(text) == extended.new_mode.as_ref();
        if new && stated.is_none() {
            stated = Some(mode);
        }
    }
    Ok(stated)
}

fn parse_mode(text: &str) -> Result<FileMode, RefusalCode> {
    let mut modes = [FileMode::Regular, FileMode::Executable, FileMode::Symlink].into_iter();
    let mode = modes.find(|mode| mode.as_git() == text);
    mode.ok_or(match text {
        "160000" => RefusalCode::Submodule,
        _ => RefusalCode::ModeChange,
    })
}

/// Checks that a stated old mode is the real one.
fn check_old_mode(edit: &FileEdit, resolved: &ResolvedPart) -> Result<(), StopReason> {
    let (Some(text), Some(base)) = (&edit.extended.old_mode, &resolved.base) else {
        return Ok(());
    };
    if parse_mode(text) == Ok(base.mode) {
        return Ok(());
    }
    let refuse = |code, what: &str| Err(refuse_path(code, &resolved.path, what));
    let modifies = resolved.action == PathAction::Modify && edit.hunks().is_empty();
    if modifies && resolved.mode == Some(base.mode) {
        return refuse(RefusalCode::Empty, "already has this mode");
    }
    let what = format!("has mode {}, not `{text}` as the answer says", base.mode.as_git());
    refuse(RefusalCode::DoesNotApply, &what)
}
