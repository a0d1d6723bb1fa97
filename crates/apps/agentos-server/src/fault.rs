//! Failures of a request, as HTTP statuses with a body for a program or a page for a person.
//!
//! Owns: the status of each cause. Never: words a failure differently.

use agentos_api::{Cause, ErrorBody, ErrorReport};
use agentos_host::EffectError;
use axum::http::StatusCode;

use crate::judge::RequestRefusal;

/// Failure of a request.
#[derive(Debug, Clone)]
pub struct RequestFault {
    /// Status of the answer.
    pub status: StatusCode,
    /// The failure, as the command line reports it.
    pub error: EffectError,
}

impl RequestFault {
    /// Makes a failure of this status.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self {
            status,
            error: EffectError::new(Cause::Usage, code, message),
        }
    }

    /// Returns the body for a program.
    pub fn to_report(&self) -> ErrorReport {
        let error = &self.error;
        ErrorReport {
            version: 1,
            error: ErrorBody {
                code: error.code.clone(),
                cause: error.cause,
                message: error.message.clone(),
                hint: error.hint.clone(),
                next: error.next.clone(),
                causes: error.causes().to_vec(),
            },
        }
    }
}

impl From<EffectError> for RequestFault {
    fn from(error: EffectError) -> Self {
        let status = match (error.code.as_str(), error.cause) {
            ("unknown-run" | "no-runs" | "not-open", _) => StatusCode::NOT_FOUND,
            (_, Cause::Usage) => StatusCode::BAD_REQUEST,
            (_, Cause::Policy) => StatusCode::FORBIDDEN,
            (_, Cause::Consent | Cause::Repository) => StatusCode::CONFLICT,
            (_, Cause::Tool) => StatusCode::BAD_GATEWAY,
            (_, Cause::Landing) => StatusCode::UNPROCESSABLE_ENTITY,
            (_, Cause::Limit) => StatusCode::TOO_MANY_REQUESTS,
            // A success is no error, so whoever says so is wrong.
            (_, Cause::Evidence | Cause::Internal | Cause::Done) => StatusCode::INTERNAL_SERVER_ERROR,
            (_, Cause::Interrupted) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self { status, error }
    }
}

impl From<RequestRefusal> for RequestFault {
    fn from(refusal: RequestRefusal) -> Self {
        let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::FORBIDDEN);
        Self::new(status, refusal.code(), refusal.to_string())
    }
}
