//! Failures, in the words that each wire has for them.
//!
//! Owns: the kinds of failures and the shapes of both wires. Never: contains a key, or decides which kind a failure has.

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
    /// The model does not exist.
    NotFound,
    /// The body is too large.
    TooLarge,
    /// A budget is spent, or too much was requested.
    Limit,
    /// The vendor is overloaded.
    Overloaded,
    /// A time limit passed.
    Timeout,
    /// Any other failure behind the service.
    Server,
}

impl FaultKind {
    /// Returns the HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Request => 400,
            Self::Authentication => 401,
            Self::Permission => 403,
            Self::NotFound => 404,
            Self::TooLarge => 413,
            Self::Limit => 429,
            Self::Overloaded => 503,
            Self::Timeout => 504,
            Self::Server => 502,
        }
    }

    /// Returns OpenAI's word, from its documentation of error types.
    fn openai_word(self) -> &'static str {
        match self {
            Self::Request | Self::NotFound | Self::TooLarge => "invalid_request_error",
            Self::Authentication => "authentication_error",
            Self::Permission => "permission_error",
            Self::Limit => "insufficient_quota",
            Self::Overloaded | Self::Timeout | Self::Server => "server_error",
        }
    }

    /// Returns Anthropic's word, from its documentation of error types.
    fn anthropic_word(self) -> &'static str {
        match self {
            Self::Request => "invalid_request_error",
            Self::Authentication => "authentication_error",
            Self::Permission => "permission_error",
            Self::NotFound => "not_found_error",
            Self::TooLarge => "request_too_large",
            Self::Limit => "rate_limit_error",
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
    /// Returns the body of an answer in the form of a wire.
    #[must_use]
    pub fn to_body(&self, wire: ClientWire) -> Value {
        match wire {
            ClientWire::OpenAi => json!({"error": {
                "message": self.message, "type": self.kind.openai_word(), "param": self.field, "code": self.code,
            }}),
            ClientWire::Anthropic => json!({"type": "error", "error": {
                "type": self.kind.anthropic_word(), "message": self.message, "code": self.code,
            }}),
        }
    }
}
