//! One message to a model, and its streamed answer. No repository is needed.
//!
//! Owns: the request made of a text and images, the answer's events, its report, and its turn in the ledger. Never: reads or lands anything in a repository,
//! or has a conversation of more than one turn.

use std::path::PathBuf;
use std::sync::Arc;

use agentos_chat::MeteredCall as _;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_ledger::{CallRecord, TurnEnd, TurnRecord, TurnSource};
use agentos_model::{ChatEvent, ChatReply, ChatRequest, ChatStream, Model, ReplyBuilder};
use agentos_profile::Profile;
use agentos_tool::{ExactCost, RunId, ToolError, ToolFailure, Usage};

use crate::Calls;
use crate::budgets::spend::CallSpend;
use crate::calls::{CallDesk, OpenedModel, ReadyModel, SharedGuard};
use crate::chat_report::ChatReport;
use crate::hosted::ModelProcesses;
use crate::ledger::{ExpectedTurn, unwritten_notice};
use crate::model_memory::{FirstLook, await_first_request};
use crate::pools::{PinnedMember, PoolQuery, PoolTurn};
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::options::ProviderChoice;
use agentos_ground::provider_kind::ProviderKind;
use agentos_providers::tools::Tools;

/// The order for one message to a model.
#[derive(Debug, Clone, Default)]
pub struct ChatSpec {
    /// The provider and its settings.
    pub provider: ProviderChoice,
    /// System prompt. `None` if there is none.
    pub system: Option<String>,
    /// Text of the message.
    pub text: String,
    /// Files of the images that are sent before the text.
    pub images: Vec<PathBuf>,
}

/// A message that is ready to be sent.
pub struct ChatCall {
    desk: CallDesk,
    turn: RunId,
    /// Model that is asked.
    ready: Arc<ReadyModel>,
    /// Guard of the budgets that are about the call.
    guard: SharedGuard,
    request: ChatRequest,
    /// Turn of a pool, and the member that is asked. `None` if the caller named a provider.
    pool: Option<(PoolTurn, PinnedMember)>,
}

/// The answer to a message, as it arrives. Dropping it closes the connection, which ends the generation.
///
/// Its end is recorded in the ledger, whatever it is: the whole answer, a failure, or that it was dropped before.
pub struct ChatAnswer<'a> {
    stream: Box<dyn ChatStream + 'a>,
    reply: ReplyBuilder,
    call: &'a ChatCall,
    /// False until an event was requested: before that, nothing was sent.
    is_sent: bool,
    is_recorded: bool,
    /// Reservations of the call, one for each sending.
    spend: Arc<CallSpend>,
    /// True after the first piece of the answer.
    has_begun: bool,
    /// Announcement of the turn at the ledger, after the call was sent and until it is recorded.
    expected: Option<ExpectedTurn>,
    /// Look at the server before the message is sent. `None` before it.
    first_request: Option<FirstLook>,
}

impl Calls<'_> {
    /// Prepares a message to a model. Sends nothing yet; notices are reported now.
    ///
    /// # Errors
    /// If the provider is not a server, its profile is invalid, or an image cannot be read.
    pub fn prepare_chat(self, spec: &ChatSpec, run: &RunId) -> Result<ChatCall, EffectError> {
        let message = self.make_message(&spec.text, &spec.images)?;
        let query = PoolQuery {
            message: spec.text.clone(),
            images: spec.images.len(),
            context_chars: spec.system.as_ref().map_or(0, |text| text.chars().count() as u64),
            ..PoolQuery::default()
        };
        let mut pool = PoolTurn::begin(self.ground, &spec.provider, query)?;
        let pinned = pool
            .as_mut()
            .map(|pool| pool.choose_next(self.ground))
            .transpose()?;
        let pool = pool.zip(pinned.flatten());
        let request = ChatRequest {
            system: spec.system.clone(),
            messages: vec![message],
            ..ChatRequest::default()
        };
        let desk = CallDesk::for_one_call(self.ground)?;
        ChatCall::open(desk, run, request, &spec.provider, pool)
    }

    /// Opens the model of a provider, in a confined process that is one of `processes`. Nothing is sent; notices are reported now.
    ///
    /// # Errors
    /// If the provider is not a server, or its profile is invalid.
    pub fn open_model(
        self,
        provider: &ProviderChoice,
        processes: &ModelProcesses,
    ) -> Result<Box<dyn Model>, EffectError> {
        Ok(OpenedModel::open(self.ground, provider, processes)?.model)
    }
}

impl ChatCall {
    /// Opens the model of a message: that of the named provider, or the pool's member.
    ///
    /// # Errors
    /// If the provider is not a server, or its profile is invalid.
    pub fn open(
        desk: CallDesk,
        turn: &RunId,
        request: ChatRequest,
        named: &ProviderChoice,
        pool: Option<(PoolTurn, PinnedMember)>,
    ) -> Result<Self, EffectError> {
        let provider = pool.as_ref().map_or(named, |(_, pinned)| &pinned.provider);
        let ready = desk.open_model(provider)?;
        let guard = ready.open_guard(&desk.ground, desk.token.as_deref())?;
        let wanted = provider.max_output_tokens;
        Ok(Self::with_model(
            desk,
            turn,
            request,
            (ready, guard, wanted),
            pool,
        ))
    }

    /// Makes the call of a model that is open. `wanted` is the limit of the answer in tokens, if the caller sets one.
    pub fn with_model(
        desk: CallDesk,
        turn: &RunId,
        request: ChatRequest,
        (ready, guard, wanted): (Arc<ReadyModel>, SharedGuard, Option<u64>),
        pool: Option<(PoolTurn, PinnedMember)>,
    ) -> Self {
        let output_tokens = ready.opened.limit_answer(wanted);
        Self {
            turn: turn.clone(),
            request: ChatRequest {
                // An answer without a limit could cost more than what is reserved for it.
                max_output_tokens: match guard {
                    Some(_) => Some(output_tokens),
                    None => wanted,
                },
                ..request
            },
            desk,
            ready,
            guard,
            pool,
        }
    }

    /// Returns the name of the provider that is asked.
    #[must_use]
    pub fn provider_name(&self) -> &str {
        self.ready.opened.model.provider_name()
    }

    /// Returns the model that is requested. `None` if the server chooses.
    #[must_use]
    pub fn model_name(&self) -> Option<&str> {
        self.ready.opened.model_name.as_deref()
    }

    /// Returns the cost of these tokens. `None` if it is unknown.
    #[must_use]
    pub fn find_cost(&self, usage: &Usage) -> Option<ExactCost> {
        self.ready.opened.price.cost(usage)
    }

    /// Returns whether a pool chose the model, so that another one may be asked if the answer breaks off.
    #[must_use]
    pub fn has_pool(&self) -> bool {
        self.pool.is_some()
    }

    /// Prepares the same message for the next member of a pool, after a call without a whole answer. Its answer is drawn back by the
    /// caller: an answer has one author. `None` if the failure is the end, which it always is for a provider that the caller named.
    ///
    /// # Errors
    /// If the next member cannot be asked.
    pub fn follow_failure(self, failure: &EffectError) -> Result<Option<Self>, EffectError> {
        let Some((mut turn, pinned)) = self.pool else {
            return Ok(None);
        };
        let ground = &self.desk.ground;
        if !turn.passes_call_on(ground, &pinned, &failure.code) {
            return Ok(None);
        }
        let Some(next) = turn.choose_next(ground)? else {
            return Ok(None);
        };
        let named = next.provider.clone();
        let pool = Some((turn, next));
        Self::open(self.desk, &self.turn, self.request, &named, pool).map(Some)
    }

    /// Starts the answer. Nothing is sent before its first event is requested.
    #[must_use]
    pub fn start(&self) -> ChatAnswer<'_> {
        let spend = CallSpend::new(self.guard.clone());
        let gate = Arc::<CallSpend>::clone(&spend);
        self.start_with(self.ready.opened.model.chat(&self.request, gate), spend)
    }

    /// Starts the answer as [`ChatCall::start`] does, for a caller that needs only the whole of it.
    #[must_use]
    pub fn start_whole(&self) -> ChatAnswer<'_> {
        let spend = CallSpend::new(self.guard.clone());
        let gate = Arc::<CallSpend>::clone(&spend);
        self.start_with(self.ready.opened.model.chat_whole(&self.request, gate), spend)
    }

    fn start_with<'a>(&'a self, stream: Box<dyn ChatStream + 'a>, spend: Arc<CallSpend>) -> ChatAnswer<'a> {
        ChatAnswer {
            stream,
            reply: ReplyBuilder::default(),
            call: self,
            is_sent: false,
            is_recorded: false,
            spend,
            has_begun: false,
            expected: None,
            first_request: None,
        }
    }
}

impl ChatAnswer<'_> {
    /// Waits for the next event. `None` after the last. Must be awaited on a thread with a runtime that has timers and sockets;
    /// see [`agentos_ground::runtime::block_on`].
    ///
    /// # Errors
    /// If there is no complete answer.
    pub async fn next_event(&mut self) -> Result<Option<ChatEvent>, EffectError> {
        let ready = &self.call.ready;
        if self.first_request.is_none() {
            // Kept until the answer has ended: other programs then wait with their first request to a model that is not loaded.
            self.first_request = Some(await_first_request(&self.call.desk.ground, &ready.opened.tool).await);
        }
        if !std::mem::replace(&mut self.is_sent, true) {
            self.expected = self.call.desk.ledger.expect_turn();
        }
        match self.stream.next_event().await.map_err(word_failure) {
            Ok(event) => {
                if let Some(event) = &event {
                    self.has_begun |= !matches!(event, ChatEvent::Note { .. });
                    self.reply.add_event(event.clone());
                }
                Ok(event)
            }
            Err(error) => {
                if let Some(refusal) = self.spend.take_error() {
                    // Nothing was sent, so nothing is recorded.
                    self.expected = None;
                    self.is_recorded = true;
                    return Err(refusal);
                }
                let code = error.code.to_string();
                let call = self.describe_call(None, Some(code.clone()));
                if let Err(unwritten) = self.record_end(TurnEnd::Failed { code }, call).await {
                    // The call has failed already, and its failure is what the caller has to know.
                    self.call.desk.ground.notify(unwritten_notice(&unwritten));
                }
                Err(error)
            }
        }
    }

    /// Records the whole answer, after its last event, and returns its report.
    ///
    /// # Errors
    /// If the answer has no end, or its turn cannot be recorded.
    pub async fn finish_report(mut self) -> Result<ChatReport, EffectError> {
        let opened = &self.call.ready.opened;
        let provider = opened.model.provider_name();
        // Without its end, the answer is recorded when it is dropped.
        let reply = std::mem::take(&mut self.reply)
            .finish_reply(provider)
            .ok_or_else(|| {
                EffectError::new(Cause::Tool, "broken-answer", "the answer ended without its end")
            })?;
        let call = self.describe_call(Some(&reply), None);
        let written = self.record_end(TurnEnd::Answered, call).await;
        // An answer whose cost is in no record must not look like one that is.
        written.map_err(|error| unrecorded_turn(&error))?;
        let ChatReply {
            message,
            text,
            usage,
            end,
        } = reply;
        Ok(ChatReport {
            version: 1,
            provider: provider.to_owned(),
            model_id: end.model_id,
            finish: end.finish,
            text,
            message,
            usage,
            cost_micro_usd: usage
                .and_then(|usage| opened.price.cost(&usage))
                .map(ExactCost::micro_dollars),
            endpoint: end.endpoint,
            latency_ms: end.latency_ms,
            warnings: end.warnings,
        })
    }
}

impl ChatAnswer<'_> {
    /// Describes the call for the ledger. `reply` is the whole answer, if there is one.
    fn describe_call(&self, reply: Option<&ChatReply>, failure: Option<String>) -> CallRecord {
        // Counts before the end are too low, and a cost of them would look complete.
        let usage = reply.and_then(|reply| reply.usage);
        let OpenedModel {
            model,
            model_name,
            price,
            ..
        } = &self.call.ready.opened;
        CallRecord {
            provider: model.provider_name().to_owned(),
            model: model_name.clone(),
            model_id: reply.and_then(|reply| reply.end.model_id.clone()),
            endpoint: reply.and_then(|reply| reply.end.endpoint.clone()),
            usage,
            price: (!price.is_unknown()).then(|| price.clone()),
            cost_usd: usage.and_then(|usage| price.cost(&usage)),
            latency_ms: reply.map_or(0, |reply| reply.end.latency_ms),
            finish: reply.map(|reply| reply.end.finish),
            failure,
            reservation: self.spend.reservation(),
        }
    }

    /// Closes the reservation, and makes the turn for the ledger. `None` if nothing was sent, or it is recorded already.
    fn close_call(&mut self, end: TurnEnd, call: CallRecord) -> Option<TurnRecord> {
        if !self.is_sent || std::mem::replace(&mut self.is_recorded, true) {
            return None;
        }
        self.expected = None;
        self.spend.close(&call, self.has_begun);
        let choice = self.call.pool.as_ref();
        if let Some((turn, pinned)) = choice.filter(|_| end == TurnEnd::Answered) {
            turn.remember_answer(&self.call.desk.ground, pinned);
        }
        Some(TurnRecord {
            session: None,
            caller: self.call.desk.token.clone(),
            source: TurnSource::Message,
            repository: None,
            runs: Vec::new(),
            reads: Vec::new(),
            // Without a session, nobody could read them again.
            messages: Vec::new(),
            choice: choice.map(|(_, pinned)| Box::new(pinned.record.clone())),
            discarded: Vec::new(),
            calls: vec![call],
            end,
        })
    }

    /// Writes the turn to the ledger.
    ///
    /// # Errors
    /// If the record cannot be made durable.
    async fn record_end(&mut self, end: TurnEnd, call: CallRecord) -> Result<(), EffectError> {
        match self.close_call(end, call) {
            Some(record) => self.call.desk.ledger.record_turn(&self.call.turn, record).await,
            None => Ok(()),
        }
    }
}

/// Makes the error of a turn that was answered and paid for, and is in no record.
pub fn unrecorded_turn(error: &EffectError) -> EffectError {
    let message = format!(
        "the model answered, and the turn cannot be recorded: {}",
        error.message
    );
    EffectError::new(Cause::Evidence, "turn-unrecorded", message)
}

impl Drop for ChatAnswer<'_> {
    fn drop(&mut self) {
        let call = self.describe_call(None, Some("cancelled".to_owned()));
        if let Some(record) = self.close_call(TurnEnd::Cancelled, call) {
            let ledger = &self.call.desk.ledger;
            if let Err(error) = ledger.record_at_once(&self.call.turn, record) {
                self.call.desk.ground.notify(unwritten_notice(&error));
            }
        }
    }
}

/// Returns the name of a provider with a profile.
///
/// # Errors
/// If the provider is a program or a recording, or unknown.
pub fn server_name<'a>(tools: &Tools, provider: &'a ProviderKind) -> Result<&'a str, EffectError> {
    match provider {
        ProviderKind::Profile(name) => {
            tools.require_known(name)?;
            Ok(name)
        }
        ProviderKind::Replay | ProviderKind::AnyProgram | ProviderKind::ToolProgram => {
            Err(not_a_server(provider.name()))
        }
    }
}

/// Checks that a provider is reached over the network.
///
/// # Errors
/// If it is a program.
pub fn require_server(name: &str, profile: &Profile) -> Result<(), EffectError> {
    match profile.adapter.is_program() {
        true => Err(not_a_server(name)),
        false => Ok(()),
    }
}

/// Returns the folder in which the processes of models may have folders of their own.
///
/// # Errors
/// If there is no home folder.
pub fn models_folder(ground: &Ground) -> Result<PathBuf, EffectError> {
    let folder = ground.environment().cache_dir();
    let folder = folder
        .ok_or_else(|| usage_error("there is no home folder to run the adapter in").hint("set `HOME`"))?;
    Ok(folder.join("models"))
}

pub(crate) fn not_a_server(provider: &str) -> EffectError {
    usage_error(format!(
        "`{provider}` is not a model behind a server, so no message can be sent to it"
    ))
    .hint("name a provider with an address")
}

/// Converts the failure of an answer, with the cause that a run would have.
pub fn word_failure(error: ToolError) -> EffectError {
    let cause = match error.failure {
        ToolFailure::Timeout => Cause::Limit,
        ToolFailure::Failed => Cause::Tool,
    };
    let mut effect = EffectError::new(cause, &error.detail, error.message).caused_by(error.causes);
    effect.hint = error.advice.fix;
    effect.suggest_steps(error.advice.next)
}
