//! Address of a server: a checked base URL, and whether that place is the user's own.
//!
//! Owns: what a base URL may hold. Never: resolves a name or opens a connection.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::{Endpoint, ExecutionMode};

/// A base URL: http or https, a host, nothing that could hold a secret. No `/` at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseUrl(Url);

/// Fault of a text that is no base URL. Never repeats the text: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlFault {
    /// Not a URL.
    #[error("it is not a URL: {0}")]
    NotUrl(String),
    /// Not http or https.
    #[error("it begins with `{0}:`, and only http and https are spoken")]
    Scheme(String),
    /// A user or password.
    #[error("it holds a user or a password; store a key instead")]
    User,
    /// A query or fragment.
    #[error("it holds a `?` or a `#`")]
    Query,
}

impl TryFrom<String> for BaseUrl {
    type Error = BaseUrlFault;

    fn try_from(text: String) -> Result<Self, BaseUrlFault> {
        Self::parse(&text)
    }
}

impl From<BaseUrl> for String {
    fn from(url: BaseUrl) -> Self {
        url.as_str().to_owned()
    }
}

impl BaseUrl {
    /// Reads a base URL.
    ///
    /// # Errors
    /// When the text is no URL, is not http(s), or holds a user, a query or a fragment.
    pub fn parse(text: &str) -> Result<Self, BaseUrlFault> {
        let mut url = Url::parse(text.trim()).map_err(|error| BaseUrlFault::NotUrl(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BaseUrlFault::Scheme(url.scheme().chars().take(20).collect()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BaseUrlFault::User);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BaseUrlFault::Query);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self(url))
    }

    /// Returns the URL as text, without a `/` at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// Returns the URL as its parts.
    #[must_use]
    pub fn into_url(self) -> Url {
        self.0
    }

    /// Returns host and port.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.host(), self.0.port_or_known_default().unwrap_or_default())
    }

    /// Returns the host, IPv6 in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns true if a key meant for the one may be sent to the other: same scheme, host and port.
    #[must_use]
    pub fn same_place(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// Returns true if it is this machine and nothing but this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        }
    }

    /// Returns `Local` for a place of the user's own: this machine or a private network. A name that says neither counts
    /// as somebody else's.
    #[must_use]
    pub fn execution_mode(&self) -> ExecutionMode {
        let own = match self.0.host() {
            Some(Host::Ipv4(ip)) => own_v4(ip),
            Some(Host::Ipv6(ip)) => own_v6(ip),
            Some(Host::Domain(name)) => own_name(name),
            None => false,
        };
        if own {
            ExecutionMode::Local
        } else {
            ExecutionMode::Cloud
        }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn own_v4(ip: Ipv4Addr) -> bool {
    ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()
}

fn own_v6(ip: Ipv6Addr) -> bool {
    match ip.to_ipv4_mapped() {
        Some(v4) => own_v4(v4),
        None => ip.is_loopback() || ip.is_unspecified() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

fn own_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost"
        || name.ends_with(".localhost")
        || name.ends_with(".local")
        || name == "host.docker.internal"
        || name.parse::<IpAddr>().is_ok_and(|ip| match ip {
            IpAddr::V4(ip) => own_v4(ip),
            IpAddr::V6(ip) => own_v6(ip),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_work_is_done_follows_from_the_address() {
        let cases = [
            ("http://localhost:1/v1", ExecutionMode::Local),
            ("http://LOCALHOST.:1", ExecutionMode::Local),
            ("http://127.9.9.9", ExecutionMode::Local),
            ("http://0x7f000001", ExecutionMode::Local),
            ("http://[::1]:8080", ExecutionMode::Local),
            ("http://[::ffff:10.0.0.1]", ExecutionMode::Local),
            ("http://[fd00::1]", ExecutionMode::Local),
            ("http://192.168.1.4", ExecutionMode::Local),
            ("http://gpu.local:1234", ExecutionMode::Local),
            ("http://172.32.0.1", ExecutionMode::Cloud),
            ("http://8.8.8.8", ExecutionMode::Cloud),
            ("http://[2001:db8::1]", ExecutionMode::Cloud),
            ("http://localhost.example.com", ExecutionMode::Cloud),
            ("http://127.0.0.1.example.com", ExecutionMode::Cloud),
            ("https://api.openai.com/v1", ExecutionMode::Cloud),
            ("http://ollama:11434", ExecutionMode::Cloud),
        ];
        for (url, expected) in cases {
            assert_eq!(BaseUrl::parse(url).unwrap().execution_mode(), expected, "{url}");
        }
    }

    #[test]
    fn what_could_hold_a_secret_is_no_base_url() {
        let cases = [
            (
                "localhost:1234",
                "it begins with `localhost:`, and only http and https are spoken",
            ),
            ("http://", "it is not a URL: empty host"),
            (
                "http://me:secret@h",
                "it holds a user or a password; store a key instead",
            ),
            (
                "http://me@h",
                "it holds a user or a password; store a key instead",
            ),
            ("http://h/v1?key=secret", "it holds a `?` or a `#`"),
            ("http://h/#secret", "it holds a `?` or a `#`"),
        ];
        for (text, expected) in cases {
            assert_eq!(BaseUrl::parse(text).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_base_url_is_kept_without_its_last_slash_and_has_a_host_and_a_port() {
        let cases = [
            (
                " https://API.example.com/v1/\n",
                "https://api.example.com/v1",
                "api.example.com:443",
            ),
            ("http://[::1]:8080/", "http://[::1]:8080", "[::1]:8080"),
            ("http://h", "http://h", "h:80"),
        ];
        for (text, kept, endpoint) in cases {
            let url = BaseUrl::parse(text).unwrap();
            assert_eq!((url.as_str(), url.endpoint().as_str()), (kept, endpoint));
        }
    }

    #[test]
    fn a_key_goes_to_one_scheme_host_and_port() {
        let home = BaseUrl::parse("https://h/v1").unwrap();
        let cases = [
            ("https://h:443/other", true),
            ("https://h:8443/v1", false),
            ("http://h:443/v1", false),
            ("https://h.example.com/v1", false),
        ];
        for (text, expected) in cases {
            assert_eq!(
                home.same_place(&BaseUrl::parse(text).unwrap()),
                expected,
                "{text}"
            );
        }
    }
}
