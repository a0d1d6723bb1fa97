//! Every reason why a model server cannot be used, with its health state.
//!
//! Owns: the table from reason to state, category and code. Never: reads an answer; `verdict` does.

use agentos_net::{NetError, NetErrorKind};
use agentos_tool::{ErrorCategory, HealthStatus};

/// Reason why a server cannot be used, or not without a remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No address is set.
    MissingUrl,
    /// The address is not a valid HTTP URL.
    BadUrl,
    /// No model is set, and the server does not list exactly one.
    MissingModel,
    /// The provider always requires a key, and none is set.
    MissingKey,
    /// The key contains characters that cannot be sent in a header.
    BadKey,
    /// The HTTP client could not be set up.
    Setup,
    /// The host name does not resolve.
    Dns,
    /// Connection refused.
    Refused,
    /// Timeout while connecting.
    ConnectTimeout,
    /// The TLS handshake failed.
    Tls,
    /// The certificate is not trusted.
    TlsCertificate,
    /// Timeout before the answer was complete.
    ReadTimeout,
    /// Connection closed before the answer was complete.
    Closed,
    /// The server does not speak HTTP.
    NotHttp,
    /// The answer is compressed, which no request asks for.
    Encoded,
    /// The answer exceeds the size limit.
    TooLarge,
    /// The server redirects, which is never followed.
    Redirect,
    /// The answer is a web page.
    Html,
    /// The server requires a key, and none was sent.
    KeyRequired,
    /// The server rejected the key.
    Unauthorized,
    /// The key is valid but has no permission for this.
    Forbidden,
    /// A proxy requires credentials.
    ProxyAuth,
    /// The server does not know the model.
    UnknownModel,
    /// The model is not loaded; the first request loads it.
    NotLoaded,
    /// The model is not loaded, and the server does not load models on request.
    LoadingOff,
    /// The server loads and unloads no models on request.
    NoLoading,
    /// The server failed to load the model.
    LoadFailed,
    /// The server has no model.
    NoModels,
    /// The server does not know the path or method.
    WrongPath,
    /// The credit or budget is used up.
    Quota,
    /// Rate limit exceeded.
    RateLimited,
    /// The server reports a timeout of its own.
    Timeout,
    /// The model is still being loaded.
    Loading,
    /// The request conflicts with another one.
    Conflict,
    /// The server is overloaded.
    Overloaded,
    /// The server reports an internal error.
    ServerError,
    /// The answer is not JSON.
    NotJson,
    /// An answer with status 200 contains an error.
    ErrorIn200,
    /// The answer lacks expected fields.
    Fields,
    /// The task does not fit the model's context window.
    ContextLength,
    /// The server rejected the request.
    Rejected,
    /// The stream broke off or ended with an error.
    BrokenStream,
    /// The answer is incomplete, or does not say that it is complete.
    BrokenAnswer,
    /// The answer is complete, and has neither text nor a call.
    EmptyAnswer,
    /// The answer says the same again and again, so the call was ended.
    EndlessAnswer,
    /// The answer contains the key that was sent.
    KeyInAnswer,
}

impl Reason {
    /// Returns the machine-readable code.
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
            Self::Encoded => "encoded",
            Self::TooLarge => "too-large",
            Self::Redirect => "redirect",
            Self::Html => "html",
            Self::KeyRequired => "key-required",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::ProxyAuth => "proxy-auth",
            Self::UnknownModel => "unknown-model",
            Self::NotLoaded | Self::LoadingOff => "not-loaded",
            Self::NoLoading => "no-loading",
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
            Self::EmptyAnswer => "no-answer",
            Self::EndlessAnswer => "endless-answer",
            Self::KeyInAnswer => "key-in-answer",
        }
    }

    /// Returns the health state. An exhausted budget or rate limit counts as connected: it proves address, key and model.
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
            | Self::Encoded
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
            // Each of these answers proves address, key and model: nothing in the settings has to change.
            Self::NotLoaded
            | Self::NoLoading
            | Self::Quota
            | Self::RateLimited
            | Self::ContextLength
            | Self::EmptyAnswer
            | Self::EndlessAnswer => HealthStatus::Connected,
        }
    }

    /// Returns the category of the error, also if the state is connected.
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
            | Self::EmptyAnswer
            | Self::EndlessAnswer
            | Self::KeyInAnswer
            | Self::Rejected => ErrorCategory::Runtime,
            Self::NotLoaded | Self::NoLoading | Self::ContextLength => ErrorCategory::Model,
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
            | Self::Encoded
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
            NetErrorKind::Encoded => Self::Encoded,
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
                &[
                    NotHttp, Encoded, Redirect, Html, WrongPath, NotJson, ErrorIn200, Fields,
                ],
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
