//! Client that this program is to an authorization server: one of the profile, or one that is registered (RFC 7591).
//!
//! Owns: how it proves itself. Never: registers a client twice for one sign-in.

use agentos_net::{Auth, HttpClient, Request};
use agentos_tool::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde_json::json;

use super::discover::{read_json, send};
use super::error::{SignInError, SignInStep, read_refusal};
use super::metadata::{ServerMetadata, require_text};

/// Characters that are escaped: all but the unreserved ones (RFC 3986, section 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Client of an authorization server.
#[derive(Debug, Clone)]
pub(crate) struct OAuthClient {
    /// Id.
    pub(crate) id: String,
    /// Secret, and the way in which it is sent. `None` for a public client.
    pub(crate) proof: Option<(ProofWay, Secret)>,
}

/// Way in which a client proves itself with its secret (RFC 6749, section 2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProofWay {
    /// `client_secret_basic`.
    Header,
    /// `client_secret_post`.
    Form,
}

impl ProofWay {
    /// Returns the way of a published name. `None` for every other name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "client_secret_basic" => Some(Self::Header),
            "client_secret_post" => Some(Self::Form),
            _ => None,
        }
    }

    /// Returns the published name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Header => "client_secret_basic",
            Self::Form => "client_secret_post",
        }
    }
}

impl OAuthClient {
    /// Makes the public client of an id.
    pub(crate) fn from_id(id: String) -> Self {
        Self { id, proof: None }
    }

    /// Adds the client to a form. Returns the header that proves it.
    pub(super) fn prove(&self, form: &mut Vec<(&'static str, Secret)>) -> Auth {
        if let Some((ProofWay::Header, secret)) = &self.proof {
            let pair = format!("{}:{}", escape_part(&self.id), escape_part(secret.expose()));
            let value = format!("Basic {}", STANDARD.encode(pair));
            return Auth::Header("authorization", Secret::new(&value));
        }
        form.push(("client_id", Secret::new(&self.id)));
        if let Some((ProofWay::Form, secret)) = &self.proof {
            form.push(("client_secret", secret.clone()));
        }
        Auth::None
    }
}

/// Escapes an id or a secret for the header, as a value of a form is escaped.
fn escape_part(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, ESCAPED)
}

/// Registers a client whose browser is sent back to `redirect`.
pub(super) async fn register_client(
    http: &HttpClient,
    server: &ServerMetadata,
    redirect: &str,
    scopes: &str,
) -> Result<OAuthClient, SignInError> {
    let step = SignInStep::Register;
    // Again for each sign-in, because the address to which the browser returns has another port each time, and many servers compare it
    // letter by letter although RFC 8252, section 7.3, wants the port ignored.
    let endpoint = server
        .registration_endpoint
        .clone()
        .ok_or(SignInError::NoClient)?;
    let mut document = json!({
        "client_name": "AgentOS",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "native",
        "token_endpoint_auth_method": choose_proof(&server.client_proofs),
    });
    if let Some(document) = document.as_object_mut().filter(|_| !scopes.is_empty()) {
        document.insert("scope".to_owned(), scopes.into());
    }
    let answer = send(http, &Request::post(endpoint, Auth::None, document), step).await?;
    if !(200..300).contains(&answer.status) {
        return Err(read_refusal(&answer, step, &[]));
    }
    let document = read_json(&answer, step)?;
    let id = require_text(step, &document, "client_id")?.to_owned();
    let way = document
        .get("token_endpoint_auth_method")
        .and_then(|way| way.as_str());
    let way = match way {
        Some("none") => None,
        Some(name) => {
            let unknown =
                || SignInError::document(step, "the client would have to prove itself in an unknown way");
            Some(ProofWay::from_name(name).ok_or_else(unknown)?)
        }
        // A server that gives a secret and names no way means the usual one (RFC 7591, section 2).
        None => Some(ProofWay::Header),
    };
    let secret = document.get("client_secret").and_then(|secret| secret.as_str());
    Ok(OAuthClient {
        id,
        proof: way.zip(secret.map(Secret::new)),
    })
}

/// Chooses how a client proves itself. A program on the user's machine can keep no secret from the user, so none is the first choice.
fn choose_proof(known: &[String]) -> &'static str {
    let knows = |name: &str| known.iter().any(|known| known == name);
    match () {
        () if known.is_empty() || knows("none") => "none",
        () if knows("client_secret_basic") => "client_secret_basic",
        () => "client_secret_post",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_sent_in_the_way_of_its_server() {
        let cases: [(&[&str], &str); 4] = [
            (&[], "none"),
            (&["client_secret_post", "none"], "none"),
            (&["client_secret_post"], "client_secret_post"),
            (
                &["client_secret_post", "client_secret_basic"],
                "client_secret_basic",
            ),
        ];
        for (known, wanted) in cases {
            let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(choose_proof(&known), wanted);
        }
        let mut form = Vec::new();
        let client = OAuthClient {
            id: "a:b".to_owned(),
            proof: Some((ProofWay::Header, Secret::new("c d"))),
        };
        let Auth::Header(_, value) = client.prove(&mut form) else {
            panic!("the proof is no header");
        };
        assert_eq!(
            value.expose(),
            format!("Basic {}", STANDARD.encode("a%3Ab:c%20d"))
        );
        assert!(form.is_empty());
    }
}
