//! Decides what an HTTP answer means for the server behind it.
//!
//! Owns: the order in which status, content type and error fields are checked. Never: sends anything, or reads the fields of
//! a successful answer; the adapter that knows them does.

use std::time::Duration;

use agentos_api::RunLimit;
use agentos_net::{ExceededLimit, NetError, Response};
use serde_json::Value;

use crate::Reason;

/// Maximum characters of a message that are searched for a model's name.
const READ: usize = 1000;

/// Reason why there is no usable answer, with the server's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Row of the health table.
    pub reason: Reason,
    /// Unfiltered message of the server or the transport, which may contain the key. `None` if there is none.
    pub said: Option<String>,
    /// Causes as the transport reports them, which may contain the key.
    pub causes: Vec<String>,
    /// Pause that the server asks for (`Retry-After`). `None` if it asks for none.
    pub retry_after: Option<Duration>,
    /// Models that the server listed, if the fault is about the model.
    pub models: Vec<String>,
    /// Limit of ours that was exceeded. `None` for every other fault.
    pub limit: Option<RunLimit>,
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
    let json: Option<Value> = serde_json::from_slice(&response.body).ok();
    let error = json.as_ref().map(ApiError::from_json).unwrap_or_default();
    let page = is_page(response);
    let reason = match response.status {
        // LM Studio answers 200 to every unknown path, so the status alone proves nothing.
        200..=299 => return judge_success(json, &error, page, key_sent),
        // Never followed: the key would go to an address that the user did not name.
        300..=399 => Reason::Redirect,
        status => judge_failure(status, &error, page, key_sent),
    };
    Err(make_fault(reason, &error, response.retry_after))
}

/// Returns the fault that an event in the middle of a stream reports. `None` if it reports none.
///
/// A refused key stays one: gateways begin a stream before they have asked the server behind them, and another member of a pool must not
/// hide that a key has to be changed. Every other error broke the stream.
pub(crate) fn judge_event(event: &Value) -> Option<Fault> {
    let error = ApiError::from_json(event);
    if !error.present {
        return None;
    }
    let reason = match (error.code.as_str(), error.kind.as_str()) {
        ("401" | "invalid_api_key", _) | (_, "authentication_error" | "AuthenticationError") => {
            Reason::Unauthorized
        }
        ("403", _) | (_, "permission_error" | "PermissionDeniedError") => Reason::Forbidden,
        _ if error.is_about_key() => Reason::Unauthorized,
        _ => Reason::BrokenStream,
    };
    Some(make_fault(reason, &error, None))
}

fn make_fault(reason: Reason, error: &ApiError, retry_after: Option<Duration>) -> Fault {
    let mut fault = Fault::from(reason);
    fault.retry_after = retry_after;
    // Servers repeat a part of the key in these messages, such as `Incorrect API key provided: sk-ab***yz`.
    let about_key = matches!(
        reason,
        Reason::Unauthorized | Reason::Forbidden | Reason::KeyRequired
    );
    if about_key {
        fault
    } else {
        fault.with_message(&error.message)
    }
}

fn judge_success(json: Option<Value>, error: &ApiError, page: bool, key_sent: bool) -> Result<Value, Fault> {
    let Some(json) = json else {
        return Err(Fault::from(if page { Reason::Html } else { Reason::NotJson }));
    };
    if !error.present {
        return Ok(json);
    }
    // Some gateways answer 200 and put the status of the server behind them into `error.code`.
    let coded = error
        .code
        .parse()
        .ok()
        .filter(|status| (400..=599).contains(status));
    let reason = match coded {
        Some(status) => judge_failure(status, error, false, key_sent),
        None => error.about_model().unwrap_or(Reason::ErrorIn200),
    };
    Err(make_fault(reason, error, None))
}

fn judge_failure(status: u16, error: &ApiError, page: bool, key_sent: bool) -> Reason {
    match status {
        // A web page instead of JSON comes from a proxy or another program, whatever its status.
        401 | 403 | 501 if page => Reason::Html,
        401 if key_sent => Reason::Unauthorized,
        401 => Reason::KeyRequired,
        // OpenRouter without credits, and Anthropic's `billing_error`.
        402 => Reason::Quota,
        403 => Reason::Forbidden,
        407 => Reason::ProxyAuth,
        408 | 504 => Reason::Timeout,
        400 if error.is_about_key() => Reason::Unauthorized,
        // Anthropic answers 400 if a spend limit of the user's own is reached.
        400 if error.is_billing() => Reason::Quota,
        400 | 404 => match error.about_model() {
            Some(reason) => reason,
            None if status == 404 => Reason::WrongPath,
            None if error.is_too_long() => Reason::ContextLength,
            None => Reason::Rejected,
        },
        405 => Reason::WrongPath,
        409 => Reason::Conflict,
        413 => Reason::ContextLength,
        // OpenAI uses the same status for a spent budget as for a rate limit, but waiting does not help there.
        429 if error.is_billing() => Reason::Quota,
        429 if error.is_too_long() => Reason::ContextLength,
        429 => Reason::RateLimited,
        500 if error.about_model() == Some(Reason::LoadFailed) => Reason::LoadFailed,
        // llama.cpp while it loads its model.
        503 if error.mentions("loading model") => Reason::Loading,
        // 529 is Anthropic's `overloaded_error`.
        503 | 529 => Reason::Overloaded,
        500..=599 => Reason::ServerError,
        _ => Reason::Rejected,
    }
}

fn is_page(response: &Response) -> bool {
    let declared = response
        .content_type
        .as_deref()
        .is_some_and(|kind| kind.contains("html"));
    // Some servers send a page without its content type, so the beginning of the text counts too.
    let start: Vec<u8> = response
        .body
        .iter()
        .copied()
        .skip_while(u8::is_ascii_whitespace)
        .take(14)
        .collect();
    let start = start.to_ascii_lowercase();
    declared || start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}

/// Error object in an answer. Vendors write `{"error":{…}}` or `{"error":"text"}`, with `code` a string, a number or null.
#[derive(Debug, Default)]
pub(crate) struct ApiError {
    pub(crate) present: bool,
    pub(crate) message: String,
    kind: String,
    code: String,
    param: String,
    /// Code in `error.details`: Anthropic's `error_code`, or Google's `reason` of the first entry.
    detail: String,
}

impl ApiError {
    pub(crate) fn from_json(json: &Value) -> Self {
        let text = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            // llama.cpp, vLLM and OpenRouter write `code` as a number, LiteLLM the same number as a string.
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => String::new(),
        };
        match json.get("error") {
            None | Some(Value::Null) => Self::default(),
            Some(Value::Object(error)) => {
                Self {
                    present: true,
                    message: text(error.get("message")),
                    kind: text(error.get("type")),
                    code: text(error.get("code")),
                    param: text(error.get("param")),
                    detail: text(error.get("details").and_then(|details| {
                        details.get("error_code").or_else(|| details.pointer("/0/reason"))
                    })),
                }
            }
            // LM Studio, Ollama and vLLM also write `{"error":"text"}`.
            other => Self {
                present: true,
                message: text(other),
                ..Self::default()
            },
        }
    }

    fn mentions(&self, words: &str) -> bool {
        self.message.to_ascii_lowercase().contains(words)
    }

    /// Returns true if the key was rejected. LiteLLM without a database, and Gemini, report that with status 400.
    fn is_about_key(&self) -> bool {
        self.kind == "no_db_connection"
            || self.detail == "API_KEY_INVALID"
            || self.mentions("api key not valid")
    }

    /// Returns the problem with the model that the error describes. `None` if it is about something else.
    ///
    /// Servers use different status and error codes for the same problem, so the message's text has to decide.
    fn about_model(&self) -> Option<Reason> {
        if self.mentions("failed to load") || self.mentions("requires more system memory") {
            return Some(Reason::LoadFailed);
        }
        if self.mentions("no models loaded") || self.mentions("model is not loaded") {
            return Some(Reason::LoadingOff);
        }
        let unknown = self.code == "model_not_found"
            || (self.kind == "not_found_error" && self.message.starts_with("model:"))
            || (self.kind == "NotFoundError" && self.param == "model")
            || (self.message.starts_with("models/") && self.mentions("is not found"))
            || says_that_a_model_is_unknown(&self.message)
            || self.mentions("invalid model name");
        unknown.then_some(Reason::UnknownModel)
    }

    fn is_too_long(&self) -> bool {
        self.code == "context_length_exceeded"
            || self.kind == "exceed_context_size_error"
            || self.mentions("context window")
            || self.mentions("maximum context length")
            || self.mentions("request too large")
    }

    fn is_billing(&self) -> bool {
        const CODES: [&str; 7] = [
            "insufficient_quota",
            "credit_balance_exhausted",
            "organization_spend_limit_exceeded",
            "project_spend_limit_exceeded",
            "organization_usage_limit_exceeded",
            "billing_error",
            "enforced_spend_limit_reached",
        ];
        let coded = CODES.iter().any(|code| {
            [&self.code, &self.kind, &self.detail]
                .iter()
                .any(|word| *word == code)
        });
        coded || self.mentions("budget") || self.mentions("api usage limits")
    }
}

/// Returns true for `model 'x' not found` and similar messages: the word, a name, and that it does not exist. In `path
/// /models not found` the same words are about a path.
fn says_that_a_model_is_unknown(message: &str) -> bool {
    // The message is untrusted and may be long, and each word is compared with those after it.
    let message: String = message.chars().take(READ).collect();
    let message = message.to_ascii_lowercase();
    let words: Vec<&str> = message.split_whitespace().collect();
    words.iter().enumerate().any(|(at, word)| {
        let after = words
            .iter()
            .skip(at + 1)
            .skip_while(|word| matches!(**word, "with" | "name" | "named" | "id"));
        let after: Vec<&str> = after.copied().collect();
        word.trim_end_matches(':') == "model" && says_that_a_name_is_unknown(&after)
    })
}

fn says_that_a_name_is_unknown(words: &[&str]) -> bool {
    /// Maximum words between a quoted name and the verb.
    const BETWEEN: usize = 3;
    const QUOTES: [char; 5] = ['\'', '"', '`', '“', '‘'];
    let is_missing = |words: &[&str]| {
        let words = words.join(" ");
        ["", "is ", "was "]
            .iter()
            .filter_map(|verb| words.strip_prefix(verb))
            .any(|rest| rest.starts_with("not found") || rest.starts_with("does not exist"))
    };
    match words {
        [name, rest @ ..] if name.starts_with(QUOTES) => {
            (0..=BETWEEN).any(|at| rest.get(at..).is_some_and(is_missing))
        }
        // Without quotes, any word could follow `model`, so only a word that looks like a model's name counts.
        [name, rest @ ..] if is_model_name(name) => is_missing(rest),
        _ => is_missing(words),
    }
}

fn is_model_name(word: &str) -> bool {
    !word.starts_with('/')
        && word.contains(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | ':' | '/'))
}

#[cfg(test)]
mod tests;
