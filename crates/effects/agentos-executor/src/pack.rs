//! Writes the objects of a change with many files as one pack, so that two files are synced instead of hundreds.
//!
//! Owns: preparing in memory, and the pack. Never: is used for few files, since git searches every pack for an object.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use agentos_landing::Change;
use git2::{Config, PackBuilder, Tree};

use crate::journal::remove_if_there;
use crate::prepare::{PreparedChange, prepare_change};
use crate::{ExecError, ReceiptFile, RepoError, Repository};

/// Number of files of a change from which on its objects become a pack. git has the same limit for objects that it fetches
/// (`fetch.unpackLimit`).
pub(crate) const FROM_FILES: usize = 100;

/// Prepares a change as [`prepare_change`] does, with its objects in a new pack.
///
/// # Errors
/// Those of [`prepare_change`], and when the pack cannot be written.
pub(crate) fn prepare_packed(
    repository: &Repository,
    base: &Tree<'_>,
    change: &Change,
    files: Vec<ReceiptFile>,
) -> Result<PreparedChange, ExecError> {
    let failed = || ExecError::git("write a pack");
    // Another handle on the repository, whose new objects stay in memory until they are packed.
    let git = repository.another_handle()?;
    let store = git.odb().map_err(RepoError::git("open the object store"))?;
    let _memory = store.add_new_mempack_backend(1000).map_err(failed())?;
    let base = git
        .find_tree(base.id())
        .map_err(RepoError::git("read the base"))?;
    let prepared = prepare_change(&git, &git, &base, change, files, repository.fail_points())?;
    let mut builder = without_deltas(repository, &git)?;
    for id in &prepared.objects {
        builder.insert_object(*id, None).map_err(failed())?;
    }
    let folder = repository.common_dir().join("objects").join("pack");
    builder.write(&folder, 0o444).map_err(failed())?;
    repository.reach("pack written");
    let name = builder.name().map_err(failed())?.unwrap_or_default();
    let mut unsynced: Vec<PathBuf> = ["pack", "idx"]
        .map(|kind| folder.join(format!("pack-{name}.{kind}")))
        .into();
    unsynced.extend(agentos_durable::syncable_folder(folder));
    Ok(PreparedChange { unsynced, ..prepared })
}

/// Makes a pack builder that does not search for similar objects. That search would take longer than the rest of the
/// landing, and `git gc` does it when it packs again.
///
/// # Errors
/// When the settings cannot be written or read.
fn without_deltas<'a>(
    repository: &Repository,
    git: &'a git2::Repository,
) -> Result<PackBuilder<'a>, ExecError> {
    // libgit2 reads settings from files only.
    let path = repository.state_dir().join("pack.config");
    let write = || -> io::Result<()> {
        remove_if_there(&path)?;
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        // libgit2 searches only objects up to a size that it takes from the first setting; git takes that size from the
        // second.
        file.write_all(b"[pack]\n\tdeltaCacheSize = 1\n[core]\n\tbigFileThreshold = 1\n")
    };
    write().map_err(ExecError::write("write", &path))?;
    let builder = Config::open(&path)
        .and_then(|config| git.set_config(&config))
        .and_then(|()| git.packbuilder());
    remove_if_there(&path).map_err(ExecError::write("remove", &path))?;
    builder.map_err(ExecError::git("write a pack"))
}
