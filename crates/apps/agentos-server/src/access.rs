//! Access: the token of programs, the codes that sign a browser in once, and the sessions of people.
//!
//! Owns: these secrets, in memory. Never: compares one in a time that depends on how much of it was right, or writes one anywhere.
//!
//! | secret | made | ends |
//! |---|---|---|
//! | token | once for each user, in a file that only its owner can read | when a person replaces it |
//! | token of agents, which opens `/mcp` alone | in the same way | in the same way |
//! | code | with each start, and for each `agentos-server` that a program asks | with its first use, after ten minutes |
//! | session | with a code | when the person signs out, or the service ends |

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentos_host::{EffectError, make_secret};
use agentos_tool::Secret;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// Life of a code.
const CODE_LIFE: Duration = Duration::from_secs(600);
/// Most codes at once; the oldest one ends first.
const MOST_CODES: usize = 16;
/// Most sessions at once; a further sign-in is refused until one ends.
const MOST_SESSIONS: usize = 64;

/// SHA-256 of a secret. The time of comparing hashes depends on nothing in the secret.
type SecretHash = [u8; 32];

/// The secrets of a running service.
#[derive(Debug)]
pub struct ServiceAccess {
    token: SecretHash,
    agent_token: SecretHash,
    state: Mutex<AccessState>,
}

#[derive(Debug, Default)]
struct AccessState {
    codes: Vec<(SecretHash, Instant)>,
    /// Secret of the forms of each session.
    sessions: HashMap<SecretHash, String>,
}

impl ServiceAccess {
    /// Makes the access of a service with these tokens of programs and of agents.
    pub fn new(token: &Secret, agent_token: &Secret) -> Self {
        Self {
            token: hash_secret(token.expose()),
            agent_token: hash_secret(agent_token.expose()),
            state: Mutex::default(),
        }
    }

    /// Returns whether a text is the token.
    pub fn is_token(&self, text: &str) -> bool {
        hash_secret(text) == self.token
    }

    /// Returns whether a text is the token of agents.
    pub fn is_agent_token(&self, text: &str) -> bool {
        hash_secret(text) == self.agent_token
    }

    /// Makes a code that signs one browser in.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn make_code(&self) -> Result<Secret, EffectError> {
        let code = make_secret()?;
        // The code is shown and typed by people, so it is as long as any other secret but lives for minutes.
        let mut state = self.lock_state();
        if state.codes.len() >= MOST_CODES {
            state.codes.remove(0);
        }
        state
            .codes
            .push((hash_secret(code.expose()), Instant::now() + CODE_LIFE));
        Ok(code)
    }

    /// Signs a browser in. Returns the secret for its cookie. `None` if the code is wrong, used or too old, or too many are signed in.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn sign_in(&self, code: &str) -> Result<Option<Secret>, EffectError> {
        let (cookie, form) = (make_secret()?, make_secret()?);
        let (code, now) = (hash_secret(code.trim()), Instant::now());
        let mut state = self.lock_state();
        state.codes.retain(|(_, end)| *end > now);
        let Some(at) = state.codes.iter().position(|(known, _)| *known == code) else {
            return Ok(None);
        };
        state.codes.remove(at);
        // Ending an older session here would let one program sign every person out.
        if state.sessions.len() >= MOST_SESSIONS {
            return Ok(None);
        }
        state
            .sessions
            .insert(hash_secret(cookie.expose()), form.expose().to_owned());
        Ok(Some(cookie))
    }

    /// Returns the secret of a session's forms. `None` if nobody is signed in with this cookie.
    pub fn find_form(&self, cookie: &str) -> Option<String> {
        self.lock_state().sessions.get(&hash_secret(cookie)).cloned()
    }

    /// Ends the session of a cookie.
    pub fn sign_out(&self, cookie: &str) {
        self.lock_state().sessions.remove(&hash_secret(cookie));
    }

    /// Ends every session, and every code that was not used.
    pub fn sign_all_out(&self) {
        *self.lock_state() = AccessState::default();
    }

    fn lock_state(&self) -> MutexGuard<'_, AccessState> {
        // Each change is a single call, so a panic elsewhere leaves no half of one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether two secrets are equal, in a time that depends on nothing in them.
pub fn same_secret(one: &str, other: &str) -> bool {
    hash_secret(one) == hash_secret(other)
}

fn hash_secret(text: &str) -> SecretHash {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> ServiceAccess {
        ServiceAccess::new(&Secret::new("token"), &Secret::new("agents"))
    }

    #[test]
    fn a_code_signs_in_once() {
        let access = access();
        let code = access.make_code().unwrap();
        assert!(access.sign_in("guess").unwrap().is_none());
        let cookie = access.sign_in(code.expose()).unwrap().unwrap();
        assert!(access.sign_in(code.expose()).unwrap().is_none());
        assert!(access.find_form(cookie.expose()).is_some());
        assert_eq!(access.find_form("another"), None);
        access.sign_out(cookie.expose());
        assert_eq!(access.find_form(cookie.expose()), None);
    }

    #[test]
    fn codes_and_sessions_have_a_bound() {
        let access = access();
        let first = access.make_code().unwrap();
        for _ in 0..MOST_CODES {
            access.make_code().unwrap();
        }
        assert!(access.sign_in(first.expose()).unwrap().is_none());
        for _ in 0..MOST_SESSIONS {
            let code = access.make_code().unwrap();
            assert!(access.sign_in(code.expose()).unwrap().is_some());
        }
        let code = access.make_code().unwrap();
        assert!(access.sign_in(code.expose()).unwrap().is_none());
        access.sign_all_out();
        let code = access.make_code().unwrap();
        assert!(access.sign_in(code.expose()).unwrap().is_some());
    }

    #[test]
    fn the_token_is_compared_whole() {
        let access = access();
        for (text, is_right) in [("token", true), ("toke", false), ("token2", false), ("", false)] {
            assert_eq!(access.is_token(text), is_right, "{text}");
            assert!(!access.is_agent_token(text), "{text}");
        }
    }
}
