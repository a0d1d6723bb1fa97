//! Making what was written durable.
//!
//! Owns: syncing folders, object files and refs. Never: writes anything.

use std::fs::File;
use std::io;
use std::path::Path;

use git2::Oid;

/// Makes the names in a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(dir)?.sync_all()
    } else {
        Ok(())
    }
}

/// Makes objects durable. One that is in a pack, or was there before, has no file of its own or is synced again.
pub(crate) fn sync_objects(common: &Path, ids: &[Oid]) -> io::Result<()> {
    let objects = common.join("objects");
    let mut folders = std::collections::BTreeSet::new();
    for id in ids {
        let hex = id.to_string();
        let (first, rest) = hex.split_at_checked(2).unwrap_or_default();
        let folder = objects.join(first);
        match File::open(folder.join(rest)) {
            Ok(file) => file.sync_all()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        folders.insert(folder);
    }
    for folder in &folders {
        sync_dir(folder)?;
    }
    if folders.is_empty() {
        Ok(())
    } else {
        sync_dir(&objects)
    }
}

/// Makes a loose ref durable.
pub(crate) fn sync_ref(common: &Path, refname: &str) -> io::Result<()> {
    let path = common.join(refname);
    match File::open(&path) {
        Ok(file) => file.sync_all()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    path.parent().map_or(Ok(()), sync_dir)
}
