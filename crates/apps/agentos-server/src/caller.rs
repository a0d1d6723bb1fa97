//! The token of a program, as handlers see it.
//!
//! Owns: these two types. Never: decides what a token may do; the judge has decided before.

use axum::extract::Extension;

/// Name of the token with which a request came.
#[derive(Debug, Clone)]
pub struct CallerToken(pub String);

/// Token of a request. `None` over the Unix socket and on the page, which need no token.
pub type SentToken = Option<Extension<CallerToken>>;

/// Returns the name of the token. `None` if no token was sent.
pub fn name_token(token: SentToken) -> Option<String> {
    token.map(|Extension(CallerToken(name))| name)
}
