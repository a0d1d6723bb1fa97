//! One tool that is offered to a model, to see if its tool calls work.
//!
//! Owns: the tool, what is asked, and the verdict on what comes back. Never: acts on a call, or passes on a word of it.

use agentos_net::Deadline;
use agentos_tool::{
    Adapter, BoxFuture, EditFormat, FinishReason, RunId, TaskLimits, Timestamp, ToolError, ToolTask, Usage,
};
use serde_json::{Value, json};

use crate::{Ask, Fault, HttpAdapter, Server, Service};

/// Enough for a call, and for a model that thinks a little first.
const MOST_TOKENS: u64 = 512;

/// The tool that a model is offered.
#[derive(Debug, Clone, Copy)]
pub struct OfferedTool {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// What the model is told to do with it.
    pub instruction: &'static str,
}

/// One call that a model made.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool that it named.
    pub name: String,
    /// What it handed over; none where that is not JSON.
    pub arguments: Option<Value>,
}

/// What a model made of the offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferOutcome {
    /// It called the tool once, with the arguments that it was told to use.
    Called,
    /// It called nothing.
    NotCalled,
    /// Its answer was cut before a call.
    CutOff,
    /// It called a tool that was not offered.
    OtherTool,
    /// It called more than once.
    TooOften,
    /// It called the tool with arguments that are not what the tool takes, or not what it was told to use.
    WrongArguments,
}

/// One offer, as it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferSeen {
    /// What came of it.
    pub outcome: OfferOutcome,
    /// Tokens, as far as reported.
    pub usage: Option<Usage>,
    /// From request to the last byte, in milliseconds.
    pub latency_ms: u64,
}

/// An adapter whose model can be offered a tool.
pub trait ToolCaller: Adapter {
    /// Offers the model one tool and tells it to call it: one small generation, within so many seconds. None where the
    /// wire has no tools; then nothing is generated.
    ///
    /// # Errors
    /// When there is no answer; the error holds no key and can be shown and recorded.
    fn offer_tool(&self, timeout_seconds: u64) -> BoxFuture<'_, Result<Option<OfferSeen>, ToolError>>;
}

impl<S: Service> ToolCaller for HttpAdapter<S> {
    fn offer_tool(&self, timeout_seconds: u64) -> BoxFuture<'_, Result<Option<OfferSeen>, ToolError>> {
        Box::pin(async move {
            let deadline = Server::run_deadline(timeout_seconds);
            let task = tiny_task(OfferedTool::FRUIT.instruction, timeout_seconds, MOST_TOKENS);
            let ask = self.prepared(&task, &deadline).await?;
            let seen = self.server().offer(&ask, &task, &deadline).await;
            seen.map_err(|fault| self.server().error(&fault, &deadline))
        })
    }
}

impl Server {
    async fn offer(
        &self,
        ask: &Ask,
        task: &ToolTask,
        deadline: &Deadline,
    ) -> Result<Option<OfferSeen>, Fault> {
        let request = ask.wire.request(&self.job(ask, task));
        let Some(body) = ask.wire.offer(request, &OfferedTool::FRUIT) else {
            return Ok(None);
        };
        let url = ask.whole_url.clone().unwrap_or_else(|| ask.url.clone());
        let answer = self.post(url, body, deadline).await?;
        let piece = ask.wire.response(&answer)?;
        let cut = piece.finish == Some(FinishReason::Length);
        Ok(Some(OfferSeen {
            outcome: OfferedTool::FRUIT.judge(&ask.wire.calls(&answer), cut),
            usage: piece.usage.filter(|usage| !usage.is_unknown()),
            latency_ms: deadline.elapsed_ms(),
        }))
    }
}

impl OfferedTool {
    /// Small enough for a model that can call tools at all.
    pub const FRUIT: Self = Self {
        name: "pick_fruit",
        description: "Picks one fruit.",
        instruction: "Call the tool `pick_fruit` once, with `fruit` set to `orange`. Answer with nothing but this call.",
    };

    /// The JSON Schema of what it takes.
    #[must_use]
    pub fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"fruit": {"type": "string", "enum": ["apple", "orange", "cherry"]}},
            "required": ["fruit"],
            "additionalProperties": false,
        })
    }

    /// The tool in the form that most wires share.
    #[must_use]
    pub fn as_function(&self) -> Value {
        json!({"type": "function", "function": {
            "name": self.name, "description": self.description, "parameters": self.parameters(),
        }})
    }

    fn judge(&self, calls: &[ToolCall], cut: bool) -> OfferOutcome {
        match calls {
            [] if cut => OfferOutcome::CutOff,
            [] => OfferOutcome::NotCalled,
            [call] if call.name != self.name => OfferOutcome::OtherTool,
            [call] if call.arguments.as_ref() == Some(&json!({"fruit": "orange"})) => OfferOutcome::Called,
            [_] => OfferOutcome::WrongArguments,
            [_, ..] => OfferOutcome::TooOften,
        }
    }
}

impl ToolCall {
    /// A call whose arguments are JSON, or a text that holds JSON: vendors write both.
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

    /// The calls of a list in the form that most wires share: `[{"function": {"name", "arguments"}}]`.
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

/// A task without context, for a look at the model.
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
            assert_eq!(OfferedTool::FRUIT.judge(&calls, cut), wanted, "{list}");
        }
    }
}
