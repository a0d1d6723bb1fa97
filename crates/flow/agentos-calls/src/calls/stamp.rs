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
pub(super) struct SettingsMarks(Vec<(PathBuf, Option<FileMark>)>);

/// Files on which an opened model depends, and the end of the time in which they are not read again.
#[derive(Debug)]
pub(super) struct SettingsStamp {
    marks: SettingsMarks,
    until: Deadline,
}

impl SettingsMarks {
    /// Takes the marks of the settings of a provider. Before the files are read: a change in between makes the stamp old at once.
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
        Self(marks.collect())
    }

    /// Makes the stamp of a model that is open now. Its life begins here, because a server on this machine can take seconds
    /// to answer while the model is opened, and the requests that waited must find a young stamp.
    pub(super) fn into_stamp(self) -> SettingsStamp {
        SettingsStamp {
            marks: self,
            until: Deadline::after(LONGEST_AGE),
        }
    }

    fn is_unchanged(&self) -> bool {
        self.0.iter().all(|(path, mark)| read_mark(path) == *mark)
    }
}

impl SettingsStamp {
    /// Returns true if the stamp is young, and no file has changed since.
    pub(super) fn is_current(&self) -> bool {
        !self.is_old() && self.marks.is_unchanged()
    }

    /// Returns true if the settings must be read again in any case.
    pub(super) fn is_old(&self) -> bool {
        self.until.remaining().is_zero()
    }
}

#[cfg(test)]
mod tests;
