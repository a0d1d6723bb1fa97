//! Leaves optional fields out of a request: those that a profile names, and those that a server refuses.
//!
//! Owns: which field a refusal means, and what is left out for how long. Never: leaves out a field that a wire does not call optional.

use std::sync::{Arc, Mutex, PoisonError};

use agentos_tool::SendingSize;
use serde_json::{Map, Value};

use crate::failure::THINKING;
use crate::{Fault, OptionalField, Reason, StatedFact};

/// Fields that one server has refused, for as long as the adapter lives.
#[derive(Debug, Clone, Default)]
pub(crate) struct RefusedFields(Arc<Mutex<Vec<LeftOut>>>);

/// Field that requests leave out, or write in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeftOut {
    name: &'static str,
    instead: Option<Instead>,
}

/// Replacement of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instead {
    /// Another name with the value of the field.
    Name(&'static str),
    /// The switch `true`, where the value was a level.
    Switch,
}

impl RefusedFields {
    /// Leaves out what the profile names and what the server has refused before.
    pub(crate) fn apply(
        &self,
        body: &mut Value,
        size: &mut SendingSize,
        optional: &[OptionalField],
        omit: &[String],
    ) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for field in optional {
            // The last refusal counts: a switch can be refused after a level.
            let refused = known.iter().rfind(|left| left.name == field.name);
            if omit.iter().any(|name| name == field.name) {
                leave_out(body, size, field, None);
            } else if let Some(left) = refused {
                let is_open = |instead: &Instead| match instead {
                    // The other name may have been refused since.
                    Instead::Name(other) => !known.iter().any(|left| left.name == *other),
                    Instead::Switch => true,
                };
                leave_out(body, size, field, left.instead.filter(is_open));
            }
        }
    }

    /// Leaves out the field that the fault names, and says so. `None` if the fault is not about an optional field of this request.
    pub(crate) fn learn(
        &self,
        fault: &Fault,
        body: &mut Value,
        size: &mut SendingSize,
        optional: &[OptionalField],
    ) -> Option<String> {
        let path = match &fault.stated {
            Some(StatedFact::Field(path)) => path.as_str(),
            Some(StatedFact::Window(_)) | None => "",
        };
        let words = read_refusal(fault);
        let sent = optional.iter().filter(|field| is_sent(body, field));
        let sent: Vec<&OptionalField> = sent.collect();
        let find =
            |is_meant: &dyn Fn(&OptionalField) -> bool| sent.iter().copied().find(|field| is_meant(field));
        let field = find(&|field| {
            let is_named = path.split('.').any(|step| step.eq_ignore_ascii_case(field.name));
            is_named || (field.asks_thinking && path == THINKING)
        })
        // Servers refuse to think in many words, so any refusal that is about it is about the field that asks for it.
        .or_else(|| find(&|field| field.asks_thinking && words.contains(&field.name.to_ascii_lowercase())))
        .or_else(|| find(&|field| field.asks_thinking && words.contains(THINKING)))?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The other name was refused before: the server takes neither.
        let is_tried = known.iter().any(|left| Some(left.name) == field.other_name);
        let instead = match is_refused_level(body, field, &words) {
            true => Some(Instead::Switch),
            false => field.other_name.filter(|_| !is_tried).map(Instead::Name),
        };
        known.push(LeftOut {
            name: field.name,
            instead,
        });
        drop(known);
        leave_out(body, size, field, instead);
        Some(match instead {
            Some(Instead::Name(other)) => format!(
                "the server does not take `{}`: `{other}` is sent instead",
                field.name
            ),
            Some(Instead::Switch) => {
                format!(
                    "the server does not take this level of `{}`: `true` is sent instead",
                    field.name
                )
            }
            None => format!("the server does not take `{}`: it is left out", field.name),
        })
    }
}

/// Returns the words of a refusal of the request in lower case. Empty for every other fault.
fn read_refusal(fault: &Fault) -> String {
    /// Most characters that are searched: they are untrusted and may be long.
    const READ: usize = 4_000;
    let said = fault.said.as_deref().filter(|_| fault.reason == Reason::Rejected);
    let said: String = said.unwrap_or_default().chars().take(READ).collect();
    said.to_ascii_lowercase()
}

/// Returns true if the refusal names the level that a field has: the model may think without levels (Ollama's `think`).
fn is_refused_level(body: &Value, field: &OptionalField, words: &str) -> bool {
    let level = body.get(field.name).and_then(Value::as_str);
    field.has_switch && level.is_some_and(|level| words.contains(&format!("\"{level}\"")))
}

fn is_sent(body: &Value, field: &OptionalField) -> bool {
    let holder = match field.inside {
        Some(parent) => body.get(parent),
        None => Some(body),
    };
    holder.is_some_and(|holder| holder.get(field.name).is_some())
}

fn holder<'a>(body: &'a mut Value, field: &OptionalField) -> Option<&'a mut Map<String, Value>> {
    match field.inside {
        Some(parent) => body.get_mut(parent)?.as_object_mut(),
        None => body.as_object_mut(),
    }
}

fn leave_out(body: &mut Value, size: &mut SendingSize, field: &OptionalField, instead: Option<Instead>) {
    let Some(holder) = holder(body, field) else {
        return;
    };
    let Some(value) = holder.remove(field.name) else {
        return;
    };
    match instead {
        Some(Instead::Name(other)) => {
            holder.insert(other.to_owned(), value);
        }
        Some(Instead::Switch) => {
            let switch = match value {
                Value::String(_) => true.into(),
                other => other,
            };
            holder.insert(field.name.to_owned(), switch);
        }
        // Without the limit, nothing bounds what an answer can cost.
        None if field.is_limit => size.output_tokens = None,
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FIELDS: [OptionalField; 4] = [
        OptionalField::new("stream_options"),
        OptionalField::new("max_tokens").limit(Some("max_completion_tokens")),
        OptionalField::new("max_completion_tokens").limit(Some("max_tokens")),
        OptionalField::inside("options", "seed"),
    ];

    fn request() -> (Value, SendingSize) {
        let body = json!({"model": "m", "stream_options": {}, "max_tokens": 5, "options": {"seed": 1}});
        let size = SendingSize {
            text_tokens: 1,
            image_tokens: 0,
            output_tokens: Some(5),
        };
        (body, size)
    }

    #[test]
    fn a_refused_field_is_left_out_or_renamed_and_stays_so() {
        let refused = RefusedFields::default();
        let (mut body, mut size) = request();
        let names = [
            "stream_options.include_usage",
            "max_tokens",
            "options.Seed",
            "model",
            "max_completion_tokens",
            "seed",
        ];
        let said = names.map(|name| {
            let mut fault = Fault::from(Reason::Rejected);
            fault.stated = Some(StatedFact::Field(name.to_owned()));
            refused
                .learn(&fault, &mut body, &mut size, &FIELDS)
                .unwrap_or_else(|| "nothing".to_owned())
        });
        insta::assert_snapshot!(said.join("\n"), @r"
        the server does not take `stream_options`: it is left out
        the server does not take `max_tokens`: `max_completion_tokens` is sent instead
        the server does not take `seed`: it is left out
        nothing
        the server does not take `max_completion_tokens`: it is left out
        nothing
        ");
        assert_eq!(
            (body, size.output_tokens),
            (json!({"model": "m", "options": {}}), None)
        );
        let (mut next, mut size) = request();
        refused.apply(&mut next, &mut size, &FIELDS, &[]);
        assert_eq!(
            (next, size.output_tokens),
            (json!({"model": "m", "options": {}}), None)
        );
    }

    #[test]
    fn a_server_that_does_not_think_is_asked_without_the_field_of_its_wire() {
        let fields = [
            OptionalField::new("format"),
            OptionalField::new("think").asks_thinking(),
        ];
        let mut body = json!({"model": "m", "format": {}, "think": true});
        let (_, mut size) = request();
        let mut fault = Fault::from(Reason::Rejected);
        fault.stated = Some(StatedFact::Field(THINKING.to_owned()));
        let said = RefusedFields::default().learn(&fault, &mut body, &mut size, &fields);
        assert_eq!(
            said.as_deref(),
            Some("the server does not take `think`: it is left out")
        );
        assert_eq!(body, json!({"model": "m", "format": {}}));
    }

    #[test]
    fn a_refused_level_becomes_the_switch_and_then_nothing() {
        let fields = [OptionalField::new("think").asks_thinking().with_switch()];
        let refused = RefusedFields::default();
        let (_, mut size) = request();
        let mut body = json!({"think": "low"});
        let mut told = Vec::new();
        for words in [
            r#"think value "low" is not supported for this model"#,
            r#""m" does not support thinking"#,
        ] {
            let fault = Fault::from(Reason::Rejected).with_message(words);
            let said = refused.learn(&fault, &mut body, &mut size, &fields);
            let mut next = json!({"think": "high"});
            refused.apply(&mut next, &mut size, &fields, &[]);
            let mut off = json!({"think": false});
            refused.apply(&mut off, &mut size, &fields, &[]);
            told.push(format!(
                "{}; now {body}, next {next}, off {off}",
                said.unwrap_or_default()
            ));
        }
        insta::assert_snapshot!(told.join("\n"), @r#"
        the server does not take this level of `think`: `true` is sent instead; now {"think":true}, next {"think":true}, off {"think":false}
        the server does not take `think`: it is left out; now {}, next {}, off {}
        "#);
    }

    #[test]
    fn any_refusal_that_is_about_thinking_is_about_the_field_that_asks_for_it() {
        let fields = [
            OptionalField::new("reasoning_effort").asks_thinking(),
            OptionalField::new("chat_template_kwargs").asks_thinking(),
        ];
        let cases = [
            (
                "Thinking is not enabled for models/gemini-2.0-flash",
                Some("reasoning_effort"),
            ),
            (
                "include_thoughts is only enabled when thinking is enabled",
                Some("reasoning_effort"),
            ),
            (
                "{'type': 'literal_error', 'loc': ('body', 'reasoning_effort')}",
                Some("reasoning_effort"),
            ),
            (
                "chat_template_kwargs: no thinking here",
                Some("chat_template_kwargs"),
            ),
            ("messages must not be empty", None),
        ];
        for (words, left_out) in cases {
            let sent = json!({"model": "m", "reasoning_effort": "low", "chat_template_kwargs": {}});
            for (reason, left_out) in [(Reason::Rejected, left_out), (Reason::ServerError, None)] {
                let (mut body, (_, mut size)) = (sent.clone(), request());
                let fault = Fault::from(reason).with_message(words);
                RefusedFields::default().learn(&fault, &mut body, &mut size, &fields);
                let missing = fields.iter().find(|field| body.get(field.name).is_none());
                assert_eq!(missing.map(|field| field.name), left_out, "{words}");
            }
        }
    }

    #[test]
    fn a_profile_leaves_optional_fields_out_and_no_others() {
        let (mut body, mut size) = request();
        let omit = ["stream_options", "model"].map(str::to_owned);
        RefusedFields::default().apply(&mut body, &mut size, &FIELDS, &omit);
        assert_eq!(
            body,
            json!({"model": "m", "max_tokens": 5, "options": {"seed": 1}})
        );
        assert_eq!(size.output_tokens, Some(5));
    }
}
