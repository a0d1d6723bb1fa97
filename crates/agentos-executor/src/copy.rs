//! A copy of a commit's files for tools to work on, kept and shared between runs.
//!
//! Owns: the folder `copies` of our state, the files in it and a git directory for a tool's own use. Never: shows a
//! file that was withheld, writes into a copy that is in use, or reads back what a tool did there.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_diff::RepoPath;
use git2::{ObjectType, Oid, RepositoryInitOptions, Tree};
use sha2::{Digest, Sha256};

use crate::{ExecError, Repository, Target};

/// Says whether a file may be shown, from its path and, where that is not enough, its content.
pub type Shown<'a> = &'a dyn Fn(&str, &dyn Fn() -> Vec<u8>) -> bool;

/// Below our state folder.
const COPIES: &str = "copies";

/// The files of one commit in a folder that nobody writes to. It stays as long as this value lives.
pub struct BaseCopy {
    folder: PathBuf,
    commit: Oid,
    objects: PathBuf,
    withheld: Vec<String>,
    rules: git2::Repository,
    owner: Option<u32>,
    /// Held, shared with other users of the same copy.
    _lock: File,
}

impl std::fmt::Debug for BaseCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BaseCopy").field("folder", &self.folder).finish()
    }
}

impl Repository {
    /// The folder in which copies and the scratch folders of runs lie.
    #[must_use]
    pub fn copies_dir(&self) -> PathBuf {
        self.state_dir().join(COPIES)
    }

    /// The files of the target's base that `shown` lets through. Made once for each tree; later calls find it.
    /// `owner` is the user that the files shall belong to, where that is another than ours.
    ///
    /// # Errors
    /// When the base cannot be read, holds a name that must not be written, or the copy cannot be made.
    pub fn copy(&self, target: &Target, owner: Option<u32>, shown: Shown<'_>) -> Result<BaseCopy, ExecError> {
        let tree = self.tree(&target.base_tree)?;
        let mut all = Vec::new();
        list(&self.git, &tree, "", &mut all)?;
        let content = |file: &Listed| {
            let blob = self.git.find_blob(file.id);
            blob.map(|blob| blob.content().to_vec()).unwrap_or_default()
        };
        let (files, hidden): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|file| shown(&file.path, &|| content(file)));
        let withheld: Vec<String> = hidden.into_iter().map(|file| file.path).collect();
        let copies = self.copies_dir();
        make(&copies, owner)?;
        let folder = copies.join(key(&target.base_tree, &withheld));
        let lock = loop {
            let lock = hold(&folder)?;
            if !folder.is_dir() {
                lock.lock().map_err(ExecError::write("lock", &folder))?;
                if !folder.is_dir() {
                    self.fill(&folder, &tree, &files, owner)?;
                }
                lock.unlock().map_err(ExecError::write("unlock", &folder))?;
            }
            lock.lock_shared().map_err(ExecError::write("lock", &folder))?;
            // Between the two locks another run may have taken it for one that nobody uses.
            if folder.is_dir() {
                break lock;
            }
        };
        discard_others(&copies, &folder);
        let commit = Oid::from_str(&target.base_commit).map_err(ExecError::git("read the base"))?;
        let rules = git2::Repository::open(folder.join("rules")).map_err(ExecError::git("open the copy"))?;
        rules
            .set_workdir(&folder.join("files"), false)
            .map_err(ExecError::git("open the copy"))?;
        Ok(BaseCopy {
            folder,
            commit,
            objects: self.common_dir().join("objects"),
            withheld,
            rules,
            owner,
            _lock: lock,
        })
    }

    /// Writes everything beside its place, then renames it there: a copy is whole or not there.
    fn fill(
        &self,
        folder: &Path,
        tree: &Tree<'_>,
        files: &[Listed],
        owner: Option<u32>,
    ) -> Result<(), ExecError> {
        let building = folder.with_extension("new");
        remove(&building)?;
        let root = building.join("files");
        make(&building, owner)?;
        make(&root, owner)?;
        let mut last = PathBuf::new();
        for file in files {
            let place = root.join(&file.path);
            let above = place.parent().unwrap_or(&root);
            if above != last {
                make_below(&root, above, owner)?;
                last = above.to_owned();
            }
            self.write_copy(&place, file)?;
            give(&place, owner)?;
        }
        let mut options = RepositoryInitOptions::new();
        options.external_template(false).bare(true);
        git2::Repository::init_opts(building.join("rules"), &options)
            .map_err(ExecError::git("make the copy"))?;
        template(&building.join("template"))?;
        let mut index =
            git2::Index::open(&building.join("index")).map_err(ExecError::git("make the copy's index"))?;
        index
            .read_tree(tree)
            .and_then(|()| index.write())
            .map_err(ExecError::git("make the copy's index"))?;
        fs::rename(&building, folder).map_err(ExecError::write("rename", &building))
    }

    fn write_copy(&self, place: &Path, file: &Listed) -> Result<(), ExecError> {
        if file.mode == GITLINK {
            return fs::create_dir(place).map_err(ExecError::write("make", place));
        }
        let blob = self
            .git
            .find_blob(file.id)
            .map_err(ExecError::git("read a file of the base"))?;
        let written = if file.mode == LINK {
            link(blob.content(), place)
        } else {
            write_file(place, blob.content(), file.mode == EXECUTABLE)
        };
        written.map_err(ExecError::write("write", place))
    }
}

impl BaseCopy {
    /// The files.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// Files of the base that are not in it.
    #[must_use]
    pub fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// Git's objects, which a tool must be able to read where [`BaseCopy::give_history`] was true.
    #[must_use]
    pub fn objects(&self) -> &Path {
        &self.objects
    }

    /// Do the base's own rules ignore this path? A folder's name ends in `/`.
    #[must_use]
    pub fn is_ignored(&self, path: &str) -> bool {
        self.rules.is_path_ignored(path).unwrap_or(false)
    }

    /// Makes a `.git` of its own in `folder`, at the base commit, that borrows the repository's objects. Without
    /// history where something is withheld: the objects would show it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn give_history(&self, folder: &Path) -> Result<bool, ExecError> {
        let dot_git = folder.join(".git");
        copy_all(&self.folder.join("template").join(".git"), &dot_git)?;
        let whole = self.withheld.is_empty();
        if whole {
            let alternates = format!("{}\n", self.objects.display());
            put(&dot_git.join("objects/info/alternates"), alternates.as_bytes())?;
            put(
                &dot_git.join("refs/heads/main"),
                format!("{}\n", self.commit).as_bytes(),
            )?;
            let index = self.folder.join("index");
            let bytes = fs::read(&index).map_err(ExecError::write("read", &index))?;
            put(&dot_git.join("index"), &bytes)?;
        }
        give_all(&dot_git, self.owner)?;
        Ok(whole)
    }
}

const EXECUTABLE: i32 = 0o100_755;
const LINK: i32 = 0o120_000;
const GITLINK: i32 = 0o160_000;

struct Listed {
    path: String,
    id: Oid,
    mode: i32,
}

/// Every file of a tree. A name that must not be written, and no proper git makes, ends it.
fn list(
    git: &git2::Repository,
    tree: &Tree<'_>,
    above: &str,
    all: &mut Vec<Listed>,
) -> Result<(), ExecError> {
    for entry in tree {
        let name = String::from_utf8_lossy(entry.name_bytes());
        let path = format!("{above}{name}");
        if entry.kind() == Some(ObjectType::Tree) {
            let below = git
                .find_tree(entry.id())
                .map_err(ExecError::git("read a folder of the base"))?;
            list(git, &below, &format!("{path}/"), all)?;
            continue;
        }
        if let Err(refusal) = RepoPath::new(&path) {
            let bad = io::Error::new(io::ErrorKind::InvalidFilename, refusal.message);
            return Err(ExecError::write("copy", Path::new(&path))(bad));
        }
        all.push(Listed {
            path,
            id: entry.id(),
            mode: entry.filemode(),
        });
    }
    Ok(())
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

/// Copies a folder of ours.
fn copy_all(from: &Path, to: &Path) -> Result<(), ExecError> {
    make(to, None)?;
    for entry in fs::read_dir(from).map_err(ExecError::write("read", from))? {
        let entry = entry.map_err(ExecError::write("read", from))?;
        let (place, to) = (entry.path(), to.join(entry.file_name()));
        if place.is_dir() {
            copy_all(&place, &to)?;
        } else {
            let bytes = fs::read(&place).map_err(ExecError::write("read", &place))?;
            put(&to, &bytes)?;
        }
    }
    Ok(())
}

/// One copy for a tree and what is left out of it.
fn key(tree: &str, withheld: &[String]) -> String {
    if withheld.is_empty() {
        return format!("base-{tree}");
    }
    let digest = Sha256::digest(withheld.join("\n").as_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("base-{tree}-{hex}")
}

/// The lock of a copy, a file beside it.
fn hold(folder: &Path) -> Result<File, ExecError> {
    let lock = folder.with_extension("lock");
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(&lock)
        .map_err(ExecError::write("open", &lock))
}

/// Takes away copies that nobody uses: a repository keeps one, and those at work.
fn discard_others(copies: &Path, keep: &Path) {
    let Ok(entries) = fs::read_dir(copies) else { return };
    for entry in entries.flatten() {
        let folder = entry.path();
        let name = entry.file_name();
        let is_copy = name.to_string_lossy().starts_with("base-") && folder.extension().is_none();
        if !is_copy || folder == keep {
            continue;
        }
        let Ok(lock) = hold(&folder) else { continue };
        match lock.try_lock() {
            // What cannot be removed now is tried again by the next run.
            Ok(()) => {
                let _ = remove(&folder);
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

fn remove(folder: &Path) -> Result<(), ExecError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(ExecError::write("remove", folder)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn make(folder: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(ExecError::write("make", folder))?;
    give(folder, owner)
}

/// Makes every folder between `root` and `folder`.
fn make_below(root: &Path, folder: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    let mut place = root.to_owned();
    for part in folder.strip_prefix(root).unwrap_or(Path::new("")).components() {
        place.push(part);
        make(&place, owner)?;
    }
    Ok(())
}

fn put(place: &Path, bytes: &[u8]) -> Result<(), ExecError> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(place);
    file.and_then(|mut file| file.write_all(bytes))
        .map_err(ExecError::write("write", place))
}

fn write_file(place: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(if executable { 0o755 } else { 0o644 });
    }
    #[cfg(not(unix))]
    let _ = executable;
    options.open(place)?.write_all(bytes)
}

#[cfg(unix)]
fn link(to: &[u8], place: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(to), place)
}

#[cfg(not(unix))]
fn link(to: &[u8], place: &Path) -> io::Result<()> {
    write_file(place, to, false)
}

/// Makes a file the tool's user's.
fn give(place: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    #[cfg(unix)]
    if owner.is_some() {
        std::os::unix::fs::lchown(place, owner, owner).map_err(ExecError::write("give away", place))?;
    }
    #[cfg(not(unix))]
    let _ = (place, owner);
    Ok(())
}

fn give_all(folder: &Path, owner: Option<u32>) -> Result<(), ExecError> {
    give(folder, owner)?;
    if owner.is_none() || !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(ExecError::write("read", folder))? {
        let entry = entry.map_err(ExecError::write("read", folder))?;
        let kind = entry.file_type().map_err(ExecError::write("read", folder))?;
        if kind.is_dir() {
            give_all(&entry.path(), owner)?;
        } else {
            give(&entry.path(), owner)?;
        }
    }
    Ok(())
}
