//! Errors between a request and its answer.
//!
//! Owns: the kinds and their wording. Never: repeats a key, or a URL beyond `host:port`.

use std::error::Error;
use std::io;
use std::time::Duration;

use agentos_api::list_causes;
use agentos_tool::Endpoint;

use crate::ExceededLimit;
use crate::resolve::UnknownHost;

/// Kind of failure of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetErrorKind {
    /// The address may not be called.
    BadUrl,
    /// The key or another header value has characters that a header cannot carry.
    BadHeader,
    /// The client could not be set up, for example because no certificate authorities are installed.
    Setup,
    /// The name does not resolve.
    Dns,
    /// Nobody listens there, or there is no route to it.
    Refused,
    /// The connection was not established in time.
    ConnectTimeout,
    /// The TLS handshake failed, or only one side speaks TLS.
    Tls,
    /// The certificate is not trusted.
    TlsCertificate,
    /// The connection was established, but no complete answer came in time.
    ReadTimeout,
    /// The connection was closed before the answer was complete.
    Closed,
    /// The answer is not HTTP.
    NotHttp,
    /// The answer is compressed, although no request asks for it.
    Encoded,
    /// The answer is larger than its limit.
    TooLarge,
}

/// Failed call.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct NetError {
    kind: NetErrorKind,
    endpoint: Option<Endpoint>,
    message: String,
    causes: Vec<String>,
    limit: Option<ExceededLimit>,
}

impl NetError {
    pub(crate) fn new(kind: NetErrorKind, endpoint: Option<Endpoint>, message: &str) -> Self {
        Self {
            kind,
            endpoint,
            message: message.to_owned(),
            causes: Vec::new(),
            limit: None,
        }
    }

    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> NetErrorKind {
        self.kind
    }

    /// Returns the server. `None` if the address could not be used.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// Returns the causes, from the outermost to the root. Empty if the failure was found here.
    #[must_use]
    pub fn causes(&self) -> &[String] {
        &self.causes
    }

    /// Returns the time limit that was exceeded. `None` for every other failure.
    #[must_use]
    pub fn exceeded_limit(&self) -> Option<ExceededLimit> {
        self.limit
    }

    pub(crate) fn from_kind(kind: NetErrorKind, endpoint: &Endpoint) -> Self {
        let message = match kind {
            NetErrorKind::BadUrl => format!("`{endpoint}` cannot be called"),
            NetErrorKind::BadHeader => "the key has characters that cannot be sent in a header".to_owned(),
            NetErrorKind::Setup => {
                format!(
                    "the certificate of `{endpoint}` cannot be checked: this machine has no certificate authorities"
                )
            }
            NetErrorKind::Dns => format!("the host of `{endpoint}` does not resolve"),
            NetErrorKind::Refused => format!("`{endpoint}` does not accept connections"),
            NetErrorKind::ConnectTimeout => format!("`{endpoint}` did not accept the connection in time"),
            NetErrorKind::Tls => format!("the TLS handshake with `{endpoint}` failed"),
            NetErrorKind::TlsCertificate => format!("the certificate of `{endpoint}` is not trusted"),
            NetErrorKind::ReadTimeout => format!("`{endpoint}` did not answer in time"),
            NetErrorKind::Closed => {
                format!("`{endpoint}` closed the connection before the answer was complete")
            }
            NetErrorKind::NotHttp => format!("the answer of `{endpoint}` is not HTTP"),
            NetErrorKind::Encoded => format!("the answer of `{endpoint}` is compressed"),
            NetErrorKind::TooLarge => format!("the answer of `{endpoint}` is too large"),
        };
        Self {
            kind,
            endpoint: Some(endpoint.clone()),
            message,
            causes: Vec::new(),
            limit: None,
        }
    }

    pub(crate) fn out_of_time(endpoint: &Endpoint, limit: ExceededLimit) -> Self {
        // The value is part of the message: nobody knows the number of a limit that they did not set.
        let seconds = |time: Duration| format!("{} s", time.as_secs_f64());
        let (kind, message) = match limit {
            ExceededLimit::Connect(time) => (
                NetErrorKind::ConnectTimeout,
                format!(
                    "no connection to `{endpoint}` within {} (limit on connecting)",
                    seconds(time)
                ),
            ),
            ExceededLimit::FirstByte(time) => (
                NetErrorKind::ReadTimeout,
                format!(
                    "`{endpoint}` sent no answer within {} (limit on the first byte)",
                    seconds(time)
                ),
            ),
            ExceededLimit::Idle(time) => (
                NetErrorKind::ReadTimeout,
                format!(
                    "`{endpoint}` sent nothing for {} in the middle of its answer (limit on silence)",
                    seconds(time)
                ),
            ),
            ExceededLimit::Total(time) => (
                NetErrorKind::ReadTimeout,
                format!(
                    "`{endpoint}` did not answer completely within {} (limit on the whole call)",
                    seconds(time)
                ),
            ),
        };
        Self {
            message,
            limit: Some(limit),
            ..Self::from_kind(kind, endpoint)
        }
    }

    /// Creates the error for a server that was asked in TLS and speaks plain HTTP.
    pub(crate) fn plain_http(endpoint: &Endpoint) -> Self {
        Self {
            message: format!("the TLS handshake with `{endpoint}` failed: the server speaks plain HTTP"),
            ..Self::from_kind(NetErrorKind::Tls, endpoint)
        }
    }

    /// Creates the error for a clock that is set before 1970: every certificate is valid only later.
    pub(crate) fn clock_too_early(endpoint: &Endpoint) -> Self {
        let mut error = Self::from_kind(NetErrorKind::TlsCertificate, endpoint);
        error.message = format!(
            "the certificate of `{endpoint}` cannot be checked: the clock of this machine is set to a time before 1970"
        );
        error
    }

    pub(crate) fn encoded(endpoint: &Endpoint, encoding: &str) -> Self {
        /// Maximum characters of the server's word for its encoding.
        const WORD: usize = 20;
        let encoding: String = encoding
            .chars()
            .filter(char::is_ascii_graphic)
            .take(WORD)
            .collect();
        let mut error = Self::from_kind(NetErrorKind::Encoded, endpoint);
        error.message =
            format!("the answer of `{endpoint}` is compressed with `{encoding}`, which no request asks for");
        error
    }

    pub(crate) fn too_large(endpoint: &Endpoint, limit: usize) -> Self {
        let mut error = Self::from_kind(NetErrorKind::TooLarge, endpoint);
        error.message = format!("the answer of `{endpoint}` is larger than {limit} bytes");
        error
    }

    pub(crate) fn from_http(error: &reqwest::Error, endpoint: &Endpoint) -> Self {
        Self {
            causes: shown_causes(error),
            ..Self::from_kind(error_kind(error), endpoint)
        }
    }
}

/// Lists the errors below the client's own error, which names the whole URL. A path or query can contain private data, so a
/// cause that names a URL is left out as well.
fn shown_causes(error: &reqwest::Error) -> Vec<String> {
    let mut causes = list_causes(error);
    causes.retain(|cause| !cause.contains("://"));
    causes
}

/// Derives the kind from the chain of causes. The innermost cause that says something decides.
fn error_kind(error: &reqwest::Error) -> NetErrorKind {
    if error.is_timeout() {
        return if error.is_connect() {
            NetErrorKind::ConnectTimeout
        } else {
            NetErrorKind::ReadTimeout
        };
    }
    // The address was checked before, so what remains is a header value.
    if error.is_builder() {
        return NetErrorKind::BadHeader;
    }
    let mut found = None;
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        found = kind_of(error).or(found);
        cause = error.source();
    }
    match found {
        // Closed while connecting: for the user, nobody accepts connections there.
        Some(NetErrorKind::Closed) if error.is_connect() => NetErrorKind::Refused,
        // The system reports the same errors about an established connection, over which the request may have left.
        Some(NetErrorKind::Refused | NetErrorKind::ConnectTimeout | NetErrorKind::Tls)
            if !error.is_connect() =>
        {
            NetErrorKind::Closed
        }
        Some(kind) => kind,
        None if error.is_connect() => NetErrorKind::Refused,
        None => NetErrorKind::Closed,
    }
}

fn kind_of(error: &(dyn Error + 'static)) -> Option<NetErrorKind> {
    if error.is::<UnknownHost>() {
        return Some(NetErrorKind::Dns);
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        // hyper distinguishes a head that is too large from other bad heads only in its text.
        return if error.is_parse() && error.to_string().contains("too large") {
            Some(NetErrorKind::TooLarge)
        } else if error.is_parse() {
            Some(NetErrorKind::NotHttp)
        } else {
            None
        };
    }
    let error = error.downcast_ref::<io::Error>()?;
    // An I/O error does not offer the error that it wraps as its source.
    if let Some(inner) = error.get_ref() {
        if let Some(tls) = inner.downcast_ref::<rustls::Error>() {
            return Some(kind_of_tls(tls));
        }
        if let Some(kind) = kind_of(inner) {
            return Some(kind);
        }
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::AddrNotAvailable => Some(NetErrorKind::Refused),
        // The system's own limit on connecting, which may be shorter than the configured one.
        io::ErrorKind::TimedOut => Some(NetErrorKind::ConnectTimeout),
        _ => Some(NetErrorKind::Closed),
    }
}

fn kind_of_tls(error: &rustls::Error) -> NetErrorKind {
    match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
            NetErrorKind::TlsCertificate
        }
        _ => NetErrorKind::Tls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_told_from_other_tls_trouble() {
        let cases = [
            (
                rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer),
                NetErrorKind::TlsCertificate,
            ),
            (
                rustls::Error::InvalidCertificate(rustls::CertificateError::Expired),
                NetErrorKind::TlsCertificate,
            ),
            (rustls::Error::DecryptError, NetErrorKind::Tls),
        ];
        for (error, kind) in cases {
            let wrapped = io::Error::new(io::ErrorKind::InvalidData, error);
            assert_eq!(kind_of(&wrapped), Some(kind));
        }
    }
}
