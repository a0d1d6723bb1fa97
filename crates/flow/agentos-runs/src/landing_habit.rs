//! The question about every change of a task, and the repositories in which the user does not want it any more.
//!
//! Owns: which runs ask about a change that policy allows, and the user's file that switches this off for a repository.
//! Never: reads anything of the repository for this: a repository cannot switch the question off. Never: affects a question of
//! policy.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentos_api::Notice;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_policy::Effect;
use serde::{Deserialize, Serialize};

use crate::Runs;
use crate::run::{ConsentMode, RunSpec, RunWork};
use agentos_ground::consent::{ConsentAnswer, ConsentRequested};
use agentos_ground::own_file::{lock_own_text, read_own_text, write_own_text};
use agentos_ground::repository;
use agentos_ground::repository_key::{KnownFolders, RepositoryKey};

/// Name of the file, in the folder of the user's settings.
const FILE: &str = "landing.json";
/// Largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;
/// Number of yeses after which the question offers to stop.
const YESES_BEFORE_OFFER: u32 = 3;
/// Code of an error about the file.
const CODE: &str = "settings-not-written";

/// Answers of the user in one repository so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LandingHabit {
    /// Number of times that the user said yes to a change that policy allows.
    pub yeses: u32,
    /// True if such changes land without the question.
    pub always: bool,
}

impl LandingHabit {
    /// Returns true if the question offers to land such changes without it from now on.
    #[must_use]
    pub fn offers_always(self) -> bool {
        self.yeses >= YESES_BEFORE_OFFER
    }
}

/// The file: habits by the id of a repository, or by its git directory in an entry from before there were ids.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LandingFile {
    version: u32,
    #[serde(default)]
    repositories: BTreeMap<String, LandingHabit>,
    /// Git directory of each id.
    #[serde(default)]
    folders: KnownFolders,
}

impl Runs<'_> {
    /// Returns who consents to a run that a person starts at a terminal. The person is asked about every change of a task that
    /// no check tries and that is to land, unless they said "always here".
    #[must_use]
    pub fn person_mode(self, spec: &RunSpec) -> ConsentMode {
        match &spec.work {
            RunWork::Task(task)
                if task.check.is_none() && !spec.session.dry_run && !self.landing_habit().always =>
            {
                ConsentMode::EveryChange
            }
            _ => ConsentMode::Person,
        }
    }

    /// Returns the user's answers in this repository so far. A file that cannot be read counts as no answers, so the user is asked.
    #[must_use]
    pub fn landing_habit(self) -> LandingHabit {
        let read = || -> Result<LandingHabit, EffectError> {
            let file = self.read_habits(&self.habit_path()?)?;
            // A repository is given an id only where an entry could be its own.
            if file.repositories.is_empty() {
                return Ok(LandingHabit::default());
            }
            let key = RepositoryKey::of(self.ground, &repository::open(self.ground)?);
            let habit = key.find(&file.repositories, &file.folders);
            Ok(habit.copied().unwrap_or_default())
        };
        read().unwrap_or_default()
    }

    /// Returns the yes to a proposal of a conversation, if policy allows it and the user said "always here". `None` if the person
    /// has to be asked.
    #[must_use]
    pub fn answer_by_habit(self, requested: &ConsentRequested) -> Option<ConsentAnswer> {
        let is_allowed = requested.decision.effect() == Effect::Allow && requested.drift.is_none();
        (is_allowed && self.landing_habit().always)
            .then(|| requested.yes(self.ground.person_name(), "always here"))
    }

    /// Counts a yes to a change that policy allows. With `always`, further ones in this repository land without the question. A
    /// file that cannot be written is only reported: the change lands all the same.
    pub fn note_landing_yes(self, always: bool) {
        match self.write_habit(always) {
            Ok(path) if always => {
                let name = self.ground.environment().shorten_below_home(&path);
                let message = format!(
                    "from now on, changes that policy allows land in this repository without this question; to be asked again, \
                     remove it from {name}"
                );
                self.ground.notify(Notice::new("lands-unasked", message));
            }
            Ok(_) => {}
            Err(error) => {
                let message = format!("your answer is not remembered: {}", error.message);
                self.ground.notify(Notice::new("answer-not-remembered", message));
            }
        }
    }

    fn write_habit(self, always: bool) -> Result<PathBuf, EffectError> {
        let path = self.habit_path()?;
        let key = RepositoryKey::of(self.ground, &repository::open(self.ground)?);
        let _lock = lock_own_text(&path, CODE)?;
        let mut file = self.read_habits(&path)?;
        let habit = key.claim(&mut file.repositories, &mut file.folders);
        habit.yeses = habit.yeses.saturating_add(1);
        habit.always |= always;
        file.version = 1;
        let text = serde_json::to_string_pretty(&file)
            .map_err(|error| EffectError::from_source(Cause::Internal, CODE, error.to_string(), &error))?;
        write_own_text(&path, &format!("{text}\n"), CODE)?;
        Ok(path)
    }

    /// Returns the path of the file.
    fn habit_path(self) -> Result<PathBuf, EffectError> {
        let folder = self.ground.environment().config_dir();
        let folder = folder
            .ok_or_else(|| EffectError::new(Cause::Usage, CODE, "there is no home folder for settings"))?;
        Ok(folder.join(FILE))
    }

    fn read_habits(self, path: &std::path::Path) -> Result<LandingFile, EffectError> {
        let Some(text) = read_own_text(self.ground.environment(), path, "bad-settings", LARGEST_FILE)? else {
            return Ok(LandingFile::default());
        };
        let name = self.ground.environment().shorten_below_home(path);
        serde_json::from_str(&text)
            .map_err(|error| EffectError::new(Cause::Usage, "bad-settings", format!("`{name}`: {error}")))
    }
}

#[cfg(test)]
mod tests;
