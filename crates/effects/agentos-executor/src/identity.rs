//! Chooses author and committer of a commit.
//!
//! Owns: git's order (environment, then the configuration of author or committer, then that of the user), and the refusal
//! if a name is missing. Never: makes up a name from those of user and machine, as git may do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RepoError, Repository};

/// Name and e-mail address of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Name as it is written to a commit.
    pub name: String,
    /// E-mail address.
    pub email: String,
}

/// Returns the difference of local time from UTC in minutes, as `TZ` and the machine's settings have it now.
#[must_use]
pub fn local_offset_minutes() -> i32 {
    // libgit2 asks the C library, which reads `TZ` and the zone files. Only an empty name makes this fail.
    git2::Signature::now("local", "time").map_or(0, |now| now.when().offset_minutes())
}

/// Author and committer of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorship {
    /// Person who is responsible for the change.
    pub author: Identity,
    /// Person who makes the commit and signs it.
    pub committer: Identity,
    /// Time at which the author wrote the change. `None` if it is the time of the commit.
    pub written: Option<CommitTime>,
}

/// Point in time as a commit states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitTime {
    /// Seconds since 1970, UTC.
    pub unix_seconds: i64,
    /// Minutes that the clock was ahead of UTC.
    pub utc_offset_minutes: i32,
}

/// Values of environment variables. Each is `None` if the variable is not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdentityEnv {
    /// Value of `GIT_AUTHOR_NAME`.
    pub author_name: Option<String>,
    /// Value of `GIT_AUTHOR_EMAIL`.
    pub author_email: Option<String>,
    /// Value of `GIT_COMMITTER_NAME`.
    pub committer_name: Option<String>,
    /// Value of `GIT_COMMITTER_EMAIL`.
    pub committer_email: Option<String>,
    /// Value of `EMAIL`, the address if the configuration has none.
    pub email: Option<String>,
}

impl Repository {
    /// Chooses author and committer. Each part is taken from the environment, else from git's configuration.
    ///
    /// # Errors
    /// When a part is in neither.
    pub fn authorship(&self, env: &IdentityEnv) -> Result<Authorship, RepoError> {
        let config = self.git.config().and_then(|mut config| config.snapshot());
        let config = config.map_err(RepoError::git("read the configuration"))?;
        choose_identities(env, &|name| config.get_string(name).ok())
    }
}

fn choose_identities(
    env: &IdentityEnv,
    setting: &dyn Fn(&str) -> Option<String>,
) -> Result<Authorship, RepoError> {
    let identity = |role: &str, name: &Option<String>, email: &Option<String>| {
        let name = [
            name.clone(),
            setting(&format!("{role}.name")),
            setting("user.name"),
        ];
        let email = [
            email.clone(),
            setting(&format!("{role}.email")),
            setting("user.email"),
            env.email.clone(),
        ];
        match (first_usable(name), first_usable(email)) {
            (Some(name), Some(email)) => Ok(Identity { name, email }),
            (None, _) | (_, None) => Err(RepoError::NoIdentity),
        }
    };
    Ok(Authorship {
        author: identity("author", &env.author_name, &env.author_email)?,
        committer: identity("committer", &env.committer_name, &env.committer_email)?,
        written: None,
    })
}

/// Returns the first candidate that is not blank, without the characters that a commit cannot contain. `None` if nothing is
/// left.
fn first_usable(candidates: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let mut said = candidates.into_iter().flatten();
    let chosen = said.find(|text| !text.trim().is_empty())?;
    // Git drops these from names, since they would end the header line.
    let plain: String = chosen
        .chars()
        .filter(|c| !matches!(c, '<' | '>' | '\n' | '\r' | '\0'))
        .collect();
    let plain = plain.trim().to_owned();
    (!plain.is_empty()).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both names, from variables and settings as `name=value`.
    fn chosen(said: &[&str]) -> Result<String, RepoError> {
        let value = |wanted: &str| {
            let mut pairs = said.iter().filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(name, _)| *name == wanted)
                .map(|(_, value)| value.to_owned())
        };
        let env = IdentityEnv {
            author_name: value("GIT_AUTHOR_NAME"),
            author_email: value("GIT_AUTHOR_EMAIL"),
            committer_name: value("GIT_COMMITTER_NAME"),
            committer_email: value("GIT_COMMITTER_EMAIL"),
            email: value("EMAIL"),
        };
        let Authorship {
            author,
            committer,
            written: _,
        } = choose_identities(&env, &value)?;
        Ok(format!(
            "{} <{}>, {} <{}>",
            author.name, author.email, committer.name, committer.email
        ))
    }

    #[test]
    fn the_environment_is_asked_before_the_configuration_and_the_role_before_the_user() {
        let user = ["user.name=U", "user.email=u@x"];
        let cases: [(&[&str], &str); 8] = [
            (&[], "U <u@x>, U <u@x>"),
            (&["GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@x"], "A <a@x>, U <u@x>"),
            (
                &["GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@x"],
                "U <u@x>, C <c@x>",
            ),
            (&["author.name=A", "committer.email=c@x"], "A <u@x>, U <c@x>"),
            (&["author.name=A", "GIT_AUTHOR_NAME=E"], "E <u@x>, U <u@x>"),
            (&["GIT_AUTHOR_NAME= ", "author.name="], "U <u@x>, U <u@x>"),
            (&["GIT_AUTHOR_NAME=A <b>\nc"], "A bc <u@x>, U <u@x>"),
            (&["EMAIL=e@x"], "U <u@x>, U <u@x>"),
        ];
        for (said, expected) in cases {
            assert_eq!(chosen(&[said, &user[..]].concat()).unwrap(), expected);
        }
        assert_eq!(chosen(&["user.name=U", "EMAIL=e@x"]).unwrap(), "U <e@x>, U <e@x>");
    }

    #[test]
    fn nobody_is_a_refusal_with_the_command_to_run() {
        let cases: [&[&str]; 4] = [
            &[],
            &["user.name=U"],
            &["user.name=<>", "user.email=u@x"],
            &["GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@x"],
        ];
        for said in cases {
            let error = chosen(said).unwrap_err();
            assert_eq!(error.code(), "no-identity");
            assert!(error.hint().unwrap().contains("git config user.name"));
        }
    }
}
