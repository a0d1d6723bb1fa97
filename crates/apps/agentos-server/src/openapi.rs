//! `GET /api/openapi.json`: the description of the API, made from the published JSON Schemas.
//!
//! Owns: the table of paths with their shapes. Never: has a schema of its own for a published shape; a path that the service has and
//! this table lacks fails a test.
//!
//! The document is OpenAPI 3.1, whose schemas are JSON Schema 2020-12, as the published ones are.

use std::collections::BTreeSet;

use axum::extract::State;
use serde_json::{Map, Value, json};

use crate::desk::SharedDesk;
use crate::rest::{self, RestAnswer};

/// Shape of an answer or a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApiShape {
    /// Published shape, by its name.
    Published(&'static str),
    /// Object that no schema describes further.
    AnyObject,
    /// Object that no schema describes further, or a stream of server-sent events if the body wants one.
    ModelAnswer,
    /// Stream of server-sent events.
    Events,
    /// Plain text.
    Text,
}

/// A path with one method.
#[derive(Debug, Clone, Copy)]
struct ApiPath {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    /// Schema of the body, as JSON. `None` if there is no body.
    body: Option<&'static str>,
    answer: ApiShape,
}

const fn read(path: &'static str, summary: &'static str, answer: ApiShape) -> ApiPath {
    ApiPath {
        method: "get",
        path,
        summary,
        body: None,
        answer,
    }
}

const fn effect(
    path: &'static str,
    summary: &'static str,
    body: Option<&'static str>,
    answer: ApiShape,
) -> ApiPath {
    ApiPath {
        method: "post",
        path,
        summary,
        body,
        answer,
    }
}

/// Body of an approval. The four hashes bind the consent to what was shown.
const APPROVAL: &str = r#"{"type":"object","additionalProperties":false,"required":["hashes"],"properties":{"hashes":{"type":"object"},"releases_withheld":{"type":"boolean","description":"true releases text of withheld files that the change has; otherwise it stays withheld at its new path"}}}"#;
/// Body of a denial.
const DENIAL: &str = r#"{"type":"object","additionalProperties":false,"properties":{"comment":{"type":["string","null"],"maxLength":1000,"description":"reason, which whoever proposed the change can read"}}}"#;
/// Body of a proposal.
const PROPOSAL: &str = r#"{"type":"object","additionalProperties":false,"required":["answer"],"properties":{"answer":{"type":"string","description":"a diff, or a model's whole reply"},"message":{"type":["string","null"],"description":"commit message"}}}"#;
/// Body of a message to a conversation.
const MESSAGE: &str = r#"{"type":"object","additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string","pattern":"\\S"},"model":{"type":["string","null"],"description":"provider, pool or model; without it, the one of the last turn answers"},"reads":{"type":"boolean","description":"true lets models read the repository and propose changes from now on"}}}"#;
/// Body of a request of OpenAI's clients; their own document describes it further.
const OPENAI: &str = r#"{"type":"object","required":["model","messages"],"properties":{"model":{"type":"string"},"messages":{"type":"array","items":{"type":"object"}},"stream":{"type":"boolean"}}}"#;
/// Body of a request for a response; OpenAI's own document describes it further.
const RESPONSE: &str = r#"{"type":"object","required":["model","input"],"properties":{"model":{"type":"string"},"input":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"object"}}]},"stream":{"type":"boolean"}}}"#;
/// Body of a request for embeddings.
const EMBEDDINGS: &str = r#"{"type":"object","required":["model","input"],"properties":{"model":{"type":"string"},"input":{"anyOf":[{"type":"string"},{"type":"array","minItems":1,"items":{"type":"string"}},{"type":"array","minItems":1,"items":{"type":"integer","minimum":0}},{"type":"array","minItems":1,"items":{"type":"array","minItems":1,"items":{"type":"integer","minimum":0}}}]}}}"#;
/// Body of a request for the continuation of a text.
const COMPLETION: &str = r#"{"type":"object","required":["model","prompt"],"properties":{"model":{"type":"string"},"prompt":{"anyOf":[{"type":"string"},{"type":"array","minItems":1,"items":{"type":"string"}},{"type":"array","minItems":1,"items":{"type":"integer","minimum":0}},{"type":"array","minItems":1,"items":{"type":"array","minItems":1,"items":{"type":"integer","minimum":0}}}]},"stream":{"type":"boolean"}}}"#;
/// Body of a request for a count of tokens.
const COUNT: &str = r#"{"type":"object","required":["model","messages"],"properties":{"model":{"type":"string"},"messages":{"type":"array","items":{"type":"object"}}}}"#;
/// Body of a request of Anthropic's clients; their own document describes it further.
const ANTHROPIC: &str = r#"{"type":"object","required":["model","max_tokens","messages"],"properties":{"model":{"type":"string"},"max_tokens":{"type":"integer","minimum":1},"messages":{"type":"array","items":{"type":"object"}},"stream":{"type":"boolean"}}}"#;

/// Every path for programs.
const PATHS: &[ApiPath] = &[
    read(
        "/api/status",
        "State of the repository and possible next steps",
        ApiShape::Published("status"),
    ),
    read(
        "/api/requests",
        "Requests that wait for consent",
        ApiShape::Published("open-requests"),
    ),
    read(
        "/api/requests/{run}",
        "One request: what would change, and which rules ask",
        ApiShape::AnyObject,
    ),
    effect(
        "/api/requests/{run}/approve",
        "Consent to exactly what these hashes name, and land it",
        Some(APPROVAL),
        ApiShape::Published("outcome"),
    ),
    effect(
        "/api/requests/{run}/deny",
        "Decline a request",
        Some(DENIAL),
        ApiShape::Published("denied-request"),
    ),
    effect(
        "/api/proposals",
        "Propose a diff; it waits for consent",
        Some(PROPOSAL),
        ApiShape::Published("outcome"),
    ),
    read(
        "/api/runs",
        "Earlier runs, newest first",
        ApiShape::Published("run-log"),
    ),
    read(
        "/api/runs/{run}",
        "One run with its task, answer, decision and result",
        ApiShape::Published("run-story"),
    ),
    effect(
        "/api/runs/{run}/undo",
        "Undo a landed run with a new commit",
        None,
        ApiShape::Published("outcome"),
    ),
    read(
        "/api/sessions",
        "Conversations",
        ApiShape::Published("chat-sessions"),
    ),
    read(
        "/api/sessions/{key}",
        "One conversation with its messages",
        ApiShape::Published("chat-session"),
    ),
    effect(
        "/api/sessions/{key}/messages",
        "Send a message; the steps of the answer are events",
        Some(MESSAGE),
        ApiShape::AnyObject,
    ),
    effect(
        "/api/sessions/{key}/stop",
        "Stop the answer that is being written",
        None,
        ApiShape::AnyObject,
    ),
    read(
        "/api/models",
        "Models and pools that can be named",
        ApiShape::AnyObject,
    ),
    read(
        "/api/repositories",
        "Repositories of the service that the token reaches, with branch and number of open requests",
        ApiShape::AnyObject,
    ),
    read("/api/pools", "Pools of models", ApiShape::Published("pool-list")),
    read(
        "/api/cost",
        "Costs of calls by model",
        ApiShape::Published("cost"),
    ),
    read(
        "/api/budgets",
        "Budgets with what is spent of each",
        ApiShape::Published("budgets"),
    ),
    read(
        "/api/evidence",
        "Verification of the repository's evidence",
        ApiShape::Published("evidence-verify"),
    ),
    read(
        "/api/events",
        "Records of the tape, resumed after `Last-Event-ID` or `?after=`, and steps of running turns; also a WebSocket",
        ApiShape::Events,
    ),
    read("/api/openapi.json", "This document", ApiShape::AnyObject),
    read(
        "/v1/models",
        "Models and pools that clients can name",
        ApiShape::AnyObject,
    ),
    read("/v1/models/{name}", "One model or pool", ApiShape::AnyObject),
    effect(
        "/v1/chat/completions",
        "Answer of a model, as OpenAI's clients read it",
        Some(OPENAI),
        ApiShape::ModelAnswer,
    ),
    effect(
        "/v1/responses",
        "Answer of a model, as OpenAI's newer clients read it; no response is kept",
        Some(RESPONSE),
        ApiShape::ModelAnswer,
    ),
    effect(
        "/v1/messages",
        "Answer of a model, as Anthropic's clients read it",
        Some(ANTHROPIC),
        ApiShape::ModelAnswer,
    ),
    effect(
        "/v1/messages/count_tokens",
        "Tokens of a conversation: counted by the vendor if its wire is Anthropic's, else estimated from the length of the texts",
        Some(COUNT),
        ApiShape::AnyObject,
    ),
    effect(
        "/v1/responses/compact",
        "Always refused: no provider that is asked here shortens a conversation at the server",
        None,
        ApiShape::AnyObject,
    ),
    effect(
        "/v1/embeddings",
        "Vectors of texts, by a server whose wire has them",
        Some(EMBEDDINGS),
        ApiShape::AnyObject,
    ),
    effect(
        "/v1/completions",
        "Continuation of a text, by a server whose wire has it; a stream has the text in one chunk",
        Some(COMPLETION),
        ApiShape::ModelAnswer,
    ),
    read("/metrics", "Counts in the form of Prometheus", ApiShape::Text),
];

/// `GET /api/openapi.json`
pub async fn show_document(State(desk): State<SharedDesk>) -> RestAnswer {
    Ok(rest::json(&desk.call(|_| Ok(write_document())).await?))
}

/// Writes the document.
fn write_document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for path in PATHS {
        let entry = paths.entry(path.path).or_insert_with(|| json!({}));
        if let Some(methods) = entry.as_object_mut() {
            methods.insert(path.method.to_owned(), describe_path(path));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "AgentOS", "version": env!("CARGO_PKG_VERSION"),
            "description": "The local service. Effects need the token of the file that the service names at its start, and JSON.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": list_schemas(),
        },
    })
}

fn describe_path(path: &ApiPath) -> Value {
    let failed = |what: &str| json!({"description": what, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/error"}}}});
    // The clients of `/v1` read failures in the form of their vendor.
    let fault = |what: &str| match path.path.starts_with("/v1/") {
        true => json!({"description": what, "content": {"application/json": {"schema": {"type": "object"}}}}),
        false => failed(what),
    };
    let content = match path.answer {
        ApiShape::Published(name) => {
            json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{name}")}}})
        }
        // A stream has no schema: OpenAPI 3.1 does not say whether it describes the bytes or each event, and tools differ.
        ApiShape::ModelAnswer => {
            json!({"application/json": {"schema": {"type": "object"}}, "text/event-stream": {}})
        }
        ApiShape::AnyObject => json!({"application/json": {"schema": {"type": "object"}}}),
        ApiShape::Events => json!({"text/event-stream": {}}),
        ApiShape::Text => json!({"text/plain": {"schema": {"type": "string"}}}),
    };
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({"description": "done", "content": content}),
    );
    for (status, what) in [
        ("400", "the request is wrong"),
        ("401", "the token is missing or wrong"),
        ("403", "denied by policy, or sent by another site"),
        ("404", "there is no such thing"),
        ("405", "the path does not have this method"),
        (
            "409",
            "the state of the repository, or a missing consent, prevents it",
        ),
        ("413", "the body is too large"),
        ("415", "the body is not JSON"),
        ("422", "the answer does not land"),
        ("429", "a limit or budget is reached"),
        ("502", "the model gave no usable answer"),
        ("503", "the model is overloaded, or the work was interrupted"),
        ("529", "the model is overloaded, for clients of Anthropic"),
        ("504", "a time limit passed"),
    ] {
        responses.insert(status.to_owned(), fault(what));
    }
    let mut described =
        json!({"summary": path.summary, "operationId": operation_id(path), "responses": responses});
    if let Some(map) = described.as_object_mut() {
        let names = path
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let parameters: Vec<Value> = names
            .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}}))
            .collect();
        if !parameters.is_empty() {
            map.insert("parameters".to_owned(), parameters.into());
        }
        if path.method == "post" {
            map.insert("requestBody".to_owned(), describe_body(path.body));
        }
    }
    described
}

/// Describes the body of a request.
fn describe_body(body: Option<&str>) -> Value {
    let schema: Value = body.map_or_else(
        || json!({"type": "object"}),
        |body| serde_json::from_str(body).unwrap_or_default(),
    );
    json!({
        "required": body.is_some(), "content": {"application/json": {"schema": schema}},
    })
}

/// Returns a name for code generators: the method and the words of the path.
fn operation_id(path: &ApiPath) -> String {
    let words = path.path.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!("{}_{}", path.method, words.join("_"))
}

/// Returns the schemas of all shapes of the table.
fn list_schemas() -> Map<String, Value> {
    let published = PATHS.iter().filter_map(|path| match path.answer {
        ApiShape::Published(name) => Some(name),
        ApiShape::AnyObject | ApiShape::ModelAnswer | ApiShape::Events | ApiShape::Text => None,
    });
    let names: BTreeSet<&str> = published.chain(["error"]).collect();
    let schemas = names.into_iter().filter_map(|name| {
        let schema: Value = serde_json::from_str(&agentos_host::schema_text(name)?).ok()?;
        Some((name.to_owned(), embed_schema(schema, name)))
    });
    schemas.collect()
}

/// Moves the references of a schema to where its definitions are in the document.
fn embed_schema(schema: Value, name: &str) -> Value {
    match schema {
        Value::Object(map) => {
            // The draft is stated once for the whole document.
            let moved = map
                .into_iter()
                .filter(|(key, _)| key != "$schema" && key != "$id");
            let moved = moved.map(|(key, value)| match (key.as_str(), &value) {
                ("$ref", Value::String(target)) => {
                    let target = target.strip_prefix('#').unwrap_or(target);
                    (key, format!("#/components/schemas/{name}{target}").into())
                }
                (_, _) => (key, embed_schema(value, name)),
            });
            Value::Object(moved.collect())
        }
        Value::Array(list) => list.into_iter().map(|item| embed_schema(item, name)).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_shape_is_in_the_document() {
        let document = write_document();
        for path in PATHS {
            if let ApiShape::Published(name) = path.answer {
                assert!(document["components"]["schemas"][name].is_object(), "{name}");
            }
        }
    }

    /// Every reference leads to something in the document.
    #[test]
    fn every_reference_has_its_target() {
        fn check(value: &Value, document: &Value) {
            match value {
                Value::Object(map) => {
                    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
                        assert!(
                            document.pointer(target.trim_start_matches('#')).is_some(),
                            "{target}"
                        );
                    }
                    map.values().for_each(|value| check(value, document));
                }
                Value::Array(list) => list.iter().for_each(|value| check(value, document)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let document = write_document();
        check(&document, &document);
    }

    #[test]
    fn bodies_are_valid_json_and_ids_are_unique() {
        let mut ids = BTreeSet::new();
        for path in PATHS {
            assert!(ids.insert(operation_id(path)), "{}", path.path);
            if let Some(body) = path.body {
                let parsed: Value = serde_json::from_str(body).unwrap();
                assert_eq!(parsed["type"], "object", "{}", path.path);
            }
        }
    }

    /// The table of routes and this one name the same paths for programs.
    #[test]
    fn the_document_has_every_route() {
        let routes = include_str!("routes.rs");
        let named = routes
            .split(".route(\"")
            .skip(1)
            .filter_map(|rest| rest.split_once('"'));
        let named: BTreeSet<String> = named
            .map(|(path, _)| path.replace("{*", "{"))
            .filter(|path| {
                ["/api/", "/v1/", "/metrics"]
                    .iter()
                    .any(|start| path.starts_with(start))
            })
            .collect();
        let described: BTreeSet<String> = PATHS.iter().map(|path| path.path.to_owned()).collect();
        assert_eq!(named, described);
    }
}
