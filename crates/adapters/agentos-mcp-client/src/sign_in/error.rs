//! Errors of a sign-in.
//!
//! Owns: their wording, and how texts of servers are shortened. Never: repeats a token, a code or a secret.

use std::error::Error;
use std::fmt;

use agentos_net::{NetError, Response, redact_keys};
use agentos_tool::Secret;
use serde_json::Value;

/// Longest text of a server in an error, in characters.
const LONGEST_TEXT: usize = 200;

/// Failure of a store. Contains no token.
pub type StoreFault = Box<dyn Error + Send + Sync>;

/// Step of a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInStep {
    /// Asking the server without a token.
    Ask,
    /// Reading the metadata of the server.
    ResourceMetadata,
    /// Reading the metadata of the authorization server.
    ServerMetadata,
    /// Registering a client.
    Register,
    /// Drawing random texts.
    Prepare,
    /// The user's answer in the browser.
    Agree,
    /// Exchanging the code for tokens.
    Exchange,
    /// Refreshing the tokens.
    Refresh,
}

impl fmt::Display for SignInStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ask => "asking the server",
            Self::ResourceMetadata => "reading the metadata of the server",
            Self::ServerMetadata => "reading the metadata of the authorization server",
            Self::Register => "registering a client",
            Self::Prepare => "preparing the sign-in",
            Self::Agree => "signing in with the browser",
            Self::Exchange => "requesting the tokens",
            Self::Refresh => "refreshing the tokens",
        })
    }
}

/// Failure of a sign-in, or of its tokens. Texts of servers are untrusted.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The server is reached over plain HTTP on another machine.
    #[error("nobody signs in at an address without https, unless it is on this machine")]
    PlainServer,
    /// The server offers no sign-in.
    #[error("the server answered with HTTP {0}, and describes no way to sign in")]
    NotOffered(u16),
    /// A request failed.
    #[error("{step} failed")]
    Http {
        /// Step.
        step: SignInStep,
        /// Reason.
        #[source]
        source: NetError,
    },
    /// A server answered with a redirect, which is not followed.
    #[error("{0} failed: the answer is a redirect, which is not followed")]
    Redirect(SignInStep),
    /// A server answered with an unexpected status.
    #[error("{0} failed: the answer is HTTP {1}")]
    Status(SignInStep, u16),
    /// An answer is not as it must be.
    #[error("{step} failed: {fault}")]
    Document {
        /// Step.
        step: SignInStep,
        /// Fault, in words.
        fault: String,
    },
    /// A document names an address that may not be used.
    #[error("{step} failed: `{field}` is not an address that may be used: {why}")]
    Address {
        /// Step.
        step: SignInStep,
        /// Field of the document.
        field: &'static str,
        /// Reason.
        why: &'static str,
    },
    /// The metadata is about another server.
    #[error("{0} failed: the metadata is about another server")]
    OtherResource(SignInStep),
    /// A document or an answer is of another authorization server.
    #[error("{0} failed: the answer does not come from the authorization server that was named")]
    OtherIssuer(SignInStep),
    /// The authorization server has no PKCE with S256.
    #[error("the authorization server does not support PKCE with S256, without which a code could be stolen")]
    NoPkce,
    /// The authorization server registers no clients.
    #[error("the authorization server registers no clients, and the profile has no `client_id`")]
    NoClient,
    /// A server refused, with an error of the protocol.
    #[error("{step} was refused: {code}{reason}")]
    Refused {
        /// Step.
        step: SignInStep,
        /// Error code, as in `access_denied`.
        code: String,
        /// Reason of the server, with a separator before it. Empty if it gives none.
        reason: String,
    },
    /// Nobody is signed in.
    #[error("nobody is signed in at the server")]
    NotSignedIn,
    /// The server does not accept the tokens any more, and they cannot be refreshed.
    #[error("the sign-in has ended")]
    Ended(#[source] Option<Box<SignInError>>),
    /// The sign-in was made at another address.
    #[error("the sign-in was made at another address than that of the profile")]
    OtherServer,
    /// The stored sign-in cannot be read or written.
    #[error("the stored sign-in cannot be used")]
    Store(#[source] StoreFault),
}

impl SignInError {
    pub(super) fn http(step: SignInStep, source: NetError) -> Self {
        Self::Http { step, source }
    }

    pub(super) fn document(step: SignInStep, fault: &str) -> Self {
        let fault = fault.to_owned();
        Self::Document { step, fault }
    }

    /// Makes the error of a refusal from the texts of a server.
    pub(super) fn refused(step: SignInStep, code: &str, reason: Option<&str>) -> Self {
        let reason = reason.map(shorten_text).filter(|reason| !reason.is_empty());
        Self::Refused {
            step,
            code: shorten_text(code),
            reason: reason.map_or_else(String::new, |reason| format!(": {reason}")),
        }
    }

    /// Returns true if signing in again is what helps.
    #[must_use]
    pub fn needs_sign_in(&self) -> bool {
        matches!(self, Self::NotSignedIn | Self::Ended(_) | Self::OtherServer)
    }
}

/// Shortens a text of a server to one line.
fn shorten_text(text: &str) -> String {
    // A control character of a server could move the cursor of a terminal, and forge what a user reads.
    let visible = text.chars().map(|letter| match letter.is_control() {
        true => ' ',
        false => letter,
    });
    visible.take(LONGEST_TEXT).collect::<String>().trim().to_owned()
}

/// Reads the error of a refusal (RFC 6749, section 5.2; RFC 7591, section 3.2.2), without the secrets that were sent.
pub(super) fn read_refusal(answer: &Response, step: SignInStep, sent: &[Secret]) -> SignInError {
    let document: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let sent: Vec<&Secret> = sent.iter().collect();
    // Before a text is shortened, which could leave a part of a secret.
    let text = |field| Some(redact_keys(document.get(field)?.as_str()?, &sent));
    match text("error") {
        Some(code) => SignInError::refused(step, &code, text("error_description").as_deref()),
        None => SignInError::Status(step, answer.status),
    }
}
