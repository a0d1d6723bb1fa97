//! The person at the terminal, as records name them.
//!
//! Owns: the one name of a person. Never: decides what that person may do.

use crate::Ground;
use crate::repository;

impl Ground {
    /// Returns the name of the person, for consent records and keys: the login name, else the author's name in git's
    /// configuration.
    #[must_use]
    pub fn person_name(&self) -> String {
        let login = self.environment().login_name().map(str::to_owned);
        // Containers often set no login name, and evidence that `unknown` consented helps nobody.
        login
            .or_else(|| self.committer_name())
            .unwrap_or_else(|| "unknown".to_owned())
    }

    /// Returns the name that a commit by this person would have. `None` if git knows none.
    fn committer_name(&self) -> Option<String> {
        let repo = repository::open(self).ok()?;
        let by = repo.authorship(&self.environment().git_identity()).ok()?;
        Some(by.committer.name)
    }

    /// Returns the person with the address of their commits, if git knows one.
    pub fn person_with_email(&self) -> String {
        let repo = repository::open(self).ok();
        let by = repo.and_then(|repo| repo.authorship(&self.environment().git_identity()).ok());
        by.map_or_else(
            || self.person_name(),
            |by| format!("{} <{}>", by.committer.name, by.committer.email),
        )
    }
}
