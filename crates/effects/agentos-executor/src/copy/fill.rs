//! Makes the files of a copy, from nothing or from the copy of another base.
//!
//! Owns: the choice of the files to write, and the index and git directory of the copy; `write` writes the files. Never:
//! leaves an unfinished copy under its name: everything is written under another name, which is changed at the end.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use agentos_beneath::{OpenFolder, TreeError};
use git2::{Index, IndexTime, Oid, RepositoryInitOptions, Tree};

use super::listing::{FILE as LISTING, FileListing, ListedEntry};
use super::objects::{BlobPacks, blobs_of, write_trees};
use super::write::{ObjectSource, WrittenFile, write_all};
use super::{
    OBJECTS, ROOT, ShownFiles, WITHHELD, building_of, change_owner, list_idle, make_private, make_readable,
    release_lock, remove, write_new,
};
use crate::{ExecError, Repository};

impl Repository {
    /// Makes the copy of a tree at `folder`.
    pub(super) fn prepare_copy(
        &self,
        folder: &Path,
        tree: &str,
        owner: Option<u32>,
        shown: &ShownFiles<'_>,
    ) -> Result<(), ExecError> {
        let tree = self.find_tree(tree)?;
        let building = building_of(folder);
        remove(&building)?;
        let built = self.build_copy(folder, &tree, owner, shown);
        if built.is_err() {
            // The disk may be full, and the unfinished copy takes space.
            let _ = remove(&building);
        }
        built
    }

    fn build_copy(
        &self,
        folder: &Path,
        tree: &Tree<'_>,
        owner: Option<u32>,
        shown: &ShownFiles<'_>,
    ) -> Result<(), ExecError> {
        let building = building_of(folder);
        let others = folder
            .parent()
            .map(|copies| list_idle(copies, &|other| other == folder))
            .unwrap_or_default();
        let reused = others.into_iter().find_map(|(other, lock)| {
            let kept = FileListing::read(&other, owner)?;
            // Renamed first: if this process is killed now, nobody takes the half changed files for a copy.
            fs::rename(&other, &building).ok()?;
            release_lock(&other, lock);
            Some(kept)
        });
        let before = reused
            .as_ref()
            .map(|kept| kept.files.by_path())
            .unwrap_or_default();
        // A listing of another policy is reused for the files, but not for the decision which of them are shown.
        let same_answers = reused.as_ref().is_some_and(|kept| kept.key == shown.key);
        let known = if same_answers { &before } else { &HashMap::new() };
        let listing = FileListing::list_tree(&self.git, tree, shown, known)?;
        match reused {
            None => create_empty(&building, owner)?,
            Some(_) => forget_records(&building)?,
        }
        let written = self.update_files(&building, &before, &listing, owner)?;
        let packs = building.join(OBJECTS).join("pack");
        let root = write_trees(&packs, listing.shown_files()).map_err(ExecError::write("write", &packs))?;
        write_index(&building, root, &written)?;
        let withheld: String = listing.withheld_paths().map(|path| format!("{path}\n")).collect();
        write_new(&building.join(WITHHELD), withheld.as_bytes())?;
        write_new(&building.join(ROOT), root.to_string().as_bytes())?;
        listing.write(&building, shown.key, owner)?;
        fs::rename(&building, folder).map_err(ExecError::write("rename", &building))
    }

    /// Changes files and objects to those of `listing`, and returns the files that were written.
    ///
    /// # Errors
    /// When a file cannot be removed, read or written.
    fn update_files<'l>(
        &self,
        building: &Path,
        before: &HashMap<&str, ListedEntry>,
        listing: &'l FileListing,
        owner: Option<u32>,
    ) -> Result<Vec<WrittenFile<'l>>, ExecError> {
        let root = building.join("files");
        let after: HashMap<&str, ListedEntry> = listing.shown_files().collect();
        let files = OpenFolder::open_root(&root);
        let files = files.map_err(|error| ExecError::write("open", &root)(error.into()))?;
        for (path, listed) in before {
            if listed.shown && after.get(path) != Some(listed) {
                let removed = take_away(&files, Path::new(path));
                removed.map_err(|error| ExecError::write("remove", &root.join(path))(error.into()))?;
            }
        }
        let new: Vec<_> = listing
            .shown_files()
            .filter(|(path, listed)| before.get(path) != Some(listed))
            .collect();
        let packs = building.join(OBJECTS).join("pack");
        let failed = || ExecError::write("write", &packs);
        let blobs = BlobPacks::open_packs(&packs, &blobs_of(listing.shown_files())).map_err(failed())?;
        let open = self.git.odb();
        let objects = ObjectSource {
            open: &open.map_err(ExecError::git("open the repository's objects"))?,
            folder: &self.common_dir().join("objects"),
        };
        let written = write_all(&objects, &root, &new, owner, &blobs)?;
        blobs.finish_packs(objects.open).map_err(failed())?;
        Ok(written)
    }
}

/// Creates an empty copy.
///
/// # Errors
/// When it cannot be created.
fn create_empty(building: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    make_private(building)?;
    let files = building.join("files");
    fs::create_dir(&files).map_err(ExecError::write("make", &files))?;
    change_owner(&files, owner)?;
    for name in ["", "info", "pack"] {
        make_readable(&building.join(OBJECTS).join(name))?;
    }
    let mut options = RepositoryInitOptions::new();
    options.external_template(false).bare(true);
    git2::Repository::init_opts(building.join("rules"), &options).map_err(ExecError::git("make the copy"))?;
    create_template(&building.join("template"))
}

/// Removes the files of a copy that describe its earlier base.
///
/// # Errors
/// When one of them cannot be removed.
fn forget_records(building: &Path) -> Result<(), ExecError> {
    for name in [WITHHELD, ROOT, LISTING] {
        let place = building.join(name);
        fs::remove_file(&place).map_err(ExecError::write("remove", &place))?;
    }
    Ok(())
}

/// Removes a file, and the folders that are empty then.
///
/// # Errors
/// When something cannot be removed.
fn take_away(root: &OpenFolder, path: &Path) -> Result<(), TreeError> {
    let mut place = path;
    // `remove_tree` and not `remove_entry`, since a submodule is shown as an empty folder.
    root.open_path(parent_of(place))?
        .remove_tree(place.file_name().unwrap_or_default())?;
    loop {
        place = parent_of(place);
        let Some(name) = place.file_name() else {
            return Ok(());
        };
        // With a limit of one name, a folder of any size is checked in one read.
        if !root
            .open_path(place)?
            .read_names(1)
            .is_ok_and(|names| names.is_empty())
        {
            return Ok(());
        }
        root.open_path(parent_of(place))?.remove_tree(name)?;
    }
}

fn parent_of(place: &Path) -> &Path {
    place.parent().unwrap_or(Path::new(""))
}

/// Writes the index for a tool's git. It contains size and time of each file, so that `git status` need not read the files.
///
/// # Errors
/// When the index cannot be written.
fn write_index(building: &Path, root: Oid, written: &[WrittenFile<'_>]) -> Result<(), ExecError> {
    let failed = || ExecError::git("make the copy's index");
    // Read from the copy's own objects, which contain only shown files, so that nothing else can get into the index.
    let objects = git2::Odb::new().map_err(failed())?;
    let folder = building.join(OBJECTS);
    let folder = folder
        .to_str()
        .ok_or_else(|| git2::Error::from_str("the path is not text"));
    folder
        .and_then(|folder| objects.add_disk_alternate(folder))
        .map_err(failed())?;
    let git = git2::Repository::from_odb(objects).map_err(failed())?;
    let tree = git.find_tree(root).map_err(failed())?;
    let mut index = Index::open(&building.join("index")).map_err(failed())?;
    // `read_tree` keeps the stat data of entries that do not change.
    index.read_tree(&tree).map_err(failed())?;
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
        // A number that does not fit becomes 0. Then git reads the file.
        entry.mtime = IndexTime::new(
            i32::try_from(modified.as_secs()).unwrap_or(0),
            modified.subsec_nanos(),
        );
        entry.file_size = u32::try_from(file.found.len()).unwrap_or(0);
        index.add(&entry).map_err(failed())?;
    }
    index.write().map_err(failed())
}

/// Creates a template of the git directory for tools, in a folder of ours, because libgit2 creates none in a folder of another
/// user.
///
/// # Errors
/// When it cannot be created.
fn create_template(folder: &Path) -> Result<(), ExecError> {
    let failed = || ExecError::git("make the copy's git directory");
    let mut options = RepositoryInitOptions::new();
    options
        .external_template(false)
        .initial_head("main")
        .mkpath(true)
        .no_reinit(true);
    let git = git2::Repository::init_opts(folder, &options).map_err(failed())?;
    let mut config = git.config().map_err(failed())?;
    // It does not matter who makes commits in the copy. Through an overlay, a file may show another inode and ctime than when
    // the index was written, so git must not compare them: it would take every file for changed.
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
