//! Forms as browsers send them.
//!
//! Owns: reading one, and the check of its secret. Never: trusts a member of it.

use axum::body::Bytes;
use axum::extract::{FromRequest as _, Request};
use axum::http::StatusCode;

use crate::access::same_secret;
use crate::desk::SharedDesk;
use crate::fault::RequestFault;

/// Form that was sent.
#[derive(Debug, Clone)]
pub struct SentForm(Vec<(String, String)>);

impl SentForm {
    /// Parses the bytes of a form.
    pub fn parse(bytes: &[u8]) -> Self {
        let pairs = url::form_urlencoded::parse(bytes);
        // Forms send line ends as CR LF (HTML, "constructing the entry list"), whatever the person typed.
        let pairs = pairs.map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n")));
        Self(pairs.collect())
    }

    /// Returns all members in their order.
    pub fn members(&self) -> &[(String, String)] {
        &self.0
    }

    /// Returns a member; an empty text if there is none.
    pub fn text(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// Requires the secret of this person's forms, which another site cannot read.
    ///
    /// # Errors
    /// If the form has another one.
    pub fn require_secret(&self, secret: &str) -> Result<(), RequestFault> {
        match same_secret(self.text("form"), secret) {
            true => Ok(()),
            false => Err(RequestFault::new(
                StatusCode::FORBIDDEN,
                "foreign-form",
                "this form is not of your session; load the page again",
            )),
        }
    }
}

/// Reads the form of a request.
///
/// # Errors
/// If the body is too large, or breaks off.
pub async fn read_form(request: Request, desk: &SharedDesk) -> Result<SentForm, RequestFault> {
    let body = Bytes::from_request(request, desk).await;
    let body = body
        .map_err(|error| RequestFault::new(error.status(), "usage", "the form is too large, or broke off"))?;
    Ok(SentForm::parse(&body))
}
