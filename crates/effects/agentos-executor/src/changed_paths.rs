//! Lists which paths the latest commits changed.
//!
//! Owns: the walk through the first parents' trees. Never: reads a file's content.

use git2::{Commit, Oid, Sort};

use crate::Repository;
use crate::tree_diff::list_differences_within;

/// Most files and folders of a commit that are listed. A commit of more is a move or a new format of everything.
const MOST_DIFFERENCES: usize = 200;

/// Commit with the paths that it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPaths {
    /// First line of the message.
    pub subject: String,
    /// Changed paths, sorted. Those that are not UTF-8 are left out.
    pub paths: Vec<String>,
}

impl Repository {
    /// Lists the commits from which a commit is made, newest first, with the paths that each changed. Looks at no more than
    /// `limit` commits. Merges and very large commits are left out. The list ends where the history cannot be read: in a
    /// shallow or partial clone the rest of it is somewhere else.
    #[must_use]
    pub fn list_changed_paths(&self, commit: &str, limit: usize) -> Vec<ChangedPaths> {
        let walk = Oid::from_str(commit).and_then(|id| {
            let mut walk = self.git.revwalk()?;
            // Not by topology: that would read the whole history before the first commit.
            walk.set_sorting(Sort::TIME)?;
            walk.push(id)?;
            Ok(walk)
        });
        let mut found = Vec::new();
        for id in walk.into_iter().flatten().take(limit) {
            let commit = id.and_then(|id| self.git.find_commit(id));
            let Ok(commit) = commit else { break };
            if commit.parent_count() > 1 {
                continue;
            }
            match self.paths_of(&commit) {
                Ok(Some(paths)) => found.push(ChangedPaths {
                    subject: String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned(),
                    paths,
                }),
                Ok(None) => {}
                Err(_) => break,
            }
        }
        found
    }

    /// Returns the paths that a commit changed. `None` if they are too many.
    fn paths_of(&self, commit: &Commit<'_>) -> Result<Option<Vec<String>>, git2::Error> {
        let parent = match commit.parent_count() {
            0 => None,
            _ => Some(commit.parent(0)?.tree_id()),
        };
        let trees = [parent, Some(commit.tree_id())];
        let found = list_differences_within(&self.git, trees, MOST_DIFFERENCES)?;
        Ok(found.map(|found| {
            let paths = found.into_iter().map(|(path, _, _)| String::from_utf8(path));
            paths.filter_map(Result::ok).collect()
        }))
    }
}
