//! Offers one tool to a model, to test if its tool calls work.
//!
//! Owns: the tool, the prompt, and the verdict on the answer. Never: executes a call, or passes on a text from it.

use agentos_model::{ChatPiece, ChatRequest, MessagePart, Model, PartBuilder, ToolCall, ToolSpec};
use agentos_net::Deadline;
use agentos_tool::{Adapter, BoxFuture, FinishReason, ToolError, Usage};
use serde_json::{Value, json};

use crate::{Fault, HttpAdapter, ModelLoader, ModelRequest, ModelWork, PreparedTask, Server, Service};

/// Maximum tokens of the answer: enough for a call, and for a model that reasons a little first.
const MOST_TOKENS: u64 = 512;

/// Tool that is offered to a model.
#[derive(Debug, Clone, Copy)]
pub struct OfferedTool {
    /// Name of the tool.
    pub name: &'static str,
    /// Description of the tool.
    pub description: &'static str,
    /// Prompt that asks the model for one call.
    pub instruction: &'static str,
}

/// Verdict on a model's answer to the offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferOutcome {
    /// The model called the tool once, with the requested arguments.
    Called,
    /// The model called no tool.
    NotCalled,
    /// The answer was cut off before a call.
    CutOff,
    /// The model called a tool that was not offered.
    OtherTool,
    /// The model made more than one call.
    TooOften,
    /// The arguments do not match the tool's schema, or are not the requested ones.
    WrongArguments,
}

/// Result of one offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferSeen {
    /// Verdict on the answer.
    pub outcome: OfferOutcome,
    /// Tokens, as far as the server reports them.
    pub usage: Option<Usage>,
    /// Milliseconds from the request to the last byte.
    pub latency_ms: u64,
}

/// Adapter of a server: it runs tasks, answers conversations, can offer a tool to its model, and change what is in memory.
pub trait ToolCaller: Adapter + Model + ModelLoader {
    /// Offers the model one tool and asks for one call, in a short generation within so many seconds. `None` if the wire has
    /// no tools; then nothing is generated.
    ///
    /// # Errors
    /// If there is no answer. The error contains no key, so it can be shown and recorded.
    fn offer_tool(&self, timeout_seconds: u64) -> BoxFuture<'_, Result<Option<OfferSeen>, ToolError>>;
}

impl<S: Service> ToolCaller for HttpAdapter<S> {
    fn offer_tool(&self, timeout_seconds: u64) -> BoxFuture<'_, Result<Option<OfferSeen>, ToolError>> {
        Box::pin(async move {
            let deadline = self.server().run_deadline(timeout_seconds);
            let chat = OfferedTool::FRUIT.make_request();
            let work = ModelWork {
                chat: &chat,
                task: None,
            };
            let ask = self.prepare_task(work, &deadline).await?;
            let seen = self.server().send_offer(&ask, work, &deadline).await;
            seen.map_err(|fault| self.server().run_error(&fault, &deadline))
        })
    }
}

impl Server {
    async fn send_offer(
        &self,
        ask: &PreparedTask,
        work: ModelWork<'_>,
        deadline: &Deadline,
    ) -> Result<Option<OfferSeen>, Fault> {
        if !ask.wire.abilities("").tools {
            return Ok(None);
        }
        let body = ask.wire.build_request(&ModelRequest {
            stream: false,
            ..self.model_request(ask, work, &work.chat.messages)
        });
        // A call in a stream arrives in fragments that differ between vendors; in one document it is complete.
        let url = ask.whole_url.clone().unwrap_or_else(|| ask.url.clone());
        let answer = self.post(url, body, deadline).await?;
        let piece = ask.wire.read_answer(&answer)?;
        let cut = piece.finish == Some(FinishReason::Length);
        Ok(Some(OfferSeen {
            outcome: OfferedTool::FRUIT.judge_parts(&build_parts(piece.content), cut),
            usage: piece.usage.filter(|usage| !usage.is_unknown()),
            latency_ms: deadline.elapsed_ms(),
        }))
    }
}

impl OfferedTool {
    /// Tool with one argument, simple enough for every model that can call tools at all.
    pub const FRUIT: Self = Self {
        name: "pick_fruit",
        description: "Picks one fruit.",
        instruction: "Call the tool `pick_fruit` once, with `fruit` set to `orange`. Answer with nothing but this call.",
    };

    /// Returns the JSON Schema of the arguments.
    #[must_use]
    pub fn argument_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"fruit": {"type": "string", "enum": ["apple", "orange", "cherry"]}},
            "required": ["fruit"],
            "additionalProperties": false,
        })
    }

    /// Makes the request that offers the tool.
    #[must_use]
    pub fn make_request(&self) -> ChatRequest {
        ChatRequest {
            tools: vec![ToolSpec {
                name: self.name.to_owned(),
                description: self.description.to_owned(),
                input_schema: self.argument_schema(),
            }],
            max_output_tokens: Some(MOST_TOKENS),
            ..ChatRequest::from_text(self.instruction)
        }
    }

    fn judge_parts(&self, parts: &[MessagePart], cut: bool) -> OfferOutcome {
        let calls: Vec<&ToolCall> = parts
            .iter()
            .filter_map(|part| match part {
                MessagePart::ToolCall(call) => Some(call),
                MessagePart::Text(_)
                | MessagePart::Image(_)
                | MessagePart::ToolResult(_)
                | MessagePart::Thinking(_) => None,
            })
            .collect();
        match calls.as_slice() {
            // A model that reasons at length may reach the limit before its call, which says nothing about its tool calls.
            [] if cut => OfferOutcome::CutOff,
            [] => OfferOutcome::NotCalled,
            [call] if call.name != self.name => OfferOutcome::OtherTool,
            // The exact value: a model that calls the tool with any argument has not read the instruction.
            [call] if call.arguments == json!({"fruit": "orange"}) => OfferOutcome::Called,
            [_] => OfferOutcome::WrongArguments,
            [_, ..] => OfferOutcome::TooOften,
        }
    }
}

/// Joins the content of a whole answer.
fn build_parts(content: ChatPiece) -> Vec<MessagePart> {
    let mut builder = PartBuilder::default();
    builder.add_piece(content);
    builder.finish("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_functions;

    #[test]
    fn only_the_call_that_was_asked_for_counts() {
        use OfferOutcome::{Called, CutOff, NotCalled, OtherTool, TooOften, WrongArguments};
        let call = |name: &str, arguments: Value| json!({"function": {"name": name, "arguments": arguments}});
        let right = || call("pick_fruit", json!({"fruit": "orange"}));
        let cases = [
            (json!([right()]), false, Called),
            (
                json!([call("pick_fruit", json!("{\"fruit\": \"orange\"}"))]),
                false,
                Called,
            ),
            (json!(null), false, NotCalled),
            (json!([]), false, NotCalled),
            (json!([]), true, CutOff),
            (json!([{"type": "function"}]), false, NotCalled),
            (
                json!([call("pick_apple", json!({"fruit": "orange"}))]),
                false,
                OtherTool,
            ),
            (json!([{"function": {}}]), false, OtherTool),
            (json!([right(), right()]), false, TooOften),
            (
                json!([call("pick_fruit", json!({"fruit": "banana"}))]),
                false,
                WrongArguments,
            ),
            (
                json!([call("pick_fruit", json!({"fruit": "orange", "size": 1}))]),
                false,
                WrongArguments,
            ),
            (
                json!([call("pick_fruit", json!("{\"fruit\": "))]),
                false,
                WrongArguments,
            ),
            (
                json!([{"function": {"name": "pick_fruit"}}]),
                false,
                WrongArguments,
            ),
        ];
        for (list, cut, wanted) in cases {
            let content = ChatPiece {
                calls: read_functions(Some(&list)),
                ..ChatPiece::default()
            };
            assert_eq!(
                OfferedTool::FRUIT.judge_parts(&build_parts(content), cut),
                wanted,
                "{list}"
            );
        }
    }
}
