//! Offers one tool to a model, to test if its tool calls work.
//!
//! Owns: the tool, the prompt, and the verdict on the answer. Never: executes a call, or passes on a text from it.

use agentos_net::Deadline;
use agentos_tool::{
    Adapter, BoxFuture, EditFormat, FinishReason, RunId, TaskLimits, Timestamp, ToolError, ToolTask, Usage,
};
use serde_json::{Value, json};

use crate::{Fault, HttpAdapter, PreparedTask, Server, Service};

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

/// Tool call in a model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Name of the called tool.
    pub name: String,
    /// Arguments of the call. `None` if they are not JSON.
    pub arguments: Option<Value>,
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

/// Adapter that can offer a tool to its model.
pub trait ToolCaller: Adapter {
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
            let task = tiny_task(OfferedTool::FRUIT.instruction, timeout_seconds, MOST_TOKENS);
            let ask = self.prepare_task(&task, &deadline).await?;
            let seen = self.server().send_offer(&ask, &task, &deadline).await;
            seen.map_err(|fault| self.server().run_error(&fault, &deadline))
        })
    }
}

impl Server {
    async fn send_offer(
        &self,
        ask: &PreparedTask,
        task: &ToolTask,
        deadline: &Deadline,
    ) -> Result<Option<OfferSeen>, Fault> {
        let request = ask.wire.build_request(&self.model_request(ask, task));
        let Some(body) = ask.wire.add_tool(request, &OfferedTool::FRUIT) else {
            return Ok(None);
        };
        // A call in a stream arrives in fragments that differ between vendors; in one document it is complete.
        let url = ask.whole_url.clone().unwrap_or_else(|| ask.url.clone());
        let answer = self.post(url, body, deadline).await?;
        let piece = ask.wire.read_answer(&answer)?;
        let cut = piece.finish == Some(FinishReason::Length);
        Ok(Some(OfferSeen {
            outcome: OfferedTool::FRUIT.judge_calls(&ask.wire.read_calls(&answer), cut),
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

    /// Returns the tool's definition in the form that most wires share.
    #[must_use]
    pub fn as_function(&self) -> Value {
        json!({"type": "function", "function": {
            "name": self.name, "description": self.description, "parameters": self.argument_schema(),
        }})
    }

    fn judge_calls(&self, calls: &[ToolCall], cut: bool) -> OfferOutcome {
        match calls {
            // A model that reasons at length may reach the limit before its call, which says nothing about its tool calls.
            [] if cut => OfferOutcome::CutOff,
            [] => OfferOutcome::NotCalled,
            [call] if call.name != self.name => OfferOutcome::OtherTool,
            // The exact value: a model that calls the tool with any argument has not read the instruction.
            [call] if call.arguments.as_ref() == Some(&json!({"fruit": "orange"})) => OfferOutcome::Called,
            [_] => OfferOutcome::WrongArguments,
            [_, ..] => OfferOutcome::TooOften,
        }
    }
}

impl ToolCall {
    /// Makes a call from a name and arguments, which are JSON or a string that contains JSON: OpenAI writes the latter.
    #[must_use]
    pub fn new(name: &str, arguments: Option<&Value>) -> Self {
        let arguments = match arguments {
            Some(Value::String(text)) => serde_json::from_str(text).ok(),
            other => other.cloned(),
        };
        Self {
            name: name.to_owned(),
            arguments,
        }
    }

    /// Reads a list of calls in the form that most wires share: `[{"function": {"name", "arguments"}}]`.
    #[must_use]
    pub fn of_functions(list: Option<&Value>) -> Vec<Self> {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|call| call.get("function"))
            .map(|function| {
                let name = function.get("name").and_then(Value::as_str);
                Self::new(name.unwrap_or_default(), function.get("arguments"))
            })
            .collect()
    }
}

/// Makes a task without context, for tests of the model.
pub(crate) fn tiny_task(instruction: &str, timeout_seconds: u64, most_tokens: u64) -> ToolTask {
    ToolTask {
        task_id: RunId::new(&Timestamp::from_unix_seconds(0), 0),
        instruction: instruction.to_owned(),
        context: Vec::new(),
        edit_format: EditFormat::UnifiedDiff,
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        limits: TaskLimits {
            timeout_seconds,
            max_output_tokens: Some(most_tokens),
        },
        attempt: 1,
        feedback: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let calls = ToolCall::of_functions(Some(&list));
            assert_eq!(OfferedTool::FRUIT.judge_calls(&calls, cut), wanted, "{list}");
        }
    }
}
