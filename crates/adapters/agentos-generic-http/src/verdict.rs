//! Decides what an HTTP answer means for the server behind it.
//!
//! Owns: the order in which status, content type and class of a failure are checked. Never: sends anything, reads the words of a
//! failure (`failure` does), or reads the fields of a successful answer; the adapter that knows them does.

use std::time::Duration;

use agentos_api::RunLimit;
use agentos_net::{ExceededLimit, NetError, Response};
use serde_json::Value;

use crate::Reason;
use crate::failure::{FailureClass, ServerFailure};

/// Reason why there is no usable answer, with the server's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Row of the health table.
    pub reason: Reason,
    /// Unfiltered message of the server or the transport, which may contain the key. `None` if there is none.
    pub said: Option<String>,
    /// Causes as the transport reports them, which may contain the key.
    pub causes: Vec<String>,
    /// Pause that the server asks for, in `Retry-After` or in its words. `None` if it asks for none.
    pub retry_after: Option<Duration>,
    /// Models that the server listed, if the fault is about the model.
    pub models: Vec<String>,
    /// Limit of ours that was exceeded. `None` for every other fault.
    pub limit: Option<RunLimit>,
    /// Fact that the server states in addition to its words. `None` if it states nothing that helps.
    pub stated: Option<StatedFact>,
}

/// Fact that a server states about its refusal, from which the advice follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatedFact {
    /// Tokens of the context window.
    Window(u64),
    /// Path of the field that the server does not take, with points between its steps.
    Field(String),
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self {
            reason,
            said: None,
            causes: Vec::new(),
            retry_after: None,
            models: Vec::new(),
            limit: None,
            stated: None,
        }
    }
}

impl From<NetError> for Fault {
    fn from(error: NetError) -> Self {
        Self {
            causes: error.causes().to_vec(),
            limit: error.exceeded_limit().map(|limit| match limit {
                ExceededLimit::Connect(_) => RunLimit::ConnectTime,
                ExceededLimit::FirstByte(_) => RunLimit::FirstByteTime,
                ExceededLimit::Idle(_) => RunLimit::IdleTime,
                ExceededLimit::Total(_) => RunLimit::TotalTime,
            }),
            ..Self::from(Reason::from(&error)).with_message(&error.to_string())
        }
    }
}

impl Fault {
    /// Adds a message that explains the fault.
    #[must_use]
    pub fn with_message(mut self, words: &str) -> Self {
        self.said = Some(words.to_owned()).filter(|said| !said.trim().is_empty());
        self
    }

    /// Adds the models that the server has.
    #[must_use]
    pub fn with_models(mut self, models: Vec<String>) -> Self {
        self.models = models;
        self
    }
}

/// Returns the JSON of a successful answer. `key_sent` separates a wrong key from a missing one, since servers answer both in
/// the same way.
///
/// # Errors
/// The first reason of the health table that fits.
pub fn judge_response(response: &Response, key_sent: bool) -> Result<Value, Fault> {
    let failure = ServerFailure::of_response(response);
    let reason = match response.status {
        // LM Studio answers 200 to every unknown path, so the status alone proves nothing.
        200..=299 => match serde_json::from_slice(&response.body) {
            Ok(json) if !failure.is_report() => return Ok(json),
            Ok(_) => judge_report(&failure, key_sent).unwrap_or(Reason::ErrorIn200),
            Err(_) if failure.is_report() => judge_report(&failure, key_sent).unwrap_or(Reason::ErrorIn200),
            Err(_) if failure.is_page => Reason::Html,
            Err(_) => Reason::NotJson,
        },
        // Never followed: the key would go to an address that the user did not name.
        300..=399 => Reason::Redirect,
        status => judge_failure(status, &failure, key_sent),
    };
    Err(make_fault(reason, &failure, response.retry_after))
}

/// Returns the fault that an event in a stream reports. `None` if it reports none. `begun` is true after the first piece of an answer.
///
/// Before the first piece, such an event is judged as an answer with its status: the server had not begun. Later it broke the answer,
/// unless it says something that a person has to change: a key, a quota, the length of the request.
pub(crate) fn judge_event(event: &Value, begun: bool) -> Option<Fault> {
    let failure = ServerFailure::of_document(event);
    failure.is_report().then(|| judge_stream(&failure, begun))
}

/// Returns the fault of a document that a wire knows as the report of a failed answer.
#[must_use]
pub fn judge_failed_answer(document: &Value) -> Fault {
    let failure = ServerFailure::of_document(document);
    let reason = judge_report(&failure, true).unwrap_or(Reason::BrokenAnswer);
    make_fault(reason, &failure, None)
}

fn judge_stream(failure: &ServerFailure, begun: bool) -> Fault {
    let reason = match judge_report(failure, true) {
        // These are about the request or a document, which an event of a stream cannot be about.
        None | Some(Reason::Rejected | Reason::WrongPath | Reason::Html) => Reason::BrokenStream,
        Some(reason) if begun && passes_by_itself(reason) => Reason::BrokenStream,
        Some(reason) => reason,
    };
    make_fault(reason, failure, None)
}

/// Returns true for reasons that only mean that the server could not go on at this moment.
pub(crate) fn passes_by_itself(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::ServerError
            | Reason::Overloaded
            | Reason::RateLimited
            | Reason::Timeout
            | Reason::Loading
            | Reason::Conflict
            | Reason::Closed
    )
}

fn make_fault(reason: Reason, failure: &ServerFailure, retry_after: Option<Duration>) -> Fault {
    let mut fault = Fault::from(reason).with_message(&failure.words);
    fault.retry_after = retry_after.or_else(|| failure.wait());
    fault.stated = match (reason, failure.class(None)) {
        (Reason::ContextLength, _) => failure.window().map(StatedFact::Window),
        (
            Reason::Rejected | Reason::BrokenStream | Reason::ServerError,
            FailureClass::UnsupportedField(field),
        ) => Some(StatedFact::Field(field)),
        _ => None,
    };
    fault
}

/// Judges a report without a status of HTTP: gateways answer 200 and put the status of the server behind them into the document.
/// `None` if the report says neither a status nor anything that the table knows.
fn judge_report(failure: &ServerFailure, key_sent: bool) -> Option<Reason> {
    match failure.stated_status() {
        Some(status) => Some(judge_failure(status, failure, key_sent)),
        None => reason_of(&failure.class(None)),
    }
}

fn reason_of(class: &FailureClass) -> Option<Reason> {
    Some(match class {
        FailureClass::Key => Reason::Unauthorized,
        FailureClass::Permission => Reason::Forbidden,
        FailureClass::ContextLength => Reason::ContextLength,
        FailureClass::Loading => Reason::Loading,
        FailureClass::LoadFailed => Reason::LoadFailed,
        FailureClass::NotLoaded => Reason::LoadingOff,
        FailureClass::ModelMissing => Reason::UnknownModel,
        FailureClass::Overload => Reason::Overloaded,
        FailureClass::Quota => Reason::Quota,
        FailureClass::RateLimit => Reason::RateLimited,
        FailureClass::Internal => Reason::ServerError,
        FailureClass::UnsupportedField(_) => Reason::Rejected,
        FailureClass::Other => return None,
    })
}

fn judge_failure(status: u16, failure: &ServerFailure, key_sent: bool) -> Reason {
    let class = failure.class(Some(status));
    match (status, &class) {
        // A web page instead of JSON comes from a proxy or another program, whatever its status.
        (401 | 403 | 501, _) if failure.is_page => Reason::Html,
        (401, _) if key_sent => Reason::Unauthorized,
        (401, _) => Reason::KeyRequired,
        // OpenRouter without credits, and Anthropic's `billing_error`.
        (402, _) => Reason::Quota,
        (403, _) => Reason::Forbidden,
        (407, _) => Reason::ProxyAuth,
        (408 | 504, _) => Reason::Timeout,
        (405, _) => Reason::WrongPath,
        (409, _) => Reason::Conflict,
        (413, _) => Reason::ContextLength,
        // OpenAI uses the same status for a spent budget as for a rate limit, but waiting does not help there.
        (429, FailureClass::Quota) => Reason::Quota,
        (429, FailureClass::ContextLength) => Reason::ContextLength,
        (429, _) => Reason::RateLimited,
        // llama.cpp while it loads its model.
        (503, FailureClass::Loading) => Reason::Loading,
        // 529 is Anthropic's `overloaded_error`.
        (503 | 529, _) => Reason::Overloaded,
        (500..=599, FailureClass::LoadFailed) => Reason::LoadFailed,
        // ik_llama.cpp reports a prompt that is too long as an error inside the server; sent again it would fail again.
        (500..=599, FailureClass::ContextLength) => Reason::ContextLength,
        (500..=599, FailureClass::Overload) => Reason::Overloaded,
        (500..=599, _) => Reason::ServerError,
        (404, FailureClass::NotLoaded | FailureClass::LoadFailed | FailureClass::ModelMissing)
        | (
            400 | 422,
            // LiteLLM without a database, and Gemini, report a refused key with status 400, Anthropic a spend limit of the user's.
            FailureClass::Key
            | FailureClass::Quota
            | FailureClass::ContextLength
            | FailureClass::NotLoaded
            | FailureClass::LoadFailed
            | FailureClass::ModelMissing,
        ) => reason_of(&class).unwrap_or(Reason::Rejected),
        (404, _) => Reason::WrongPath,
        _ => Reason::Rejected,
    }
}

#[cfg(test)]
mod tests;
