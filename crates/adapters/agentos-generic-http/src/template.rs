//! A wire that a profile describes: a request with places to fill, and pointers into the answer.
//!
//! Owns: filling and reading. Never: checks the template; the profile has done it.

use agentos_tool::{FinishReason, prompt};
use serde_json::{Map, Value};

use crate::{Fault, Job, Piece, Reason, Wire};

/// The request and where the answer stands.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateWire {
    /// JSON in whose texts `{{prompt}}`, `{{system}}`, `{{user}}` and `{{model}}` are filled in. A text that is nothing
    /// but `{{model}}`, `{{max_tokens}}`, `{{temperature}}`, `{{top_p}}`, `{{seed}}` or `{{stop}}` becomes that value,
    /// and its field is left out where there is none.
    pub request: Value,
    /// JSON pointer (RFC 6901) to the answer's text.
    pub answer: String,
    /// JSON pointer to the word for how it ended, where there is one.
    pub finish: Option<String>,
    /// The words that mean that the answer is whole.
    pub whole: Vec<String>,
}

impl Wire for TemplateWire {
    fn request(&self, job: &Job<'_>) -> Value {
        filled(&self.request, job).unwrap_or(Value::Null)
    }

    fn response(&self, body: &Value) -> Result<Piece, Fault> {
        let missing =
            || Fault::from(Reason::Fields).saying(&format!("there is no text at `{}`", self.answer));
        let text = body
            .pointer(&self.answer)
            .and_then(Value::as_str)
            .ok_or_else(missing)?;
        let word = self.finish.as_deref().and_then(|at| body.pointer(at)?.as_str());
        let whole = word.is_some_and(|word| self.whole.iter().any(|known| known == word));
        Ok(Piece {
            text: text.to_owned(),
            finish: Some(if whole {
                FinishReason::Stop
            } else {
                FinishReason::Unknown
            }),
            ending: word.filter(|_| !whole).map(str::to_owned),
            ..Piece::default()
        })
    }

    fn event(&self, event: &Value) -> Result<Piece, Fault> {
        self.response(event)
    }
}

/// The template with its places filled; none where it is one place without a value.
fn filled(template: &Value, job: &Job<'_>) -> Option<Value> {
    match template {
        Value::String(text) => match lone(text, job) {
            Some(value) => value,
            None => Some(replaced(text, job).into()),
        },
        Value::Array(items) => Some(items.iter().filter_map(|item| filled(item, job)).collect()),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), filled(value, job)?)));
            Some(Value::Object(fields.collect::<Map<_, _>>()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(template.clone()),
    }
}

/// The value of a text that is one place and nothing else.
fn lone(text: &str, job: &Job<'_>) -> Option<Option<Value>> {
    Some(match text {
        "{{model}}" => job.model.map(Value::from),
        "{{max_tokens}}" => job.max_tokens.map(Value::from),
        "{{temperature}}" => job.temperature.map(Value::from),
        "{{top_p}}" => job.top_p.map(Value::from),
        "{{seed}}" => job.seed.map(Value::from),
        "{{stop}}" => (!job.stop.is_empty()).then(|| job.stop.to_vec().into()),
        _ => return None,
    })
}

/// One pass from left to right: what was filled in is not looked at again.
fn replaced(text: &str, job: &Job<'_>) -> String {
    let (system, user) = (prompt::system(job.task), prompt::user(job.task));
    let both = format!("{system}\n\n{user}");
    let places = [
        ("{{prompt}}", both.as_str()),
        ("{{system}}", system.as_str()),
        ("{{user}}", user.as_str()),
        ("{{model}}", job.model.unwrap_or_default()),
    ];
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
