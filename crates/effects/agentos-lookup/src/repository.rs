//! Folders whose programs may have come with a repository.
//!
//! Owns: finding those folders. Never: reads git's objects or configuration.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Name of the git directory in a working tree, or of the file that points to it.
const GIT: &str = ".git";
/// Prefix of the path in such a file (gitrepository-layout(5)).
const GIT_FILE: &str = "gitdir:";
/// Maximum bytes read of such a file: the longest path of common systems and the prefix.
const LONGEST_GIT_FILE: u64 = 4096 + 16;

/// Folders of one repository, links resolved: its working tree and, for a linked working tree, its git directory and
/// its main working tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct RepositoryFolders {
    folders: Vec<PathBuf>,
}

impl RepositoryFolders {
    /// Lists the folders of the repository that `place` lies in. The list is empty if it lies in no working tree.
    ///
    /// A folder that contains the home folder is left out. People keep their settings in a repository at `~` or `/`, and
    /// excluding it would exclude every folder of programs below it.
    pub(crate) fn around(place: &Path, home: Option<&Path>) -> Self {
        let place = resolve_links(place);
        let is_top = |folder: &&Path| folder.join(GIT).symlink_metadata().is_ok();
        let Some(top) = place.ancestors().find(is_top) else {
            return Self::default();
        };
        let home = home.map(resolve_links);
        let mut folders = vec![top.to_owned()];
        if let Some(git) = linked_git_dir(top) {
            // The main working tree is around `.git/worktrees/NAME`; for a submodule it is the project around it.
            let main = git.ancestors().find(|above| above.ends_with(GIT));
            folders.extend(main.and_then(Path::parent).map(resolve_links));
            folders.push(resolve_links(&git));
        }
        folders.retain(|folder| !home.as_ref().is_some_and(|home| home.starts_with(folder)));
        Self { folders }
    }

    /// Returns true if `folder` lies in one of them. A folder that cannot be resolved counts as inside, since it may be.
    pub(crate) fn contains(&self, folder: &Path) -> bool {
        if self.folders.is_empty() {
            // Without a repository nothing is excluded, not even a folder that cannot be resolved.
            return false;
        }
        match folder.canonicalize() {
            Ok(real) => self.folders.iter().any(|own| real.starts_with(own)),
            Err(_) => true,
        }
    }
}

/// Resolves links. Returns the path unchanged if it does not exist.
fn resolve_links(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Reads the git directory that a `.git` file names. `None` if `.git` is a folder or no such file.
fn linked_git_dir(top: &Path) -> Option<PathBuf> {
    let place = top.join(GIT);
    // Opening a FIFO would wait until another program opens its other end (fifo(7)).
    if !place.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = File::open(&place).ok()?;
    file.take(LONGEST_GIT_FILE).read_to_string(&mut text).ok()?;
    let named = text.strip_prefix(GIT_FILE)?.trim();
    (!named.is_empty()).then(|| resolve_links(&top.join(named)))
}
