//! Address of a server: a validated base URL, and whether the server is on the user's own machine or network.
//!
//! Owns: what a base URL may contain. Never: resolves a name or opens a connection.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::{Endpoint, ExecutionMode};

/// Base URL: http or https, a host, no part that could contain a secret, and no `/` at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseUrl(Url);

/// Reason why a text is not a valid base URL. Never repeats the text, because it may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlFault {
    /// The text is not a URL.
    #[error("it is not a URL: {0}")]
    NotUrl(String),
    /// The scheme is neither http nor https.
    #[error("it begins with `{0}:`, but only http and https are supported")]
    Scheme(String),
    /// The URL contains a user name or a password.
    #[error("it contains a user name or a password; store a key instead")]
    User,
    /// The URL contains a query or a fragment.
    #[error("it contains a `?` or a `#`")]
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
    /// Parses a base URL and removes `/` from its end.
    ///
    /// # Errors
    /// Fails if the text is not a URL, its scheme is not http or https, or it contains a user, a query or a fragment.
    pub fn parse(text: &str) -> Result<Self, BaseUrlFault> {
        // Pasted and piped addresses end with a line end.
        let mut url = Url::parse(text.trim()).map_err(|error| BaseUrlFault::NotUrl(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            // Without `http://`, the text before the first colon is the scheme, and it may be a long host name or a user name.
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

    /// Returns the parsed URL.
    #[must_use]
    pub fn into_url(self) -> Url {
        self.0
    }

    /// Returns host and port.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.host(), self.0.port_or_known_default().unwrap_or_default())
    }

    /// Returns the host, with an IPv6 address in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns true if scheme, host and port are equal, so that a key stored for one URL may be sent to the other.
    #[must_use]
    pub fn same_place(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// Returns true if the host is certainly this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            // Other names depend on a resolver, which a network can control, so only this one counts.
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        }
    }

    /// Returns `Local` for this machine and private networks, and `Cloud` for every other host.
    #[must_use]
    pub fn execution_mode(&self) -> ExecutionMode {
        let own = match self.0.host() {
            Some(Host::Ipv4(ip)) => is_own_v4(ip),
            Some(Host::Ipv6(ip)) => is_own_v6(ip),
            Some(Host::Domain(name)) => is_own_name(name),
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

fn is_own_v4(ip: Ipv4Addr) -> bool {
    // A connection to 0.0.0.0 reaches this machine.
    ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()
}

fn is_own_v6(ip: Ipv6Addr) -> bool {
    match ip.to_ipv4_mapped() {
        // `::ffff:10.0.0.1` reaches the IPv4 host, so the rules of IPv4 decide.
        Some(v4) => is_own_v4(v4),
        None => ip.is_loopback() || ip.is_unspecified() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

fn is_own_name(name: &str) -> bool {
    // A name with a dot at its end is the same name, fully qualified.
    let name = name.trim_end_matches('.');
    name == "localhost"
        // RFC 6761 reserves `.localhost` for this machine, and RFC 6762 `.local` for the local link.
        || name.ends_with(".localhost")
        || name.ends_with(".local")
        || name == "host.docker.internal"
        || name.parse::<IpAddr>().is_ok_and(|ip| match ip {
            IpAddr::V4(ip) => is_own_v4(ip),
            IpAddr::V6(ip) => is_own_v6(ip),
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
                "it begins with `localhost:`, but only http and https are supported",
            ),
            ("http://", "it is not a URL: empty host"),
            (
                "http://me:secret@h",
                "it contains a user name or a password; store a key instead",
            ),
            (
                "http://me@h",
                "it contains a user name or a password; store a key instead",
            ),
            ("http://h/v1?key=secret", "it contains a `?` or a `#`"),
            ("http://h/#secret", "it contains a `?` or a `#`"),
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
