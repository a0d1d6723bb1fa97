//! Requests to a server that are no conversations: one document is sent, and one is read.
//!
//! Owns: their bodies and retries. Never: asks an endpoint that the service does not name.

use std::sync::Arc;

use agentos_model::{ChatRequest, SideEndpoint, SideRequest, prepare_messages};
use agentos_net::{Deadline, HttpUrl};
use agentos_tool::{FreeGate, SendGate, SendingSize, ToolError};
use serde_json::{Map, Value};

use crate::retry::retry_pause;
use crate::{Fault, HttpAdapter, ModelRequest, ModelWork, Service};

/// Fields that a request for a count has. The others are about the answer, which there is not.
const COUNTED: [&str; 7] = [
    "messages",
    "model",
    "output_config",
    "system",
    "thinking",
    "tool_choice",
    "tools",
];

/// Endpoints of a kind of server besides the one for conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideOffer {
    /// No endpoint.
    Nothing,
    /// OpenAI's embeddings and completions, below a base URL that ends with the version.
    OpenAi,
    /// OpenAI's endpoints at `/v1`, which users set as a part of the base URL or leave out.
    OpenAiAtRoot,
    /// Anthropic's count of tokens.
    AnthropicCount,
}

impl SideOffer {
    /// Returns the address of an endpoint. `None` if it is not offered.
    fn find_url(self, base: &HttpUrl, endpoint: SideEndpoint) -> Option<HttpUrl> {
        let root = || base.without_last("v1").join("v1");
        let below = match (self, endpoint) {
            (Self::OpenAi, SideEndpoint::Embeddings | SideEndpoint::Completions) => base.clone(),
            (Self::OpenAiAtRoot, SideEndpoint::Embeddings | SideEndpoint::Completions)
            | (Self::AnthropicCount, SideEndpoint::CountTokens) => root(),
            (Self::Nothing | Self::OpenAi | Self::OpenAiAtRoot | Self::AnthropicCount, _) => return None,
        };
        Some(below.join(match endpoint {
            SideEndpoint::Embeddings => "embeddings",
            SideEndpoint::Completions => "completions",
            SideEndpoint::CountTokens => "messages/count_tokens",
        }))
    }
}

impl<S: Service> HttpAdapter<S> {
    /// Returns true if the service names an address for the endpoint.
    pub(crate) fn names_endpoint(&self, endpoint: SideEndpoint) -> bool {
        match self.server().checked_base() {
            Ok(base) => self.service().side_offer().find_url(&base, endpoint).is_some(),
            // The request fails with the reason, which says more than that there is no such endpoint.
            Err(_) => true,
        }
    }

    /// Asks an endpoint. `None` if the service names no address for it.
    ///
    /// # Errors
    /// If the server cannot be used, or refuses the request.
    pub(crate) async fn ask_side(
        &self,
        request: &SideRequest,
        gate: Arc<dyn SendGate>,
    ) -> Result<Option<Value>, ToolError> {
        let deadline = self.server().chat_deadline();
        let fail = |fault: Fault| self.server().run_error(&fault, &deadline);
        let base = self.server().checked_base().map_err(fail)?;
        let Some(url) = self.service().side_offer().find_url(&base, request.endpoint()) else {
            return Ok(None);
        };
        let body = match request {
            SideRequest::CountTokens(chat) => self.count_body(chat, &deadline).await?,
            SideRequest::Embeddings(fields) | SideRequest::Completions(fields) => self
                .name_model(fields.clone(), &base, &deadline)
                .await
                .map_err(fail)?,
        };
        let gate = match request {
            // Vendors count tokens without a bill (Anthropic, "Token counting": "Token counting is free to use").
            SideRequest::CountTokens(_) => FreeGate::share(),
            SideRequest::Embeddings(_) | SideRequest::Completions(_) => gate,
        };
        let size = measure_side(request, &body);
        let answer = self
            .post_side((url, body), (gate.as_ref(), size), &deadline)
            .await?;
        // A vector or a text with the key in it is an error, as in an answer: a replaced part of it would be wrong.
        let checked = self.server().key_guard().check_text(&answer.to_string());
        checked.map_err(fail)?;
        Ok(Some(answer))
    }

    /// Makes the body of a count: the request of the conversation, without what is about its answer.
    async fn count_body(&self, chat: &ChatRequest, deadline: &Deadline) -> Result<Value, ToolError> {
        let work = ModelWork { chat, task: None };
        let ask = self.prepare_task(work, deadline).await?;
        let abilities = ask.wire.abilities(&self.server().settings().provider);
        let prepared = prepare_messages(&chat.messages, &abilities);
        let job = ModelRequest {
            stream: false,
            ..self.server().model_request(&ask, work, &prepared.messages)
        };
        let mut body = ask.wire.build_request(&job);
        if let Value::Object(fields) = &mut body {
            fields.retain(|name, _| COUNTED.contains(&name.as_str()));
        }
        Ok(body)
    }

    /// Puts the server's model into a body. Without a name in the settings, the server's only model is asked.
    async fn name_model(
        &self,
        mut fields: Map<String, Value>,
        base: &HttpUrl,
        deadline: &Deadline,
    ) -> Result<Value, Fault> {
        let call = self.server_call(base, deadline);
        let model = match call.wanted_model() {
            Some(model) => Some(model.to_owned()),
            None => self.service().probe_server(call).await?.model,
        };
        match model {
            Some(model) => fields.insert("model".to_owned(), model.into()),
            None => fields.remove("model"),
        };
        Ok(Value::Object(fields))
    }

    /// Sends a body, and again by the rule of conversations. Each sending is permitted for itself.
    async fn post_side(
        &self,
        (url, body): (HttpUrl, Value),
        (gate, size): (&dyn SendGate, SendingSize),
        deadline: &Deadline,
    ) -> Result<Value, ToolError> {
        let server = self.server();
        let mut retried = 0;
        loop {
            gate.permit(size).await?;
            let fault = match server.post(url.clone(), body.clone(), deadline).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            let error = server.run_error(&fault, deadline);
            let pause = match retried < server.settings().retries {
                true => retry_pause(&fault, url.is_loopback(), retried),
                false => None,
            };
            let Some(pause) = pause.filter(|pause| *pause < deadline.remaining()) else {
                return Err(error);
            };
            gate.note_failure(&error.detail, false);
            if !deadline.pause_within(pause).await {
                return Err(error);
            }
            retried += 1;
        }
    }
}

/// Measures a request: a token has at least one byte, and each prompt has as many texts as the body asks for, each with its limit.
/// A text that repeats its prompt may be counted with it.
fn measure_side(request: &SideRequest, body: &Value) -> SendingSize {
    let text_tokens = u64::try_from(body.to_string().len()).unwrap_or(u64::MAX);
    let output_tokens = match request {
        SideRequest::CountTokens(_) | SideRequest::Embeddings(_) => Some(0),
        SideRequest::Completions(fields) => {
            let count = |name: &str| fields.get(name).and_then(Value::as_u64);
            let texts = count("n")
                .into_iter()
                .chain(count("best_of"))
                .max()
                .unwrap_or(1)
                .max(1);
            let prompts = fields.get("prompt").and_then(Value::as_array);
            // A list of numbers is one prompt of tokens, and each of them may be a prompt to a server that reads it otherwise.
            let prompts = prompts.map_or(1, |list| u64::try_from(list.len().max(1)).unwrap_or(u64::MAX));
            let repeated = match fields.get("echo").and_then(Value::as_bool) {
                Some(true) => text_tokens.saturating_mul(texts),
                Some(false) | None => 0,
            };
            let bound = |limit: u64| limit.saturating_mul(texts).saturating_mul(prompts);
            count("max_tokens").map(|limit| bound(limit).saturating_add(repeated))
        }
    };
    SendingSize {
        text_tokens,
        image_tokens: 0,
        output_tokens,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_reserves_its_bytes_and_every_text_that_it_asks_for() {
        for (body, output) in [
            (json!({"prompt": "a", "max_tokens": 5}), Some(5)),
            (json!({"prompt": ["a", "b"], "max_tokens": 5}), Some(10)),
            (
                json!({"prompt": "a", "max_tokens": 5, "n": 2, "best_of": 4}),
                Some(20),
            ),
            (
                json!({"prompt": "a", "max_tokens": u64::MAX, "n": 2}),
                Some(u64::MAX),
            ),
            (json!({"prompt": "a", "max_tokens": 5, "echo": false}), Some(5)),
            // The body has 47 bytes.
            (
                json!({"prompt": "a", "max_tokens": 5, "n": 2, "echo": true}),
                Some(2 * 5 + 2 * 47),
            ),
            (json!({"prompt": "a"}), None),
        ] {
            let Value::Object(fields) = body.clone() else {
                panic!("{body}")
            };
            let size = measure_side(&SideRequest::Completions(fields.clone()), &body);
            assert_eq!(size.output_tokens, output, "{body}");
            assert_eq!(size.text_tokens, body.to_string().len() as u64);
            let size = measure_side(&SideRequest::Embeddings(fields), &body);
            assert_eq!(size.output_tokens, Some(0), "{body}");
        }
    }
}
