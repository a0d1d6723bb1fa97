//! The protocol over HTTP, through `agentos-net`.
//!
//! Owns: which statuses mean what, and when a token is replaced. Never: follows a redirect, or asks the user to sign in.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use agentos_net::{
    Answer, Auth, Deadline, HttpClient, HttpUrl, Method, NetError, Request, TimeLimits, redact_keys,
};
use agentos_tool::Secret;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::sign_in::challenge::Challenge;
use crate::sign_in::{SignInError, TokenKeeper};

/// Limits on one answer. Whoever waits for a call has a shorter one of its own.
const LIMITS: TimeLimits = TimeLimits {
    first_byte: Duration::from_secs(300),
    idle: Duration::from_secs(600),
    total: Duration::from_secs(24 * 3600),
};
/// Longest part of an unexpected answer in an error, in characters.
const LONGEST_QUOTE: usize = 200;
/// Longest part of such an answer in which keys are looked for, in bytes.
const LONGEST_READ: usize = 64 << 10;
/// Kinds of answers that are read.
const ACCEPTED: &str = "application/json, text/event-stream";

/// Address of a server, and the key or the token that it is sent.
#[derive(Debug, Clone)]
pub struct HttpServer {
    /// Address to which messages are posted.
    pub url: HttpUrl,
    /// Key, or tokens.
    pub auth: ServerAuth,
    /// Client with its limits.
    pub client: HttpClient,
}

/// Proof that a server is sent with each request.
#[derive(Debug, Clone)]
pub enum ServerAuth {
    /// Always the same one: a key, or none.
    Fixed(Auth),
    /// Tokens of a sign-in, which change.
    SignIn(Arc<TokenKeeper>),
}

/// Wire over HTTP.
#[derive(Debug, Clone)]
pub struct NetWire {
    client: HttpClient,
    auth: ServerAuth,
}

/// Failure of a request.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The request failed.
    #[error(transparent)]
    Net(#[from] NetError),
    /// There is no token to send.
    #[error(transparent)]
    SignIn(#[from] Arc<SignInError>),
}

type WireResult<T> = Result<T, StreamableHttpError<WireError>>;

impl NetWire {
    /// Makes a wire that sends this key with each request.
    #[must_use]
    pub fn new(client: HttpClient, auth: Auth) -> Self {
        Self::with_auth(client, ServerAuth::Fixed(auth))
    }

    /// Makes a wire that sends a key or the tokens of a sign-in.
    #[must_use]
    pub fn with_auth(client: HttpClient, auth: ServerAuth) -> Self {
        Self { client, auth }
    }

    /// Sends a request. If the server refuses the token of a sign-in, it is sent once more with another one.
    async fn open(
        &self,
        method: Method,
        uri: &str,
        session: Option<&str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        body: Option<serde_json::Value>,
    ) -> WireResult<Answer> {
        let url = HttpUrl::parse(uri).map_err(client_error)?;
        let request = Request {
            method,
            headers: vec![("accept", ACCEPTED.to_owned())],
            derived_headers: derive_headers(session, &headers)?,
            body,
            ..Request::get(url, Auth::None)
        };
        let keeper = match (token, &self.auth) {
            (Some(token), _) => return self.send(request, Auth::Bearer(Secret::new(&token))).await,
            (None, ServerAuth::Fixed(auth)) => return self.send(request, auth.clone()).await,
            (None, ServerAuth::SignIn(keeper)) => keeper,
        };
        let token = keeper.find_token(&request.url).await.map_err(client_error)?;
        let sent = self.send(request.clone(), Auth::Bearer(token.clone())).await;
        if !is_refusal(&sent) {
            return sent;
        }
        // Once: a server that refuses every token would otherwise be asked without end.
        let token = keeper
            .replace_token(&request.url, &token)
            .await
            .map_err(client_error)?;
        let sent = self.send(request, Auth::Bearer(token)).await;
        match is_refusal(&sent) {
            true => Err(client_error(keeper.note_end())),
            false => sent,
        }
    }

    /// Quotes the beginning of a body without the key or token that was sent: servers and proxies repeat headers, and a model is shown
    /// this.
    async fn quote_body(&self, body: &[u8]) -> String {
        let sent = match &self.auth {
            ServerAuth::Fixed(Auth::Bearer(key) | Auth::Header(_, key)) => Some(key.clone()),
            ServerAuth::Fixed(Auth::None) => None,
            ServerAuth::SignIn(keeper) => keeper.current_token().await,
        };
        let text = String::from_utf8_lossy(body.get(..LONGEST_READ).unwrap_or(body));
        let sent: Vec<&Secret> = sent.iter().collect();
        redact_keys(&text, &sent).chars().take(LONGEST_QUOTE).collect()
    }

    async fn send(&self, request: Request, auth: Auth) -> WireResult<Answer> {
        let request = Request { auth, ..request };
        let answer = self.client.open(&request, &Deadline::with_limits(LIMITS)).await;
        refuse_challenge(answer.map_err(client_error)?)
    }
}

fn client_error(error: impl Into<WireError>) -> StreamableHttpError<WireError> {
    StreamableHttpError::Client(error.into())
}

/// Returns true if a server does not accept the token. One that needs another scope (status 403) is not helped by a new token.
fn is_refusal(sent: &WireResult<Answer>) -> bool {
    match sent {
        Ok(answer) => answer.status() == 401,
        Err(error) => matches!(error, StreamableHttpError::AuthRequired(_)),
    }
}

/// Makes the headers that the protocol derives from a message.
fn derive_headers(
    session: Option<&str>,
    headers: &HashMap<HeaderName, HeaderValue>,
) -> WireResult<Vec<(String, String)>> {
    let mut derived: Vec<(String, String)> = Vec::new();
    for (name, value) in headers {
        let value = value
            .to_str()
            .map_err(|_| StreamableHttpError::UnexpectedServerResponse("a header is no text".into()))?;
        derived.push((name.as_str().to_owned(), value.to_owned()));
    }
    if let Some(session) = session {
        derived.push(("mcp-session-id".to_owned(), session.to_owned()));
    }
    Ok(derived)
}

/// Turns a challenge, an overload and a broken server into errors.
fn refuse_challenge(answer: Answer) -> WireResult<Answer> {
    let challenge = answer.header("www-authenticate").map(str::to_owned);
    match (answer.status(), challenge) {
        (401, Some(challenge)) => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(
            challenge,
        ))),
        (403, Some(challenge)) => {
            let scopes = Challenge::parse(&challenge).map(|challenge| challenge.scopes.join(" "));
            let scope = scopes.filter(|scopes| !scopes.is_empty());
            Err(StreamableHttpError::InsufficientScope(
                InsufficientScopeError::new(challenge, scope),
            ))
        }
        (status, _) if status == 429 || (status >= 500 && !is_json(&answer)) => {
            let wait = answer.header("retry-after").map(str::to_owned);
            Err(HttpStatusError::new(status, wait).into())
        }
        (_, _) => Ok(answer),
    }
}

fn is_json(answer: &Answer) -> bool {
    has_type(answer, "application/json")
}

fn has_type(answer: &Answer, wanted: &str) -> bool {
    let kind = answer.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case(wanted)
}

/// Reads a body as events, with their ids: a stream that breaks is resumed after the last one.
fn read_events(answer: Answer) -> BoxStream<'static, Result<Sse, SseError>> {
    let pieces = stream::try_unfold(answer, |mut answer| async move {
        let bytes = answer.next_bytes().await?;
        Ok::<_, NetError>(bytes.map(|bytes| (Bytes::from(bytes), answer)))
    });
    // Boxed, because the parser needs a stream that does not move.
    SseStream::from_bytes_stream(pieces.map_err(std::io::Error::other).boxed()).boxed()
}

/// Makes the answer to a question for the newest protocol that an older server refused, so that the older one is spoken.
fn describe_older(
    message: &ClientJsonRpcMessage,
    status: u16,
    refusal: Option<ErrorData>,
) -> Option<StreamableHttpPostResponse> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return None;
    };
    if !matches!(request.request, ClientRequest::DiscoverRequest(_)) || !(400..500).contains(&status) {
        return None;
    }
    let refusal = refusal.unwrap_or_else(|| {
        ErrorData::invalid_request(format!("the server answered with HTTP {status}"), None)
    });
    // With the id of the question: a proxy that refuses does not know it.
    let message = ServerJsonRpcMessage::error(refusal, Some(request.id.clone()));
    Some(StreamableHttpPostResponse::Json(message, None))
}

impl StreamableHttpClient for NetWire {
    type Error = WireError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> WireResult<StreamableHttpPostResponse> {
        let body = serde_json::to_value(&message)?;
        let session = session_id.as_deref();
        let answer = self
            .open(
                Method::Post,
                &uri,
                session,
                auth_header,
                custom_headers,
                Some(body),
            )
            .await?;
        let status = answer.status();
        if status == 202 || status == 204 {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == 404 && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let named = answer.header("mcp-session-id").map(str::to_owned);
        if status < 300 && has_type(&answer, "text/event-stream") {
            return Ok(StreamableHttpPostResponse::Sse(read_events(answer), named));
        }
        let (is_json, kind) = (is_json(&answer), answer.header("content-type").map(str::to_owned));
        let body = answer.read().await.map_err(client_error)?.body;
        let awaits_nothing = !matches!(message, ClientJsonRpcMessage::Request(_));
        if status >= 300 {
            let parsed = serde_json::from_slice(&body).ok().filter(|_| is_json);
            let error = match parsed {
                Some(ServerJsonRpcMessage::Error(error)) => Some(error),
                _ => None,
            };
            if session.is_none()
                && status != 401
                && status != 403
                && let Some(older) =
                    describe_older(&message, status, error.as_ref().map(|error| error.error.clone()))
            {
                return Ok(older);
            }
            if let Some(error) = error.filter(|_| status != 401 && status != 403) {
                return Ok(StreamableHttpPostResponse::Json(
                    ServerJsonRpcMessage::Error(error),
                    named,
                ));
            }
            let shown = self.quote_body(&body).await;
            return Err(StreamableHttpError::UnexpectedServerResponse(
                format!("HTTP {status}: {shown}").into(),
            ));
        }
        if awaits_nothing {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !is_json {
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        Ok(StreamableHttpPostResponse::Json(
            serde_json::from_slice(&body)?,
            named,
        ))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> WireResult<()> {
        // A server may keep its sessions (status 405), and one that forgot this one has nothing to end.
        self.open(
            Method::Delete,
            &uri,
            Some(&session_id),
            auth_header,
            custom_headers,
            None,
        )
        .await
        .map(|_| ())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        mut custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> WireResult<BoxStream<'static, Result<Sse, SseError>>> {
        if let Some(value) = last_event_id.and_then(|id| HeaderValue::from_str(&id).ok()) {
            custom_headers.insert(HeaderName::from_static("last-event-id"), value);
        }
        let answer = self
            .open(
                Method::Get,
                &uri,
                session_id.as_deref(),
                auth_header,
                custom_headers,
                None,
            )
            .await?;
        match answer.status() {
            405 => Err(StreamableHttpError::ServerDoesNotSupportSse),
            200 if has_type(&answer, "text/event-stream") => Ok(read_events(answer)),
            200 => Err(StreamableHttpError::UnexpectedContentType(
                answer.header("content-type").map(str::to_owned),
            )),
            status => Err(StreamableHttpError::UnexpectedServerResponse(
                format!("HTTP {status}").into(),
            )),
        }
    }
}
