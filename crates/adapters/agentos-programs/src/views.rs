//! Folders of the user's, such as caches and build results, that a check sees as if they were its own.
//!
//! A view shows a folder and keeps what is written to it in the folders of the run, so nothing of it reaches the user's:
//!
//! | Overlays | Processes run as | A view is |
//! |---|---|---|
//! | work | the user | an overlay over the folder |
//! | work | a user of the run, because this program runs as root | by the fallback: overlayfs asks for rights on the lower files, which belong to somebody else |
//! | do not work | any | by the fallback |
//!
//! Owns: how a view is mounted, and its fallbacks. Never: writes to the user's folder, or copies one that is too large.

use std::path::{Path, PathBuf};

use agentos_beneath::OpenFolder;
use agentos_sandbox::{LaunchSpec, OverlayMount, RunFolders, SharedFolder};

use crate::AgentError;

/// Most bytes of a folder that is copied: half of what a run may write.
const LARGEST_COPY: u64 = 4 << 30;

/// Folder of the user's, as a check sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderView {
    /// The folder.
    pub from: PathBuf,
    /// Path at which the check sees it.
    pub place: ViewPlace,
    /// Replacement where no overlay can be mounted.
    pub fallback: ViewFallback,
}

/// The path at which a check sees a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewPlace {
    /// This path in the copy of the repository.
    Copy(String),
    /// This path in the git directory of the copy.
    GitDir(String),
    /// This path in the run's home folder.
    Home(String),
    /// The folder's own path. Build tools record absolute paths, and rebuild what seems to have moved.
    Same,
}

/// The replacement for an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewFallback {
    /// Show the folder read-only.
    Share,
    /// Copy the folder, or show it read-only if it is too large.
    CopyOrShare,
    /// Copy the folder, or leave it out if it is too large: the tool fails in a folder that it cannot write.
    CopyOrNothing,
    /// Leave it out.
    Nothing,
}

/// Adds the views to a launch spec. `overlaid` says whether overlays can be mounted. Returns the names of folders that are left
/// out or read-only because they are too large.
///
/// # Errors
/// If a folder of the run cannot be made, or a file cannot be copied.
pub(crate) fn add_views(
    spec: &mut LaunchSpec,
    views: &[FolderView],
    scratch: &RunFolders,
    overlaid: bool,
) -> Result<Vec<String>, AgentError> {
    let mut too_large = Vec::new();
    for (number, view) in views.iter().enumerate() {
        let at = match &view.place {
            ViewPlace::Copy(name) => scratch.copy().join(name),
            ViewPlace::GitDir(name) => scratch.copy().join(".git").join(name),
            ViewPlace::Home(name) => scratch.home().join(name),
            ViewPlace::Same => view.from.clone(),
        };
        if overlaid && scratch.identity().is_none() {
            let (upper, work) = scratch.create_view(number)?;
            spec.overlays.push(OverlayMount {
                lower: view.from.clone(),
                upper,
                work,
                at,
            });
            continue;
        }
        let is_copy_wanted = matches!(
            view.fallback,
            ViewFallback::CopyOrShare | ViewFallback::CopyOrNothing
        );
        let target = match &view.place {
            // Below the mount of the copy, or in the copy itself.
            ViewPlace::Copy(name) if overlaid => Some((scratch.changes(), name)),
            ViewPlace::Copy(name) => Some((scratch.copy(), name)),
            ViewPlace::Home(name) => Some((scratch.home(), name)),
            ViewPlace::GitDir(_) | ViewPlace::Same => None,
        };
        let is_copied = match target.filter(|_| is_copy_wanted) {
            Some((top, name)) => {
                let is_copied = copy_folder(&view.from, &top, name, scratch)?;
                if !is_copied {
                    too_large.push(name.clone());
                }
                is_copied
            }
            None => false,
        };
        let is_shared =
            !is_copied && matches!(view.fallback, ViewFallback::Share | ViewFallback::CopyOrShare);
        match &view.place {
            ViewPlace::Copy(_) | ViewPlace::GitDir(_) if is_shared => spec.shares.push(SharedFolder {
                from: view.from.clone(),
                at,
            }),
            ViewPlace::Same if is_shared => spec.readable.push(at),
            ViewPlace::Copy(_) | ViewPlace::GitDir(_) | ViewPlace::Home(_) | ViewPlace::Same => {}
        }
    }
    Ok(too_large)
}

/// Copies a folder to `name` below `top`, for the run's user. Returns false, and copies nothing, if it is too large.
fn copy_folder(from: &Path, top: &Path, name: &str, scratch: &RunFolders) -> Result<bool, AgentError> {
    let failed = |error| AgentError::unreadable_at(from)(std::io::Error::from(error));
    let source = OpenFolder::open_root(from).map_err(failed)?;
    let size = source.measure_tree(LARGEST_COPY, &mut || true);
    if size.bytes > LARGEST_COPY || !size.is_whole {
        return Ok(false);
    }
    scratch.copy_into(top, Path::new(name), &source)?;
    Ok(true)
}
