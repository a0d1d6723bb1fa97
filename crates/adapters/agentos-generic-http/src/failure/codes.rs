//! Reads codes, types, statuses and numbers of a failure.
//!
//! Owns: the fields that contain them. Never: reads words; a code is compared as a whole.

use std::time::Duration;

use serde_json::Value;

use super::numbers;

/// Codes of a failure, as the document has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FailureCodes {
    /// Code, type and detail, as texts.
    names: Vec<String>,
    /// Parameter of the request that the failure is about.
    param: Option<String>,
    status: Option<u16>,
    window: Option<u64>,
    wait: Option<Duration>,
}

/// Fields with a code.
const NAMES: [&str; 8] = [
    "code",
    "type",
    "error_type",
    "errorType",
    "__type",
    "status",
    "error_code",
    "reason",
];

/// Fields with the length of the context window.
const WINDOWS: [&str; 3] = ["n_ctx", "max_context_length", "context_length"];

impl FailureCodes {
    pub(super) fn read(json: &Value) -> Self {
        let mut codes = Self::default();
        codes.add_object(json);
        let lists = [
            json.get("errors"),
            json.get("detail"),
            json.pointer("/message/detail"),
        ];
        let first = lists.iter().flatten().find_map(|list| list.as_array()?.first());
        let inner = [
            json.get("error"),
            json.pointer("/0/error"),
            json.pointer("/response/error"),
            json.pointer("/error/details"),
            json.pointer("/error/details/0"),
            first,
        ];
        inner
            .into_iter()
            .flatten()
            .for_each(|object| codes.add_object(object));
        for entry in json
            .pointer("/error/details")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            // Google's `RetryInfo`: `"retryDelay": "36s"`.
            let delay = entry.get("retryDelay").and_then(Value::as_str);
            codes.wait = codes.wait.or_else(|| numbers::read_duration(delay?));
        }
        codes
    }

    fn add_object(&mut self, object: &Value) {
        let text = |name: &str| match object.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            // llama.cpp, vLLM and OpenRouter write `code` as a number, LiteLLM the same number as a text.
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let found: Vec<String> = NAMES.iter().filter_map(|name| text(name)).collect();
        let stated = found
            .iter()
            .chain(text("status_code").as_ref())
            .find_map(|code| code.parse().ok());
        self.status = self
            .status
            .or(stated.filter(|status| (400..=599).contains(status)));
        self.names.extend(found);
        let number = |name: &&str| {
            object
                .get(*name)
                .and_then(Value::as_u64)
                .filter(|tokens| *tokens > 0)
        };
        self.window = self.window.or_else(|| WINDOWS.iter().find_map(number));
        self.param = self
            .param
            .take()
            .or_else(|| text("param"))
            .or_else(|| path_of(object));
    }

    /// Returns true if a code has one of these names.
    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        self.names.iter().any(|name| names.contains(&name.as_str()))
    }

    /// Returns the parameter of the request that the failure is about. `None` if no field names one.
    pub(super) fn param(&self) -> Option<&str> {
        self.param.as_deref()
    }

    /// Returns the status that the document states. `None` if it states none.
    pub(super) fn status(&self) -> Option<u16> {
        self.status
    }

    pub(super) fn window(&self) -> Option<u64> {
        self.window
    }

    pub(super) fn wait(&self) -> Option<Duration> {
        self.wait
    }
}

/// Returns the path in the request that an entry of FastAPI's list names: `["body", "stream_options", "include_usage"]`.
fn path_of(entry: &Value) -> Option<String> {
    let steps = entry.get("loc")?.as_array()?.iter().filter_map(Value::as_str);
    let steps: Vec<&str> = steps.filter(|step| *step != "body").collect();
    Some(steps.join(".")).filter(|path| !path.is_empty())
}
