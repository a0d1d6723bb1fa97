//! A task whose tool reads the repository itself: a model that calls tools, and ends with a proposal.
//!
//! Owns: the conversation of a run with its model, as one [`Adapter`]. Never: decides what lands: for the engine it is a tool like any
//! other, and everything that it says is an answer.
//!
//! | attempt | what the model is sent |
//! |---|---|
//! | first | the task, with the files that were named or chosen for it |
//! | later, after a call of `propose_change` | the reason for which the change did not land, as the result of that call |
//! | later, after a text | the reason, as a message of the user |
//!
//! An attempt ends with a call of `propose_change`, with a text, or at a limit. Its texts are not kept: the evidence has the prompt, the
//! answer, the names of the calls, each text of the repository that the model was shown, by its hash, and each call of a toolbox with its
//! result.

mod conversation;
mod tools;

use std::time::Duration;

use agentos_api::{NextStep, RunLimit, RunOption, WindowSource};
use agentos_chat::{
    FinishedTurn, StoreError, ToolPermissions, ToolSession, TurnEvent, TurnFailure, TurnLimits, TurnModel,
    TurnOrder, TurnPorts, run_turn,
};
use agentos_engine::Cause;
use agentos_engine::context_search::ModelWindow;
use agentos_engine::ports::{Clock as _, EffectError};
use agentos_ledger::{CallRecord, TurnEnd, TurnSource};
use agentos_model::{ChatMessage, Model};
use agentos_policy::ToolFacts;
use agentos_profile::{Profile, ResolvedProfile};
use agentos_tool::{
    Adapter, BoxFuture, Confinement, ErrorCategory, FinishReason, Progress, ProgressSink, Timestamp,
    TokenPrices, ToolAdvice, ToolCapabilities, ToolError, ToolFailure, ToolHealth, ToolOutput, ToolTask,
};
use agentos_window::WindowRules;
use tokio::sync::Mutex;

use agentos_calls::budgets::guard::{BudgetGuard, GuardedModel};
use agentos_calls::budgets::meter::BudgetMeter;
use agentos_calls::chat_tools::{AttemptView, RepositoryTools, RepositoryToolsSpec};
use agentos_calls::hosted::{ModelProcesses, confine_model};
use agentos_calls::toolbox_session::OpenToolboxes;
use agentos_ground::Ground;
use agentos_ground::clock::SystemClock;
use agentos_ground::error::usage_error;
use agentos_ground::options::SessionOptions;
use agentos_ground::proposals::ModelFacts;
use agentos_ground::provider_kind::ProviderKind;
use agentos_ground::task_spec::ExploreLimits;
use agentos_ground::task_spec::ExploreMode;
use agentos_ground::window_share::{measure_window, reserve_answer};
use agentos_providers::Providers;
use agentos_providers::called_tool::make_called_tool;
use agentos_providers::session::SessionFolders;
use agentos_providers::tools::Tool;
use conversation::{RunConversation, sum_usage};
use tools::{ExploreTools, PROPOSE, ReadReports, takes_tools};

/// Most characters of a call in the transcript.
const LONGEST_CALL: usize = 400;

/// Returns the limits of the tools of a profile's model. `None` if the model gets no tools.
pub(crate) fn choose_limits(mode: ExploreMode, profile: &Profile) -> Option<ExploreLimits> {
    match mode {
        ExploreMode::IfModel(limits) => takes_tools(profile).then_some(limits),
        ExploreMode::Never => None,
        ExploreMode::Always(limits) => Some(limits),
    }
}

/// Refuses tools of a model for a provider that has no profile, and so no model.
///
/// # Errors
/// If tools are wanted, and the provider has no profile.
pub(crate) fn require_profile(mode: ExploreMode, provider: &ProviderKind) -> Result<(), EffectError> {
    match (provider, mode) {
        (ProviderKind::Profile(_), _) | (_, ExploreMode::Never | ExploreMode::IfModel(_)) => Ok(()),
        (other, ExploreMode::Always(_)) => Err(without_tools(other.name())),
    }
}

/// A model with tools, as a tool of the engine.
struct Explorer {
    ground: Ground,
    session: SessionOptions,
    facts: ModelFacts,
    model: Box<dyn Model>,
    /// The process of the model.
    processes: ModelProcesses,
    /// Adapter of the same server, for its health and abilities. It is never given a task.
    server: Box<dyn Adapter>,
    price: TokenPrices,
    max_tokens: Option<u64>,
    /// The window that profile or catalogue state. `None` if neither does.
    window: Option<ModelWindow>,
    limits: ExploreLimits,
    /// Toolboxes whose tools the model is offered too.
    toolboxes: Vec<String>,
    conversation: Mutex<RunConversation>,
    /// Passes each call to the ledger when it ends: the engine drops the turn if the user stops the run, and it was paid for.
    meter: BudgetMeter,
}

/// Makes the tool of a task whose model reads the repository itself.
///
/// # Errors
/// If the model takes no tools, its profile is invalid, the user does not trust one of the toolboxes, or this program's own file cannot
/// be found.
pub(crate) fn make_explorer(
    ground: &Ground,
    folders: &SessionFolders<'_>,
    resolved: &ResolvedProfile,
    limits: ExploreLimits,
    toolboxes: &[String],
) -> Result<Tool, EffectError> {
    let profile = &resolved.profile;
    if !takes_tools(profile) {
        return Err(without_tools(&profile.provider));
    }
    Providers::of(ground).require_trusted(toolboxes)?;
    let mut made = make_called_tool(ground, resolved)?;
    let hosting = made.hosting.take();
    let hosting = hosting.ok_or_else(|| usage_error("this provider is not a model behind a server"))?;
    let folder = folders.open_copies()?.path().to_owned();
    let processes = ModelProcesses::new();
    let model = confine_model(ground, hosting, folder, &processes, &mut made.notices)?;
    let guard = BudgetGuard::open(
        ground,
        GuardedModel {
            session: None,
            provider: profile.provider.clone(),
            model: profile.model.clone(),
            execution_mode: profile.execution_mode(),
            price: made.price.clone(),
            silent: made.silent.clone(),
            window: made.bounding_window,
        },
    )?;
    let explorer = Explorer {
        ground: ground.clone(),
        session: folders.options().clone(),
        facts: ModelFacts::of_profile(profile),
        model,
        processes,
        server: made.adapter,
        price: made.price.clone(),
        max_tokens: made.max_tokens,
        window: made.window,
        limits,
        toolboxes: toolboxes.to_vec(),
        conversation: Mutex::default(),
        meter: BudgetMeter::for_run(guard, ground),
    };
    Ok(Tool {
        adapter: Box::new(explorer),
        has_tools: true,
        ..made
    })
}

/// Makes the error of a provider whose model cannot call tools.
pub(crate) fn without_tools(provider: &str) -> EffectError {
    let message = format!("`{provider}` takes no tools, so its model cannot read the repository itself");
    EffectError::new(Cause::Tool, "no-tools", message).suggest_steps([NextStep::LeaveOut {
        option: RunOption::Explore,
    }])
}

impl Adapter for Explorer {
    fn provider(&self) -> &str {
        self.server.provider()
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        self.server.health_check(now)
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.answer_task(task, progress))
    }

    fn supports(&self) -> ToolCapabilities {
        self.server.supports()
    }

    fn confinement(&self) -> Confinement {
        self.model.confinement()
    }
}

impl Explorer {
    async fn answer_task(
        &self,
        task: &ToolTask,
        progress: &dyn ProgressSink,
    ) -> Result<ToolOutput, ToolError> {
        // What the process was refused is known at its end, and its folders must not be used after the call.
        let _end = self.processes.end_on_drop();
        let mut conversation = self.conversation.lock().await;
        let conversation = &mut *conversation;
        let message = conversation.write_message(task).map_err(fail_store)?;
        let tools = self.open_tools(task, conversation.sent).await?;
        let reads = ReadReports {
            tools: &tools,
            progress,
        };
        let finished = self
            .take_turn(task, message, conversation, &tools, progress)
            .await;
        conversation.sent = conversation.sent.saturating_add(reads.report());
        drop(reads);
        // Each was reported when it ended.
        let calls = conversation.store.take_calls();
        let finished = finished.map_err(fail_store)?;
        let proposal = tools.take_proposal();
        let text = match (proposal.answer.is_empty(), &finished.answer) {
            (false, Some(_)) => proposal.answer,
            (true, Some(text)) => text.clone(),
            (_, None) => return Err(self.describe_failure(&finished, &calls)),
        };
        conversation.keep_open(finished.open_results, proposal.calls);
        let last = calls.last();
        Ok(ToolOutput {
            text,
            // Only whole answers are kept, and a call of the proposal is the end as much as a text.
            finish: FinishReason::Stop,
            model_id: last.and_then(|call| call.model_id.clone()),
            endpoint: last.and_then(|call| call.endpoint.clone()),
            usage: sum_usage(&calls),
            latency_ms: sum_latency(&calls),
            warnings: Vec::new(),
        })
    }

    /// Opens the tools of an attempt on the base as it is now.
    async fn open_tools(&self, task: &ToolTask, sent: u64) -> Result<ExploreTools, ToolError> {
        let (ground, session) = (self.ground.clone(), self.session.clone());
        // Git's objects are read with blocking calls.
        let find = move || RepositoryTools::find_target(&ground, &session);
        let found = tokio::task::spawn_blocking(find).await;
        let target = found
            .map_err(|error| fail("explore", error.to_string()))?
            .map_err(|error| fail(&error.code, error.message))?;
        let facts = ToolFacts {
            provider: self.facts.provider.clone(),
            model: self.facts.model.clone(),
            execution_mode: self.facts.execution_mode,
            enforcement: self.model.confinement().enforcement,
            attempt: task.attempt,
            at: SystemClock.now(),
            context_bytes: sent,
            target_ref: Some(target.refname.clone()),
            checked: false,
        };
        let spec = RepositoryToolsSpec {
            session: self.session.clone(),
            author: self.facts.clone(),
            receivers: Vec::new(),
            proposals: None,
            conversation: task.task_id.to_string(),
        };
        let view = AttemptView { facts, target };
        // For each attempt again: their processes end with it, as all processes of a tool do.
        let toolboxes = OpenToolboxes::open(&self.ground, &self.toolboxes).await;
        toolboxes.warn_of_network(&self.ground);
        let spec = RepositoryToolsSpec {
            receivers: toolboxes.list_receivers(),
            ..spec
        };
        let reading = RepositoryTools::for_attempt(&self.ground, spec, view, sent);
        Ok(ExploreTools::new(reading, toolboxes))
    }

    async fn take_turn(
        &self,
        task: &ToolTask,
        message: ChatMessage,
        conversation: &mut RunConversation,
        tools: &ExploreTools,
        progress: &dyn ProgressSink,
    ) -> Result<FinishedTurn, StoreError> {
        let window = measure_window(self.find_window(task));
        let max_output_tokens = task.limits.max_output_tokens.or(self.max_tokens);
        let order = TurnOrder {
            turn: task.task_id.clone(),
            source: TurnSource::Run,
            message,
            limits: TurnLimits {
                rounds: usize::try_from(self.limits.rounds).unwrap_or(usize::MAX),
                total: Duration::from_secs(self.limits.seconds),
                ..TurnLimits::default()
            },
            rules: WindowRules::default(),
            permissions: ToolPermissions {
                other: !self.toolboxes.is_empty(),
                ..ToolPermissions::default()
            },
            // Another attempt begins with a new request for the entire change.
            keeps_cut: |_| false,
            has_other: false,
        };
        let ports = TurnPorts {
            store: &mut conversation.store,
            model: TurnModel {
                model: self.model.as_ref(),
                requested: self.facts.model.as_deref(),
                price: &self.price,
                window,
                output_reserve: reserve_answer(window, max_output_tokens),
                max_output_tokens,
                takes_tools: true,
            },
            summarizer: None,
            tools,
            tool_session: &mut ToolSession::new(),
            emit: &mut |event| show_event(event, progress),
            meter: &self.meter,
            // The engine drops the whole call if the user stops the run.
            cancel: Box::pin(std::future::pending()),
        };
        run_turn(&mut conversation.state, order, ports).await
    }

    /// Returns the window: the smaller one of what the server has loaded and what profile or catalogue state. `None` if nobody states
    /// one.
    fn find_window(&self, task: &ToolTask) -> Option<ModelWindow> {
        let loaded = task.limits.loaded_context.map(|tokens| ModelWindow {
            tokens,
            source: WindowSource::Server,
        });
        let known = [loaded, self.window].into_iter().flatten();
        known.min_by_key(|window| window.tokens)
    }

    fn describe_failure(&self, finished: &FinishedTurn, calls: &[CallRecord]) -> ToolError {
        let error = match (&finished.failure, &finished.record.end) {
            (Some(failure), _) => word_failure(failure),
            (None, TurnEnd::Limited { limit }) => reached_limit(self.limits, limit),
            (None, TurnEnd::Answered | TurnEnd::Cancelled | TurnEnd::Failed { .. }) => {
                fail("no-answer", "the model ended without an answer")
            }
        };
        ToolError {
            endpoint: calls.last().and_then(|call| call.endpoint.clone()),
            latency_ms: sum_latency(calls),
            ..error
        }
    }
}

/// Makes the error of an attempt that reached a limit.
fn reached_limit(limits: ExploreLimits, limit: &str) -> ToolError {
    let ExploreLimits { rounds, seconds } = limits;
    let (message, raise) = match limit {
        "rounds" => (
            format!("the model called tools in more than {rounds} of its answers, and proposed no change"),
            RunLimit::ExploreRounds,
        ),
        _ => (
            format!("the model did not propose a change within {seconds} s"),
            RunLimit::ExploreTime,
        ),
    };
    ToolError {
        failure: ToolFailure::Timeout,
        advice: ToolAdvice::new(None, vec![NextStep::RaiseLimit { limit: raise }]),
        ..fail("explore-limit", message)
    }
}

/// Passes an event of the conversation on.
fn show_event(event: TurnEvent, progress: &dyn ProgressSink) {
    match event {
        TurnEvent::Text { text } => progress.progress(Progress::Text(text)),
        TurnEvent::Note { note } => progress.progress(Progress::Note(note)),
        TurnEvent::ToolBegun { name, arguments, .. } => {
            // The answer has a record of its own.
            let line = match name.as_str() {
                PROPOSE => name,
                _ => {
                    let call = format!("{name} {arguments}");
                    call.chars().take(LONGEST_CALL).collect()
                }
            };
            progress.progress(Progress::Transcript(format!("{line}\n")));
        }
        TurnEvent::Gauge(_)
        | TurnEvent::Thinking { .. }
        | TurnEvent::TextWasThinking
        | TurnEvent::Discarded { .. }
        | TurnEvent::Cut { .. }
        | TurnEvent::Usage(_)
        | TurnEvent::ToolEnded { .. }
        | TurnEvent::Compressed(_) => {}
    }
}

fn sum_latency(calls: &[CallRecord]) -> u64 {
    calls
        .iter()
        .map(|call| call.latency_ms)
        .fold(0, u64::saturating_add)
}

fn word_failure(failure: &TurnFailure) -> ToolError {
    ToolError {
        failure: match failure.is_limit {
            true => ToolFailure::Timeout,
            false => ToolFailure::Failed,
        },
        category: failure.category.unwrap_or(ErrorCategory::Runtime),
        causes: failure.causes.clone(),
        advice: failure.advice.clone(),
        ..fail(&failure.code, failure.message.clone())
    }
}

fn fail_store(error: StoreError) -> ToolError {
    fail(&error.code, error.message)
}

fn fail(code: &str, message: impl Into<String>) -> ToolError {
    ToolError {
        failure: ToolFailure::Failed,
        category: ErrorCategory::Runtime,
        detail: code.to_owned(),
        health: None,
        message: message.into(),
        causes: Vec::new(),
        advice: Box::default(),
        endpoint: None,
        latency_ms: 0,
    }
}

#[cfg(test)]
mod tests;
