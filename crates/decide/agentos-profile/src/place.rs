//! Where a server is: a checked base URL, and whether that place is the user's own.
//!
//! Owns: what a base URL may hold. Never: resolves a name or opens a connection.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use agentos_tool::{Endpoint, ExecutionMode};
use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// A base URL: http or https, a host, nothing that could hold a secret. No `/` at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseUrl(Url);

/// What is wrong with a base URL. Never repeats it: it may hold a password.
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
    /// Checks a base URL.
    ///
    /// # Errors
    /// Says what is wrong.
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

    /// The URL as text, without a `/` at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// The URL as its parts.
    #[must_use]
    pub fn into_url(self) -> Url {
        self.0
    }

    /// Host and port.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::new(
            self.0.host_str().unwrap_or_default(),
            self.0.port_or_known_default().unwrap_or_default(),
        )
    }

    /// Whether a key meant for the one may be sent to the other: same scheme, host and port.
    #[must_use]
    pub fn same_place(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// Whether it is this machine and nothing but this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        }
    }

    /// Whether the place is the user's own: this machine or a private network. A name that says neither counts as
    /// somebody else's.
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

    /// Whether the server is a vendor's own, which never answers without a key.
    pub(crate) fn always_wants_key(&self) -> bool {
        const VENDORS: [&str; 4] = [
            "api.anthropic.com",
            "api.openai.com",
            "generativelanguage.googleapis.com",
            "openrouter.ai",
        ];
        self.0.host_str().is_some_and(|host| VENDORS.contains(&host))
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
