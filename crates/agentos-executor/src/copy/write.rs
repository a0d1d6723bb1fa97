//! Files of a base, written into a copy by several hands.
//!
//! Owns: the folders, files and links. Never: overwrites a file, or writes through a link: folders and files are new, or this
//! copy's own.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};

use git2::Odb;

use super::give;
use super::listing::Listed;
use crate::ExecError;

const EXECUTABLE: i32 = 0o100_755;
const LINK: i32 = 0o120_000;
const GITLINK: i32 = 0o160_000;

/// Files that one hand takes at a time: neighbours, which share a folder and lie together in a pack.
const SHARE: usize = 64;
/// More hands only wait for the disk.
const MOST_HANDS: usize = 8;

/// A file or link that was written, and what the system knows of it.
pub(super) struct Written<'l> {
    pub(super) path: &'l str,
    pub(super) found: Metadata,
}

/// The objects of a repository.
pub(super) struct Objects<'a> {
    /// As it has them open.
    pub(super) open: &'a Odb<'a>,
    /// The folder that they lie in.
    pub(super) folder: &'a Path,
}

/// Writes files that are not there yet, by as many hands as the machine has and there is work for. To unpack them takes
/// longer than to write them, and each hand does both.
///
/// # Errors
/// The first, where one cannot be read or written; the rest may be written then or not.
pub(super) fn write_all<'l>(
    objects: &Objects<'_>,
    root: &Path,
    files: &[(&'l str, Listed)],
    owner: Option<u32>,
) -> Result<Vec<Written<'l>>, ExecError> {
    let (shares, next) = (files.chunks(SHARE), AtomicUsize::new(0));
    let work = |objects: &Odb<'_>| -> Result<Vec<Written<'l>>, ExecError> {
        let mut hand = Hand {
            objects,
            root,
            owner,
            last: PathBuf::new(),
            written: Vec::new(),
        };
        while let Some(share) = shares.clone().nth(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = share
                .iter()
                .try_for_each(|(path, listed)| hand.write(path, *listed))
            {
                // Nobody takes another.
                next.store(files.len(), Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(hand.written)
    };
    let hands = available_parallelism().map_or(1, usize::from).min(MOST_HANDS);
    // libgit2 lets one thread read at a time (`odb_read_1`): each helper opens the objects for itself, or does nothing.
    let help = || opened(objects.folder).map_or_else(|| Ok(Vec::new()), |own| work(&own));
    scope(|scope| {
        let helpers: Vec<_> = (1..hands.min(shares.len()))
            .map_while(|_| Builder::new().spawn_scoped(scope, help).ok())
            .collect();
        let mut all = work(objects.open);
        for helper in helpers {
            let ended_early = |_| {
                Err(ExecError::write("write", root)(io::Error::other(
                    "a helper ended early",
                )))
            };
            let theirs = helper.join().unwrap_or_else(ended_early);
            all = all.and_then(|mut all| {
                all.extend(theirs?);
                Ok(all)
            });
        }
        all
    })
}

fn opened(folder: &Path) -> Option<Odb<'static>> {
    let objects = Odb::new().ok()?;
    objects.add_disk_alternate(folder.to_str()?).ok()?;
    Some(objects)
}

struct Hand<'a, 'l> {
    objects: &'a Odb<'a>,
    root: &'a Path,
    owner: Option<u32>,
    /// The folder of the file before, which is there.
    last: PathBuf,
    written: Vec<Written<'l>>,
}

impl<'l> Hand<'_, 'l> {
    fn write(&mut self, path: &'l str, file: Listed) -> Result<(), ExecError> {
        let place = self.root.join(path);
        let above = place.parent().unwrap_or(self.root);
        if above != self.last {
            make_below(self.root, above, self.owner)?;
            above.clone_into(&mut self.last);
        }
        let failed = ExecError::write;
        if file.mode == GITLINK {
            return make_folder(&place, self.owner);
        }
        let object = self.objects.read(file.id);
        let object = object.map_err(ExecError::git("read a file of the base"))?;
        let found = if file.mode == LINK {
            link(object.data(), &place).map_err(failed("write", &place))?;
            give(&place, self.owner)?;
            fs::symlink_metadata(&place).map_err(failed("look at", &place))?
        } else {
            let executable = file.mode == EXECUTABLE;
            write_file(&place, object.data(), executable, self.owner).map_err(failed("write", &place))?
        };
        self.written.push(Written { path, found });
        Ok(())
    }
}

/// Makes every folder between `root` and `folder`.
fn make_below(root: &Path, folder: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    let mut place = root.to_owned();
    for part in folder.strip_prefix(root).unwrap_or(Path::new("")).components() {
        place.push(part);
        make_folder(&place, owner)?;
    }
    Ok(())
}

/// Makes a folder, or finds it. A tree that no proper git made may name a link and a folder alike, and so may one whose
/// names differ only in case: what is no folder itself is never gone through.
fn make_folder(place: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    match fs::create_dir(place) {
        Ok(()) => give(place, owner),
        Err(_) if fs::symlink_metadata(place).is_ok_and(|found| found.is_dir()) => Ok(()),
        Err(error) => Err(ExecError::write("make", place)(error)),
    }
}

/// Writes a new file and makes it the tool's user's, all by its handle: its path is looked up once.
fn write_file(place: &Path, bytes: &[u8], executable: bool, owner: Option<u32>) -> io::Result<Metadata> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(if executable { 0o755 } else { 0o644 });
    }
    #[cfg(not(unix))]
    let _ = (executable, owner);
    let mut file = options.open(place)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    if owner.is_some() {
        std::os::unix::fs::fchown(&file, owner, owner)?;
    }
    file.metadata()
}

#[cfg(unix)]
fn link(to: &[u8], place: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(to), place)
}

#[cfg(not(unix))]
fn link(to: &[u8], place: &Path) -> io::Result<()> {
    write_file(place, to, false, None).map(drop)
}
