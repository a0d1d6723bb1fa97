//! Sign-in as it is stored: the tokens, and everything that refreshing them needs.
//!
//! Owns: the text of the stored entry. Never: stores it; the host does, in the store of keys.

use agentos_net::HttpUrl;
use agentos_tool::Secret;
use serde::{Deserialize, Serialize};

use super::client::{OAuthClient, ProofWay};
use super::show_issuer;
use super::token::Tokens;

/// Version of the stored entry.
const VERSION: u32 = 1;
/// Seconds before its end in which a token is refreshed already: a request takes time, and clocks differ.
const MARGIN: u64 = 60;

/// Tokens of a sign-in at one server. Its `Debug` shows no token.
#[derive(Debug, Clone)]
pub struct Grant {
    pub(super) server: HttpUrl,
    pub(super) resource: String,
    pub(super) issuer: String,
    pub(super) token_endpoint: HttpUrl,
    pub(super) client: OAuthClient,
    pub(super) tokens: Tokens,
    /// Time at which the tokens were received, in seconds since 1970.
    pub(super) received_at: u64,
}

/// Stored entry. It has no `Debug`, because it contains tokens.
#[derive(Serialize, Deserialize)]
struct StoredGrant {
    version: u32,
    server: String,
    resource: String,
    issuer: String,
    token_endpoint: String,
    client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_proof: Option<String>,
    access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    received_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_in: Option<u64>,
}

impl Grant {
    /// Reads a stored entry. `None` if it is not one, or of another version.
    #[must_use]
    pub fn from_entry(entry: &Secret) -> Option<Self> {
        let stored: StoredGrant = serde_json::from_str(entry.expose()).ok()?;
        if stored.version != VERSION {
            return None;
        }
        let way = stored.client_proof.as_deref().and_then(ProofWay::from_name);
        Some(Self {
            server: HttpUrl::parse_named(&stored.server).ok()?,
            resource: stored.resource,
            issuer: stored.issuer,
            token_endpoint: HttpUrl::parse_named(&stored.token_endpoint).ok()?,
            client: OAuthClient {
                id: stored.client_id,
                proof: way.zip(stored.client_secret.as_deref().map(Secret::new)),
            },
            tokens: Tokens {
                access: Secret::new(&stored.access_token),
                refresh: stored.refresh_token.as_deref().map(Secret::new),
                expires_in: stored.expires_in,
            },
            received_at: stored.received_at,
        })
    }

    /// Writes the entry to store.
    #[must_use]
    pub fn to_entry(&self) -> Secret {
        let proof = self.client.proof.as_ref();
        let stored = StoredGrant {
            version: VERSION,
            server: self.server.to_string(),
            resource: self.resource.clone(),
            issuer: self.issuer.clone(),
            token_endpoint: self.token_endpoint.to_string(),
            client_id: self.client.id.clone(),
            client_secret: proof.map(|(_, secret)| secret.expose().to_owned()),
            client_proof: proof.map(|(way, _)| way.name().to_owned()),
            access_token: self.tokens.access.expose().to_owned(),
            refresh_token: self
                .tokens
                .refresh
                .as_ref()
                .map(|token| token.expose().to_owned()),
            received_at: self.received_at,
            expires_in: self.tokens.expires_in,
        };
        // A value of texts and numbers is always written.
        Secret::new(&serde_json::to_string(&stored).unwrap_or_default())
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn server(&self) -> &HttpUrl {
        &self.server
    }

    /// Returns the address of the authorization server, for people.
    #[must_use]
    pub fn issuer(&self) -> String {
        show_issuer(&self.issuer)
    }

    /// Returns the time at which the access token ends, in seconds since 1970. `None` if the server did not say.
    #[must_use]
    pub fn ends_at(&self) -> Option<u64> {
        Some(self.received_at.saturating_add(self.tokens.expires_in?))
    }

    /// Returns true if new tokens can be requested without the user.
    #[must_use]
    pub fn can_refresh(&self) -> bool {
        self.tokens.refresh.is_some()
    }

    /// Returns true if the access token has ended or is about to.
    pub(super) fn is_ending(&self, now: u64) -> bool {
        let Some(lifetime) = self.tokens.expires_in else {
            return false;
        };
        // Half of a short life: otherwise each request would refresh a token that lives for less than the margin.
        let margin = MARGIN.min(lifetime / 2);
        let end = self.received_at.saturating_add(lifetime);
        // A clock that was set back makes the age unknown, so the token is tried: a refusal refreshes it.
        now.saturating_add(margin) >= end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(expires_in: Option<u64>) -> Grant {
        Grant {
            server: HttpUrl::parse_named("https://h/mcp").unwrap(),
            resource: "https://h/mcp".to_owned(),
            issuer: "https://as.example/".to_owned(),
            token_endpoint: HttpUrl::parse_named("https://as.example/token/").unwrap(),
            client: OAuthClient {
                id: "id".to_owned(),
                proof: Some((ProofWay::Form, Secret::new("client-secret"))),
            },
            tokens: Tokens {
                access: Secret::new("access-secret"),
                refresh: Some(Secret::new("refresh-secret")),
                expires_in,
            },
            received_at: 1000,
        }
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let entry = grant(Some(3600)).to_entry();
        let read = Grant::from_entry(&entry).unwrap();
        assert_eq!(read.to_entry().expose(), entry.expose());
        assert_eq!(read.ends_at(), Some(4600));
        assert!(!format!("{read:?}").contains("-secret"), "{read:?}");
        for other in ["", "sk-plain-key", "{}", "{\"version\":2}"] {
            assert!(Grant::from_entry(&Secret::new(other)).is_none(), "{other}");
        }
    }

    #[test]
    fn a_token_is_refreshed_before_its_end() {
        let cases = [
            (None, u64::MAX, false),
            (Some(3600), 1000, false),
            (Some(3600), 4539, false),
            (Some(3600), 4540, true),
            (Some(3600), 9999, true),
            (Some(3600), 0, false),
            (Some(10), 1004, false),
            (Some(10), 1005, true),
            (Some(0), 1000, true),
            (Some(u64::MAX), 1000, false),
        ];
        for (expires_in, now, ending) in cases {
            assert_eq!(grant(expires_in).is_ending(now), ending, "{expires_in:?} {now}");
        }
    }
}
