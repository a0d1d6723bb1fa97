//! Metadata of a server (RFC 9728) and of its authorization server (RFC 8414, OpenID Connect Discovery), and what is checked in it.
//!
//! Owns: those checks, as functions of the documents. Never: requests anything.

use agentos_net::HttpUrl;
use serde_json::Value;

use super::error::{SignInError, SignInStep};

/// Metadata of a server of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceMetadata {
    /// Name of the server in requests for tokens, as it writes it.
    pub(crate) resource: String,
    /// Authorization server: the first one that is named.
    pub(crate) authorization_server: HttpUrl,
    /// Scopes that the server knows.
    pub(crate) scopes: Vec<String>,
}

/// Metadata of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerMetadata {
    /// Issuer, as its document writes it.
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: HttpUrl,
    pub(crate) token_endpoint: HttpUrl,
    /// `None` if it registers no clients.
    pub(crate) registration_endpoint: Option<HttpUrl>,
    /// Ways in which a client may prove itself. Empty if it names none.
    pub(crate) client_proofs: Vec<String>,
    pub(crate) scopes: Vec<String>,
    /// True if its answers must name their issuer (RFC 9207): it says so, or its page is on another host.
    pub(crate) names_issuer: bool,
}

/// Checks that a server may be sent tokens.
pub(crate) fn check_server(server: &HttpUrl) -> Result<(), SignInError> {
    match server.is_tls() || is_own_machine(server) {
        true => Ok(()),
        false => Err(SignInError::PlainServer),
    }
}

/// Returns true for an address of the loopback, and for `localhost`.
fn is_own_machine(url: &HttpUrl) -> bool {
    url.is_loopback() && !url.host().ends_with(".localhost")
}

/// Reads an address that a document names.
///
/// A server elsewhere must not lead to an address of this machine either: its documents could make this program send requests to any local
/// service. A name that a resolver leads here is not recognized; its service would have to prove that name by TLS.
pub(crate) fn read_address(
    step: SignInStep,
    field: &'static str,
    text: &str,
    server: &HttpUrl,
) -> Result<HttpUrl, SignInError> {
    let refuse = |why| SignInError::Address { step, field, why };
    let url = HttpUrl::parse_named(text).map_err(|_| refuse("it is no plain http or https address"))?;
    match (url.is_tls(), url.is_loopback(), is_own_machine(server)) {
        (_, true, false) => Err(refuse("it is on this machine, and the server is not")),
        (false, false, _) => Err(refuse("it is without https")),
        (false, true, true) if !is_own_machine(&url) => Err(refuse("it is without https")),
        (_, _, _) => Ok(url),
    }
}

impl ResourceMetadata {
    /// Reads the metadata of exactly this server.
    pub(crate) fn read(document: &Value, server: &HttpUrl) -> Result<Self, SignInError> {
        let step = SignInStep::ResourceMetadata;
        let resource = require_text(step, document, "resource")?;
        let named = HttpUrl::parse_named(resource).map_err(|_| SignInError::OtherResource(step))?;
        if !covers(&named, server) {
            return Err(SignInError::OtherResource(step));
        }
        // The first one: a client may choose freely (RFC 9728, section 7.6), and nothing distinguishes them.
        let servers = list_texts(document, "authorization_servers");
        let first = servers
            .first()
            .ok_or_else(|| SignInError::document(step, "it names no authorization server"))?;
        Ok(Self {
            resource: resource.to_owned(),
            authorization_server: read_address(step, "authorization_servers", first, server)?,
            scopes: list_texts(document, "scopes_supported"),
        })
    }
}

/// Returns true if metadata of `resource` is metadata of `server`: the same host, and the same path or a folder above it. Many servers
/// describe all of their paths in one document.
fn covers(resource: &HttpUrl, server: &HttpUrl) -> bool {
    let above = resource.path().trim_end_matches('/');
    let rest = server.path().trim_end_matches('/').strip_prefix(above);
    resource.is_same_origin(server) && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl ServerMetadata {
    /// Reads the metadata of the authorization server that was named as `issuer`.
    pub(crate) fn read(document: &Value, issuer: &HttpUrl, server: &HttpUrl) -> Result<Self, SignInError> {
        let step = SignInStep::ServerMetadata;
        let written = require_text(step, document, "issuer")?;
        // Otherwise a server could pass another one's codes off as its own (RFC 8414, section 3.3). Compared as addresses, because the
        // protocol's Python SDK adds the `/` of an empty path to the address that the server of tools names.
        if !HttpUrl::parse_named(written).is_ok_and(|written| written == *issuer) {
            return Err(SignInError::OtherIssuer(step));
        }
        let address = |field| {
            let text = require_text(step, document, field)?;
            read_address(step, field, text, server)
        };
        let responses = list_texts(document, "response_types_supported");
        if !responses.is_empty() && !responses.iter().any(|kind| kind == "code") {
            return Err(SignInError::document(step, "it gives no codes"));
        }
        let pkce = list_texts(document, "code_challenge_methods_supported");
        if !pkce.iter().any(|method| method == "S256") {
            return Err(SignInError::NoPkce);
        }
        let registration_endpoint = match document.get("registration_endpoint") {
            None | Some(Value::Null) => None,
            Some(_) => Some(address("registration_endpoint")?),
        };
        let names_issuer = document.get("authorization_response_iss_parameter_supported");
        let authorization_endpoint = address("authorization_endpoint")?;
        // A document that sends the browser to somebody else's page could have that server's code sent to its own token endpoint. The
        // name of the issuer in the answer shows it (RFC 9207, section 1).
        let is_elsewhere = !authorization_endpoint.is_same_origin(issuer);
        Ok(Self {
            issuer: written.to_owned(),
            authorization_endpoint,
            token_endpoint: address("token_endpoint")?,
            registration_endpoint,
            client_proofs: list_texts(document, "token_endpoint_auth_methods_supported"),
            scopes: list_texts(document, "scopes_supported"),
            names_issuer: is_elsewhere || names_issuer == Some(&Value::Bool(true)),
        })
    }
}

/// Returns a text of a document.
pub(super) fn require_text<'a>(
    step: SignInStep,
    document: &'a Value,
    field: &'static str,
) -> Result<&'a str, SignInError> {
    let text = document.get(field).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
        .ok_or_else(|| SignInError::document(step, &format!("the answer has no `{field}`")))
}

fn list_texts(document: &Value, field: &str) -> Vec<String> {
    let list = document.get(field).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn url(text: &str) -> HttpUrl {
        HttpUrl::parse_named(text).unwrap()
    }

    #[test]
    fn a_document_names_only_addresses_that_may_be_used() {
        let cases = [
            ("https://h/mcp", "https://as.example/x?y=z", true),
            ("https://h/mcp", "http://as.example/", false),
            ("https://h/mcp", "http://127.0.0.1:9/", false),
            ("https://h/mcp", "https://localhost/", false),
            ("https://h/mcp", "https://user:pass@as.example/", false),
            ("https://h/mcp", "https://as.example/#token", false),
            ("https://h/mcp", "javascript:alert(1)", false),
            ("https://h/mcp", "file:///etc/passwd", false),
            ("http://127.0.0.1:1/mcp", "http://127.0.0.1:9/", true),
            ("http://127.0.0.1:1/mcp", "http://localhost:9/", true),
            ("http://127.0.0.1:1/mcp", "http://[::1]:9/", true),
            ("http://127.0.0.1:1/mcp", "http://x.localhost:9/", false),
            ("http://127.0.0.1:1/mcp", "http://192.168.0.2/", false),
            ("http://127.0.0.1:1/mcp", "https://as.example/", true),
        ];
        for (server, address, well) in cases {
            let read = read_address(
                SignInStep::ServerMetadata,
                "token_endpoint",
                address,
                &url(server),
            );
            assert_eq!(read.is_ok(), well, "{server} {address}");
        }
        for (server, well) in [
            ("http://h/", false),
            ("https://h/", true),
            ("http://[::1]/", true),
            ("http://x.localhost/", false),
        ] {
            assert_eq!(check_server(&url(server)).is_ok(), well, "{server}");
        }
    }

    #[test]
    fn metadata_is_that_of_exactly_this_server() {
        let cases = [
            ("https://h/mcp", "https://h/mcp", true),
            ("https://h/mcp/", "https://h/mcp", true),
            ("https://h", "https://h/mcp", true),
            ("https://h/a", "https://h/a/mcp", true),
            ("https://h/mc", "https://h/mcp", false),
            ("https://h/mcp/x", "https://h/mcp", false),
            ("https://h:444/mcp", "https://h/mcp", false),
            ("http://h/mcp", "https://h/mcp", false),
            ("https://evil/mcp", "https://h/mcp", false),
            ("mcp", "https://h/mcp", false),
        ];
        for (resource, server, well) in cases {
            let document = json!({ "resource": resource, "authorization_servers": ["https://as.example"] });
            let read = ResourceMetadata::read(&document, &url(server));
            assert_eq!(read.is_ok(), well, "{resource} {server}");
        }
        let without = json!({ "resource": "https://h/mcp", "authorization_servers": [] });
        assert!(ResourceMetadata::read(&without, &url("https://h/mcp")).is_err());
    }

    #[test]
    fn an_authorization_server_must_be_the_named_one_with_pkce() {
        let whole = json!({ "issuer": "https://as.example", "authorization_endpoint": "https://as.example/a",
            "token_endpoint": "https://as.example/t", "code_challenge_methods_supported": ["plain", "S256"] });
        let read = |field: &str, value: Value| {
            let mut document = whole.clone();
            document[field] = value;
            ServerMetadata::read(&document, &url("https://as.example/"), &url("https://h/mcp"))
                .map_err(|error| error.to_string())
        };
        assert!(read("x", Value::Null).is_ok_and(|server| !server.names_issuer));
        let elsewhere = read("authorization_endpoint", json!("https://honest.example/a"));
        assert!(elsewhere.is_ok_and(|server| server.names_issuer));
        let refused = [
            ("issuer", json!("https://other.example")),
            ("issuer", json!("https://as.example/tenant")),
            ("issuer", Value::Null),
            ("code_challenge_methods_supported", json!(["plain"])),
            ("code_challenge_methods_supported", Value::Null),
            ("authorization_endpoint", json!("http://as.example/a")),
            ("token_endpoint", json!("http://as.example/t")),
            ("token_endpoint", Value::Null),
            ("registration_endpoint", json!("http://as.example/r")),
            ("response_types_supported", json!(["token"])),
        ];
        for (field, value) in refused {
            assert!(read(field, value.clone()).is_err(), "{field} {value}");
        }
    }
}
