//! Writes files of a base into a copy, in several threads.
//!
//! Owns: the folders, files and links. Never: overwrites a file, or writes through a link: each file is created in a folder
//! with an open descriptor, under a free name.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};

use agentos_beneath::{FolderOwner, OpenFolder};
use git2::Odb;

use super::change_open_owner;
use super::listing::ListedEntry;
use super::objects::{BlobPacks, GITLINK, LINK};
use crate::ExecError;

const EXECUTABLE: i32 = 0o100_755;

/// Number of files that a thread takes at a time: neighbours, which are in one folder and next to each other in a pack.
const SHARE: usize = 64;
/// Maximum number of threads. More of them would only wait for the disk.
const MAX_WRITERS: usize = 8;

/// File or link that was written, with its facts.
pub(super) struct WrittenFile<'l> {
    pub(super) path: &'l str,
    pub(super) found: Metadata,
}

/// Objects of a repository.
pub(super) struct ObjectSource<'a> {
    /// Open object store.
    pub(super) open: &'a Odb<'a>,
    /// Folder of the objects, from which each thread opens its own store.
    pub(super) folder: &'a Path,
}

/// Writes files that do not exist yet, in as many threads as the machine has processors. Unpacking a file takes longer than
/// writing it, and each thread does both.
///
/// # Errors
/// The first failure to read or write a file. Any of the other files may have been written.
pub(super) fn write_all<'l>(
    objects: &ObjectSource<'_>,
    root: &Path,
    files: &[(&'l str, ListedEntry)],
    owner: Option<u32>,
    blobs: &BlobPacks,
) -> Result<Vec<WrittenFile<'l>>, ExecError> {
    let (shares, next) = (files.chunks(SHARE), AtomicUsize::new(0));
    let work = |objects: &Odb<'_>| -> Result<Vec<WrittenFile<'l>>, ExecError> {
        let mut writer = FileWriter {
            objects,
            root,
            owner,
            blobs,
            last: None,
            written: Vec::new(),
        };
        while let Some(share) = shares.clone().nth(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = share
                .iter()
                .try_for_each(|(path, listed)| writer.write(path, *listed))
            {
                // No thread takes another share.
                next.store(files.len(), Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(writer.written)
    };
    let threads = available_parallelism().map_or(1, usize::from).min(MAX_WRITERS);
    // libgit2 lets one thread at a time read from an object store (`odb_read_1`). So each thread opens its own; if it cannot,
    // it writes nothing, and the others take its share.
    let help = || open_objects(objects.folder).map_or_else(|| Ok(Vec::new()), |own| work(&own));
    scope(|scope| {
        let handles: Vec<_> = (1..threads.min(shares.len()))
            .map_while(|_| Builder::new().spawn_scoped(scope, help).ok())
            .collect();
        let mut all = work(objects.open);
        for handle in handles {
            let ended_early = |_| {
                Err(ExecError::write("write", root)(io::Error::other(
                    "a thread that writes files stopped unexpectedly",
                )))
            };
            let theirs = handle.join().unwrap_or_else(ended_early);
            all = all.and_then(|mut all| {
                all.extend(theirs?);
                Ok(all)
            });
        }
        all
    })
}

/// Opens the objects in a folder. `None` if that fails.
fn open_objects(folder: &Path) -> Option<Odb<'static>> {
    let objects = Odb::new().ok()?;
    objects.add_disk_alternate(folder.to_str()?).ok()?;
    Some(objects)
}

/// Writer of one thread.
struct FileWriter<'a, 'l> {
    objects: &'a Odb<'a>,
    root: &'a Path,
    owner: Option<u32>,
    /// Packs that get each content too.
    blobs: &'a BlobPacks,
    /// Folder of the previous file, with its path in the copy. `None` before the first file.
    last: Option<(&'l Path, OpenFolder)>,
    written: Vec<WrittenFile<'l>>,
}

impl<'l> FileWriter<'_, 'l> {
    fn write(&mut self, path: &'l str, file: ListedEntry) -> Result<(), ExecError> {
        let place = self.root.join(path);
        self.write_in_folder(path, file)
            .map_err(|error| ExecError::write("write", &place)(error))
    }

    fn write_in_folder(&mut self, path: &'l str, file: ListedEntry) -> io::Result<()> {
        let relative = Path::new(path);
        let above = relative.parent().unwrap_or(Path::new(""));
        // Files come sorted, so the next one is mostly in the same folder.
        let folder = match self.last.take_if(|(last, _)| *last == above) {
            Some((_, folder)) => folder,
            None => open_below(self.root, above, self.owner)?,
        };
        let name = relative.file_name().unwrap_or_default();
        let (_, folder) = self.last.insert((above, folder));
        if file.mode == GITLINK {
            return make_folder(folder, name, self.owner).map(drop);
        }
        let object = self.objects.read(file.id).map_err(io::Error::other)?;
        self.blobs.add_blob(file.id, object.data())?;
        let found = if file.mode == LINK {
            write_link(folder, name, object.data())?;
            if let Some(owner) = self.owner {
                folder.give_entry(name, FolderOwner::with_own_group(owner))?;
            }
            fs::symlink_metadata(self.root.join(path))?
        } else {
            let mode = if file.mode == EXECUTABLE { 0o755 } else { 0o644 };
            let mut open = folder.create_file(name, mode)?;
            open.write_all(object.data())?;
            change_open_owner(&open, self.owner)?;
            open.metadata()?
        };
        self.written.push(WrittenFile { path, found });
        Ok(())
    }
}

/// Opens a folder below `root`, and creates missing folders on the way.
///
/// # Errors
/// When a folder cannot be opened or created.
fn open_below(root: &Path, above: &Path, owner: Option<u32>) -> io::Result<OpenFolder> {
    let mut folder = OpenFolder::open_root(root)?;
    for part in above {
        folder = make_folder(&folder, part, owner)?;
    }
    Ok(folder)
}

/// Creates a folder, or opens an existing one. A hostile tree may have a link and a folder with the same name, or with names
/// that differ only in case: a link is refused.
///
/// # Errors
/// When something else has the name, or the folder cannot be created.
fn make_folder(above: &OpenFolder, name: &OsStr, owner: Option<u32>) -> io::Result<OpenFolder> {
    let folder = match above.create_folder(name, 0o755) {
        Err(error) if error.is_taken() => return Ok(above.open_folder(name)?),
        made => made?,
    };
    if let Some(owner) = owner {
        folder.give_to(FolderOwner::with_own_group(owner))?;
    }
    Ok(folder)
}

#[cfg(unix)]
fn write_link(folder: &OpenFolder, name: &OsStr, to: &[u8]) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    Ok(folder.create_link(name, OsStr::from_bytes(to))?)
}

/// Writes a link as a file with its target, as git does on a system without links.
#[cfg(not(unix))]
fn write_link(folder: &OpenFolder, name: &OsStr, to: &[u8]) -> io::Result<()> {
    folder.create_file(name, 0o644)?.write_all(to)
}
