//! A wire that a profile describes: a request with placeholders, and pointers into the answer.
//!
//! Owns: filling the request and reading the answer. Never: checks the template; `agentos-profile` has done that.

use agentos_model::{ChatPiece, flatten_messages};
use agentos_tool::FinishReason;
use serde_json::{Map, Value};

use crate::{AnswerPiece, Fault, ModelRequest, Reason, Wire};

/// Request template, and the pointers to the answer's fields.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateWire {
    /// JSON in whose strings `{{prompt}}`, `{{system}}`, `{{user}}` and `{{model}}` are replaced. A string that consists of
    /// `{{model}}`, `{{max_tokens}}`, `{{temperature}}`, `{{top_p}}`, `{{seed}}`, `{{thinking}}` or `{{stop}}` alone becomes that
    /// value, and its field is left out if there is no value.
    pub request: Value,
    /// JSON pointer (RFC 6901) to the answer's text.
    pub answer: String,
    /// JSON pointer to the reason why the answer ended. `None` if the wire has no such field.
    pub finish: Option<String>,
    /// Reasons that mean that the answer is complete.
    pub whole: Vec<String>,
}

impl Wire for TemplateWire {
    fn build_request(&self, job: &ModelRequest<'_>) -> Value {
        fill_template(&self.request, job).unwrap_or(Value::Null)
    }

    fn limit_sent(&self, job: &ModelRequest<'_>) -> Option<u64> {
        job.max_tokens
            .filter(|_| has_place(&self.request, "{{max_tokens}}"))
    }

    fn asks_thinking(&self) -> bool {
        has_place(&self.request, "{{thinking}}")
    }

    fn read_answer(&self, body: &Value) -> Result<AnswerPiece, Fault> {
        let missing = || {
            Fault::from(Reason::Fields).with_message(&format!("no text at JSON pointer `{}`", self.answer))
        };
        let text = body
            .pointer(&self.answer)
            .and_then(Value::as_str)
            .ok_or_else(missing)?;
        let word = self.finish.as_deref().and_then(|at| body.pointer(at)?.as_str());
        let whole = word.is_some_and(|word| self.whole.iter().any(|known| known == word));
        Ok(AnswerPiece {
            content: ChatPiece::from_text(text),
            // Only a word that the profile names proves that the answer is complete.
            finish: Some(if whole {
                FinishReason::Stop
            } else {
                FinishReason::Unknown
            }),
            ending: word.filter(|_| !whole).map(str::to_owned),
            ..AnswerPiece::default()
        })
    }

    fn read_event(&self, event: &Value) -> Result<AnswerPiece, Fault> {
        self.read_answer(event)
    }
}

/// Returns true if a string of the template consists of this placeholder.
fn has_place(template: &Value, place: &str) -> bool {
    match template {
        Value::String(text) => text == place,
        Value::Array(items) => items.iter().any(|item| has_place(item, place)),
        Value::Object(fields) => fields.values().any(|field| has_place(field, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Fills the placeholders of a template. `None` if the template is a single placeholder that has no value.
fn fill_template(template: &Value, job: &ModelRequest<'_>) -> Option<Value> {
    match template {
        Value::String(text) => match single_placeholder(text, job) {
            Some(value) => value,
            None => Some(replace_placeholders(text, job).into()),
        },
        Value::Array(items) => Some(items.iter().filter_map(|item| fill_template(item, job)).collect()),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                // A null is a value to some servers, and not the same as a missing field.
                .filter_map(|(name, value)| Some((name.clone(), fill_template(value, job)?)));
            Some(Value::Object(fields.collect::<Map<_, _>>()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(template.clone()),
    }
}

/// Returns the value of a string that is a single placeholder. `None` if it is something else, `Some(None)` if that
/// placeholder has no value.
fn single_placeholder(text: &str, job: &ModelRequest<'_>) -> Option<Option<Value>> {
    Some(match text {
        "{{model}}" => job.model.map(Value::from),
        "{{max_tokens}}" => job.max_tokens.map(Value::from),
        "{{temperature}}" => job.temperature.map(Value::from),
        "{{top_p}}" => job.top_p.map(Value::from),
        "{{seed}}" => job.seed.map(Value::from),
        "{{thinking}}" => job.thinking.map(|level| level.as_str().into()),
        "{{stop}}" => (!job.stop.is_empty()).then(|| job.stop.to_vec().into()),
        _ => return None,
    })
}

/// Replaces the placeholders in a string.
fn replace_placeholders(text: &str, job: &ModelRequest<'_>) -> String {
    let system = job.chat.system.clone().unwrap_or_default();
    let user = flatten_messages(job.messages);
    let both = match system.is_empty() {
        true => user.clone(),
        false => format!("{system}\n\n{user}"),
    };
    let places = [
        ("{{prompt}}", both.as_str()),
        ("{{system}}", system.as_str()),
        ("{{user}}", user.as_str()),
        ("{{model}}", job.model.unwrap_or_default()),
    ];
    // One pass from left to right. A replacement is not searched again, because a task's text may itself contain
    // `{{model}}` or another placeholder.
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.find("{{") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let place = places
            .iter()
            .find_map(|(name, value)| Some((from.strip_prefix(name)?, value)));
        match place {
            Some((after, value)) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push_str("{{");
                rest = from.strip_prefix("{{").unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
