//! Access to the page of a repository: the codes that sign a browser in once, and the sessions of people.
//!
//! Owns: these secrets, in memory. Never: compares one in a time that depends on how much of it was right, or writes one anywhere.
//!
//! | secret | made | ends |
//! |---|---|---|
//! | code | for each program of the user that asks over the Unix socket | with its first use, after ten minutes, with the service |
//! | session | with a code | when the person signs out or ends it on another page, with the service |

use std::collections::{HashMap, VecDeque};
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

/// Most challenges of a session that were not used; the oldest one ends first.
const MOST_CHALLENGES: usize = 64;
/// Most devices that ask to be paired at once.
const MOST_PAIRINGS: usize = 8;
/// Longest name of a device, in characters.
const LONGEST_NAME: usize = 60;

/// SHA-256 of a secret. The time of comparing hashes depends on nothing in the secret.
type SecretHash = [u8; 32];

/// The secrets of a repository's page.
#[derive(Debug, Default)]
pub struct ServiceAccess {
    state: Mutex<AccessState>,
}

#[derive(Debug, Default)]
struct AccessState {
    codes: Vec<(SecretHash, Instant, SessionKind)>,
    sessions: HashMap<SecretHash, OpenSession>,
    pairings: Vec<OpenPairing>,
    /// Challenges that a device may sign, once each.
    challenges: HashMap<SecretHash, VecDeque<String>>,
}

/// Kind of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// Browser of this machine.
    Usual,
    /// Browser of another device. It reads, and does what it signs with the key of the device.
    Device,
}

/// True if the cookie of a new session is sent over TLS alone: the address of the page is one of `https`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeedsTls(pub bool);

/// Session of a person.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// Name by which a page ends it. It is no secret.
    pub id: String,
    /// Secret of its forms.
    pub form: String,
    /// Kind.
    pub kind: SessionKind,
    /// Time of signing in, RFC 3339, UTC.
    pub began: String,
    /// Contribution of the service to the pairing of this browser's device.
    pub pairing: String,
}

/// Device that asks to be paired.
#[derive(Debug, Clone)]
pub struct OpenPairing {
    /// Name by which a page answers it. It is no secret.
    pub id: String,
    /// Name that the person gave the device. Untrusted.
    pub name: String,
    /// Public key, as OpenSSH writes it.
    pub key: String,
    /// Contribution of the service.
    pub service: String,
    /// Contribution of the device.
    pub device: String,
    /// Session that asks.
    asked_by: SecretHash,
    end: Instant,
}

impl ServiceAccess {
    /// Makes a code that signs one browser in.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn make_code(&self, kind: SessionKind) -> Result<Secret, EffectError> {
        let code = make_secret()?;
        // The code is shown and typed by people, so it is as long as any other secret but lives for minutes.
        let mut state = self.lock_state();
        if state.codes.len() >= MOST_CODES {
            state.codes.remove(0);
        }
        state
            .codes
            .push((hash_secret(code.expose()), Instant::now() + CODE_LIFE, kind));
        Ok(code)
    }

    /// Returns whether a code of this kind signs a browser in.
    pub fn has_code(&self, code: &str, kind: SessionKind) -> bool {
        let (code, now) = (hash_secret(code.trim()), Instant::now());
        let state = self.lock_state();
        state
            .codes
            .iter()
            .any(|known| known.0 == code && known.1 > now && known.2 == kind)
    }

    /// Signs a browser in with a code of this kind. Returns the secret for its cookie. `None` if the code is wrong, used or too old, or
    /// too many are signed in.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn sign_in(&self, code: &str, kind: SessionKind) -> Result<Option<Secret>, EffectError> {
        let (cookie, form, id) = (make_secret()?, make_secret()?, make_name()?);
        let pairing = make_secret()?;
        let (code, now) = (hash_secret(code.trim()), Instant::now());
        let mut state = self.lock_state();
        state.codes.retain(|(_, end, _)| *end > now);
        let found = state
            .codes
            .iter()
            .position(|known| known.0 == code && known.2 == kind);
        let Some(at) = found else {
            return Ok(None);
        };
        state.codes.remove(at);
        // Ending an older session here would let one program sign every person out.
        if state.sessions.len() >= MOST_SESSIONS {
            return Ok(None);
        }
        let session = OpenSession {
            id,
            form: form.expose().to_owned(),
            kind,
            began: now_text(),
            pairing: pairing.expose().to_owned(),
        };
        state.sessions.insert(hash_secret(cookie.expose()), session);
        let AccessState {
            sessions, challenges, ..
        } = &mut *state;
        challenges.retain(|cookie, _| sessions.contains_key(cookie));
        Ok(Some(cookie))
    }

    /// Returns the session of a cookie. `None` if nobody is signed in with it.
    pub fn find_session(&self, cookie: &str) -> Option<OpenSession> {
        self.lock_state().sessions.get(&hash_secret(cookie)).cloned()
    }

    /// Lists the sessions, the oldest first.
    pub fn list_sessions(&self) -> Vec<OpenSession> {
        let mut sessions: Vec<OpenSession> = self.lock_state().sessions.values().cloned().collect();
        sessions.sort_by(|one, other| (&one.began, &one.id).cmp(&(&other.began, &other.id)));
        sessions
    }

    /// Ends the session of this name.
    pub fn end_session(&self, id: &str) {
        self.lock_state().sessions.retain(|_, session| session.id != id);
    }

    /// Ends every session of other devices. With a device revoked, nobody knows which of them it had.
    pub fn end_device_sessions(&self) {
        let mut state = self.lock_state();
        state
            .sessions
            .retain(|_, session| session.kind == SessionKind::Usual);
        state.codes.retain(|(_, _, kind)| *kind == SessionKind::Usual);
    }

    /// Makes a text that the device of a session signs with its next action.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn make_challenge(&self, cookie: &str) -> Result<String, EffectError> {
        let challenge = make_secret()?.expose().to_owned();
        let mut state = self.lock_state();
        let own = state.challenges.entry(hash_secret(cookie)).or_default();
        if own.len() >= MOST_CHALLENGES {
            own.pop_front();
        }
        own.push_back(challenge.clone());
        Ok(challenge)
    }

    /// Uses a challenge of a session up. Returns false if the session has no such challenge, or has used it.
    pub fn use_challenge(&self, cookie: &str, challenge: &str) -> bool {
        let mut state = self.lock_state();
        let Some(own) = state.challenges.get_mut(&hash_secret(cookie)) else {
            return false;
        };
        let at = own.iter().position(|known| same_secret(known, challenge));
        at.is_some_and(|at| own.remove(at).is_some())
    }

    /// Keeps that a device asks to be paired, with its key and its contribution. Returns false if too many do.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn ask_pairing(
        &self,
        cookie: &str,
        name: &str,
        (key, device): (&str, &str),
    ) -> Result<bool, EffectError> {
        let (id, now) = (make_name()?, Instant::now());
        let asked_by = hash_secret(cookie);
        let mut state = self.lock_state();
        // A second question of the same browser replaces the first one.
        state
            .pairings
            .retain(|asked| asked.end > now && asked.asked_by != asked_by);
        let service = state
            .sessions
            .get(&asked_by)
            .map(|session| session.pairing.clone());
        let Some(service) = service.filter(|_| state.pairings.len() < MOST_PAIRINGS) else {
            return Ok(false);
        };
        state.pairings.push(OpenPairing {
            id,
            name: name.chars().take(LONGEST_NAME).collect(),
            key: key.to_owned(),
            service,
            device: device.to_owned(),
            asked_by,
            end: now + CODE_LIFE,
        });
        Ok(true)
    }

    /// Lists the devices that ask to be paired, and whether this session is the one that asks.
    pub fn list_pairings(&self, cookie: &str) -> Vec<(OpenPairing, bool)> {
        let (asker, now) = (hash_secret(cookie), Instant::now());
        let state = self.lock_state();
        let open = state.pairings.iter().filter(|asked| asked.end > now);
        open.map(|asked| (asked.clone(), asked.asked_by == asker))
            .collect()
    }

    /// Takes a device that asks out of the list, for an answer of the session of this cookie. `None` if there is none, or the session
    /// may not answer: a device never confirms itself, and one device never confirms another.
    pub fn take_pairing(&self, cookie: &str, id: &str) -> Option<OpenPairing> {
        let (answerer, now) = (hash_secret(cookie), Instant::now());
        let mut state = self.lock_state();
        let is_usual = state
            .sessions
            .get(&answerer)
            .is_some_and(|session| session.kind == SessionKind::Usual);
        let at = state
            .pairings
            .iter()
            .position(|asked| asked.id == id && asked.end > now && asked.asked_by != answerer)?;
        is_usual.then(|| state.pairings.remove(at))
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

/// Makes a random name, which is no secret.
fn make_name() -> Result<String, EffectError> {
    Ok(make_secret()?.expose().chars().take(16).collect())
}

fn now_text() -> String {
    agentos_host::now().to_string()
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

    #[test]
    fn a_code_signs_in_once() {
        let access = ServiceAccess::default();
        let code = access.make_code(SessionKind::Usual).unwrap();
        assert!(access.sign_in("guess", SessionKind::Usual).unwrap().is_none());
        let cookie = access
            .sign_in(code.expose(), SessionKind::Usual)
            .unwrap()
            .unwrap();
        assert!(
            access
                .sign_in(code.expose(), SessionKind::Usual)
                .unwrap()
                .is_none()
        );
        assert!(access.find_session(cookie.expose()).is_some());
        assert!(access.find_session("another").is_none());
        access.sign_out(cookie.expose());
        assert!(access.find_session(cookie.expose()).is_none());
    }

    #[test]
    fn a_code_signs_in_where_its_kind_does_and_a_challenge_counts_once() {
        let access = ServiceAccess::default();
        let code = access.make_code(SessionKind::Device).unwrap();
        assert!(
            access
                .sign_in(code.expose(), SessionKind::Usual)
                .unwrap()
                .is_none()
        );
        assert!(access.has_code(code.expose(), SessionKind::Device));
        let phone = access
            .sign_in(code.expose(), SessionKind::Device)
            .unwrap()
            .unwrap();
        let challenge = access.make_challenge(phone.expose()).unwrap();
        assert!(!access.use_challenge("another", &challenge));
        assert!(access.use_challenge(phone.expose(), &challenge));
        assert!(!access.use_challenge(phone.expose(), &challenge));
        let oldest = access.make_challenge(phone.expose()).unwrap();
        for _ in 0..MOST_CHALLENGES {
            access.make_challenge(phone.expose()).unwrap();
        }
        assert!(!access.use_challenge(phone.expose(), &oldest));
    }

    #[test]
    fn codes_and_sessions_have_a_bound() {
        let access = ServiceAccess::default();
        let first = access.make_code(SessionKind::Usual).unwrap();
        for _ in 0..MOST_CODES {
            access.make_code(SessionKind::Usual).unwrap();
        }
        assert!(
            access
                .sign_in(first.expose(), SessionKind::Usual)
                .unwrap()
                .is_none()
        );
        for _ in 0..MOST_SESSIONS {
            let code = access.make_code(SessionKind::Usual).unwrap();
            assert!(
                access
                    .sign_in(code.expose(), SessionKind::Usual)
                    .unwrap()
                    .is_some()
            );
        }
        let code = access.make_code(SessionKind::Usual).unwrap();
        assert!(
            access
                .sign_in(code.expose(), SessionKind::Usual)
                .unwrap()
                .is_none()
        );
        access.sign_all_out();
        let code = access.make_code(SessionKind::Usual).unwrap();
        assert!(
            access
                .sign_in(code.expose(), SessionKind::Usual)
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn a_device_is_confirmed_by_a_usual_session_that_is_not_its_own() {
        let access = ServiceAccess::default();
        let sign_in = |kind| {
            let code = access.make_code(kind).unwrap();
            access.sign_in(code.expose(), kind).unwrap().unwrap()
        };
        let first = sign_in(SessionKind::Usual);
        let (phone, other) = (sign_in(SessionKind::Device), sign_in(SessionKind::Device));
        for _ in 0..2 {
            assert!(
                access
                    .ask_pairing(phone.expose(), "phone", ("key", "ab"))
                    .unwrap()
            );
        }
        let listed = access.list_pairings(first.expose());
        assert_eq!((listed.len(), listed[0].1), (1, false));
        let id = &listed[0].0.id;
        for wrong in [phone.expose(), other.expose(), "nobody"] {
            assert!(access.take_pairing(wrong, id).is_none());
        }
        assert!(access.take_pairing(first.expose(), "another").is_none());
        assert_eq!(access.take_pairing(first.expose(), id).unwrap().key, "key");
        assert!(access.take_pairing(first.expose(), id).is_none());
        access.end_device_sessions();
        assert_eq!(access.list_sessions().len(), 1);
        access.end_session(&access.list_sessions()[0].id);
        assert!(access.find_session(first.expose()).is_none());
    }
}
