//! The author of a request, as handlers see it.
//!
//! Owns: the name of a token, and whether an author still counts. Never: decides what an author may do; the judge has decided
//! before.

use std::sync::Arc;

use agentos_host::{TokenAnswer, TokenWatch, now};
use axum::extract::Extension;

use crate::desk::SharedDesk;

/// Name of the token with which a request came.
#[derive(Debug, Clone)]
pub struct CallerToken(pub String);

/// Token of a request. `None` over the Unix socket and on the page, which need no token.
pub type SentToken = Option<Extension<CallerToken>>;

/// Returns the name of the token. `None` if no token was sent.
pub fn name_token(token: SentToken) -> Option<String> {
    token.map(|Extension(CallerToken(name))| name)
}

/// Standing of an author whose request lasts: a token that was revoked or has ended counts no more, nor does a session that was
/// ended.
#[derive(Clone)]
pub struct CallerStanding(Arc<dyn Fn() -> bool + Send + Sync>);

impl CallerStanding {
    /// Makes the standing of a token.
    pub fn of_token(tokens: Arc<TokenWatch>, secret: String) -> Self {
        Self(Arc::new(move || {
            matches!(tokens.find(&secret, &now()), TokenAnswer::Valid(_))
        }))
    }

    /// Makes the standing of a person's session at a page.
    pub fn of_session(desk: SharedDesk, cookie: String) -> Self {
        Self(Arc::new(move || desk.access.find_session(&cookie).is_some()))
    }

    /// Returns true if the author still counts.
    pub fn counts(&self) -> bool {
        (self.0)()
    }
}
