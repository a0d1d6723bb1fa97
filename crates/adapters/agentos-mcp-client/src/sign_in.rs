//! Signing in at a server over HTTP: OAuth 2.1, as the protocol's version 2025-11-25 profiles it ("Authorization").
//!
//! Owns: the order of the steps, and every check between them. Never: opens a browser, listens on a port, or stores a token; its caller
//! does. Never shows a token, a code or a secret, in errors either.
//!
//! | step | what is checked | module |
//! |---|---|---|
//! | the server is asked without a token, and refuses with a challenge | it is reached by https, or on this machine | [`challenge`] |
//! | its metadata names the authorization server (RFC 9728) | the document is the server's own, and is about this server | [`discover`], [`metadata`] |
//! | the authorization server's metadata (RFC 8414, OpenID Connect Discovery) | its issuer is the one that was named; PKCE with S256 | [`discover`], [`metadata`] |
//! | a client is registered (RFC 7591), or that of the profile is used | | [`client`] |
//! | the user agrees in a browser | `state`, and `iss` (RFC 9207) | this module |
//! | the code is exchanged for tokens, with the verifier (RFC 7636) and `resource` (RFC 8707) | the type is Bearer | [`token`] |
//! | tokens are sent and refreshed | only to the server of the sign-in | [`keeper`] |
//!
//! The steps are written here and not taken from `rmcp`, although its feature `auth` lets the caller supply the HTTP: where discovery
//! finds nothing, it falls back to addresses that no metadata names; it writes the code of a sign-in to the log; its errors are texts of
//! servers; and it compiles `oauth2` with `chrono`, and a second set of features of `reqwest`, into the product.

pub(crate) mod challenge;
mod client;
mod discover;
mod error;
mod grant;
mod keeper;
mod metadata;
mod token;

#[cfg(test)]
mod tests;

use agentos_net::{CallbackAnswer, HttpClient, HttpUrl, NetConfig, NetError, make_random_text};
use agentos_tool::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use client::OAuthClient;
use metadata::ServerMetadata;

pub use error::{SignInError, SignInStep, StoreFault};
pub use grant::Grant;
pub use keeper::{GrantStore, TokenKeeper};

/// Largest document of a sign-in, in bytes.
const LARGEST_DOCUMENT: usize = 256 << 10;

/// Makes the client for the requests of a sign-in, whose answers are small.
///
/// # Errors
/// If it cannot be set up.
pub fn make_sign_in_client() -> Result<HttpClient, NetError> {
    HttpClient::new(NetConfig {
        max_body_bytes: LARGEST_DOCUMENT,
        ..NetConfig::default()
    })
}

/// Server of tools with its authorization server, as their metadata describes them.
#[derive(Debug, Clone)]
pub struct SignInOffer {
    server: HttpUrl,
    /// Name of the server in requests for tokens (RFC 8707).
    resource: String,
    authorization: ServerMetadata,
    /// Scopes that the server names. Empty if it names none.
    scopes: Vec<String>,
}

/// Choices of the user for a sign-in.
#[derive(Debug, Clone, Default)]
pub struct SignInChoices {
    /// Id of a client that the authorization server knows. `None` to register one.
    pub client_id: Option<String>,
    /// Scopes to request. Empty for those that the server names.
    pub scopes: Vec<String>,
}

/// Sign-in that waits for the user's browser.
#[derive(Debug)]
pub struct PendingSignIn {
    offer: SignInOffer,
    http: HttpClient,
    client: OAuthClient,
    redirect: String,
    scopes: String,
    state: Secret,
    verifier: Secret,
    address: Secret,
}

impl SignInOffer {
    /// Asks a server how to sign in at it.
    ///
    /// # Errors
    /// If it offers no sign-in, or one of the documents is not as it must be.
    pub async fn discover(http: &HttpClient, server: &HttpUrl) -> Result<Self, SignInError> {
        discover::discover_offer(http, server).await
    }

    /// Returns the address of the authorization server, for people: in ASCII, so that no letter looks like another one.
    #[must_use]
    pub fn issuer(&self) -> String {
        show_issuer(&self.authorization.issuer)
    }

    /// Returns the host of the page on which the user agrees, for people.
    #[must_use]
    pub fn page_host(&self) -> String {
        self.authorization.authorization_endpoint.host().to_owned()
    }

    /// Begins a sign-in whose browser is sent back to `redirect`.
    ///
    /// # Errors
    /// If no client can be registered, or the system gives no random bytes.
    pub async fn begin(
        self,
        http: &HttpClient,
        choices: SignInChoices,
        redirect: String,
    ) -> Result<PendingSignIn, SignInError> {
        let scopes = self.select_scopes(choices.scopes).join(" ");
        let client = match choices.client_id {
            Some(id) => OAuthClient::from_id(id),
            None => client::register_client(http, &self.authorization, &redirect, &scopes).await?,
        };
        let random = || make_random_text().map_err(|source| SignInError::http(SignInStep::Prepare, source));
        let (state, verifier) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose()));
        let mut address = self
            .authorization
            .authorization_endpoint
            .with_query("response_type", "code")
            .with_query("client_id", &client.id)
            .with_query("redirect_uri", &redirect)
            .with_query("state", state.expose())
            .with_query("code_challenge", &challenge)
            .with_query("code_challenge_method", "S256")
            .with_query("resource", &self.resource);
        if !scopes.is_empty() {
            address = address.with_query("scope", &scopes);
        }
        Ok(PendingSignIn {
            offer: self,
            http: http.clone(),
            client,
            redirect,
            scopes,
            state,
            verifier,
            // A secret, because whoever knows its `state` can answer in the place of the browser.
            address: Secret::new(&address.to_string()),
        })
    }

    /// Returns the scopes to request: those of the user, else those of the server, as the protocol orders it.
    fn select_scopes(&self, chosen: Vec<String>) -> Vec<String> {
        if !chosen.is_empty() {
            return chosen;
        }
        let mut scopes = self.scopes.clone();
        // Servers of OpenID Connect give a token for refreshing only to those who request this scope (OpenID Connect Core, section 11).
        let offline = "offline_access".to_owned();
        if self.authorization.scopes.contains(&offline) && !scopes.contains(&offline) {
            scopes.push(offline);
        }
        scopes
    }
}

/// Returns an issuer as an address in ASCII.
pub(super) fn show_issuer(issuer: &str) -> String {
    HttpUrl::parse_named(issuer).map_or_else(|_| String::new(), |url| url.to_string())
}

impl PendingSignIn {
    /// Returns the scopes that are requested, separated by blanks. Empty if none is named. Untrusted.
    #[must_use]
    pub fn scopes(&self) -> &str {
        &self.scopes
    }

    /// Returns the address that the user's browser opens.
    #[must_use]
    pub fn address(&self) -> &Secret {
        &self.address
    }

    /// Returns the random text that the browser must bring back.
    #[must_use]
    pub fn state(&self) -> &Secret {
        &self.state
    }

    /// Exchanges what the browser brought back for tokens. `state` must have been compared before. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// If the user or the server refused, or the answer is of another authorization server.
    pub async fn finish(self, callback: CallbackAnswer, now: u64) -> Result<Grant, SignInError> {
        self.check_issuer(callback.issuer.as_deref())?;
        let code = match (callback.code, callback.error) {
            (Some(code), None) => code,
            (_, Some(error)) => {
                return Err(SignInError::refused(
                    SignInStep::Agree,
                    &error,
                    callback.reason.as_deref(),
                ));
            }
            (None, None) => return Err(SignInError::document(SignInStep::Agree, "it has no code")),
        };
        let form = vec![
            ("grant_type", Secret::new("authorization_code")),
            ("code", code),
            ("redirect_uri", Secret::new(&self.redirect)),
            ("code_verifier", self.verifier),
            ("resource", Secret::new(&self.offer.resource)),
        ];
        let endpoint = self.offer.authorization.token_endpoint;
        let step = SignInStep::Exchange;
        let tokens = token::request_tokens(&self.http, &endpoint, &self.client, form, step).await?;
        Ok(Grant {
            server: self.offer.server,
            resource: self.offer.resource,
            issuer: self.offer.authorization.issuer,
            token_endpoint: endpoint,
            client: self.client,
            tokens,
            received_at: now,
        })
    }

    /// Checks that the answer is of the authorization server that was asked. The texts must be equal, letter by letter (RFC 9207, section
    /// 2.4).
    fn check_issuer(&self, named: Option<&str>) -> Result<(), SignInError> {
        let wanted = &self.offer.authorization.issuer;
        match named {
            Some(named) if named == wanted => Ok(()),
            Some(_) => Err(SignInError::OtherIssuer(SignInStep::Agree)),
            None if self.offer.authorization.names_issuer => Err(SignInError::OtherIssuer(SignInStep::Agree)),
            None => Ok(()),
        }
    }
}
