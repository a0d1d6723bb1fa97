//! The folder of the search in the repository's state: the index of texts, and the history.
//!
//! Owns: where it is, and the engine's port of it. Never: ranks or shows a file.

use std::path::PathBuf;

use agentos_context::{IndexAnswer, PastCommit, TextSource, WordKey};
use agentos_engine::ports::ContextIndex;
use agentos_executor::Repository;
use agentos_search::{SavedLists, TextIndex};

/// Name of the folder in the state folder of the repository.
const FOLDER: &str = "search";
/// Number of commits from which a history is saved: a shorter one is read as fast.
const LONG_HISTORY: usize = 50;

/// The index of a repository.
pub(crate) struct SearchFolder {
    path: PathBuf,
    lists: SavedLists,
}

impl SearchFolder {
    pub(crate) fn new(repo: &Repository) -> Self {
        let path = repo.state_dir().join(FOLDER);
        Self {
            lists: SavedLists::open(&path),
            path,
        }
    }

    /// Lists the commits that lead to a commit, newest first, with the paths that each changed.
    pub(crate) fn list_changed_paths(
        &self,
        repo: &Repository,
        commit: &str,
        limit: usize,
    ) -> Vec<PastCommit> {
        if let Some(saved) = self.lists.load_history(commit) {
            return saved;
        }
        let commits = repo.list_changed_paths(commit, limit).into_iter();
        let commits = commits.map(|commit| PastCommit {
            subject: commit.subject,
            paths: commit.paths,
        });
        let commits: Vec<PastCommit> = commits.collect();
        if commits.len() >= LONG_HISTORY {
            self.lists.save_history(commit, &commits);
        }
        commits
    }
}

impl ContextIndex for SearchFolder {
    fn load_files(&self, tree: &str) -> Option<Vec<(String, String)>> {
        self.lists.load_files(tree)
    }

    fn save_files(&self, tree: &str, files: &[(String, String)]) {
        self.lists.save_files(tree, files);
    }

    fn load_withheld(&self, tree: &str, scope: &str) -> Option<Vec<bool>> {
        self.lists.load_withheld(tree, scope)
    }

    fn save_withheld(&self, tree: &str, scope: &str, withheld: &[bool]) {
        self.lists.save_withheld(tree, scope, withheld);
    }

    fn count_words(
        &mut self,
        objects: &[&str],
        words: &[WordKey],
        read: &mut dyn FnMut(usize) -> Option<TextSource>,
    ) -> Option<IndexAnswer> {
        TextIndex::open(&self.path).count_words(objects, words, read)
    }
}
