//! Tokens with which programs reach the local service: each has a name, a scope, the repositories that it reaches, and an end.
//!
//! Owns: the file `tokens.json` of the service, and the decision about a token. Never: stores a secret: the file has SHA-256 digests,
//! and a secret is shown once, when it is made.
//!
//! | scope | reaches | repositories |
//! |---|---|---|
//! | `models` | `/v1`: models of the user answer | their providers too, if it names a repository |
//! | `agent` | `/mcp`: reads and proposes | exactly the named repositories |
//! | `read` | `/api` and `/metrics`, reading | exactly the named repositories |
//!
//! No token consents: approving, denying and undoing need a person's session, the signature of a device, or the service's Unix socket,
//! which only programs of the user can open.

mod watch;

use std::path::Path;

use agentos_chain::hash_bytes;
use agentos_credentials::remove_own_file;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_tool::{Secret, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Ground;
use crate::clock;
use crate::error::usage_error;
use crate::own_file::{lock_own_text, read_own_text, write_own_text};
use crate::repository_id::KnownRepository;
use crate::service_files::make_secret;

pub use watch::TokenWatch;

/// Code of errors about these tokens.
const CODE: &str = "service-file";
/// Name of the file.
const FILE: &str = "tokens.json";
/// Version of the file.
const VERSION: u32 = 1;
/// Largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;
/// Most tokens in the file.
const MOST_TOKENS: usize = 256;
/// Longest name of a token, in characters.
const LONGEST_NAME: usize = 60;
/// Days that a token is valid if the user names no number.
pub const USUAL_TOKEN_DAYS: u32 = 90;
/// Longest life of a token, in days.
const MOST_DAYS: u32 = 3_650;
/// Days before the end in which the user is warned.
const WARNING_DAYS: i64 = 7;
/// Seconds of a day.
const DAY: i64 = 86_400;
/// Secrets of earlier versions, the tokens that they become, and the name of each token.
const OLD_FILES: [(&str, TokenScope, &str); 2] = [
    ("token", TokenScope::Models, "old-token"),
    ("agent-token", TokenScope::Agent, "old-agent-token"),
];

/// Purpose of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TokenScope {
    /// Asking models, under `/v1`.
    Models,
    /// Reading a repository and proposing changes of it, under `/mcp`.
    Agent,
    /// Reading what the service shows, under `/api`.
    Read,
}

/// Repository that a token reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRepository {
    /// Id of the repository: 32 hexadecimal digits.
    pub id: String,
    /// Name of the repository, for people.
    pub name: String,
}

/// Token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceToken {
    /// Name, by which the token is revoked. No two tokens have the same one.
    pub name: String,
    /// Scope.
    pub scope: TokenScope,
    /// Repositories that the token reaches. Empty for a `models` token that uses the user's own providers alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<TokenRepository>,
    /// Time at which the token was made.
    pub made: Timestamp,
    /// Time from which the token is not valid any more.
    pub ends: Timestamp,
}

/// Order for a new token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// Name. A token of this name must not exist.
    pub name: String,
    /// Scope.
    pub scope: TokenScope,
    /// Repositories that the token reaches.
    pub repositories: Vec<KnownRepository>,
    /// Days until the token ends.
    pub days: u32,
}

/// A new token, with its secret, which is shown this one time.
#[derive(Debug)]
pub struct MadeToken {
    /// The token.
    pub token: ServiceToken,
    /// The secret.
    pub secret: Secret,
}

/// List of tokens for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TokenList {
    /// Version of this shape: 1.
    pub version: u32,
    /// The tokens, the oldest first.
    pub tokens: Vec<ListedToken>,
}

/// Token in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedToken {
    /// The token.
    #[serde(flatten)]
    pub token: ServiceToken,
    /// State of the token now.
    pub state: TokenLife,
}

/// State of a token at a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TokenLife {
    /// Valid for more than seven days.
    Valid,
    /// Valid, and the end is at most seven days away.
    EndsSoon,
    /// Past the end of the token.
    Ended,
}

/// Answer to the question what a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenAnswer {
    /// The secret belongs to this token.
    Valid(Box<ServiceToken>),
    /// The secret belongs to the token of this name, which has ended.
    Ended(String),
    /// The secret belongs to no token.
    Unknown,
}

/// The file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    version: u32,
    tokens: Vec<StoredToken>,
}

/// Token with the digest of its secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredToken {
    /// SHA-256 of the secret. The secret has 256 random bits, so no guess leads back from the digest.
    digest: String,
    #[serde(flatten)]
    token: ServiceToken,
}

/// The tokens of a service at one point in time.
#[derive(Debug, Clone, Default)]
pub struct TokenTable(Vec<StoredToken>);

impl TokenTable {
    /// Decides what a secret is at this time. Digests are compared, so the time of an answer depends on nothing in the secret.
    #[must_use]
    pub fn find(&self, secret: &str, now: &Timestamp) -> TokenAnswer {
        let digest = hash_bytes(secret.as_bytes());
        match self.0.iter().find(|stored| stored.digest == digest) {
            None => TokenAnswer::Unknown,
            Some(stored) if stored.token.life(now) == TokenLife::Ended => {
                TokenAnswer::Ended(stored.token.name.clone())
            }
            Some(stored) => TokenAnswer::Valid(Box::new(stored.token.clone())),
        }
    }
}

impl ServiceToken {
    /// Returns the state of the token at this time.
    #[must_use]
    pub fn life(&self, now: &Timestamp) -> TokenLife {
        let left = self.ends.unix_seconds() - now.unix_seconds();
        if left <= 0 {
            TokenLife::Ended
        } else if left <= WARNING_DAYS * DAY {
            TokenLife::EndsSoon
        } else {
            TokenLife::Valid
        }
    }

    /// Returns true if the token reaches the repository of this id.
    #[must_use]
    pub fn reaches(&self, repository: &str) -> bool {
        self.repositories.iter().any(|known| known.id == repository)
    }
}

impl TokenScope {
    /// Returns the word of the scope.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Agent => "agent",
            Self::Read => "read",
        }
    }
}

impl Ground {
    /// Makes a token, and returns its secret, which is stored nowhere.
    ///
    /// # Errors
    /// If the name is taken or not usable, the order names no repository that the scope needs, or the file cannot be written.
    pub fn add_service_token(&self, order: &NewToken) -> Result<MadeToken, EffectError> {
        let name = check_name(&order.name)?;
        if order.days == 0 || order.days > MOST_DAYS {
            return Err(usage_error(format!("a token is valid for 1 to {MOST_DAYS} days")));
        }
        if order.repositories.is_empty() && order.scope != TokenScope::Models {
            let scope = order.scope.as_str();
            return Err(usage_error(format!("an `{scope}` token belongs to a repository")));
        }
        let secret = Secret::new(&format!(
            "agentos_{}_{}",
            order.scope.as_str(),
            make_secret()?.expose()
        ));
        let token = make_token(name, order, &clock::now());
        self.change_tokens(|tokens| {
            if tokens.iter().any(|known| known.token.name == token.name) {
                return Err(usage_error(format!("there is a token `{}` already", token.name)));
            }
            if tokens.len() >= MOST_TOKENS {
                return Err(usage_error(format!(
                    "there are {MOST_TOKENS} tokens; revoke one first"
                )));
            }
            tokens.push(StoredToken {
                digest: hash_bytes(secret.expose().as_bytes()),
                token: token.clone(),
            });
            Ok(())
        })?;
        Ok(MadeToken { token, secret })
    }

    /// Lists the tokens, the oldest first.
    ///
    /// # Errors
    /// If the file cannot be read, or other users can change it.
    pub fn list_service_tokens(&self) -> Result<TokenList, EffectError> {
        let now = clock::now();
        let tokens = self.read_token_table()?.0;
        let listed = tokens.into_iter().map(|stored| ListedToken {
            state: stored.token.life(&now),
            token: stored.token,
        });
        Ok(TokenList {
            version: 1,
            tokens: listed.collect(),
        })
    }

    /// Revokes the token of a name. A running service refuses it from its next request on.
    ///
    /// # Errors
    /// If there is no such token, or the file cannot be written.
    pub fn revoke_service_token(&self, name: &str) -> Result<ServiceToken, EffectError> {
        self.change_tokens(|tokens| {
            let at = tokens.iter().position(|known| known.token.name == name);
            let at = at.ok_or_else(|| usage_error(format!("there is no token `{name}`")))?;
            Ok(tokens.remove(at).token)
        })
    }

    /// Reads the tokens.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or other users can change it.
    pub fn read_token_table(&self) -> Result<TokenTable, EffectError> {
        let path = self.service_folder()?.join(FILE);
        Ok(TokenTable(self.read_tokens(&path)?.unwrap_or_default()))
    }

    /// Makes tokens of the secrets of an earlier version, once: with the first start that finds no file of tokens. Returns these tokens.
    ///
    /// The secrets could approve. They ask models and propose now, as their users' settings need, and end as any other token does.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn adopt_old_tokens(
        &self,
        served: Option<&KnownRepository>,
    ) -> Result<Vec<ServiceToken>, EffectError> {
        let folder = self.service_folder()?;
        let path = folder.join(FILE);
        let _lock = lock_own_text(&path, CODE)?;
        if self.read_tokens(&path)?.is_some() {
            return Ok(Vec::new());
        }
        let mut adopted = Vec::new();
        for (file, scope, name) in OLD_FILES {
            let repositories = match scope {
                TokenScope::Models => Vec::new(),
                TokenScope::Agent | TokenScope::Read => served.cloned().into_iter().collect(),
            };
            let text = read_own_text(self.environment(), &folder.join(file), CODE, LARGEST_FILE)?;
            let secret = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
            if let Some(secret) = secret
                && (scope == TokenScope::Models || !repositories.is_empty())
            {
                let order = NewToken {
                    name: name.to_owned(),
                    scope,
                    repositories,
                    days: USUAL_TOKEN_DAYS,
                };
                adopted.push(StoredToken {
                    digest: hash_bytes(secret.as_bytes()),
                    token: make_token(name.to_owned(), &order, &clock::now()),
                });
            }
        }
        write_tokens(&path, &adopted)?;
        for (file, _, name) in OLD_FILES {
            if adopted.iter().any(|stored| stored.token.name == name) {
                // The settings of programs have the secret. Here it would be a second place from which it can be taken.
                let _ = remove_own_file(&folder.join(file));
            }
        }
        Ok(adopted.into_iter().map(|stored| stored.token).collect())
    }

    fn change_tokens<T>(
        &self,
        change: impl FnOnce(&mut Vec<StoredToken>) -> Result<T, EffectError>,
    ) -> Result<T, EffectError> {
        let path = self.service_folder()?.join(FILE);
        let _lock = lock_own_text(&path, CODE)?;
        let mut tokens = self.read_tokens(&path)?.unwrap_or_default();
        let done = change(&mut tokens)?;
        write_tokens(&path, &tokens)?;
        Ok(done)
    }

    /// Reads the file. `None` if there is no file.
    fn read_tokens(&self, path: &Path) -> Result<Option<Vec<StoredToken>>, EffectError> {
        let Some(text) = read_own_text(self.environment(), path, CODE, LARGEST_FILE)? else {
            return Ok(None);
        };
        let file: TokenFile = serde_json::from_str(&text)
            .map_err(|error| EffectError::from_error(Cause::Usage, CODE, &error))?;
        if file.version != VERSION {
            let name = self.environment().shorten_below_home(path);
            return Err(usage_error(format!(
                "`{name}` has version {}; this program reads version {VERSION}",
                file.version
            )));
        }
        Ok(Some(file.tokens))
    }
}

fn write_tokens(path: &Path, tokens: &[StoredToken]) -> Result<(), EffectError> {
    let file = TokenFile {
        version: VERSION,
        tokens: tokens.to_vec(),
    };
    let text = serde_json::to_string_pretty(&file)
        .map_err(|error| EffectError::from_error(Cause::Internal, CODE, &error))?;
    write_own_text(path, &format!("{text}\n"), CODE)
}

fn make_token(name: String, order: &NewToken, now: &Timestamp) -> ServiceToken {
    let repositories = order.repositories.iter().map(|known| TokenRepository {
        id: known.id.clone(),
        name: known.name.clone(),
    });
    let ends = now.unix_seconds() + i64::from(order.days) * DAY;
    ServiceToken {
        name,
        scope: order.scope,
        repositories: repositories.collect(),
        made: now.clone(),
        ends: Timestamp::from_unix_seconds(ends.unsigned_abs()),
    }
}

fn check_name(name: &str) -> Result<String, EffectError> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
        return Err(usage_error(format!(
            "the name of a token has 1 to {LONGEST_NAME} letters, digits, `-`, `_` and `.`"
        )));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests;
