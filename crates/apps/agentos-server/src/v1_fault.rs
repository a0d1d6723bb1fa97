//! Failures of the host, and refusals of the judge, as the kinds that clients know.
//!
//! Owns: that mapping. Never: words a failure differently.

use agentos_api::Cause;
use agentos_client_wires::{ClientFault, ClientWire, FaultKind};
use agentos_host::EffectError;

use crate::judge::RequestRefusal;

/// Converts a failure for a client. The hint is part of the message: clients show nothing else.
pub fn to_client_fault(error: &EffectError) -> ClientFault {
    let kind = match (error.code.as_str(), error.cause) {
        ("unknown-model" | "not-served", _) => FaultKind::NotFound,
        ("context-length", _) => FaultKind::Request,
        // A key of the user at the vendor, not the token of this service.
        ("no-key" | "unauthorized" | "wrong-key", _) => FaultKind::Server,
        ("overloaded" | "rate-limited", _) => FaultKind::Overloaded,
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
pub fn find_wire(path: &str) -> Option<ClientWire> {
    match path {
        "/v1/messages" => Some(ClientWire::Anthropic),
        path if path.starts_with("/v1/") => Some(ClientWire::OpenAi),
        _ => None,
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
        RequestRefusal::SecretInAddress
        | RequestRefusal::NoUpgrade
        | RequestRefusal::WrongType
        | RequestRefusal::WrongMethod => FaultKind::Request,
    };
    ClientFault {
        kind,
        code: refusal.code().to_owned(),
        message: refusal.to_string(),
        field: None,
    }
}
