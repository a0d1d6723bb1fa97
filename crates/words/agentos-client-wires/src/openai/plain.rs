//! The requests of `POST /v1/embeddings` and `POST /v1/completions`, whose fields go to the server as they are.
//!
//! Owns: what is read of them: the model, the texts, and whether the answer is a stream. Never: changes another field.

use serde_json::{Map, Value, json};

use crate::fault::RequestFault;
use crate::field::{ObjectFields, missing, wrong_type};
use crate::wire::{parse_body, write_sse};

/// Request whose fields go to the server as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainRequest {
    /// Model that the client names.
    pub model: String,
    /// All fields but those about the stream.
    pub fields: Map<String, Value>,
    /// True if the answer is a stream of events.
    pub is_stream: bool,
    /// True if the stream ends with the counts of tokens.
    pub reports_usage: bool,
}

impl PlainRequest {
    /// Reads the body of `POST /v1/embeddings`.
    ///
    /// # Errors
    /// Fails if it has no model or no input, or a field that is read has another type.
    pub fn read_embeddings(body: &[u8]) -> Result<Self, RequestFault> {
        let request = Self::read(body, "input")?;
        match request.is_stream {
            true => Err(RequestFault::of_field(
                "stream",
                "`stream` is not supported with this value",
            )),
            false => Ok(request),
        }
    }

    /// Reads the body of `POST /v1/completions`.
    ///
    /// # Errors
    /// Fails if it has no model or no prompt, or a field that is read has another type.
    pub fn read_completion(body: &[u8]) -> Result<Self, RequestFault> {
        Self::read(body, "prompt")
    }

    fn read(body: &[u8], input: &str) -> Result<Self, RequestFault> {
        let body = parse_body(body)?;
        let mut fields = ObjectFields::take(body.clone(), "")?;
        let model = fields.required_text("model")?;
        match fields.value(input).ok_or_else(|| missing(input))? {
            Value::String(_) => {}
            Value::Array(list) if !list.is_empty() => {}
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                return Err(wrong_type(input, "a text, or a list of texts or tokens"));
            }
        }
        let is_stream = fields.flag("stream")?.unwrap_or_default();
        let reports_usage = match fields.value("stream_options") {
            Some(options) => ObjectFields::take(options, "stream_options")?
                .flag("include_usage")?
                .unwrap_or_default(),
            None => false,
        };
        let Value::Object(mut fields) = body else {
            return Err(wrong_type("", "an object"));
        };
        // What a call can cost is reserved from these numbers, and a server may read `100.0` or `"100"` as 100.
        for name in ["n", "best_of", "max_tokens"] {
            let value = fields.get(name).filter(|value| !value.is_null());
            if value.is_some_and(|value| value.as_u64().is_none()) {
                return Err(wrong_type(name, "a whole number that is not negative"));
            }
        }
        for name in ["stream", "stream_options"] {
            fields.remove(name);
        }
        Ok(Self {
            model,
            fields,
            is_stream,
            reports_usage,
        })
    }

    /// Writes the answer of a server for the client: with the model as the client named it.
    #[must_use]
    pub fn write_answer(&self, mut document: Value) -> Value {
        if let Value::Object(fields) = &mut document {
            fields.insert("model".to_owned(), json!(self.model));
        }
        document
    }

    /// Writes an answer as a stream. The text is one chunk, which has the same form as the document.
    #[must_use]
    pub fn write_stream(&self, document: Value) -> String {
        let mut out = String::new();
        let mut chunk = self.write_answer(document);
        let usage = match &mut chunk {
            Value::Object(fields) => fields.remove("usage"),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        };
        write_sse(None, &chunk, &mut out);
        if self.reports_usage
            && let Value::Object(fields) = &mut chunk
        {
            fields.insert("choices".to_owned(), json!([]));
            fields.insert("usage".to_owned(), usage.into());
            write_sse(None, &chunk, &mut out);
        }
        out.push_str("data: [DONE]\n\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_model_and_the_stream_are_read() {
        let body = json!({"model": "m", "prompt": "fn ", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 3, "x": [1]});
        let request = PlainRequest::read_completion(body.to_string().as_bytes()).unwrap();
        assert_eq!(
            Value::from(request.fields.clone()),
            json!({"model": "m", "prompt": "fn ", "max_tokens": 3, "x": [1]})
        );
        let document = json!({"id": "c", "object": "text_completion", "model": "v-1", "choices": [{"index": 0, "text": "main"}], "usage": {"prompt_tokens": 2}});
        assert_snapshot!(request.write_stream(document), @r#"
        data: {"choices":[{"index":0,"text":"main"}],"id":"c","model":"m","object":"text_completion"}

        data: {"choices":[],"id":"c","model":"m","object":"text_completion","usage":{"prompt_tokens":2}}

        data: [DONE]
        "#);
        let refused = [
            json!({"input": "x"}),
            json!({"model": "m"}),
            json!({"model": "m", "input": []}),
            json!({"model": "m", "input": {"text": "x"}}),
            json!({"model": "m", "input": "x", "stream": true}),
            json!({"model": "m", "input": "x", "stream": 1}),
            json!({"model": "m", "input": "x", "n": 100.0}),
            json!({"model": "m", "input": "x", "best_of": "100"}),
            json!({"model": "m", "input": "x", "max_tokens": -1}),
            json!([]),
        ]
        .map(|body| {
            PlainRequest::read_embeddings(body.to_string().as_bytes())
                .unwrap_err()
                .message
        });
        assert_snapshot!(refused.join("\n"), @r"
        `model` is missing
        `input` is missing
        `input` must be a text, or a list of texts or tokens
        `input` must be a text, or a list of texts or tokens
        `stream` is not supported with this value
        `stream` must be true or false
        `n` must be a whole number that is not negative
        `best_of` must be a whole number that is not negative
        `max_tokens` must be a whole number that is not negative
        the body must be an object
        ");
    }

    #[test]
    fn any_body_is_read_or_refused() {
        proptest!(|(body in ".{0,40}", stream in "(true|1|null|\\{\\})", input in "(\"x\"|\\[\\]|\\[1\\]|null|7)")| {
            let _ = PlainRequest::read_completion(body.as_bytes());
            let body = format!("{{\"model\":\"m\",\"input\":{input},\"prompt\":{input},\"stream\":{stream}}}");
            let _ = PlainRequest::read_embeddings(body.as_bytes());
            if let Ok(request) = PlainRequest::read_completion(body.as_bytes()) {
                prop_assert!(request.write_stream(Value::Null).ends_with("[DONE]\n\n"));
            }
        });
    }
}
