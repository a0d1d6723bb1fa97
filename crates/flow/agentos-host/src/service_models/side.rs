//! Requests of a service's clients that are no conversations: counts of tokens, vectors of texts, continued texts.
//!
//! Owns: the order of such a request: its budget, the server, the ledger. Never: asks a pool, whose members are chosen for
//! conversations, or asks a server whose wire does not have the endpoint.

use std::sync::Arc;
use std::time::Duration;

use agentos_chat::MeteredCall as _;
use agentos_context::estimate_tokens;
use agentos_engine::ports::EffectError;
use agentos_ledger::{CallRecord, TurnEnd, TurnRecord, TurnSource};
use agentos_model::{ChatRequest, SideEndpoint, SideRequest};
use agentos_net::Deadline;
use agentos_tool::{ExactCost, FreeGate, MOST_TOKENS, RunId, Usage};
use agentos_window::estimate_message;
use serde_json::Value;

use super::ServiceModels;
use agentos_calls::budgets::spend::CallSpend;
use agentos_calls::calls::{CallDesk, ReadyModel, SharedGuard};
use agentos_calls::chat::{unrecorded_turn, word_failure};
use agentos_calls::ledger::{ExpectedTurn, unwritten_notice};
use agentos_calls::model_memory::await_first_request;
use agentos_ground::error::usage_error;

/// Length of the clock of a call, which is read and never runs out.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A request that is ready to be sent.
pub struct SideCall {
    desk: CallDesk,
    turn: RunId,
    ready: Arc<ReadyModel>,
    /// Guard of the budgets.
    guard: SharedGuard,
    request: SideRequest,
}

/// Answer to a request that is no conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct SideAnswer {
    /// The answer, as the server wrote it.
    pub document: Value,
    /// Provider that was asked.
    pub provider: String,
    /// Model that was requested. `None` if the server chose.
    pub model: Option<String>,
    /// Tokens. `None` if the server reported none.
    pub usage: Option<Usage>,
    /// Exact cost. `None` if it is unknown.
    pub cost: Option<ExactCost>,
}

/// Number of tokens of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCount {
    /// Counted by the server of the model.
    Counted(u64),
    /// Estimated from the length of the texts, because the server has no such endpoint.
    Estimated(u64),
}

impl ServiceModels {
    /// Prepares a request for vectors or a continued text. Reads files, and sends nothing.
    ///
    /// # Errors
    /// Fails if there is no such model, it is a pool, its wire does not have the endpoint, or the cost cannot be recorded.
    pub fn prepare_side(
        &self,
        name: &str,
        request: SideRequest,
        (turn, token): (&RunId, Option<&str>),
    ) -> Result<SideCall, EffectError> {
        let endpoint = request.endpoint();
        let call = self.open_side(name, request, (turn, token))?.ok_or_else(|| {
            let message = format!("`{name}` is a pool, which answers conversations alone");
            usage_error(message).hint("name a provider")
        })?;
        match call.ready.opened.model.has_endpoint(endpoint) {
            true => Ok(call.limit_answer()),
            false => Err(no_endpoint(name, endpoint)),
        }
    }

    /// Prepares the count of a conversation's tokens. `None` if no server is asked: for a pool, whose model is chosen later, and for a
    /// wire without the endpoint. [`estimate_request`] estimates the count then.
    ///
    /// # Errors
    /// Fails if there is no such model, or its profile is invalid.
    pub fn prepare_count(
        &self,
        name: &str,
        request: ChatRequest,
        turn: &RunId,
    ) -> Result<Option<SideCall>, EffectError> {
        // A count costs nothing, so no budget is about it.
        let call = self.open_side(name, SideRequest::CountTokens(Box::new(request)), (turn, None))?;
        Ok(call.filter(|call| call.ready.opened.model.has_endpoint(SideEndpoint::CountTokens)))
    }

    /// Opens the model of a name. `None` if it is a pool.
    fn open_side(
        &self,
        name: &str,
        request: SideRequest,
        (turn, token): (&RunId, Option<&str>),
    ) -> Result<Option<SideCall>, EffectError> {
        let desk = self.find_desk(token)?;
        let (choice, is_pool) = self.resolve_name(name)?;
        if is_pool {
            return Ok(None);
        }
        let ready = self.kept.keep_named(&self.host, name, &choice, &self.processes)?;
        Ok(Some(SideCall {
            guard: ready.open_guard(&self.host, token)?,
            ready,
            desk,
            turn: turn.clone(),
            request,
        }))
    }
}

/// Estimates the tokens of a conversation with its tools, from the length of its texts.
#[must_use]
pub fn estimate_request(request: &ChatRequest) -> u64 {
    let system = request.system.as_deref().map_or(0, estimate_tokens);
    let messages = request.messages.iter().map(estimate_message);
    let tools = request.tools.iter().map(|tool| {
        let schema = tool.input_schema.to_string();
        [tool.name.as_str(), &tool.description, &schema]
            .map(estimate_tokens)
            .into_iter()
            .sum()
    });
    messages.chain(tools).fold(system, u64::saturating_add)
}

impl SideCall {
    /// Sets the limit of a continued text if a budget is about the model: a text without a limit could cost more than what is reserved.
    fn limit_answer(mut self) -> Self {
        if let (SideRequest::Completions(body), Some(_)) = (&mut self.request, &self.guard) {
            let asked = body.get("max_tokens").and_then(Value::as_u64);
            let limit = self.ready.opened.limit_answer(asked);
            body.insert("max_tokens".to_owned(), limit.into());
        }
        self
    }

    /// Counts the tokens of the conversation at the server.
    ///
    /// # Errors
    /// Fails if the server refuses the request, or its answer has no count.
    pub async fn count_tokens(&self) -> Result<TokenCount, EffectError> {
        let SideRequest::CountTokens(chat) = &self.request else {
            return Err(usage_error("only conversations are counted"));
        };
        let asked = self
            .ready
            .opened
            .model
            .ask_endpoint(&self.request, FreeGate::share())
            .await;
        let answer = match asked {
            Ok(answer) => answer,
            // A compatible server may have the messages of this wire and no count.
            Err(error) if error.detail == "wrong-path" => None,
            Err(error) => return Err(word_failure(error)),
        };
        let counted = answer.and_then(|answer| answer.get("input_tokens")?.as_u64());
        Ok(counted.map_or_else(
            || TokenCount::Estimated(estimate_request(chat)),
            TokenCount::Counted,
        ))
    }

    /// Sends the request. Dropping the future ends it.
    ///
    /// # Errors
    /// Fails if a budget does not have enough left, or the server gives no answer.
    pub async fn send(&self) -> Result<SideAnswer, EffectError> {
        let opened = &self.ready.opened;
        // Kept until the end: other programs then wait with their first request to a model that is not loaded.
        let _look = await_first_request(&self.desk.ground, &opened.tool).await;
        let spend = CallSpend::new(self.guard.clone());
        let gate = Arc::<CallSpend>::clone(&spend);
        let mut sent = SentCall {
            spend,
            call: self,
            expected: self.desk.ledger.expect_turn(),
            clock: Deadline::after(LONGEST),
            is_recorded: false,
        };
        let document = match opened.model.ask_endpoint(&self.request, gate).await {
            Ok(Some(document)) => document,
            Ok(None) => {
                let name = opened.model.provider_name();
                let failure = no_endpoint(name, self.request.endpoint());
                sent.record_failure(&failure).await;
                return Err(failure);
            }
            Err(error) => {
                if let Some(refusal) = sent.spend.take_error() {
                    // Nothing was sent, so nothing is recorded.
                    (sent.is_recorded, sent.expected) = (true, None);
                    return Err(refusal);
                }
                let failure = word_failure(error);
                sent.record_failure(&failure).await;
                return Err(failure);
            }
        };
        let usage = read_usage(&document);
        let cost = usage.and_then(|usage| opened.price.cost(&usage));
        let call = CallRecord {
            model_id: document.get("model").and_then(Value::as_str).map(str::to_owned),
            usage,
            cost_usd: cost,
            ..sent.describe_call()
        };
        let written = sent.record_end(TurnEnd::Answered, call).await;
        // An answer whose cost is in no record must not look like one that is.
        written.map_err(|error| unrecorded_turn(&error))?;
        Ok(SideAnswer {
            document,
            provider: opened.model.provider_name().to_owned(),
            model: opened.model_name.clone(),
            usage,
            cost,
        })
    }
}

/// A request that was sent. Its end is recorded in the ledger, also if this value is dropped before.
struct SentCall<'a> {
    call: &'a SideCall,
    spend: Arc<CallSpend>,
    expected: Option<ExpectedTurn>,
    clock: Deadline,
    is_recorded: bool,
}

impl SentCall<'_> {
    fn describe_call(&self) -> CallRecord {
        let opened = &self.call.ready.opened;
        let price = &opened.price;
        CallRecord {
            provider: opened.model.provider_name().to_owned(),
            model: opened.model_name.clone(),
            price: (!price.is_unknown()).then(|| price.clone()),
            latency_ms: self.clock.elapsed_ms(),
            reservation: self.spend.reservation(),
            ..CallRecord::default()
        }
    }

    async fn record_failure(&mut self, failure: &EffectError) {
        let code = failure.code.to_string();
        let call = CallRecord {
            failure: Some(code.clone()),
            ..self.describe_call()
        };
        if let Err(error) = self.record_end(TurnEnd::Failed { code }, call).await {
            // The call has failed already, and its failure is what the caller has to know.
            self.call.desk.ground.notify(unwritten_notice(&error));
        }
    }

    /// Closes the reservation, and writes the turn.
    async fn record_end(&mut self, end: TurnEnd, call: CallRecord) -> Result<(), EffectError> {
        let record = self.close_call(end, call);
        let (desk, turn) = (&self.call.desk, &self.call.turn);
        desk.ledger.record_turn(turn, record).await
    }

    fn close_call(&mut self, end: TurnEnd, call: CallRecord) -> TurnRecord {
        self.is_recorded = true;
        self.expected = None;
        let failure = call.failure.as_deref();
        self.spend.end(call.cost_usd, call.usage.as_ref(), failure, false);
        TurnRecord {
            session: None,
            caller: self.call.desk.token.clone(),
            source: TurnSource::Message,
            repository: None,
            runs: Vec::new(),
            reads: Vec::new(),
            // Without a session, nobody could read them again.
            messages: Vec::new(),
            choice: None,
            discarded: Vec::new(),
            calls: vec![call],
            end,
        }
    }
}

impl Drop for SentCall<'_> {
    fn drop(&mut self) {
        if self.is_recorded {
            return;
        }
        let call = CallRecord {
            failure: Some("cancelled".to_owned()),
            ..self.describe_call()
        };
        let record = self.close_call(TurnEnd::Cancelled, call);
        let (desk, turn) = (&self.call.desk, &self.call.turn);
        if let Err(error) = desk.ledger.record_at_once(turn, record) {
            desk.ground.notify(unwritten_notice(&error));
        }
    }
}

fn no_endpoint(name: &str, endpoint: SideEndpoint) -> EffectError {
    let what = match endpoint {
        SideEndpoint::CountTokens => "count of tokens",
        SideEndpoint::Embeddings => "embeddings",
        SideEndpoint::Completions => "completions",
    };
    usage_error(format!("the wire of `{name}` does not have {what}"))
        .hint("name a provider with OpenAI's wire, llama.cpp, LM Studio or Ollama")
}

/// Reads the counts of an answer in OpenAI's form. `None` if it has none.
fn read_usage(document: &Value) -> Option<Usage> {
    let usage = document.get("usage").filter(|usage| usage.is_object())?;
    let count = |name: &str| Some(usage.get(name)?.as_u64()?.min(MOST_TOKENS));
    Some(Usage {
        input_tokens: count("prompt_tokens"),
        // Embeddings have no tokens of an answer.
        output_tokens: Some(count("completion_tokens").unwrap_or(0)),
        stated_cost: ExactCost::read_stated(usage),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_without_counts_has_no_usage() {
        assert_eq!(read_usage(&json!({"usage": null})), None);
        let usage = read_usage(&json!({"usage": {"prompt_tokens": 3, "total_tokens": 3}})).unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens), (Some(3), Some(0)));
    }

    #[test]
    fn the_vendors_bill_is_a_part_of_the_stated_cost() {
        let usage = read_usage(&json!({"usage": {
            "prompt_tokens": 3, "cost": 0.01, "is_byok": true, "cost_details": { "upstream_inference_cost": 0.2 },
        }}));
        assert_eq!(usage.unwrap().stated_cost, "0.21".parse().ok());
    }
}
