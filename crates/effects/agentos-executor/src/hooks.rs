//! Finds the hooks that git would run for a commit.
//!
//! Owns: their folder and names. Never: runs one: a landing commits without hooks, whatever the repository configures.

use std::path::PathBuf;

use git2::ConfigLevel;

use crate::Repository;
use crate::preflight::is_executable;

/// Hooks that `git commit` runs, in its order (githooks(5)).
const COMMIT_HOOKS: [&str; 6] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "reference-transaction",
    "post-commit",
    "post-index-change",
];

/// Hooks of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundHooks {
    /// The folder from which git runs them.
    pub folder: PathBuf,
    /// True if a configuration outside of the repository names the folder: the user's or the system's.
    pub is_named_by_user: bool,
    /// Hooks that git would run.
    pub active: Vec<&'static str>,
    /// Hooks that git would skip because they are not executable.
    pub skipped: Vec<&'static str>,
}

impl Repository {
    /// Lists the hooks of this repository that `git commit` would run.
    #[must_use]
    pub fn commit_hooks(&self) -> Vec<&'static str> {
        self.find_hooks(&COMMIT_HOOKS).active
    }

    /// Lists the hooks of some names that git would run, in the order of the names, and those that it would skip because they
    /// are not executable.
    #[must_use]
    pub fn find_hooks(&self, names: &[&'static str]) -> FoundHooks {
        let (folder, is_named_by_user) = self.hooks_folder();
        let mut found = FoundHooks {
            folder: folder.canonicalize().unwrap_or_else(|_| folder.clone()),
            is_named_by_user,
            active: Vec::new(),
            skipped: Vec::new(),
        };
        for name in names {
            // git follows a link here. One that leads nowhere is no hook. Samples have the ending `.sample`.
            let Some(facts) = folder
                .join(name)
                .metadata()
                .ok()
                .filter(std::fs::Metadata::is_file)
            else {
                continue;
            };
            if is_executable(&facts).unwrap_or(true) {
                found.active.push(name);
            } else {
                found.skipped.push(name);
            }
        }
        found
    }

    /// Returns the folder from which git runs hooks, and whether a configuration outside of the repository names it. A relative
    /// `core.hooksPath` is relative to the working tree.
    fn hooks_folder(&self) -> (PathBuf, bool) {
        let config = self.git.config().and_then(|mut config| config.snapshot());
        let named = config.and_then(|config| {
            let level = config.get_entry("core.hooksPath")?.level();
            Ok((config.get_path("core.hooksPath")?, level))
        });
        let Ok((named, level)) = named else {
            return (self.common_dir().join("hooks"), false);
        };
        let is_named_by_user = matches!(
            level,
            ConfigLevel::ProgramData | ConfigLevel::System | ConfigLevel::XDG | ConfigLevel::Global
        );
        let top = self.work_dir().unwrap_or_else(|| self.common_dir());
        (top.join(named), is_named_by_user)
    }
}
