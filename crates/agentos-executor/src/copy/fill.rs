//! The files of a copy: made whole, or turned from those of another base into those of this one.
//!
//! Owns: which of them are written, and the index and git directory beside them; `write` writes them. Never: leaves a
//! copy half done under its name: everything is written beside its place and renamed there at the end.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use git2::{Index, IndexTime, RepositoryInitOptions, Tree};

use super::listing::{Listed, Listing};
use super::write::{Objects, Written, write_all};
use super::{Shown, WITHHELD, building_of, idle, let_go, make, put, remove};
use crate::{ExecError, Repository};

impl Repository {
    /// Makes the copy of a tree at `folder`.
    pub(super) fn prepare(
        &self,
        folder: &Path,
        tree: &str,
        owner: Option<u32>,
        shown: &Shown<'_>,
    ) -> Result<(), ExecError> {
        let tree = self.tree(tree)?;
        let building = building_of(folder);
        remove(&building)?;
        let built = self.build(folder, &tree, owner, shown);
        if built.is_err() {
            // What is left of it may fill the disk.
            let _ = remove(&building);
        }
        built
    }

    fn build(
        &self,
        folder: &Path,
        tree: &Tree<'_>,
        owner: Option<u32>,
        shown: &Shown<'_>,
    ) -> Result<(), ExecError> {
        let building = building_of(folder);
        let others = folder
            .parent()
            .map(|copies| idle(copies, folder))
            .unwrap_or_default();
        let reused = others.into_iter().find_map(|(other, lock)| {
            let (key, listing) = Listing::read(&other)?;
            // From now on it is no copy any more, whatever happens.
            fs::rename(&other, &building).ok()?;
            let_go(&other, lock);
            Some((key, listing))
        });
        let (key, before) = match &reused {
            Some((key, listing)) => (key.as_str(), listing.by_path()),
            None => ("", HashMap::new()),
        };
        let known = if key == shown.key {
            &before
        } else {
            &HashMap::new()
        };
        let listing = Listing::of(&self.git, tree, shown, known)?;
        if reused.is_none() {
            begin(&building, owner)?;
        }
        let written = self.turn(&building.join("files"), &before, &listing, owner)?;
        index(&building, tree, &written)?;
        let withheld: String = listing.withheld().map(|path| format!("{path}\n")).collect();
        put(&building.join(WITHHELD), withheld.as_bytes())?;
        listing.write(&building, shown.key)?;
        fs::rename(&building, folder).map_err(ExecError::write("rename", &building))
    }

    /// Makes the files those of `listing`, and gives those that were written.
    fn turn<'l>(
        &self,
        root: &Path,
        before: &HashMap<&str, Listed>,
        listing: &'l Listing,
        owner: Option<u32>,
    ) -> Result<Vec<Written<'l>>, ExecError> {
        let after: HashMap<&str, Listed> = listing.shown().collect();
        for (path, listed) in before {
            if listed.shown && after.get(path) != Some(listed) {
                take_away(root, path)?;
            }
        }
        let new: Vec<_> = listing
            .shown()
            .filter(|(path, listed)| before.get(path) != Some(listed))
            .collect();
        let open = self.git.odb();
        let objects = Objects {
            open: &open.map_err(ExecError::git("open the repository's objects"))?,
            folder: &self.common_dir().join("objects"),
        };
        write_all(&objects, root, &new, owner)
    }
}

/// An empty copy.
fn begin(building: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    make(building, owner)?;
    make(&building.join("files"), owner)?;
    let mut options = RepositoryInitOptions::new();
    options.external_template(false).bare(true);
    git2::Repository::init_opts(building.join("rules"), &options).map_err(ExecError::git("make the copy"))?;
    template(&building.join("template"))
}

/// Takes away a file, and the folders that are empty then.
fn take_away(root: &Path, path: &str) -> Result<(), ExecError> {
    let place = root.join(path);
    // Of a repository inside this one there is an empty folder.
    let gone = fs::remove_file(&place).or_else(|error| match fs::remove_dir(&place) {
        Ok(()) => Ok(()),
        Err(_) => Err(error),
    });
    gone.map_err(ExecError::write("remove", &place))?;
    let above = place.ancestors().skip(1).take_while(|folder| *folder != root);
    for folder in above {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// The index that a tool's git begins with: it knows size and time of each file, so that `git status` need not read all
/// of them.
fn index(building: &Path, tree: &Tree<'_>, written: &[Written<'_>]) -> Result<(), ExecError> {
    let failed = || ExecError::git("make the copy's index");
    let mut index = Index::open(&building.join("index")).map_err(failed())?;
    // Entries that stay the same keep what is known of their files.
    index.read_tree(tree).map_err(failed())?;
    for file in written {
        let Some(mut entry) = index.get_path(Path::new(file.path), 0) else {
            continue;
        };
        let modified = file
            .found
            .modified()
            .ok()
            .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
            .unwrap_or_default();
        // What does not fit is not known, and git reads the file.
        entry.mtime = IndexTime::new(
            i32::try_from(modified.as_secs()).unwrap_or(0),
            modified.subsec_nanos(),
        );
        entry.file_size = u32::try_from(file.found.len()).unwrap_or(0);
        index.add(&entry).map_err(failed())?;
    }
    index.write().map_err(failed())
}

/// A git directory as each run gets one: made here, in a folder of ours, because libgit2 makes none in another user's.
fn template(folder: &Path) -> Result<(), ExecError> {
    let failed = || ExecError::git("make the copy's git directory");
    let mut options = RepositoryInitOptions::new();
    options
        .external_template(false)
        .initial_head("main")
        .mkpath(true)
        .no_reinit(true);
    let git = git2::Repository::init_opts(folder, &options).map_err(failed())?;
    let mut config = git.config().map_err(failed())?;
    // Who commits in the copy does not matter; files look changed through an overlay if all is compared.
    for (name, value) in [
        ("user.name", "tool"),
        ("user.email", "tool@localhost"),
        ("core.checkStat", "minimal"),
        ("gc.auto", "0"),
    ] {
        config.set_str(name, value).map_err(failed())?;
    }
    config.set_bool("core.trustctime", false).map_err(failed())
}
