//! The rounds of a turn: plan, summary, call of the model, calls of tools.
//!
//! Owns: what a turn has gathered so far. Never: writes a record; see `record.rs`.

mod relearning;

use agentos_ledger::{CallRecord, CompressionReceipt, MessageAuthor, MessageRef, RepositoryReads};
use agentos_model::{
    ChatMessage, ChatReply, ChatRequest, ChatRole, MessagePart, ToolCall, ToolResult, ToolSpec,
};
use agentos_tool::RunId;
use agentos_window::{
    MessageSize, WindowExcess, WindowGauge, WindowInput, WindowPlan, estimate_message, estimate_tools,
    plan_window,
};

use super::model_call::{CallFault, EndedCall, call_model};
use super::record::{FlowEnd, HeldMessage, HeldReceipt};
use super::settle::{list_calls, settle_arguments, settle_ids};
use super::stop::StopSignal;
use super::{CutReason, TurnFailure, TurnModel, TurnOrder, TurnPorts, compress};
use crate::ports::{StoreError, ToolAccess, TurnEvent, TurnTool};
use crate::prompt::{PromptTexts, list_sizes, summary_message};
use crate::state::SessionState;
use crate::tools::CallBatch;
use crate::transcript::read_message;

/// Turn while it runs.
pub(crate) struct TurnFlow<'a> {
    pub(super) ports: TurnPorts<'a>,
    pub(super) order: TurnOrder,
    stop: StopSignal<'a>,
    tools: Vec<TurnTool>,
    specs: Vec<ToolSpec>,
    texts: PromptTexts,
    /// Messages that are sent, the oldest first.
    live: Vec<HeldMessage>,
    /// Messages of this turn with their texts, also those that a summary replaces by now.
    pub(super) added: Vec<(MessageRef, String)>,
    pub(super) calls: Vec<CallRecord>,
    pub(super) receipts: Vec<HeldReceipt>,
    pub(super) runs: Vec<RunId>,
    pub(super) reads: Vec<RepositoryReads>,
    /// Results of the last calls, if a tool ended the turn.
    pub(super) open_results: Vec<ToolResult>,
    /// Text of an answer that was cut and is kept.
    pub(super) cut: Option<String>,
    /// True after a summary failed although the request fits: it is not tried again in this turn.
    is_summary_given_up: bool,
    /// Tokens of the window that a refusal of the server stated. `None` if none did.
    pub(super) learned_window: Option<u64>,
    excess: Option<WindowExcess>,
}

impl<'a> TurnFlow<'a> {
    /// Reads what the session sends, and adds the user's message.
    pub(super) fn load(
        state: &SessionState,
        order: TurnOrder,
        ports: TurnPorts<'a>,
    ) -> Result<Self, StoreError> {
        let mut flow = Self::load_live(state, order, ports)?;
        flow.add_message(flow.order.message.clone(), None, None)?;
        Ok(flow)
    }

    /// Reads what the session sends.
    pub(super) fn load_live(
        state: &SessionState,
        order: TurnOrder,
        mut ports: TurnPorts<'a>,
    ) -> Result<Self, StoreError> {
        let cancel = std::mem::replace(&mut ports.cancel, Box::pin(std::future::pending()));
        let tools = if ports.model.takes_tools {
            ports.tools.list_tools()
        } else {
            Vec::new()
        };
        // A tool that would be refused only costs tokens. The check at the call stays.
        let permitted = |tool: &TurnTool| order.permissions.permits(tool.access);
        let tools: Vec<TurnTool> = tools.into_iter().filter(permitted).collect();
        Ok(Self {
            texts: load_texts(state, &ports)?,
            live: load_messages(state, &ports)?,
            stop: StopSignal::new(cancel, order.limits.total),
            specs: tools.iter().map(|tool| tool.spec.clone()).collect(),
            tools,
            added: Vec::new(),
            calls: Vec::new(),
            receipts: Vec::new(),
            runs: Vec::new(),
            reads: Vec::new(),
            open_results: Vec::new(),
            cut: None,
            is_summary_given_up: false,
            learned_window: None,
            excess: None,
            ports,
            order,
        })
    }

    /// Counts the messages that are sent.
    pub(super) fn count_live(&self) -> usize {
        self.live.len()
    }

    /// Runs rounds until the turn ends.
    pub(super) async fn run_rounds(&mut self) -> FlowEnd {
        match self.try_rounds().await {
            Ok(answer) => FlowEnd::Answered(answer),
            Err(end) => end,
        }
    }

    async fn try_rounds(&mut self) -> Result<String, FlowEnd> {
        let mut rounds = 0;
        loop {
            self.fit_window().await?;
            let reply = self.ask_within_window().await?;
            let mut message = reply.message;
            settle_ids(&mut message);
            let calls = list_calls(&message);
            settle_arguments(&mut message);
            let author = self.name_author(reply.end.model_id);
            self.add_message(message, Some(author), None)
                .map_err(fail_store)?;
            if calls.is_empty() {
                return Ok(reply.text);
            }
            // A proposal ends the work that was paid for, so it is taken after the last round too.
            let is_last = rounds == self.order.limits.rounds;
            if self.run_tools(&calls, is_last).await? {
                return Ok(reply.text);
            }
            if is_last {
                return Err(FlowEnd::Limited("rounds"));
            }
            rounds += 1;
        }
    }

    fn name_author(&self, model_id: Option<String>) -> MessageAuthor {
        MessageAuthor {
            provider: self.ports.model.model.provider_name().to_owned(),
            model: model_id.or_else(|| self.ports.model.requested.map(str::to_owned)),
        }
    }

    /// Calls the model with everything that is sent.
    async fn ask_model(&mut self) -> Result<ChatReply, FlowEnd> {
        let messages = self.live.iter().map(|held| &held.message);
        let request = ChatRequest {
            max_output_tokens: self.ports.model.max_output_tokens,
            ..self.texts.make_request(messages, &self.specs)
        };
        let model = self.ports.model;
        let meter = self.ports.meter;
        let ended = call_model(&model, request, meter, &mut self.stop, &mut *self.ports.emit).await;
        let EndedCall {
            record,
            outcome,
            cut,
            open,
            has_begun,
        } = match ended {
            Ok(ended) => ended,
            Err(CallFault::Stopped(cause)) => return Err(cause.into()),
            Err(CallFault::Failed(failure)) => return Err(FlowEnd::Failed(failure)),
        };
        open.report(&record, has_begun);
        self.calls.push(record);
        let fault = match outcome {
            Ok(reply) => return Ok(reply),
            Err(fault) => fault,
        };
        let (reason, end) = match fault {
            CallFault::Stopped(cause) => (cause.name().to_owned(), FlowEnd::from(cause)),
            CallFault::Failed(mut failure) => {
                if has_begun {
                    // The answer may be billed and a part of it may be kept, so the request is not sent once more.
                    failure.advice.stated_window = None;
                }
                (failure.code.clone(), FlowEnd::Failed(failure))
            }
        };
        let why = CutReason {
            code: &reason,
            is_first_call: self.calls.len() <= 1,
        };
        match cut.filter(|_| (self.order.keeps_cut)(why)) {
            Some(message) => self.keep_cut(message, reason).map_err(fail_store)?,
            None => (self.ports.emit)(TurnEvent::Discarded { reason }),
        }
        Err(end)
    }

    /// Adds the text of an answer that was cut, with the reason. The next turn sends it as what the model said so far.
    fn keep_cut(&mut self, message: ChatMessage, reason: String) -> Result<(), StoreError> {
        self.cut = Some(message.text());
        let author = self.name_author(None);
        self.add_message(message, Some(author), Some(reason.clone()))?;
        (self.ports.emit)(TurnEvent::Cut { reason });
        Ok(())
    }

    fn is_proposal(&self, call: &ToolCall) -> bool {
        let tool = self.tools.iter().find(|tool| tool.spec.name == call.name);
        tool.is_some_and(|tool| tool.access == ToolAccess::Propose)
    }

    /// Runs the calls of an answer and adds their results. After the last round only proposals are run. True if a tool ends the turn.
    async fn run_tools(&mut self, all: &[ToolCall], is_last: bool) -> Result<bool, FlowEnd> {
        let (calls, late): (Vec<ToolCall>, Vec<ToolCall>) = all
            .iter()
            .cloned()
            .partition(|call| !is_last || self.is_proposal(call));
        let room = self
            .ports
            .model
            .window
            .tokens
            .saturating_sub(self.ports.model.output_reserve);
        let batch = CallBatch {
            calls: &calls,
            tools: &self.tools,
            runner: self.ports.tools,
            permissions: self.order.permissions,
            limits: &self.order.limits,
            result_tokens: room.saturating_mul(u64::from(self.order.limits.result_share)) / 100,
        };
        let ended = batch
            .run_calls(self.ports.tool_session, &mut self.stop, &mut *self.ports.emit)
            .await;
        self.runs.extend(ended.runs);
        self.reads.extend(ended.reads);
        let mut results = ended.results;
        results.extend(self.refuse_late(&late));
        results.sort_by_key(|result| all.iter().position(|call| call.id == result.tool_use_id));
        if ended.ends_turn && ended.stopped.is_none() {
            self.open_results = results;
            return Ok(true);
        }
        self.add_results(results)?;
        match ended.stopped {
            Some(cause) => Err(cause.into()),
            None => Ok(false),
        }
    }

    /// Answers the calls that the limit on rounds forbids, because vendors refuse a conversation with a call without result.
    fn refuse_late(&self, calls: &[ToolCall]) -> Vec<ToolResult> {
        let rounds = self.order.limits.rounds;
        let refuse = |call: &ToolCall| ToolResult {
            tool_use_id: call.id.clone(),
            text: format!("The call was not run: the turn reached its limit of {rounds} rounds of tools."),
            images: Vec::new(),
            is_error: true,
        };
        calls.iter().map(refuse).collect()
    }

    fn add_results(&mut self, results: Vec<ToolResult>) -> Result<(), FlowEnd> {
        let message = ChatMessage {
            role: ChatRole::User,
            parts: results.into_iter().map(MessagePart::ToolResult).collect(),
        };
        self.add_message(message, None, None).map_err(fail_store)
    }

    fn add_message(
        &mut self,
        message: ChatMessage,
        author: Option<MessageAuthor>,
        cut: Option<String>,
    ) -> Result<(), StoreError> {
        let (held, text) = HeldMessage::new(message, author, cut)?;
        self.added.push((held.reference.clone(), text));
        self.live.push(held);
        Ok(())
    }

    /// Summarizes until the request fits, and shows how the window is filled.
    async fn fit_window(&mut self) -> Result<(), FlowEnd> {
        loop {
            let sizes = list_sizes(self.live.iter().map(|held| &held.message));
            let input = self.measure_window(&sizes);
            let gauge = WindowGauge::measure(&input);
            match plan_window(&input) {
                WindowPlan::SendWhole => {
                    (self.ports.emit)(TurnEvent::Gauge(gauge));
                    return Ok(());
                }
                WindowPlan::TooLarge(excess) => {
                    self.excess = Some(excess);
                    return Err(FlowEnd::Failed(describe_excess(excess)));
                }
                WindowPlan::Compress {
                    messages,
                    summary_tokens,
                } => {
                    let fits = gauge.count_prompt() <= input.room();
                    if fits && self.is_summary_given_up {
                        (self.ports.emit)(TurnEvent::Gauge(gauge));
                        return Ok(());
                    }
                    self.compress(&messages, summary_tokens, fits).await?;
                }
            }
        }
    }

    fn measure_window<'s>(&self, sizes: &'s [MessageSize]) -> WindowInput<'s> {
        WindowInput {
            window: self.ports.model.window,
            reserve: self.ports.model.output_reserve,
            system: self.texts.count_system(),
            pins: self.texts.count_pins(),
            tools: estimate_tools(&self.specs),
            summary: self.texts.count_summary(),
            messages: sizes,
            // A fifth is left for the quoting of the lines.
            summary_input: self.count_summary_room() / 5 * 4,
            rules: self.order.rules,
        }
    }

    fn summarizer(&self) -> TurnModel<'a> {
        self.ports.summarizer.unwrap_or(self.ports.model)
    }

    /// Returns the tokens that the conversation may have in the prompt of a summary.
    fn count_summary_room(&self) -> u64 {
        let model = self.summarizer();
        model
            .window
            .tokens
            .saturating_sub(model.output_reserve)
            .saturating_sub(compress::PROMPT_TOKENS)
    }

    /// Replaces messages by a summary. If that fails and the request fits without it, the turn goes on.
    pub(super) async fn compress(
        &mut self,
        positions: &[usize],
        summary_tokens: u64,
        fits: bool,
    ) -> Result<(), FlowEnd> {
        let model = self.summarizer();
        let replaced: Vec<&HeldMessage> = positions.iter().filter_map(|at| self.live.get(*at)).collect();
        let messages: Vec<&ChatMessage> = replaced.iter().map(|held| &held.message).collect();
        let tokens_before = messages
            .iter()
            .map(|message| estimate_message(message))
            .fold(0, u64::saturating_add);
        let hashes = replaced
            .iter()
            .map(|held| held.reference.message_sha256.clone())
            .collect();
        let request = ChatRequest {
            max_output_tokens: model.max_output_tokens,
            ..compress::make_request(&self.texts, &messages, summary_tokens, self.count_summary_room())
        };
        // The summary is not an answer to the user, so its pieces are not shown.
        let called = call_model(&model, request, self.ports.meter, &mut self.stop, &mut |_| {}).await;
        let EndedCall {
            mut record,
            outcome,
            cut: _,
            open,
            has_begun,
        } = match called {
            Ok(ended) => ended,
            Err(fault) => return self.give_up_summary(fault, fits),
        };
        let limit = tokens_before.saturating_add(self.texts.count_summary());
        let accepted =
            outcome.and_then(|reply| compress::accept_summary(&reply.text, limit).map_err(CallFault::Failed));
        match accepted {
            Ok(summary) => {
                open.report(&record, has_begun);
                let receipt = CompressionReceipt {
                    summary_sha256: agentos_chain::hash_bytes(summary.as_bytes()),
                    replaced: hashes,
                    tokens_before,
                    tokens_after: estimate_message(&summary_message(&summary)),
                    call: Some(record),
                };
                self.apply_summary(positions, summary, receipt);
                Ok(())
            }
            Err(fault) => {
                if let CallFault::Failed(failure) = &fault {
                    record.failure = Some(failure.code.clone());
                }
                open.report(&record, has_begun);
                self.calls.push(record);
                self.give_up_summary(fault, fits)
            }
        }
    }

    fn apply_summary(&mut self, positions: &[usize], summary: String, receipt: CompressionReceipt) {
        let mut at = 0;
        self.live.retain(|_| {
            at += 1;
            positions.binary_search(&(at - 1)).is_err()
        });
        self.texts.summary = Some(summary.clone());
        (self.ports.emit)(TurnEvent::Compressed(Box::new(receipt.clone())));
        self.receipts.push((receipt, summary));
    }

    fn give_up_summary(&mut self, fault: CallFault, fits: bool) -> Result<(), FlowEnd> {
        match fault {
            CallFault::Stopped(cause) => Err(cause.into()),
            CallFault::Failed(failure) if fits => {
                self.is_summary_given_up = true;
                // The code alone: the message may quote a server.
                (self.ports.emit)(TurnEvent::Note {
                    note: format!(
                        "earlier messages could not be summarized ({}), so the whole conversation is sent",
                        failure.code
                    ),
                });
                Ok(())
            }
            CallFault::Failed(failure) => Err(FlowEnd::Failed(TurnFailure {
                message: format!("earlier messages could not be summarized: {}", failure.message),
                ..failure
            })),
        }
    }

    /// Returns true if the user's message alone cannot be sent.
    pub(super) fn is_unsendable(&self) -> bool {
        self.excess.is_some() && self.added.len() == 1
    }

    /// Returns true if no model has answered the user's message.
    pub(super) fn is_unanswered(&self) -> bool {
        !self
            .added
            .iter()
            .any(|(reference, _)| reference.role == ChatRole::Assistant)
    }

    /// Forgets the messages of this turn.
    pub(super) fn forget_messages(&mut self) {
        self.added.clear();
    }
}

fn load_texts(state: &SessionState, ports: &TurnPorts<'_>) -> Result<PromptTexts, StoreError> {
    let settings = state.settings();
    let load = |hash: &String| ports.store.load_text(hash);
    let pins = settings.pins.iter().map(|pin| load(&pin.pin_sha256));
    let summary = state
        .active_compression()
        .map(|compression| &compression.receipt.summary_sha256);
    Ok(PromptTexts {
        system: settings.system_sha256.as_ref().map(load).transpose()?,
        pins: pins.collect::<Result<_, _>>()?,
        summary: summary.map(load).transpose()?,
    })
}

fn load_messages(state: &SessionState, ports: &TurnPorts<'_>) -> Result<Vec<HeldMessage>, StoreError> {
    let load = |reference: &MessageRef| {
        let text = ports.store.load_text(&reference.message_sha256)?;
        Ok(HeldMessage {
            message: read_message(&text, &reference.message_sha256)?,
            reference: reference.clone(),
        })
    };
    state.list_live().map(load).collect()
}

fn describe_excess(excess: WindowExcess) -> TurnFailure {
    let message = format!(
        "the conversation does not fit: it needs {} tokens, and the model's window has room for {}",
        excess.needed, excess.room
    );
    TurnFailure {
        excess: Some(Box::new(excess)),
        ..TurnFailure::new("context-length", message)
    }
}

fn fail_store(error: StoreError) -> FlowEnd {
    FlowEnd::Failed(TurnFailure {
        causes: error.source.iter().map(ToString::to_string).collect(),
        ..TurnFailure::new(&error.code, error.message)
    })
}
