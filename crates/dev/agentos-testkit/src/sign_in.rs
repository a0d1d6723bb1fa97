//! A fake server of tools that wants a sign-in, with its authorization server, and the browser of a user who agrees to everything.
//!
//! Owns: their documents, codes and tokens. Never: checks more than a real server does that follows OAuth 2.1.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::http::{RawAnswer, send_bytes};
use crate::server::{FakeServer, Recorded, Reply};

/// Answer before it is sent, which a test may change.
#[derive(Debug, Clone)]
pub struct SignInReply {
    /// Status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(&'static str, String)>,
    /// Body. Null for none.
    pub body: Value,
    /// Bytes to send instead. `None` for the answer above.
    pub raw: Option<Reply>,
}

/// Codes and tokens of the authorization server.
#[derive(Debug, Default)]
struct Grants {
    /// Challenge of the last code (RFC 7636). `None` if no code is valid.
    challenge: Option<String>,
    /// Number in the tokens of now: `access-token-secret-1`, `refresh-token-secret-1`.
    number: usize,
    /// True if the access token of now is not accepted any more.
    expired: bool,
    /// True if no refresh token is accepted any more.
    revoked: bool,
}

/// Running server of tools with its authorization server, on one port. The server of tools is at `/mcp`.
pub struct SignInServer {
    server: FakeServer,
    grants: Arc<Mutex<Grants>>,
}

impl SignInServer {
    /// Starts a server whose answers `twist` may change.
    ///
    /// # Errors
    /// If there is no free port on loopback.
    pub fn start(twist: impl Fn(&Recorded, &mut SignInReply) + Send + Sync + 'static) -> io::Result<Self> {
        let grants = Arc::new(Mutex::new(Grants::default()));
        let shared = Arc::clone(&grants);
        let server = FakeServer::start(move |request| {
            let mut reply = answer(request, &mut lock(&shared));
            twist(request, &mut reply);
            reply.raw.unwrap_or_else(|| {
                let mut headers: Vec<(&str, &str)> = vec![("content-type", "application/json")];
                headers.extend(reply.headers.iter().map(|(name, value)| (*name, value.as_str())));
                let body = match reply.body {
                    Value::Null => Vec::new(),
                    body => body.to_string().into_bytes(),
                };
                Reply::http(reply.status, &headers, &body)
            })
        })?;
        Ok(Self { server, grants })
    }

    /// Returns the address of the server of tools.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/mcp", self.server.url())
    }

    /// Returns the requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }

    /// Lists the forms that the token endpoint received, as pairs of name and value.
    #[must_use]
    pub fn token_forms(&self) -> Vec<Vec<(String, String)>> {
        let requests = self.server.requests();
        let forms = requests.iter().filter(|request| request.path == "/token");
        forms
            .map(|request| read_form(&String::from_utf8_lossy(&request.body)))
            .collect()
    }

    /// Ends the access token of now: the server refuses it.
    pub fn expire_token(&self) {
        lock(&self.grants).expired = true;
    }

    /// Ends the sign-in: no token is accepted, and none refreshed.
    pub fn revoke_sign_in(&self) {
        let mut grants = lock(&self.grants);
        grants.expired = true;
        grants.revoked = true;
    }
}

fn lock(grants: &Mutex<Grants>) -> MutexGuard<'_, Grants> {
    grants.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens an address as a browser, and follows one redirect. Returns what the page shows to which it leads.
///
/// # Errors
/// If nobody listens there, or the first answer is no redirect.
pub fn open_as_browser(address: &str) -> io::Result<RawAnswer> {
    let first = get(address)?;
    let next = first.header("location").map(str::to_owned);
    get(&next.ok_or_else(|| io::Error::other(format!("no redirect: {}", first.head)))?)
}

fn get(address: &str) -> io::Result<RawAnswer> {
    let rest = address
        .strip_prefix("http://")
        .ok_or_else(|| io::Error::other("no http address"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    send_bytes(
        host,
        format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes(),
    )
}

/// Reads a form or a query.
fn read_form(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs
        .map(|(name, value)| (unescape(name), unescape(value)))
        .collect()
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let pair: String = rest.by_ref().take(2).map(char::from).collect();
                bytes.push(u8::from_str_radix(&pair, 16).unwrap_or(b'?'));
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn reply(status: u16, body: Value) -> SignInReply {
    SignInReply {
        status,
        headers: Vec::new(),
        body,
        raw: None,
    }
}

fn answer(request: &Recorded, grants: &mut Grants) -> SignInReply {
    let base = format!("http://{}", request.header("host").unwrap_or_default());
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    match path {
        "/mcp" => answer_tools(request, grants, &base),
        "/.well-known/oauth-protected-resource/mcp" => reply(
            200,
            json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base], "scopes_supported": ["tools"] }),
        ),
        "/.well-known/oauth-authorization-server" => reply(
            200,
            json!({ "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true }),
        ),
        "/register" => reply(
            201,
            json!({ "client_id": "client-1", "redirect_uris": request.json().get("redirect_uris") }),
        ),
        "/authorize" => authorize(&read_form(query), grants, &base),
        "/token" => give_tokens(&read_form(&String::from_utf8_lossy(&request.body)), grants),
        _ => reply(404, json!({})),
    }
}

fn find<'a>(form: &'a [(String, String)], name: &str) -> &'a str {
    let found = form.iter().find(|(known, _)| known == name);
    found.map_or("", |(_, value)| value.as_str())
}

/// Agrees at once, as a user does who is signed in at the authorization server already.
fn authorize(query: &[(String, String)], grants: &mut Grants, base: &str) -> SignInReply {
    if find(query, "code_challenge_method") != "S256" || find(query, "response_type") != "code" {
        return reply(400, json!({ "error": "invalid_request" }));
    }
    grants.challenge = Some(find(query, "code_challenge").to_owned());
    let location = format!(
        "{}?code=code-secret-0123456789&state={}&iss={base}",
        find(query, "redirect_uri"),
        find(query, "state")
    );
    SignInReply {
        headers: vec![("location", location)],
        ..reply(302, Value::Null)
    }
}

fn give_tokens(form: &[(String, String)], grants: &mut Grants) -> SignInReply {
    let is_known = match find(form, "grant_type") {
        "authorization_code" => {
            let digest = encode_digest(&Sha256::digest(find(form, "code_verifier")));
            grants
                .challenge
                .take()
                .is_some_and(|challenge| challenge == digest)
        }
        "refresh_token" => {
            let wanted = format!("refresh-token-secret-{}", grants.number);
            !grants.revoked && find(form, "refresh_token") == wanted
        }
        _ => false,
    };
    if !is_known {
        return reply(
            400,
            json!({ "error": "invalid_grant", "error_description": "The grant is not known." }),
        );
    }
    grants.number += 1;
    grants.expired = false;
    let number = grants.number;
    reply(
        200,
        json!({ "access_token": format!("access-token-secret-{number}"), "token_type": "Bearer", "expires_in": 3600,
            "refresh_token": format!("refresh-token-secret-{number}") }),
    )
}

/// Encodes bytes in base64 for addresses, without padding (RFC 4648, section 5).
fn encode_digest(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for piece in bytes.chunks(3) {
        let all = piece
            .iter()
            .fold(0_usize, |all, byte| all << 8 | usize::from(*byte))
            << (8 * (3 - piece.len()));
        for place in 0..=piece.len() {
            let letter = LETTERS.get(all >> (18 - 6 * place) & 63);
            text.extend(letter.copied().map(char::from));
        }
    }
    text
}

/// Answers as a server of tools in the protocol of 2025-11-25, if it is sent the access token of now.
fn answer_tools(request: &Recorded, grants: &Grants, base: &str) -> SignInReply {
    let wanted = format!("Bearer access-token-secret-{}", grants.number);
    if grants.number == 0 || grants.expired || request.header("authorization") != Some(wanted.as_str()) {
        let challenge = format!(
            "Bearer error=\"invalid_token\", resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\""
        );
        return SignInReply {
            headers: vec![("www-authenticate", challenge)],
            ..reply(401, json!({ "error": "invalid_token" }))
        };
    }
    let message = match request.method.as_str() {
        "POST" => request.json(),
        _ => return reply(405, Value::Null),
    };
    let result = match message.get("method").and_then(Value::as_str).unwrap_or_default() {
        "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "signed", "version": "1" } }),
        "tools/list" => json!({ "tools": [
            { "name": "roll", "description": "Rolls the dice.", "inputSchema": { "type": "object" } } ] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "four" }] }),
        _ if message.get("id").is_none() => return reply(202, Value::Null),
        other => {
            let error = json!({ "code": -32601, "message": format!("no {other}") });
            return reply(
                200,
                json!({ "jsonrpc": "2.0", "id": message.get("id"), "error": error }),
            );
        }
    };
    reply(
        200,
        json!({ "jsonrpc": "2.0", "id": message.get("id"), "result": result }),
    )
}
