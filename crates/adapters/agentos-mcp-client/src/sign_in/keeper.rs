//! Tokens while a server is used: which one is sent, and when it is refreshed.
//!
//! Owns: refreshing, once for all sessions of the user. Never: sends a token to another address than that of the sign-in.
//!
//! An authorization server may accept a refresh token only once, and end the sign-in when it comes a second time (OAuth 2.1, section
//! 4.3.1). So all processes of the user refresh under one lock, read the stored entry after they got it, and store the new tokens before
//! they let it go. A process that finds other tokens there than its own takes them, and requests none. A refresh goes on when nobody waits
//! for it any more, because its tokens are spent once it was sent; only the end of the program interrupts it.

use std::fmt;
use std::sync::{Arc, Mutex as SlotMutex, PoisonError};

use agentos_net::{HttpClient, HttpUrl};
use agentos_tool::Secret;
use tokio::sync::Mutex;

use super::error::{SignInError, SignInStep, StoreFault};
use super::grant::Grant;
use super::token::request_tokens;

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
    state: Arc<KeeperState>,
    /// Last failure, for whoever sees only that a request failed: the transport passes errors on as text.
    failure: SlotMutex<Option<Arc<SignInError>>>,
}

struct KeeperState {
    server: HttpUrl,
    http: HttpClient,
    store: Arc<dyn GrantStore>,
    /// Grant as it was last read or received. `None` before the first use.
    kept: Mutex<Option<KeptGrant>>,
}

/// Grant in memory.
#[derive(Clone)]
struct KeptGrant {
    grant: Grant,
    /// True if it could not be stored. What is stored was used up then.
    is_unsaved: bool,
}

impl fmt::Debug for TokenKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKeeper")
            .field("server", &self.state.server)
            .finish_non_exhaustive()
    }
}

impl TokenKeeper {
    /// Makes the keeper of the sign-in at `server`. Nothing is read yet.
    #[must_use]
    pub fn new(server: HttpUrl, http: HttpClient, store: Arc<dyn GrantStore>) -> Self {
        let state = KeeperState {
            server,
            http,
            store,
            kept: Mutex::new(None),
        };
        Self {
            state: Arc::new(state),
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

    /// Returns the token of now. `None` before the first use.
    pub(crate) async fn current_token(&self) -> Option<Secret> {
        let kept = self.state.kept.lock().await;
        kept.as_ref().map(|kept| kept.grant.tokens.access.clone())
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
        if *url != self.state.server {
            return Err(SignInError::OtherServer);
        }
        let now = self.state.store.now();
        if let Some(kept) = self.state.kept.lock().await.as_ref()
            && !needs_refresh(&kept.grant, refused, now)
        {
            return Ok(kept.grant.tokens.access.clone());
        }
        let (state, refused) = (Arc::clone(&self.state), refused.cloned());
        let renewed = tokio::spawn(async move { state.renew(refused.as_ref()).await }).await;
        renewed.map_err(|error| SignInError::Store(error.into()))?
    }
}

impl KeeperState {
    /// Returns the token of now, refreshed if that is needed.
    async fn renew(&self, refused: Option<&Secret>) -> Result<Secret, SignInError> {
        let mut kept = self.kept.lock().await;
        // Taken out: after a refresh that failed, the entry is read again, because another process may have replaced it.
        let known = match kept.take() {
            Some(known) => known,
            None => KeptGrant {
                grant: self.load().await?,
                is_unsaved: false,
            },
        };
        let renewed = match needs_refresh(&known.grant, refused, self.store.now()) {
            true => match self.refresh(known.clone(), refused).await {
                Ok(renewed) => renewed,
                // The server still takes it, or says that it does not.
                Err(error) if refused.is_none() && !error.needs_sign_in() => known,
                Err(error) => {
                    *kept = Some(known).filter(|known| known.is_unsaved);
                    return Err(error);
                }
            },
            false => known,
        };
        let token = renewed.grant.tokens.access.clone();
        *kept = Some(renewed);
        Ok(token)
    }

    /// Requests new tokens and stores them, or takes those that another process has stored.
    async fn refresh(&self, known: KeptGrant, refused: Option<&Secret>) -> Result<KeptGrant, SignInError> {
        let _lock = self.ask_store(|store| store.lock()).await?;
        // Read after the lock, and not before: whoever had it until now has probably stored new tokens.
        let current = match known.is_unsaved {
            true => known.grant.clone(),
            false => self.load().await?,
        };
        let is_new = current.tokens.access.expose() != known.grant.tokens.access.expose();
        if is_new && !needs_refresh(&current, refused, self.store.now()) {
            return Ok(KeptGrant {
                grant: current,
                is_unsaved: false,
            });
        }
        let grant = self.request_grant(current).await?;
        let entry = grant.to_entry();
        let saved = self.ask_store(move |store| store.save(&entry)).await;
        if let Err(error) = &saved {
            tracing::warn!(%error, "refreshed tokens cannot be stored");
        }
        Ok(KeptGrant {
            grant,
            is_unsaved: saved.is_err(),
        })
    }

    /// Requests new tokens.
    async fn request_grant(&self, current: Grant) -> Result<Grant, SignInError> {
        let token = current.tokens.refresh.clone().ok_or(SignInError::Ended(None))?;
        let form = vec![
            ("grant_type", Secret::new("refresh_token")),
            ("refresh_token", token.clone()),
            ("resource", Secret::new(&current.resource)),
        ];
        let step = SignInStep::Refresh;
        let requested =
            request_tokens(&self.http, &current.token_endpoint, &current.client, form, step).await;
        let mut tokens = requested.map_err(|error| match &error {
            // The server knows the token or the client no more. Other failures may be gone the next time.
            SignInError::Refused { code, .. } if code == "invalid_grant" || code == "invalid_client" => {
                SignInError::Ended(Some(Box::new(error)))
            }
            _ => error,
        })?;
        // A server that sends no new one lets the old one be used again (RFC 6749, section 6).
        tokens.refresh = tokens.refresh.or(Some(token));
        Ok(Grant {
            tokens,
            received_at: self.store.now(),
            ..current
        })
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
