//! The state of the user's settings, to notice that they have changed.
//!
//! Owns: which files count. Never: reads a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_net::Deadline;

use agentos_ground::Ground;
use agentos_ground::files::{FileMark, read_mark};
use agentos_ground::repository;

/// Time after which settings are read again in any case. A keyring has no time of its last change, and a file system may be slow to
/// show that of another machine.
const LONGEST_AGE: Duration = Duration::from_secs(1);

/// Files on which an opened model depends, as they were before it was opened.
#[derive(Debug)]
pub(super) struct SettingsStamp {
    marks: Vec<(PathBuf, Option<FileMark>)>,
    /// End of its life.
    until: Deadline,
}

impl SettingsStamp {
    /// Takes the stamp of the settings of a provider.
    pub(super) fn take(ground: &Ground, provider: &str) -> Self {
        let profile = Path::new("profiles").join(format!("{provider}.json"));
        let environment = ground.environment();
        let mut paths = Vec::from_iter(environment.credentials_file());
        if let Some(folder) = environment.config_dir() {
            let files = ["config.toml", "models.json", "budgets.json"];
            paths.extend(files.map(|name| folder.join(name)));
            paths.push(folder.join(&profile));
        }
        let repository = repository::open(ground).ok();
        if let Some(work_dir) = repository.as_ref().and_then(|repository| repository.work_dir()) {
            paths.push(work_dir.join(".agentos").join(&profile));
        }
        let marks = paths.into_iter().map(|path| {
            let mark = read_mark(&path);
            (path, mark)
        });
        Self {
            marks: marks.collect(),
            until: Deadline::after(LONGEST_AGE),
        }
    }

    /// Returns true if the stamp is young, and no file has changed since.
    pub(super) fn is_current(&self) -> bool {
        !self.is_old() && self.is_unchanged()
    }

    /// Returns true if the settings must be read again in any case.
    pub(super) fn is_old(&self) -> bool {
        self.until.remaining().is_zero()
    }

    fn is_unchanged(&self) -> bool {
        self.marks.iter().all(|(path, mark)| read_mark(path) == *mark)
    }
}

#[cfg(test)]
mod tests;
