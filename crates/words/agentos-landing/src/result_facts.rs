//! Facts of the tree that results from a change.
//!
//! Owns: which changed paths are in a folder that git takes for a repository because of what the folder contains.
//! Never: judges that; policy does. Never: walks the base; it lists the folders above changed paths and nothing else.
//!
//! Git looks for a repository from the current folder upwards. In each folder it first looks for `.git`, and if there
//! is none it checks whether the folder itself is a git directory (git's `setup.c`, `setup_git_directory_gently_1`
//! and `is_git_directory`): it holds a valid `HEAD`, and `objects` and `refs`, or these are in the folder that its
//! file `commondir` names. Git then reads `config` there, and settings such as `core.fsmonitor` name programs that
//! the next `git status` starts. No file of such a folder has a name that is suspicious by itself, and each may come
//! with a change of its own, so only the resulting tree can show it.
//!
//! The test here is wider than git's on purpose. The content of `HEAD` is not read: filters may change it on
//! checkout. `objects` and `refs` count as files and links, too: git asks `access(2)` whether they may be entered,
//! which an executable file passes. Case and invisible characters are ignored, as some file systems ignore them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::path::{join_name, parent_dirs, portable_name, split_name};
use crate::text::is_in;
use crate::{Base, BaseError, Change, EntryKind, RepoPath};

/// Git's own names in a git directory (gitrepository-layout(5)). At the top of a repository only these belong to a
/// git directory there; further down the whole folder does.
const GIT_NAMES: &str = "branches,commondir,config,config.worktree,gitdir,head,hooks,index,info,logs,modules,objects,packed-refs,\
    refs,shallow,worktrees";

/// Name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedName {
    /// Name. Text that is not UTF-8 may be replaced, since git's own names are ASCII.
    pub name: String,
    /// True if it is a folder itself. A symbolic link is none.
    pub is_folder: bool,
}

/// Facts of the tree that results from a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultFacts {
    /// Changed paths in a git directory, sorted.
    git_directory_paths: Vec<RepoPath>,
}

impl ResultFacts {
    /// Reads the facts of a change to a base. Lists each folder above a changed path once.
    ///
    /// # Errors
    /// Fails if the base cannot be read.
    pub fn read(change: &Change, base: &dyn Base) -> Result<Self, BaseError> {
        Self::read_with(change, |folder| {
            let listed = base.list(folder)?.into_iter().map(|entry| ListedName {
                name: String::from_utf8_lossy(&entry.name).into_owned(),
                is_folder: entry.entry.kind == EntryKind::Directory,
            });
            Ok(listed.collect())
        })
    }

    /// Reads the facts of a change to any tree. `list` is called with the path of a folder, `""` for the top, and
    /// returns no names for a folder that does not exist.
    ///
    /// # Errors
    /// Fails if `list` fails.
    pub fn read_with<E>(
        change: &Change,
        list: impl FnMut(&str) -> Result<Vec<ListedName>, E>,
    ) -> Result<Self, E> {
        let mut folders = TouchedFolders::from_change(change);
        folders.add_listed(list)?;
        let git_directories = folders.git_directories();
        let mut paths = Vec::new();
        // Nearly no change creates a git directory, so the paths are not folded again for the others.
        if !git_directories.is_empty() {
            let files = change.files().iter().map(|file| &file.path);
            paths.extend(files.filter(|path| is_inside(path, &git_directories)).cloned());
        }
        Ok(Self {
            git_directory_paths: paths,
        })
    }

    /// Returns the changed paths in a folder that is a git directory in the result, sorted. At the top of the
    /// repository these are the paths with git's own names.
    #[must_use]
    pub fn git_directory_paths(&self) -> &[RepoPath] {
        &self.git_directory_paths
    }

    /// Returns true if a changed path is one of [`ResultFacts::git_directory_paths`].
    #[must_use]
    pub fn is_in_git_directory(&self, path: &RepoPath) -> bool {
        self.git_directory_paths.binary_search(path).is_ok()
    }
}

/// Returns true if a path is in one of the folders, given by their portable paths.
fn is_inside(path: &RepoPath, git_directories: &HashSet<&str>) -> bool {
    // Each part as the most forgiving file system compares it.
    let parts: Vec<String> = path.as_str().split('/').map(portable_name).collect();
    let portable = parts.join("/");
    let first = portable.split('/').next().unwrap_or_default();
    parent_dirs(&portable).any(|folder| git_directories.contains(folder))
        || (git_directories.contains("") && is_in(GIT_NAMES, first))
}

/// Names in a folder that make it a git directory.
type GitNames = HashSet<String>;

fn add_name(names: &mut GitNames, portable: &str, is_folder: bool) {
    if is_in("objects,refs", portable) || (!is_folder && is_in("head,commondir", portable)) {
        names.insert(portable.to_owned());
    }
}

fn make_git_directory(names: &GitNames) -> bool {
    let has = |name: &str| names.contains(name);
    has("head") && (has("commondir") || (has("objects") && has("refs")))
}

/// Folders above the changed paths, by their portable paths: `""` is the top, and a folder sorts before those in it.
struct TouchedFolders<'c> {
    names: BTreeMap<String, GitNames>,
    /// Paths that the change deletes, as written.
    deleted: HashSet<&'c str>,
}

impl<'c> TouchedFolders<'c> {
    /// Collects the folders with the names that the change itself adds.
    fn from_change(change: &'c Change) -> Self {
        let mut names: BTreeMap<String, GitNames> = BTreeMap::new();
        let mut deleted = HashSet::new();
        // Most files share a folder, so each folder's path is folded once and not once for each file.
        let mut seen: HashMap<(&str, bool), String> = HashMap::new();
        for file in change.files() {
            let path = file.path.as_str();
            let (folder, name) = split_name(path);
            let stays = file.new.is_some();
            if !stays {
                deleted.insert(path);
            }
            let portable = seen
                .entry((folder, stays))
                .or_insert_with(|| add_above(&mut names, folder, stays));
            if stays {
                let names = names.entry(portable.clone()).or_default();
                add_name(names, &portable_name(name), false);
            }
        }
        Self { names, deleted }
    }

    /// Adds the names that were in the folders before the change and are not deleted by it.
    fn add_listed<E>(&mut self, mut list: impl FnMut(&str) -> Result<Vec<ListedName>, E>) -> Result<(), E> {
        // A file system that ignores case may merge several folders of the base into one.
        let mut spelled: HashMap<String, Vec<String>> = HashMap::from([(String::new(), vec![String::new()])]);
        // Only folders above changed paths are listed; the rest of the tree may be large.
        let wanted: BTreeSet<String> = self.names.keys().cloned().collect();
        for (folder, names) in &mut self.names {
            for actual in spelled.remove(folder).unwrap_or_default() {
                for ListedName { name, is_folder } in list(&actual)? {
                    let path = join_name(&actual, &name);
                    // A deleted `HEAD` no longer makes its folder a git directory.
                    if self.deleted.contains(path.as_str()) {
                        continue;
                    }
                    let portable = portable_name(&name);
                    add_name(names, &portable, is_folder);
                    let portable = join_name(folder, &portable);
                    if is_folder && wanted.contains(&portable) {
                        spelled.entry(portable).or_default().push(path);
                    }
                }
            }
        }
        Ok(())
    }

    fn git_directories(&self) -> HashSet<&str> {
        let found = self.names.iter().filter(|(_, names)| make_git_directory(names));
        found.map(|(folder, _)| folder.as_str()).collect()
    }
}

/// Adds a folder and those above it. `stays` is true if it holds a file of the result. Returns its portable path.
fn add_above(names: &mut BTreeMap<String, GitNames>, folder: &str, stays: bool) -> String {
    let mut at = String::new();
    for part in folder.split('/').filter(|part| !part.is_empty()) {
        let part = portable_name(part);
        let above = names.entry(at.clone()).or_default();
        if stays {
            add_name(above, &part, true);
        }
        at = join_name(&at, &part);
    }
    names.entry(at.clone()).or_default();
    at
}
