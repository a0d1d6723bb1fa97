//! Failures, in the words that each wire has for them.
//!
//! Owns: the kinds of failures and the shapes of all wires. Never: contains a key, or decides which kind a failure has.

use serde_json::{Value, json};

use crate::wire::ClientWire;

/// Request that cannot be read, or that asks for something that is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RequestFault {
    /// Path of the field, as in `messages[2].content`. `None` if the whole body is wrong.
    pub field: Option<String>,
    /// Reason, for the developer of the client.
    pub message: String,
}

impl RequestFault {
    /// Makes the fault of a field.
    pub(crate) fn of_field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: Some(field.into()),
            message: message.into(),
        }
    }

    /// Makes the fault of a whole body.
    pub(crate) fn of_body(message: impl Into<String>) -> Self {
        Self {
            field: None,
            message: message.into(),
        }
    }
}

/// Kind of a failure, by what the client can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The request is wrong.
    Request,
    /// The token is missing or wrong.
    Authentication,
    /// A rule or a policy forbids it.
    Permission,
    /// The model or the path does not exist.
    NotFound,
    /// The path does not have this method.
    WrongMethod,
    /// The body is too large.
    TooLarge,
    /// The body is not JSON by its type.
    WrongType,
    /// A budget is spent.
    Limit,
    /// The vendor refuses so many requests in so short a time.
    RateLimit,
    /// The vendor is overloaded.
    Overloaded,
    /// A time limit passed.
    Timeout,
    /// Any other failure behind the service.
    Server,
}

impl FaultKind {
    /// Returns the HTTP status that a vendor's own clients expect.
    #[must_use]
    pub fn status(self, wire: ClientWire) -> u16 {
        match (self, wire) {
            (Self::Request, _) => 400,
            (Self::Authentication, _) => 401,
            (Self::Permission, _) => 403,
            (Self::NotFound, _) => 404,
            (Self::WrongMethod, _) => 405,
            (Self::TooLarge, _) => 413,
            (Self::WrongType, _) => 415,
            (Self::Limit | Self::RateLimit, _) => 429,
            // Anthropic has a status of its own for it.
            (Self::Overloaded, ClientWire::Anthropic) => 529,
            (Self::Overloaded, ClientWire::OpenAi | ClientWire::Responses) => 503,
            (Self::Timeout, _) => 504,
            // Both vendors use 500 for their own failures. This one is a failure of the server behind.
            (Self::Server, _) => 502,
        }
    }

    /// Returns OpenAI's word, from its documentation of error types.
    fn openai_word(self) -> &'static str {
        match self {
            Self::Request | Self::NotFound | Self::WrongMethod | Self::TooLarge | Self::WrongType => {
                "invalid_request_error"
            }
            Self::Authentication => "authentication_error",
            Self::Permission => "permission_error",
            Self::Limit => "insufficient_quota",
            Self::RateLimit => "rate_limit_error",
            Self::Overloaded => "service_unavailable_error",
            Self::Timeout | Self::Server => "server_error",
        }
    }

    /// Returns Anthropic's word, from its documentation of error types.
    fn anthropic_word(self) -> &'static str {
        match self {
            Self::Request | Self::WrongMethod | Self::WrongType => "invalid_request_error",
            Self::Authentication => "authentication_error",
            Self::Permission => "permission_error",
            Self::NotFound => "not_found_error",
            Self::TooLarge => "request_too_large",
            Self::Limit | Self::RateLimit => "rate_limit_error",
            Self::Overloaded => "overloaded_error",
            Self::Timeout => "timeout_error",
            Self::Server => "api_error",
        }
    }
}

/// Failure of a request, for its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFault {
    /// Kind.
    pub kind: FaultKind,
    /// Code of the failure in AgentOS.
    pub code: String,
    /// Reason, in one sentence.
    pub message: String,
    /// Path of the field that is wrong. `None` if no field is.
    pub field: Option<String>,
}

impl From<RequestFault> for ClientFault {
    fn from(fault: RequestFault) -> Self {
        Self {
            kind: FaultKind::Request,
            code: "usage".to_owned(),
            message: fault.message,
            field: fault.field,
        }
    }
}

impl ClientFault {
    /// Returns the body of an answer in the form of a wire. `request` is the id of the request, which only Anthropic's form has.
    #[must_use]
    pub fn to_body(&self, wire: ClientWire, request: Option<&str>) -> Value {
        match wire {
            ClientWire::OpenAi | ClientWire::Responses => json!({"error": {
                "message": self.message, "type": self.kind.openai_word(), "param": self.field, "code": self.code,
            }}),
            ClientWire::Anthropic => json!({"type": "error", "request_id": request, "error": {
                "type": self.kind.anthropic_word(), "message": self.message, "code": self.code,
            }}),
        }
    }

    /// Returns the code in a response that failed. Clients decide by OpenAI's own codes whether to send it again.
    pub(crate) fn response_code(&self) -> &str {
        match self.kind {
            FaultKind::Limit => "insufficient_quota",
            FaultKind::RateLimit => "rate_limit_exceeded",
            FaultKind::Overloaded => "server_is_overloaded",
            FaultKind::Request
            | FaultKind::Authentication
            | FaultKind::Permission
            | FaultKind::NotFound
            | FaultKind::WrongMethod
            | FaultKind::TooLarge
            | FaultKind::WrongType => &self.code,
            FaultKind::Timeout | FaultKind::Server => "server_error",
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    /// Each kind of failure in each vendor's own form, as its own clients read it.
    #[test]
    fn each_failure_has_the_status_and_the_words_of_its_vendor() {
        let kinds = [
            FaultKind::Request,
            FaultKind::Authentication,
            FaultKind::Permission,
            FaultKind::NotFound,
            FaultKind::WrongMethod,
            FaultKind::TooLarge,
            FaultKind::WrongType,
            FaultKind::Limit,
            FaultKind::RateLimit,
            FaultKind::Overloaded,
            FaultKind::Timeout,
            FaultKind::Server,
        ];
        let lines = kinds.into_iter().flat_map(|kind| {
            let fault = ClientFault {
                kind,
                code: "a-code".to_owned(),
                message: "why".to_owned(),
                field: Some("model".to_owned()),
            };
            [ClientWire::OpenAi, ClientWire::Anthropic].map(|wire| {
                let body = fault.to_body(wire, Some("req_1"));
                format!("{kind:?} {wire:?} {} {body}", kind.status(wire))
            })
        });
        assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
        Request OpenAi 400 {"error":{"code":"a-code","message":"why","param":"model","type":"invalid_request_error"}}
        Request Anthropic 400 {"error":{"code":"a-code","message":"why","type":"invalid_request_error"},"request_id":"req_1","type":"error"}
        Authentication OpenAi 401 {"error":{"code":"a-code","message":"why","param":"model","type":"authentication_error"}}
        Authentication Anthropic 401 {"error":{"code":"a-code","message":"why","type":"authentication_error"},"request_id":"req_1","type":"error"}
        Permission OpenAi 403 {"error":{"code":"a-code","message":"why","param":"model","type":"permission_error"}}
        Permission Anthropic 403 {"error":{"code":"a-code","message":"why","type":"permission_error"},"request_id":"req_1","type":"error"}
        NotFound OpenAi 404 {"error":{"code":"a-code","message":"why","param":"model","type":"invalid_request_error"}}
        NotFound Anthropic 404 {"error":{"code":"a-code","message":"why","type":"not_found_error"},"request_id":"req_1","type":"error"}
        WrongMethod OpenAi 405 {"error":{"code":"a-code","message":"why","param":"model","type":"invalid_request_error"}}
        WrongMethod Anthropic 405 {"error":{"code":"a-code","message":"why","type":"invalid_request_error"},"request_id":"req_1","type":"error"}
        TooLarge OpenAi 413 {"error":{"code":"a-code","message":"why","param":"model","type":"invalid_request_error"}}
        TooLarge Anthropic 413 {"error":{"code":"a-code","message":"why","type":"request_too_large"},"request_id":"req_1","type":"error"}
        WrongType OpenAi 415 {"error":{"code":"a-code","message":"why","param":"model","type":"invalid_request_error"}}
        WrongType Anthropic 415 {"error":{"code":"a-code","message":"why","type":"invalid_request_error"},"request_id":"req_1","type":"error"}
        Limit OpenAi 429 {"error":{"code":"a-code","message":"why","param":"model","type":"insufficient_quota"}}
        Limit Anthropic 429 {"error":{"code":"a-code","message":"why","type":"rate_limit_error"},"request_id":"req_1","type":"error"}
        RateLimit OpenAi 429 {"error":{"code":"a-code","message":"why","param":"model","type":"rate_limit_error"}}
        RateLimit Anthropic 429 {"error":{"code":"a-code","message":"why","type":"rate_limit_error"},"request_id":"req_1","type":"error"}
        Overloaded OpenAi 503 {"error":{"code":"a-code","message":"why","param":"model","type":"service_unavailable_error"}}
        Overloaded Anthropic 529 {"error":{"code":"a-code","message":"why","type":"overloaded_error"},"request_id":"req_1","type":"error"}
        Timeout OpenAi 504 {"error":{"code":"a-code","message":"why","param":"model","type":"server_error"}}
        Timeout Anthropic 504 {"error":{"code":"a-code","message":"why","type":"timeout_error"},"request_id":"req_1","type":"error"}
        Server OpenAi 502 {"error":{"code":"a-code","message":"why","param":"model","type":"server_error"}}
        Server Anthropic 502 {"error":{"code":"a-code","message":"why","type":"api_error"},"request_id":"req_1","type":"error"}
        "#);
        let fault = ClientFault::from(RequestFault::of_body("the body is no object"));
        for kind in kinds {
            assert_eq!(
                kind.status(ClientWire::Responses),
                kind.status(ClientWire::OpenAi)
            );
        }
        assert_eq!(
            fault.to_body(ClientWire::Responses, None),
            fault.to_body(ClientWire::OpenAi, Some("x"))
        );
    }
}
