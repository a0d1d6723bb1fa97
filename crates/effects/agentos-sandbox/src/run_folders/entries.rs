//! Writes, hides and removes single files in a tool's folders.
//!
//! The tool may run as another user than this program, and may have put links anywhere in its folders. So every new entry
//! gets the owner of the tool's folder, and no link is followed.
//!
//! Owns: single entries by their path below a tool's folder. Never: follows a link below that folder, or gives a new entry
//! another owner than the folder has.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use agentos_beneath::{EntryKind, FolderOwner, OpenFolder, TreeError};

/// Treatment of an entry that is not a folder, at a path where a folder is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObstaclePolicy {
    Fail,
    Remove,
}

/// Creates a file in a tool's folder, readable by that folder's owner alone, and the folders above it.
///
/// # Errors
/// If it cannot be written, or if something exists at that path.
pub fn put_file(folder: &Path, name: &Path, bytes: &[u8]) -> io::Result<()> {
    let root = OpenFolder::open_root(folder)?;
    let owner = other_owner(&root)?;
    let above = open_above(root, name, owner, ObstaclePolicy::Fail)?;
    Ok(write_file(&above, last_component(name)?, bytes, 0o600, owner)?)
}

/// Hides a file of an overlay's lower folder by a whiteout. `upper` is the overlay's upper folder.
///
/// # Errors
/// If the whiteout cannot be created, which is always so on a system without overlays.
pub fn hide_file(upper: &Path, name: &Path) -> io::Result<()> {
    let root = OpenFolder::open_root(upper)?;
    let owner = other_owner(&root)?;
    let above = open_above(root, name, owner, ObstaclePolicy::Fail)?;
    Ok(above.create_whiteout(last_component(name)?)?)
}

/// Removes a file from a full copy, which is used where there are no overlays. A missing file is no error.
///
/// # Errors
/// If it cannot be removed.
pub fn remove_file(copy: &Path, name: &Path) -> io::Result<()> {
    let above = name.parent().unwrap_or(Path::new(""));
    match OpenFolder::open_root(copy)?.open_path(above) {
        Ok(folder) => Ok(folder.remove_entry(last_component(name)?)?),
        Err(TreeError::NotAFolder(_)) => Ok(()),
        Err(error) if error.is_missing() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Writes a file of a candidate (a change that is to be checked) into a folder that a tool will see. Replaces whatever is
/// at that path, even a folder or a link. Anything above it that is not a folder is removed.
///
/// # Errors
/// If it cannot be written.
pub fn replace_file(folder: &Path, name: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    let root = OpenFolder::open_root(folder)?;
    let owner = other_owner(&root)?;
    let above = open_above(root, name, owner, ObstaclePolicy::Remove)?;
    let name = last_component(name)?;
    // Removed and created again instead of overwritten: the old entry could be a link, or have a second hard link, under
    // which its content would change too.
    above.remove_tree(name)?;
    let mode = if executable { 0o700 } else { 0o600 };
    Ok(write_file(&above, name, bytes, mode, owner)?)
}

/// Creates a folder and those above it, and returns it.
///
/// # Errors
/// If it exists, or cannot be created.
pub(super) fn create_folders(folder: &Path, name: &Path) -> Result<OpenFolder, TreeError> {
    let root = OpenFolder::open_root(folder)?;
    let owner = other_owner(&root)?;
    let created =
        open_above(root, name, owner, ObstaclePolicy::Fail)?.create_folder(last_component(name)?, 0o755)?;
    if let Some(owner) = owner {
        created.give_to(owner)?;
    }
    Ok(created)
}

fn write_file(
    folder: &OpenFolder,
    name: &OsStr,
    bytes: &[u8],
    mode: u32,
    owner: Option<FolderOwner>,
) -> Result<(), TreeError> {
    let mut file = folder.create_file(name, mode)?;
    file.write_all(bytes).map_err(|source| TreeError::Io {
        action: "write",
        name: name.to_string_lossy().into_owned(),
        source,
    })?;
    owner.map_or(Ok(()), |owner| folder.give_entry(name, owner))
}

/// Opens the folder that will hold an entry, and creates the missing folders above it.
fn open_above(
    root: OpenFolder,
    name: &Path,
    owner: Option<FolderOwner>,
    obstacle: ObstaclePolicy,
) -> Result<OpenFolder, TreeError> {
    let mut folder = root;
    for part in name.parent().into_iter().flat_map(Path::components) {
        let part = part.as_os_str();
        let found = folder.inspect_entry(part)?.map(|found| found.kind);
        if found == Some(EntryKind::Folder) {
            folder = folder.open_folder(part)?;
            continue;
        }
        // Only a candidate's files may replace other entries. A copy of the user's own file must not destroy anything.
        if obstacle == ObstaclePolicy::Remove {
            folder.remove_entry(part)?;
        }
        folder = folder.create_folder(part, 0o755)?;
        if let Some(owner) = owner {
            folder.give_to(owner)?;
        }
    }
    Ok(folder)
}

/// Returns the owner that new entries of a folder must get. `None` if it is this program's own user: then they have it
/// already.
fn other_owner(folder: &OpenFolder) -> Result<Option<FolderOwner>, TreeError> {
    let owner = folder.inspect()?.owner;
    Ok((super::leftovers::own_user() != Some(owner.user)).then_some(owner))
}

fn last_component(name: &Path) -> Result<&OsStr, TreeError> {
    let refused = || TreeError::BadName(name.to_string_lossy().into_owned());
    name.file_name().ok_or_else(refused)
}
