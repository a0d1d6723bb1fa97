//! The requests of `POST /v1/embeddings` and `POST /v1/completions`, whose documented fields go to the server.
//!
//! Owns: which fields go to the server, and their types. Never: passes on a field that is not in the table of its path: a server may
//! read it as a dearer class of service, as another model or as more tokens than what is reserved.
//!
//! A field that is in no table is treated as in a conversation: it has no effect, and the answer names it as ignored, unless no answer
//! depends on it.
//!
//! Source of the tables: OpenAI's API reference, "Create embeddings" and "Create completion".

use serde_json::{Map, Value, json};

use super::request::{WITHOUT_EFFECT, read_stream};
use crate::fault::RequestFault;
use crate::field::{ObjectFields, missing, wrong_type};
use crate::wire::{parse_body, write_sse};

/// Fields of `POST /v1/embeddings` that go to the server, besides the model.
const EMBEDDING_FIELDS: [(&str, FieldForm); 3] = [
    ("dimensions", FieldForm::Count),
    ("encoding_format", FieldForm::Text),
    ("input", FieldForm::Input),
];

/// Fields of `POST /v1/completions` that go to the server, besides the model. What a call can cost is reserved from `prompt`,
/// `max_tokens`, `n`, `best_of` and `echo`; the others change which text is made, and not how much.
const COMPLETION_FIELDS: [(&str, FieldForm); 14] = [
    ("best_of", FieldForm::Size),
    ("echo", FieldForm::Flag),
    ("frequency_penalty", FieldForm::Number),
    ("logit_bias", FieldForm::Numbers),
    ("logprobs", FieldForm::Count),
    ("max_tokens", FieldForm::Size),
    ("n", FieldForm::Size),
    ("presence_penalty", FieldForm::Number),
    ("prompt", FieldForm::Input),
    ("seed", FieldForm::Number),
    ("stop", FieldForm::Texts),
    ("suffix", FieldForm::Text),
    ("temperature", FieldForm::Number),
    ("top_p", FieldForm::Number),
];

/// Type of a field. A value that contains anything else could contain a field of the server as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldForm {
    Text,
    Texts,
    Flag,
    Number,
    /// Number from 0. A server may read `100.0` or `"100"` as 100, and what is reserved would not be that.
    Count,
    /// A whole number of at least 1.
    Size,
    /// Object of numbers.
    Numbers,
    /// A text, or a list of texts, of tokens, or of lists of tokens.
    Input,
}

/// Request whose documented fields go to the server.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainRequest {
    /// Model that the client names.
    pub model: String,
    /// Fields for the server, without the model and the stream.
    pub fields: Map<String, Value>,
    /// True if the answer is a stream of events.
    pub is_stream: bool,
    /// True if the stream ends with the counts of tokens.
    pub reports_usage: bool,
    /// Fields that have no effect, sorted.
    pub ignored: Vec<String>,
}

impl PlainRequest {
    /// Reads the body of `POST /v1/embeddings`.
    ///
    /// # Errors
    /// Fails if it has no model or no input, or a field that is read has another type.
    pub fn read_embeddings(body: &[u8]) -> Result<Self, RequestFault> {
        let request = Self::read(body, "input", &EMBEDDING_FIELDS)?;
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
        Self::read(body, "prompt", &COMPLETION_FIELDS)
    }

    fn read(body: &[u8], input: &str, table: &[(&str, FieldForm)]) -> Result<Self, RequestFault> {
        let mut fields = ObjectFields::take(parse_body(body)?, "")?;
        let model = fields.required_text("model")?;
        let (is_stream, reports_usage) = read_stream(&mut fields)?;
        let mut kept = Map::new();
        for (name, form) in table {
            if let Some(value) = fields.value(name) {
                form.check(&value).map_err(|wanted| wrong_type(name, wanted))?;
                kept.insert((*name).to_owned(), value);
            }
        }
        if !kept.contains_key(input) {
            return Err(missing(input));
        }
        fields.forget(&WITHOUT_EFFECT);
        Ok(Self {
            model,
            fields: kept,
            is_stream,
            reports_usage,
            ignored: fields.list_unread(),
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

impl FieldForm {
    /// Checks a value. The error says which type is wanted.
    fn check(self, value: &Value) -> Result<(), &'static str> {
        let (is_right, wanted) = match self {
            Self::Text => (value.is_string(), "a text"),
            Self::Texts => (
                value.is_string() || *value == json!([]) || is_list_of(value, Value::is_string),
                "a text or a list of texts",
            ),
            Self::Flag => (value.is_boolean(), "true or false"),
            Self::Number => (value.is_number(), "a number"),
            Self::Count => (value.is_u64(), "a whole number that is not negative"),
            // A server that takes 0 for a missing number makes more than was reserved.
            Self::Size => (
                value.as_u64().is_some_and(|size| size > 0),
                "a whole number of at least 1",
            ),
            Self::Numbers => (
                value
                    .as_object()
                    .is_some_and(|map| map.values().all(Value::is_number)),
                "an object of numbers",
            ),
            Self::Input => (
                value.is_string()
                    || is_list_of(value, Value::is_string)
                    || is_list_of(value, Value::is_u64)
                    || is_list_of(value, |item| is_list_of(item, Value::is_u64)),
                "a text, or a list of texts or tokens",
            ),
        };
        match is_right {
            true => Ok(()),
            false => Err(wanted),
        }
    }
}

/// Returns true for a list that has at least one item, each of one form.
fn is_list_of(value: &Value, is_right: impl Fn(&Value) -> bool) -> bool {
    value
        .as_array()
        .is_some_and(|list| !list.is_empty() && list.iter().all(is_right))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_stream_is_one_chunk_with_the_counts_at_its_end() {
        let body =
            json!({"model": "m", "prompt": "fn ", "stream": true, "stream_options": {"include_usage": true}});
        let request = PlainRequest::read_completion(body.to_string().as_bytes()).unwrap();
        let document = json!({"id": "c", "object": "text_completion", "model": "v-1", "choices": [{"index": 0, "text": "main"}], "usage": {"prompt_tokens": 2}});
        assert_snapshot!(request.write_stream(document), @r#"
        data: {"choices":[{"index":0,"text":"main"}],"id":"c","model":"m","object":"text_completion"}

        data: {"choices":[],"id":"c","model":"m","object":"text_completion","usage":{"prompt_tokens":2}}

        data: [DONE]
        "#);
    }

    #[test]
    fn every_documented_field_goes_to_the_server_and_no_other_does() {
        let extra = json!({
            "model": "m", "stream": null, "user": "ann", "service_tier": "priority", "metadata": {"a": 1},
            "models": ["dear"], "route": "fallback", "plugins": [{"id": "web"}], "provider": {"order": ["dear"]},
            "max_completion_tokens": 1_000_000, "n_predict": 9, "extra_body": {"models": ["dear"]}, "extra_query": null,
        });
        let completion = json!({
            "best_of": 2, "echo": true, "frequency_penalty": 0.5, "logit_bias": {"50256": -100}, "logprobs": 1, "max_tokens": 3,
            "n": 1, "presence_penalty": -1, "prompt": "fn ", "seed": -4, "stop": [], "suffix": "}", "temperature": 0, "top_p": 1.0,
        });
        let embeddings = json!({"dimensions": 2, "encoding_format": "base64", "input": [[1, 2], [3]]});
        let read = |documented: &Value, read: fn(&[u8]) -> Result<PlainRequest, RequestFault>| {
            let fields = [&extra, documented]
                .into_iter()
                .filter_map(Value::as_object)
                .flatten();
            let body: Map<String, Value> = fields
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            let request = read(Value::from(body).to_string().as_bytes()).unwrap();
            assert_eq!(Value::from(request.fields), *documented);
            request.ignored.join(" ")
        };
        assert_snapshot!(read(&completion, PlainRequest::read_completion), @"extra_body max_completion_tokens models n_predict plugins provider route");
        assert_snapshot!(read(&embeddings, PlainRequest::read_embeddings), @"extra_body max_completion_tokens models n_predict plugins provider route");
    }

    #[test]
    fn a_field_with_another_type_is_refused() {
        let mut seen = String::new();
        let mut add = |read: fn(&[u8]) -> Result<PlainRequest, RequestFault>, body: &Value| {
            let fault = read(body.to_string().as_bytes()).unwrap_err();
            seen.push_str(&format!("{body}: {}\n", fault.message));
        };
        for body in [
            json!([]),
            json!({"input": "x"}),
            json!({"model": "m"}),
            json!({"model": "m", "input": []}),
            json!({"model": "m", "input": {"text": "x"}}),
            json!({"model": "m", "input": [{"type": "image_url", "image_url": {"url": "https://a.example/x"}}]}),
            json!({"model": "m", "input": ["x", 1]}),
            json!({"model": "m", "input": [1.0]}),
            json!({"model": "m", "input": "x", "stream": true}),
            json!({"model": "m", "input": "x", "stream": 1}),
            json!({"model": "m", "input": "x", "dimensions": "2"}),
        ] {
            add(PlainRequest::read_embeddings, &body);
        }
        for (name, value) in [
            ("n", json!(100.0)),
            ("n", json!(0)),
            ("best_of", json!("100")),
            ("max_tokens", json!(-1)),
            ("echo", json!("yes")),
            ("stop", json!([{}])),
            ("suffix", json!(["x"])),
            ("temperature", json!({})),
            ("logit_bias", json!({"1": {"model": "dear"}})),
        ] {
            add(
                PlainRequest::read_completion,
                &json!({"model": "m", "prompt": "x", name: value}),
            );
        }
        assert_snapshot!(seen, @r#"
        []: the body must be an object
        {"input":"x"}: `model` is missing
        {"model":"m"}: `input` is missing
        {"input":[],"model":"m"}: `input` must be a text, or a list of texts or tokens
        {"input":{"text":"x"},"model":"m"}: `input` must be a text, or a list of texts or tokens
        {"input":[{"image_url":{"url":"https://a.example/x"},"type":"image_url"}],"model":"m"}: `input` must be a text, or a list of texts or tokens
        {"input":["x",1],"model":"m"}: `input` must be a text, or a list of texts or tokens
        {"input":[1.0],"model":"m"}: `input` must be a text, or a list of texts or tokens
        {"input":"x","model":"m","stream":true}: `stream` is not supported with this value
        {"input":"x","model":"m","stream":1}: `stream` must be true or false
        {"dimensions":"2","input":"x","model":"m"}: `dimensions` must be a whole number that is not negative
        {"model":"m","n":100.0,"prompt":"x"}: `n` must be a whole number of at least 1
        {"model":"m","n":0,"prompt":"x"}: `n` must be a whole number of at least 1
        {"best_of":"100","model":"m","prompt":"x"}: `best_of` must be a whole number of at least 1
        {"max_tokens":-1,"model":"m","prompt":"x"}: `max_tokens` must be a whole number of at least 1
        {"echo":"yes","model":"m","prompt":"x"}: `echo` must be true or false
        {"model":"m","prompt":"x","stop":[{}]}: `stop` must be a text or a list of texts
        {"model":"m","prompt":"x","suffix":["x"]}: `suffix` must be a text
        {"model":"m","prompt":"x","temperature":{}}: `temperature` must be a number
        {"logit_bias":{"1":{"model":"dear"}},"model":"m","prompt":"x"}: `logit_bias` must be an object of numbers
        "#);
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
