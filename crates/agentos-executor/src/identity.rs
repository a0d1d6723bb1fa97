//! Who is named as author and committer.
//!
//! Owns: the order environment, then git's configuration, and the refusal when there is nobody. Never: invents a
//! name from the machine's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RepoError, Repository};

/// A name and an e-mail address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
}

/// What the environment says: `GIT_AUTHOR_NAME` and `GIT_AUTHOR_EMAIL`, as values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdentityEnv {
    /// `GIT_AUTHOR_NAME`.
    pub name: Option<String>,
    /// `GIT_AUTHOR_EMAIL`.
    pub email: Option<String>,
}

impl Repository {
    /// Who lands: each part from the environment if it is there, else from git's configuration.
    ///
    /// # Errors
    /// When a part is in neither.
    pub fn identity(&self, env: &IdentityEnv) -> Result<Identity, RepoError> {
        choose(env, self.setting("user.name"), self.setting("user.email"))
    }
}

fn choose(env: &IdentityEnv, name: Option<String>, email: Option<String>) -> Result<Identity, RepoError> {
    let part = |from_env: &Option<String>, from_config: Option<String>| {
        let chosen = from_env
            .clone()
            .filter(|text| !text.trim().is_empty())
            .or(from_config)?;
        // Git drops these from names, since they would end the header line.
        let plain: String = chosen
            .chars()
            .filter(|c| !matches!(c, '<' | '>' | '\n' | '\r' | '\0'))
            .collect();
        let plain = plain.trim().to_owned();
        (!plain.is_empty()).then_some(plain)
    };
    match (part(&env.name, name), part(&env.email, email)) {
        (Some(name), Some(email)) => Ok(Identity { name, email }),
        (None, _) | (_, None) => Err(RepoError::NoIdentity),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn the_environment_is_asked_before_the_configuration() {
        let cases = [
            (None, None, some("Conf"), some("c@x"), "Conf <c@x>"),
            (some("Env"), None, some("Conf"), some("c@x"), "Env <c@x>"),
            (some(" "), some("e@x"), some("Conf"), None, "Conf <e@x>"),
            (some("A <b>\nc"), some("e@x"), None, None, "A bc <e@x>"),
        ];
        for (name, email, conf_name, conf_email, expected) in cases {
            let identity = choose(&IdentityEnv { name, email }, conf_name, conf_email).unwrap();
            assert_eq!(format!("{} <{}>", identity.name, identity.email), expected);
        }
    }

    #[test]
    fn nobody_is_a_refusal_with_the_command_to_run() {
        for (name, email) in [(None, None), (some("Conf"), None), (some("<>"), some("c@x"))] {
            let error = choose(&IdentityEnv::default(), name, email).unwrap_err();
            assert_eq!(error.code(), "no-identity");
            assert!(error.hint().unwrap().contains("git config user.name"));
        }
    }
}
