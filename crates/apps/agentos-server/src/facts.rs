//! Facts of a request, for the judge.
//!
//! Owns: reading them from method, address and headers. Never: decides anything.

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN, UPGRADE};
use axum::http::request::Parts;
use axum::http::{Method, Uri};

use crate::judge::{DoorKind, RequestFacts, RequestKind, TokenState, UpgradeWish};

/// Name of the cookie.
pub const COOKIE_NAME: &str = "agentos-session";
/// Header of the token in Anthropic's clients.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Path of the events, which have a WebSocket.
const EVENTS_PATH: &str = "/api/events";
/// Members of a query that would be secrets.
const SECRET_NAMES: [&str; 7] = [
    "token",
    "code",
    "key",
    "api_key",
    "access_token",
    "secret",
    "password",
];

/// Reads every Host of a request: its header lines, and the host of an absolute address.
pub fn list_hosts(parts: &Parts) -> Vec<String> {
    let mut hosts = list_texts(&parts.headers, &HOST);
    // An absolute address counts before the header (RFC 9112, section 3.2.2), so both must be this service's own. Several lines of the
    // header are refused, also equal ones.
    let authority = parts.uri.authority();
    let authority = authority.map(|authority| authority.as_str().to_ascii_lowercase());
    hosts.extend(authority.filter(|authority| hosts != [authority.as_str()]));
    hosts
}

/// Reads the facts of a request. What its secrets are was found before.
pub fn read_facts(
    parts: &Parts,
    hosts: Vec<String>,
    (door, own_origin): (Option<DoorKind>, String),
    (token, has_session): (TokenState, bool),
) -> RequestFacts {
    let text = |name: &str| find_text(&parts.headers, name).map(str::to_owned);
    RequestFacts {
        door,
        own_origin,
        kind: find_kind(&parts.method, parts.uri.path()),
        is_read: is_read(&parts.method),
        hosts,
        origins: list_texts(&parts.headers, &ORIGIN),
        fetch_site: text("sec-fetch-site"),
        fetch_mode: text("sec-fetch-mode"),
        fetch_target: text("sec-fetch-dest"),
        media_type: find_media_type(&parts.headers),
        has_query_secret: has_query_secret(&parts.uri),
        upgrade: find_upgrade(parts),
        token,
        has_session,
    }
}

/// Returns the cookie of a person's session. `None` if there is none, or several, of which one would be an attacker's.
pub fn find_cookie(headers: &HeaderMap) -> Option<String> {
    let lines = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    let mut found = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == COOKIE_NAME);
    match (found.next(), found.next()) {
        (Some((_, value)), None) => Some(value.to_owned()),
        (_, _) => None,
    }
}

fn is_read(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// Returns the kind of a request.
fn find_kind(method: &Method, path: &str) -> RequestKind {
    let (reads, posts) = (is_read(method), *method == Method::POST);
    // Its methods are those of the protocol: a message, a stream of messages, and the end of a session.
    let is_known = reads || posts || (path == "/mcp" && *method == Method::DELETE);
    if !is_known {
        return RequestKind::Unknown;
    }
    let is_below = |folder: &str| {
        path.strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_public = path == "/healthz" || path.starts_with("/static/");
    match path {
        "/mcp" => RequestKind::Agent,
        _ if is_below("/v1") => RequestKind::Models,
        _ if is_below("/service") => RequestKind::Owner,
        _ if is_below("/api") || path == "/metrics" => match reads {
            true => RequestKind::Data,
            false => RequestKind::Effect,
        },
        "/signin" => RequestKind::SignIn,
        _ if reads && is_public => RequestKind::Public,
        _ if reads => RequestKind::Page,
        _ => RequestKind::Form,
    }
}

/// Returns the other protocol that a request wants.
fn find_upgrade(parts: &Parts) -> UpgradeWish {
    let wished = list_texts(&parts.headers, &UPGRADE);
    let is_events = parts.method == Method::GET && parts.uri.path() == EVENTS_PATH;
    match wished.as_slice() {
        [] => UpgradeWish::None,
        [one] if one == "websocket" && is_events => UpgradeWish::Events,
        _ => UpgradeWish::Other,
    }
}

fn find_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// Returns every value of a header, in lower case. One that is no text becomes one that nothing is equal to.
fn list_texts(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let values = headers.get_all(name).iter();
    values
        .map(|value| value.to_str().unwrap_or("?").to_ascii_lowercase())
        .collect()
}

fn find_media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let name = value.split(';').next().unwrap_or_default();
    Some(name.trim().to_ascii_lowercase())
}

/// Returns the token that a program sends: as `Authorization: Bearer`, or as `x-api-key`. `None` if it sends no token.
pub fn find_token(headers: &HeaderMap) -> Option<String> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let value = value.to_str().unwrap_or_default();
        let (scheme, token) = value.split_once(' ').unwrap_or_default();
        // Another scheme is a secret of another kind, and counts as a wrong one.
        return Some(match scheme.eq_ignore_ascii_case("bearer") {
            true => token.trim().to_owned(),
            false => String::new(),
        });
    }
    let key = headers.get(API_KEY)?;
    Some(key.to_str().unwrap_or_default().to_owned())
}

fn has_query_secret(uri: &Uri) -> bool {
    let pairs = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    pairs
        .into_iter()
        .any(|(name, _)| SECRET_NAMES.contains(&name.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_and_the_method_give_the_kind() {
        for (method, path, kind) in [
            (Method::GET, "/", RequestKind::Page),
            (Method::HEAD, "/runs", RequestKind::Page),
            (Method::GET, "/apiary", RequestKind::Page),
            (Method::GET, "/api/runs", RequestKind::Data),
            (Method::GET, "/v1/models", RequestKind::Models),
            (Method::POST, "/v1/messages", RequestKind::Models),
            (Method::POST, "/v1x", RequestKind::Form),
            (Method::POST, "/service/join", RequestKind::Owner),
            (Method::GET, "/metrics", RequestKind::Data),
            (Method::GET, "/signin", RequestKind::SignIn),
            (Method::POST, "/signin", RequestKind::SignIn),
            (Method::POST, "/requests/x/approve", RequestKind::Form),
            (Method::POST, "/static/style.css", RequestKind::Form),
            (Method::POST, "/api/requests/x/approve", RequestKind::Effect),
            (Method::GET, "/mcp", RequestKind::Agent),
            (Method::POST, "/mcp", RequestKind::Agent),
            (Method::DELETE, "/mcp", RequestKind::Agent),
            (Method::PUT, "/mcp", RequestKind::Unknown),
            (Method::POST, "/mcp/x", RequestKind::Form),
            (Method::OPTIONS, "/api/runs", RequestKind::Unknown),
            (Method::DELETE, "/", RequestKind::Unknown),
        ] {
            assert_eq!(find_kind(&method, path), kind, "{method} {path}");
        }
    }

    #[test]
    fn the_events_alone_have_another_protocol() {
        use UpgradeWish::{Events, None, Other};
        for (method, path, lines, wish) in [
            ("GET", "/api/events", vec![], None),
            ("GET", "/api/events", vec!["websocket"], Events),
            ("GET", "/api/events?after=3", vec!["WebSocket"], Events),
            ("GET", "/api/events", vec!["websocket", "websocket"], Other),
            ("GET", "/api/events", vec!["websocket, h2c"], Other),
            ("GET", "/api/events", vec!["h2c"], Other),
            ("GET", "/api/events/", vec!["websocket"], Other),
            ("GET", "/api/runs", vec!["websocket"], Other),
            ("HEAD", "/api/events", vec!["websocket"], Other),
            ("POST", "/api/events", vec!["websocket"], Other),
        ] {
            let mut request = axum::http::Request::builder().method(method).uri(path);
            for line in &lines {
                request = request.header(UPGRADE, *line);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(find_upgrade(&parts), wish, "{method} {path} {lines:?}");
        }
    }

    #[test]
    fn two_cookies_of_the_name_are_none() {
        for (line, cookie) in [
            ("agentos-session=a", Some("a")),
            ("x=1; agentos-session=a", Some("a")),
            ("agentos-session=a; agentos-session=b", None),
            ("x=1", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, line.parse().unwrap());
            assert_eq!(find_cookie(&headers).as_deref(), cookie, "{line}");
        }
    }
}
