//! Failures of the host, of the router and of reading a body, and refusals of the judge, as the kinds that clients know.
//!
//! Owns: that mapping, and which wire a path belongs to. Never: words a failure differently.

use agentos_api::Cause;
use agentos_client_wires::{ClientFault, ClientWire, FaultKind};
use agentos_host::EffectError;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};

use crate::fault::RequestFault;
use crate::judge::RequestRefusal;
use crate::rest::{self, RestFault};
use crate::timed_body::describe_rejection;
use crate::v1::write_fault;

/// Converts a failure for a client. The hint is part of the message: clients show nothing else.
pub fn to_client_fault(error: &EffectError) -> ClientFault {
    let kind = match (error.code.as_str(), error.cause) {
        ("unknown-model" | "not-served", _) => FaultKind::NotFound,
        ("context-length", _) => FaultKind::Request,
        // A key of the user at the vendor, not the token of this service.
        ("no-key" | "unauthorized" | "wrong-key", _) => FaultKind::Server,
        ("overloaded", _) => FaultKind::Overloaded,
        ("rate-limited", _) => FaultKind::RateLimit,
        // What the user bought of the vendor is used up: sending the request again does not help.
        ("quota", _) => FaultKind::Limit,
        (code, _) if code.starts_with("budget") => FaultKind::Limit,
        (_, Cause::Usage) => FaultKind::Request,
        (_, Cause::Policy | Cause::Consent) => FaultKind::Permission,
        (_, Cause::Limit) => FaultKind::Timeout,
        (
            _,
            Cause::Tool
            | Cause::Landing
            | Cause::Repository
            | Cause::Evidence
            | Cause::Internal
            | Cause::Done
            | Cause::Interrupted,
        ) => FaultKind::Server,
    };
    let message = match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    };
    ClientFault {
        kind,
        // By OpenAI's own code its clients notice that they must send less.
        code: match error.code.as_str() {
            "context-length" => "context_length_exceeded".to_owned(),
            code => code.to_owned(),
        },
        message,
        field: None,
    }
}

/// Returns the wire of a path, so that a refusal has the form that its client reads. `None` for other paths.
pub fn find_wire(path: &str, headers: &HeaderMap) -> Option<ClientWire> {
    match path.strip_prefix("/v1/")?.split('/').next() {
        Some("messages") => Some(ClientWire::Anthropic),
        Some("responses") => Some(ClientWire::Responses),
        Some(_) | None => Some(list_wire(headers)),
    }
}

/// Returns the wire of a request for a path that both vendors have. Anthropic's clients send their version with each request.
pub fn list_wire(headers: &HeaderMap) -> ClientWire {
    match headers.contains_key("anthropic-version") {
        true => ClientWire::Anthropic,
        false => ClientWire::OpenAi,
    }
}

/// Answers a request for a path that is not there.
pub async fn find_nothing(uri: Uri, headers: HeaderMap) -> Response {
    match find_wire(uri.path(), &headers) {
        Some(wire) => {
            let message = format!(
                "there is nothing at `{}`; `/api/openapi.json` lists the paths",
                uri.path()
            );
            write_fault(wire, &make_fault(FaultKind::NotFound, "not-found", message))
        }
        None => rest::find_nothing().await.into_response(),
    }
}

/// Answers a request for a path that does not have its method.
pub async fn refuse_method(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    match find_wire(uri.path(), &headers) {
        Some(wire) => {
            let message = format!("`{}` does not have the method {method}", uri.path());
            write_fault(wire, &make_fault(FaultKind::WrongMethod, "wrong-method", message))
        }
        None => RestFault::from(RequestFault::from(RequestRefusal::WrongMethod)).into_response(),
    }
}

/// Converts the failure to receive a body.
pub fn refuse_body(rejection: &BytesRejection) -> ClientFault {
    let (kind, code) = match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => (FaultKind::TooLarge, "too-large"),
        _ => (FaultKind::Request, "usage"),
    };
    make_fault(kind, code, describe_rejection(rejection))
}

/// Makes the failure of an endpoint that no provider has.
pub fn refuse_endpoint(message: &str) -> ClientFault {
    make_fault(FaultKind::NotFound, "no-endpoint", message.to_owned())
}

fn make_fault(kind: FaultKind, code: &str, message: String) -> ClientFault {
    ClientFault {
        kind,
        code: code.to_owned(),
        message,
        field: None,
    }
}

/// Converts a refusal for a client.
pub fn refuse_client(refusal: RequestRefusal) -> ClientFault {
    let kind = match refusal {
        RequestRefusal::SignedOut | RequestRefusal::WrongToken | RequestRefusal::EndedToken => {
            FaultKind::Authentication
        }
        RequestRefusal::WrongHost
        | RequestRefusal::WrongDoor
        | RequestRefusal::WrongScope(_)
        | RequestRefusal::NeedsPerson
        | RequestRefusal::ForeignSite
        | RequestRefusal::InFrame => FaultKind::Permission,
        RequestRefusal::SecretInAddress | RequestRefusal::NoUpgrade => FaultKind::Request,
        RequestRefusal::WrongType => FaultKind::WrongType,
        RequestRefusal::WrongMethod => FaultKind::WrongMethod,
    };
    make_fault(kind, refusal.code(), refusal.to_string())
}
