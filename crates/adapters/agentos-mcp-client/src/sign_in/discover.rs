//! Finding the authorization server of a server.
//!
//! Owns: where each document is. Never: takes an address that no document of the server names, or follows a redirect.

use std::time::Duration;

use agentos_net::{Answer, Auth, Deadline, HttpClient, HttpUrl, NetError, Request, Response};
use serde_json::{Value, json};

use super::SignInOffer;
use super::challenge::Challenge;
use super::error::{SignInError, SignInStep};
use super::metadata::{ResourceMetadata, ServerMetadata, check_server, read_address};

/// Longest time for one request of a sign-in.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// Asks a server how to sign in at it.
pub(super) async fn discover_offer(http: &HttpClient, server: &HttpUrl) -> Result<SignInOffer, SignInError> {
    check_server(server)?;
    let (status, challenge) = ask_challenge(http, server).await?;
    let resource = find_resource_metadata(http, server, &challenge).await?;
    let resource = resource.ok_or(SignInError::NotOffered(status))?;
    let authorization = find_server_metadata(http, server, &resource.authorization_server).await?;
    let scopes = match challenge.scopes.is_empty() {
        true => resource.scopes,
        false => challenge.scopes,
    };
    Ok(SignInOffer {
        server: server.clone(),
        resource: resource.resource,
        authorization,
        scopes,
    })
}

/// Sends the first message of the protocol without a token. Returns the status and the challenge of the answer.
async fn ask_challenge(http: &HttpClient, server: &HttpUrl) -> Result<(u16, Challenge), SignInError> {
    let step = SignInStep::Ask;
    let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "agentos", "version": env!("CARGO_PKG_VERSION") } } });
    let mut request = Request::post(server.clone(), Auth::None, message);
    request.headers = vec![("accept", "application/json, text/event-stream".to_owned())];
    let answer: Result<Answer, NetError> = http.open(&request, &Deadline::after(REQUEST_TIME)).await;
    let answer = answer.map_err(|source| SignInError::http(step, source))?;
    if (300..400).contains(&answer.status()) {
        return Err(SignInError::Redirect(step));
    }
    // The body is not read: that of a server that lets everybody in is a stream that may never end.
    let challenge = Challenge::parse(&answer.header_values("www-authenticate").join(", "));
    Ok((answer.status(), challenge.unwrap_or_default()))
}

/// Reads the metadata of the server, from where its challenge says, else from the places of RFC 9728, section 3.1. `None` if it has none.
async fn find_resource_metadata(
    http: &HttpClient,
    server: &HttpUrl,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, SignInError> {
    let step = SignInStep::ResourceMetadata;
    let name = "oauth-protected-resource";
    let places = match &challenge.resource_metadata {
        Some(text) => {
            let place = read_address(step, "resource_metadata", text, server)?;
            // Another host has nothing to say about this one.
            if !place.is_same_origin(server) {
                return Err(SignInError::OtherResource(step));
            }
            vec![place]
        }
        None => vec![server.well_known(name), server.root().well_known(name)],
    };
    for place in places {
        if let Some(document) = fetch_document(http, &place, step).await? {
            return ResourceMetadata::read(&document, server).map(Some);
        }
    }
    Ok(None)
}

/// Reads the metadata of an authorization server, from the places that the protocol lists, in its order.
async fn find_server_metadata(
    http: &HttpClient,
    server: &HttpUrl,
    issuer: &HttpUrl,
) -> Result<ServerMetadata, SignInError> {
    let step = SignInStep::ServerMetadata;
    let places = [
        issuer.well_known("oauth-authorization-server"),
        issuer.well_known("openid-configuration"),
        issuer.join(".well-known/openid-configuration"),
    ];
    // The first document that exists counts. If a bad one led to the next place, an attacker who controls one place could choose the other.
    for place in places {
        if let Some(document) = fetch_document(http, &place, step).await? {
            return ServerMetadata::read(&document, issuer, server);
        }
    }
    Err(SignInError::document(step, "it publishes none"))
}

/// Fetches a document. `None` if it does not exist.
async fn fetch_document(
    http: &HttpClient,
    url: &HttpUrl,
    step: SignInStep,
) -> Result<Option<Value>, SignInError> {
    let mut request = Request::get(url.clone(), Auth::None);
    request.headers = vec![("accept", "application/json".to_owned())];
    let answer = send(http, &request, step).await?;
    match answer.status {
        200 => read_json(&answer, step).map(Some),
        // Servers behind a gateway answer 401 or 403 for paths that they do not have.
        401 | 403 | 404 | 405 | 410 => Ok(None),
        status => Err(SignInError::Status(step, status)),
    }
}

/// Sends a request of a sign-in. A redirect is an error.
pub(super) async fn send(
    http: &HttpClient,
    request: &Request,
    step: SignInStep,
) -> Result<Response, SignInError> {
    let answer = http.send(request, &Deadline::after(REQUEST_TIME)).await;
    let answer = answer.map_err(|source| SignInError::http(step, source))?;
    match answer.status {
        300..400 => Err(SignInError::Redirect(step)),
        _ => Ok(answer),
    }
}

/// Reads an answer as a JSON object. Errors do not repeat it, because it may contain a token.
pub(super) fn read_json(answer: &Response, step: SignInStep) -> Result<Value, SignInError> {
    let value = serde_json::from_slice::<Value>(&answer.body).ok();
    value
        .filter(Value::is_object)
        .ok_or_else(|| SignInError::document(step, "the answer is not a JSON object"))
}
