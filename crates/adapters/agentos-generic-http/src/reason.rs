//! Every reason why a model server cannot be used as it is, and the health state that follows.
//!
//! Owns: the table from reason to state, category and word. Never: looks at an answer; `verdict` does.

use agentos_net::{NetError, NetErrorKind};
use agentos_tool::{ErrorCategory, HealthStatus};

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No address is set.
    MissingUrl,
    /// The address cannot be called.
    BadUrl,
    /// No model is set and the server does not make it clear.
    MissingModel,
    /// The provider always wants a key and none is set.
    MissingKey,
    /// The key cannot be sent in a header.
    BadKey,
    /// The client could not be set up.
    Setup,
    /// The name does not resolve.
    Dns,
    /// Nobody listens.
    Refused,
    /// No connection in time.
    ConnectTimeout,
    /// No TLS connection.
    Tls,
    /// The certificate is not trusted.
    TlsCertificate,
    /// No whole answer in time.
    ReadTimeout,
    /// Closed before the answer was whole.
    Closed,
    /// Not HTTP.
    NotHttp,
    /// Larger than the cap.
    TooLarge,
    /// A redirect, which is never followed.
    Redirect,
    /// A web page.
    Html,
    /// A key is wanted and none was sent.
    KeyRequired,
    /// The key is refused.
    Unauthorized,
    /// The key is good for something else.
    Forbidden,
    /// A proxy wants to know who we are.
    ProxyAuth,
    /// The model is not known there.
    UnknownModel,
    /// The model is there, not loaded, and will be on the first request.
    NotLoaded,
    /// The model is there, not loaded, and will not be.
    LoadingOff,
    /// The model's last load failed.
    LoadFailed,
    /// There is no model at all.
    NoModels,
    /// No such path or method.
    WrongPath,
    /// The money is used up.
    Quota,
    /// Too many requests for now.
    RateLimited,
    /// The server gave up waiting.
    Timeout,
    /// The model is still being loaded.
    Loading,
    /// Another request stands in the way of this one.
    Conflict,
    /// Too much to do.
    Overloaded,
    /// The server failed.
    ServerError,
    /// Not JSON.
    NotJson,
    /// An error in an answer that says it went well.
    ErrorIn200,
    /// JSON without the expected fields.
    Fields,
    /// The task does not fit the model's context.
    ContextLength,
    /// The server does not take the request as it is.
    Rejected,
    /// The stream broke off or turned into an error after it had begun.
    BrokenStream,
    /// The answer came, and says of itself that it is not whole, or does not say that it is.
    BrokenAnswer,
    /// The answer holds the key that was sent.
    KeyInAnswer,
}

impl Reason {
    /// The machine-readable word beside the state.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingUrl => "missing-url",
            Self::BadUrl => "bad-url",
            Self::MissingModel => "missing-model",
            Self::MissingKey => "missing-key",
            Self::BadKey => "bad-key",
            Self::Setup => "setup",
            Self::Dns => "dns",
            Self::Refused => "refused",
            Self::ConnectTimeout => "connect-timeout",
            Self::Tls => "tls",
            Self::TlsCertificate => "tls-certificate",
            Self::ReadTimeout => "read-timeout",
            Self::Closed => "closed",
            Self::NotHttp => "not-http",
            Self::TooLarge => "too-large",
            Self::Redirect => "redirect",
            Self::Html => "html",
            Self::KeyRequired => "key-required",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::ProxyAuth => "proxy-auth",
            Self::UnknownModel => "unknown-model",
            Self::NotLoaded | Self::LoadingOff => "not-loaded",
            Self::LoadFailed => "load-failed",
            Self::NoModels => "no-models",
            Self::WrongPath => "wrong-path",
            Self::Quota => "quota",
            Self::RateLimited => "rate-limited",
            Self::Timeout => "timeout",
            Self::Loading => "loading",
            Self::Conflict => "conflict",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server-error",
            Self::NotJson => "not-json",
            Self::ErrorIn200 => "error-in-200",
            Self::Fields => "fields",
            Self::ContextLength => "context-length",
            Self::Rejected => "rejected",
            Self::BrokenStream => "broken-stream",
            Self::BrokenAnswer => "broken-answer",
            Self::KeyInAnswer => "key-in-answer",
        }
    }

    /// The health state. A limit on money or rate is connected: address, key and model are proved.
    #[must_use]
    pub fn status(self) -> HealthStatus {
        match self {
            Self::MissingUrl
            | Self::BadUrl
            | Self::MissingModel
            | Self::MissingKey
            | Self::BadKey
            | Self::Setup
            | Self::KeyRequired => HealthStatus::NotConfigured,
            Self::Dns
            | Self::Refused
            | Self::ConnectTimeout
            | Self::Tls
            | Self::TlsCertificate
            | Self::ReadTimeout
            | Self::Closed
            | Self::ProxyAuth
            | Self::Timeout
            | Self::Loading
            | Self::Conflict
            | Self::Overloaded
            | Self::ServerError
            | Self::BrokenStream
            | Self::BrokenAnswer => HealthStatus::Unreachable,
            Self::NotHttp
            | Self::TooLarge
            | Self::Redirect
            | Self::Html
            | Self::WrongPath
            | Self::NotJson
            | Self::ErrorIn200
            | Self::Fields
            | Self::Rejected
            | Self::KeyInAnswer => HealthStatus::SchemaMismatch,
            Self::Unauthorized | Self::Forbidden => HealthStatus::InvalidToken,
            Self::UnknownModel | Self::LoadingOff | Self::LoadFailed | Self::NoModels => {
                HealthStatus::ModelMissing
            }
            Self::NotLoaded | Self::Quota | Self::RateLimited | Self::ContextLength => {
                HealthStatus::Connected
            }
        }
    }

    /// What kind of thing went wrong, also where the state is connected.
    #[must_use]
    pub fn category(self) -> ErrorCategory {
        match self {
            Self::Timeout
            | Self::Loading
            | Self::Conflict
            | Self::Overloaded
            | Self::ServerError
            | Self::Quota
            | Self::RateLimited
            | Self::BrokenStream
            | Self::BrokenAnswer
            | Self::KeyInAnswer
            | Self::Rejected => ErrorCategory::Runtime,
            Self::NotLoaded | Self::ContextLength => ErrorCategory::Model,
            Self::MissingUrl
            | Self::BadUrl
            | Self::MissingModel
            | Self::MissingKey
            | Self::BadKey
            | Self::Setup
            | Self::Dns
            | Self::Refused
            | Self::ConnectTimeout
            | Self::Tls
            | Self::TlsCertificate
            | Self::ReadTimeout
            | Self::Closed
            | Self::NotHttp
            | Self::TooLarge
            | Self::Redirect
            | Self::Html
            | Self::KeyRequired
            | Self::Unauthorized
            | Self::Forbidden
            | Self::ProxyAuth
            | Self::UnknownModel
            | Self::LoadingOff
            | Self::LoadFailed
            | Self::NoModels
            | Self::WrongPath
            | Self::NotJson
            | Self::ErrorIn200
            | Self::Fields => self.status().category().unwrap_or(ErrorCategory::Runtime),
        }
    }
}

impl From<&NetError> for Reason {
    fn from(error: &NetError) -> Self {
        match error.kind() {
            NetErrorKind::BadUrl => Self::BadUrl,
            NetErrorKind::BadHeader => Self::BadKey,
            NetErrorKind::Setup => Self::Setup,
            NetErrorKind::Dns => Self::Dns,
            NetErrorKind::Refused => Self::Refused,
            NetErrorKind::ConnectTimeout => Self::ConnectTimeout,
            NetErrorKind::Tls => Self::Tls,
            NetErrorKind::TlsCertificate => Self::TlsCertificate,
            NetErrorKind::ReadTimeout => Self::ReadTimeout,
            NetErrorKind::Closed => Self::Closed,
            NetErrorKind::NotHttp => Self::NotHttp,
            NetErrorKind::TooLarge => Self::TooLarge,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_the_state_of_the_table() {
        use HealthStatus::{
            Connected, InvalidToken, ModelMissing, NotConfigured, SchemaMismatch, Unreachable,
        };
        use Reason::*;
        let table: [(&[Reason], HealthStatus); 6] = [
            (
                &[MissingUrl, BadUrl, MissingModel, MissingKey, KeyRequired, BadKey],
                NotConfigured,
            ),
            (
                &[
                    Dns,
                    Refused,
                    ConnectTimeout,
                    Tls,
                    TlsCertificate,
                    ReadTimeout,
                    Closed,
                ],
                Unreachable,
            ),
            (
                &[ProxyAuth, Timeout, Loading, Conflict, Overloaded, ServerError],
                Unreachable,
            ),
            (
                &[NotHttp, Redirect, Html, WrongPath, NotJson, ErrorIn200, Fields],
                SchemaMismatch,
            ),
            (&[Unauthorized, Forbidden], InvalidToken),
            (&[UnknownModel, LoadingOff, LoadFailed, NoModels], ModelMissing),
        ];
        for (reasons, status) in table {
            for reason in reasons {
                assert_eq!(reason.status(), status, "{reason:?}");
            }
        }
        for reason in [NotLoaded, Quota, RateLimited] {
            assert_eq!(reason.status(), Connected, "{reason:?}");
        }
        // It passes without anybody changing anything: not the network's fault.
        for reason in [Loading, Conflict, Overloaded, ServerError, Timeout] {
            assert_eq!(reason.category(), ErrorCategory::Runtime, "{reason:?}");
        }
    }
}
