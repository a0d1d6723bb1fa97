//! Tokens while a server is used: which one is sent, and when it is refreshed.
//!
//! Owns: refreshing, once for all sessions of the user. Never: sends a token to another address than that of the sign-in.
//!
//! An authorization server may accept a refresh token only once, and end the sign-in when it comes a second time (OAuth 2.1, section
//! 4.3.1). So all processes of the user refresh under one lock, read the stored entry after they got it, and store the new tokens before
//! they let it go. A process that finds other tokens there than its own takes them, and requests none.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex as SlotMutex, PoisonError};

use agentos_net::{HttpClient, HttpUrl};
use agentos_tool::Secret;
use tokio::sync::Mutex;

use super::error::{SignInError, SignInStep};
use super::grant::Grant;
use super::token::request_tokens;

/// Failure of a store. Contains no token.
pub type StoreFault = Box<dyn Error + Send + Sync>;

/// Place of one stored sign-in. Its functions may block.
pub trait GrantStore: Send + Sync {
    /// Returns the time in seconds since 1970.
    fn now(&self) -> u64;

    /// Waits until no other process of the user refreshes this sign-in. Dropping the value lets the next one.
    ///
    /// # Errors
    /// If there is no place for the lock.
    fn lock(&self) -> Result<Box<dyn Send>, StoreFault>;

    /// Reads the stored entry. `None` if nobody is signed in.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn load(&self) -> Result<Option<Secret>, StoreFault>;

    /// Replaces the stored entry.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn save(&self, entry: &Secret) -> Result<(), StoreFault>;
}

/// Tokens of the sign-in at one server.
pub struct TokenKeeper {
    server: HttpUrl,
    http: HttpClient,
    store: Arc<dyn GrantStore>,
    /// Grant as it was last read or received. `None` before the first use.
    grant: Mutex<Option<Grant>>,
    /// Last failure, for whoever sees only that a request failed: the transport passes errors on as text.
    failure: SlotMutex<Option<Arc<SignInError>>>,
}

impl fmt::Debug for TokenKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKeeper")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl TokenKeeper {
    /// Makes the keeper of the sign-in at `server`. Nothing is read yet.
    #[must_use]
    pub fn new(server: HttpUrl, http: HttpClient, store: Arc<dyn GrantStore>) -> Self {
        Self {
            server,
            http,
            store,
            grant: Mutex::new(None),
            failure: SlotMutex::new(None),
        }
    }

    /// Returns the token for a request to `url`, and refreshes it first if it is about to end.
    ///
    /// # Errors
    /// If nobody is signed in at that address, or the token cannot be refreshed.
    pub async fn find_token(&self, url: &HttpUrl) -> Result<Secret, Arc<SignInError>> {
        let found = self.find_valid(url, None).await;
        self.note_failure(found)
    }

    /// Returns the token to send after the server has refused one.
    ///
    /// # Errors
    /// If there is no other one.
    pub async fn replace_token(&self, url: &HttpUrl, refused: &Secret) -> Result<Secret, Arc<SignInError>> {
        let found = self.find_valid(url, Some(refused)).await;
        self.note_failure(found)
    }

    /// Notes that the server refused a token that was just refreshed.
    pub(crate) fn note_end(&self) -> Arc<SignInError> {
        let error = Arc::new(SignInError::Ended(None));
        self.set_failure(Some(Arc::clone(&error)));
        error
    }

    /// Returns the last failure. `None` if the last token could be sent.
    #[must_use]
    pub fn last_failure(&self) -> Option<Arc<SignInError>> {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_failure(&self, failure: Option<Arc<SignInError>>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    fn note_failure(&self, found: Result<Secret, SignInError>) -> Result<Secret, Arc<SignInError>> {
        let found = found.map_err(Arc::new);
        self.set_failure(found.as_ref().err().cloned());
        found
    }

    async fn find_valid(&self, url: &HttpUrl, refused: Option<&Secret>) -> Result<Secret, SignInError> {
        // The path too: two servers of one host may belong to different people.
        if *url != self.server {
            return Err(SignInError::OtherServer);
        }
        let mut kept = self.grant.lock().await;
        // Taken out: after a refresh that failed, the entry is read again, because another process may have replaced it.
        let grant = match kept.take() {
            Some(grant) => grant,
            None => self.load().await?,
        };
        let grant = match needs_refresh(&grant, refused, self.store.now()) {
            true => self.refresh(grant, refused).await?,
            false => grant,
        };
        let token = grant.tokens.access.clone();
        *kept = Some(grant);
        Ok(token)
    }

    /// Requests new tokens and stores them, or takes those that another process has stored.
    async fn refresh(&self, known: Grant, refused: Option<&Secret>) -> Result<Grant, SignInError> {
        let _lock = self.ask_store(|store| store.lock()).await?;
        // Read after the lock, and not before: whoever had it until now has probably stored new tokens.
        let stored = self.load().await?;
        let is_new = stored.tokens.access.expose() != known.tokens.access.expose();
        if is_new && !needs_refresh(&stored, refused, self.store.now()) {
            return Ok(stored);
        }
        let token = stored.tokens.refresh.clone().ok_or(SignInError::Ended(None))?;
        let form = vec![
            ("grant_type", Secret::new("refresh_token")),
            ("refresh_token", token.clone()),
            ("resource", Secret::new(&stored.resource)),
        ];
        let step = SignInStep::Refresh;
        let requested = request_tokens(&self.http, &stored.token_endpoint, &stored.client, form, step).await;
        let mut tokens = requested.map_err(|error| match &error {
            // The server knows the token or the client no more. Other failures may be gone the next time.
            SignInError::Refused { code, .. } if code == "invalid_grant" || code == "invalid_client" => {
                SignInError::Ended(Some(Box::new(error)))
            }
            _ => error,
        })?;
        // A server that sends no new one lets the old one be used again (RFC 6749, section 6).
        tokens.refresh = tokens.refresh.or(Some(token));
        let grant = Grant {
            tokens,
            received_at: self.store.now(),
            ..stored
        };
        let entry = grant.to_entry();
        self.ask_store(move |store| store.save(&entry)).await?;
        Ok(grant)
    }

    async fn load(&self) -> Result<Grant, SignInError> {
        let entry = self.ask_store(|store| store.load()).await?;
        let entry = entry.ok_or(SignInError::NotSignedIn)?;
        let grant = Grant::from_entry(&entry).ok_or(SignInError::NotSignedIn)?;
        match *grant.server() == self.server {
            true => Ok(grant),
            false => Err(SignInError::OtherServer),
        }
    }

    /// Asks the store on a thread on which it may block: a keyring waits for a person, and the lock for another process.
    async fn ask_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn GrantStore) -> Result<T, StoreFault> + Send + 'static,
    ) -> Result<T, SignInError> {
        let store = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || work(store.as_ref())).await;
        done.map_err(|error| SignInError::Store(error.into()))?
            .map_err(SignInError::Store)
    }
}

fn needs_refresh(grant: &Grant, refused: Option<&Secret>, now: u64) -> bool {
    match refused {
        Some(refused) => grant.tokens.access.expose() == refused.expose(),
        // Without a refresh token there is nothing to gain: the server may accept the old one for a little longer.
        None => grant.is_ending(now) && grant.can_refresh(),
    }
}
