//! Addresses that may be called.
//!
//! Owns: joining paths to a base URL. Never: resolves a name, or has its own rules for base URLs; those of
//! [`BaseUrl`] apply.

use std::fmt;

use agentos_tool::{BaseUrl, Endpoint};
use url::{Host, Url};

use crate::error::{NetError, NetErrorKind};

/// URL with the scheme `http` or `https` and a host, and without user, query and fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl(Url);

impl HttpUrl {
    /// Parses an address as a person wrote it.
    ///
    /// # Errors
    /// [`NetErrorKind::BadUrl`] if it is not a URL, has another scheme, or has a user, a query or a fragment.
    pub fn parse(text: &str) -> Result<Self, NetError> {
        let base = BaseUrl::parse(text).map_err(|fault| {
            NetError::new(
                NetErrorKind::BadUrl,
                None,
                &format!("the address is not valid: {fault}"),
            )
        })?;
        Ok(Self(base.into_url()))
    }

    /// Parses an address that a document of a server names. It is kept to the letter, with its query and with a `/` at its end: two
    /// addresses that differ there are two resources to their server.
    ///
    /// # Errors
    /// [`NetErrorKind::BadUrl`] if it is not a URL, has another scheme than http and https, or has a user or a fragment.
    pub fn parse_named(text: &str) -> Result<Self, NetError> {
        let refuse = |why: &str| NetError::new(NetErrorKind::BadUrl, None, why);
        let url = Url::parse(text).map_err(|_| refuse("the address is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(refuse("the address begins with neither `http` nor `https`"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(refuse("the address contains a user, a password or a `#`"));
        }
        Ok(Self(url))
    }

    /// Returns the address of a document about this one: `/.well-known/NAME` between the host and the path (RFC 8615, and RFC 8414,
    /// section 3). A `/` at the end of the path is left out, as both documents of a sign-in demand.
    #[must_use]
    pub fn well_known(&self, name: &str) -> Self {
        let mut url = self.0.clone();
        url.set_query(None);
        url.set_path(&format!(
            "/.well-known/{name}{}",
            self.0.path().trim_end_matches('/')
        ));
        Self(url)
    }

    /// Returns the address of the host, without path and query.
    #[must_use]
    pub fn root(&self) -> Self {
        let mut url = self.0.clone();
        url.set_query(None);
        url.set_path("/");
        Self(url)
    }

    /// Returns the path, with a `/` at its beginning.
    #[must_use]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// Returns true if scheme, host and port are equal.
    #[must_use]
    pub fn is_same_origin(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// Returns the address with one more query parameter. Name and value come from the program and are never a key.
    #[must_use]
    pub fn with_query(&self, name: &str, value: &str) -> Self {
        let mut url = self.0.clone();
        url.query_pairs_mut().append_pair(name, value);
        Self(url)
    }

    /// Returns the address with path segments added below its own path. `path` is escaped segment by segment, so that
    /// a model's name cannot climb out with `..` or begin a query.
    #[must_use]
    pub fn join(&self, path: &str) -> Self {
        let mut url = self.0.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            // A base URL with a final slash ends in an empty segment, which would become `//`.
            segments.pop_if_empty();
            for part in path.split('/').filter(|part| !matches!(*part, "" | "." | "..")) {
                segments.push(part);
            }
        }
        Self(url)
    }

    /// Returns the address without its last path segment if that is `last`, else unchanged.
    #[must_use]
    pub fn without_last(&self, last: &str) -> Self {
        let path = self.0.path().trim_end_matches('/');
        let mut url = self.0.clone();
        if let Some(rest) = path.strip_suffix(last).and_then(|rest| rest.strip_suffix('/')) {
            url.set_path(rest);
        }
        Self(url)
    }

    /// Returns `host:port`.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.host(), self.port())
    }

    /// Returns the host as written, IPv6 in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns the port, or the default port of the scheme.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// Returns true for `https`.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Returns true if the host is this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            // Systems connect to this machine for the unspecified address too.
            Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
            Some(Host::Ipv6(address)) => {
                let address = address.to_canonical();
                address.is_loopback() || address.is_unspecified()
            }
            // `.localhost` is reserved for the loopback and never given to anybody else (RFC 6761, section 6.3).
            Some(Host::Domain(name)) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                name == "localhost" || name.ends_with(".localhost")
            }
            None => false,
        }
    }

    pub(crate) fn as_url(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_http_address_is_taken() {
        let refused = [
            "",
            "localhost:1234",
            "ftp://example.com",
            "file:///etc/passwd",
            "http://",
            "http://user@example.com",
            "http://user:secret@example.com",
            "http://example.com/v1?key=secret",
            "http://example.com/#secret",
        ];
        for text in refused {
            let error = HttpUrl::parse(text).unwrap_err();
            assert_eq!(error.kind(), NetErrorKind::BadUrl, "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        for text in [
            "http://localhost:1234/v1",
            "https://api.example.com",
            " http://[::1]:8080/\n",
        ] {
            assert!(HttpUrl::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_path_is_added_below_the_base() {
        let cases = [
            ("http://h:1/v1", "models", "http://h:1/v1/models"),
            ("http://h:1/v1/", "/models", "http://h:1/v1/models"),
            ("http://h:1", "chat/completions", "http://h:1/chat/completions"),
            (
                "http://h:1/v1",
                "models/qwen/x 1?a#b",
                "http://h:1/v1/models/qwen/x%201%3Fa%23b",
            ),
            (
                "http://h:1/v1",
                "models/../../admin",
                "http://h:1/v1/models/admin",
            ),
        ];
        for (base, path, joined) in cases {
            assert_eq!(HttpUrl::parse(base).unwrap().join(path).to_string(), joined);
        }
    }

    #[test]
    fn the_root_is_the_base_without_its_version() {
        let cases = [
            ("http://h:1/v1", "http://h:1/"),
            ("http://h:1/v1/", "http://h:1/"),
            ("http://h:1/proxy/v1", "http://h:1/proxy"),
            ("http://h:1/", "http://h:1/"),
            ("http://h:1/lv1", "http://h:1/lv1"),
        ];
        for (base, root) in cases {
            assert_eq!(HttpUrl::parse(base).unwrap().without_last("v1").to_string(), root);
        }
    }

    #[test]
    fn a_named_address_is_kept_to_the_letter() {
        for text in [
            "http://h:1/token/",
            "https://h/authorize?policy=one",
            "http://[::1]:2/",
        ] {
            assert_eq!(HttpUrl::parse_named(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "/token",
            "ftp://h/",
            "javascript:alert(1)",
            "https://user@h/",
            "https://h/#x",
        ] {
            assert!(HttpUrl::parse_named(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_document_about_an_address_is_between_host_and_path() {
        let cases = [
            ("https://h", "https://h/.well-known/x"),
            ("https://h/", "https://h/.well-known/x"),
            ("https://h/a/b/?q=1", "https://h/.well-known/x/a/b"),
        ];
        for (base, wanted) in cases {
            let url = HttpUrl::parse_named(base).unwrap();
            assert_eq!(url.well_known("x").to_string(), wanted);
            assert_eq!(url.root().to_string(), "https://h/");
        }
    }

    #[test]
    fn an_endpoint_is_host_and_port() {
        let cases = [
            ("https://api.example.com/v1", "api.example.com:443", false),
            ("http://localhost:1234/v1", "localhost:1234", true),
            ("http://127.0.0.9", "127.0.0.9:80", true),
            ("http://[::1]:8080", "[::1]:8080", true),
            ("http://localhost.example.com", "localhost.example.com:80", false),
        ];
        for (text, endpoint, loopback) in cases {
            let url = HttpUrl::parse(text).unwrap();
            assert_eq!(url.endpoint().as_str(), endpoint);
            assert_eq!(url.is_loopback(), loopback, "{text}");
        }
    }
}
