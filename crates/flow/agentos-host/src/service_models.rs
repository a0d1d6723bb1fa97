//! The models of a service: any model or pool that its clients name, and the answer to each request.
//!
//! Owns: what a name of a client means, and the order of a served answer. Never: chooses a provider for a name that is none, or shows
//! pieces of an answer that another member of a pool then gives.
//!
//! | name | meaning |
//! |---|---|
//! | `PROVIDER/MODEL` | this model of the provider, or the user's own model of this id |
//! | `PROVIDER` | the model of its profile |
//! | `POOL` | the member that the pool chooses |
//! | `default` | the user's default provider |
//! | the name of a built-in model, as `gpt-4o` | this model of its vendor |

mod side;

use std::sync::{Arc, Mutex, PoisonError};

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_model::{ChatEvent, ChatMessage, ChatRequest, ChatRole, MessagePart};
use agentos_profile::{known_model, known_models};
use agentos_tool::{ExactCost, RunId};
use tokio::sync::mpsc;

use crate::Host;
use agentos_calls::calls::{CallDesk, KeptModels};
use agentos_calls::chat::ChatCall;
use agentos_calls::chat_report::ChatReport;
use agentos_calls::hosted::ModelProcesses;
use agentos_calls::ledger::{LedgerWriter, TurnLedger};
use agentos_calls::pools::{PoolQuery, PoolTurn};
use agentos_ground::options::{ProviderChoice, ProviderOverrides};
use agentos_ground::runtime::run_blocking;
use agentos_providers::known_tools::read_tools;
use agentos_providers::model_name::{ModelName, ModelNames};
pub use side::{SideAnswer, SideCall, TokenCount, estimate_request};

/// Events that wait for a slow client. Then its server waits too.
const MOST_WAITING: usize = 16;
/// Name of the user's default provider.
const DEFAULT_NAME: &str = "default";

/// Models that a service offers. Clones share their confined processes.
#[derive(Clone)]
pub struct ServiceModels {
    host: Host,
    processes: ModelProcesses,
    kept: KeptModels,
    /// Writer of the ledger. `None` before the first call.
    ledger: Arc<Mutex<Option<LedgerWriter>>>,
}

/// Model or pool that clients can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedModel {
    /// Name.
    pub id: String,
    /// Provider whose profile it is, or the pool itself.
    pub owner: String,
}

/// Event of a served answer.
#[derive(Debug)]
pub enum ServedEvent {
    /// The answer begins: this model gives it. Comes once, before the first piece.
    Started {
        /// Provider of the model.
        provider: String,
        /// Model that was requested. `None` if the server chooses.
        model: Option<String>,
    },
    /// Piece of the answer.
    Piece(ChatEvent),
    /// The whole answer, recorded in the ledger. Nothing follows.
    Ended(Box<ServedEnd>),
    /// The failure of the last attempt. Nothing follows.
    Failed(EffectError),
}

/// End of a served answer.
#[derive(Debug)]
pub struct ServedEnd {
    /// The answer.
    pub report: ChatReport,
    /// Model that was requested. `None` if the server chose.
    pub model: Option<String>,
    /// Exact cost. `None` if it is unknown.
    pub cost: Option<ExactCost>,
}

impl ServiceModels {
    /// Makes the models of a service.
    #[must_use]
    pub fn new(host: &Host) -> Self {
        Self {
            host: host.clone(),
            processes: ModelProcesses::new(),
            kept: KeptModels::default(),
            ledger: Arc::default(),
        }
    }

    /// Prepares a request to a model that is open, without waiting. `token` is the name of the token with which it came.
    ///
    /// # Errors
    /// The request, if settings must be read first: then [`ServiceModels::prepare_call`] prepares it.
    pub fn prepare_open(
        &self,
        name: &str,
        request: ChatRequest,
        (turn, token): (&RunId, Option<&str>),
    ) -> Result<ChatCall, Box<ChatRequest>> {
        let ready = self.kept.find_named(name);
        let guard = ready.as_ref().and_then(|ready| ready.find_guard(token));
        let (Some(ready), Some(guard), Ok(desk)) = (ready, guard, self.find_desk(token)) else {
            return Err(Box::new(request));
        };
        let model = (ready, guard, request.max_output_tokens);
        Ok(ChatCall::with_model(desk, turn, request, model, None))
    }

    /// Prepares a request to a model that a client names, with the token of this name. Reads files, and sends nothing.
    ///
    /// # Errors
    /// If there is no such model, its profile is invalid, no member of a pool fits, or the cost cannot be recorded.
    pub fn prepare_call(
        &self,
        name: &str,
        request: ChatRequest,
        (turn, token): (&RunId, Option<&str>),
    ) -> Result<ChatCall, EffectError> {
        // First: without a writer of the ledger, nothing is sent.
        let desk = self.find_desk(token)?;
        let (choice, is_pool) = self.resolve_name(name)?;
        let provider = ProviderChoice {
            max_output_tokens: request.max_output_tokens,
            ..choice.clone()
        };
        if !is_pool {
            let opened = self.kept.keep_named(&self.host, name, &choice, &self.processes)?;
            let guard = opened.open_guard(&self.host, token)?;
            let model = (opened, guard, request.max_output_tokens);
            return Ok(ChatCall::with_model(desk, turn, request, model, None));
        }
        let mut pool = PoolTurn::begin(&self.host, &provider, describe_request(&request))?;
        let pinned = pool
            .as_mut()
            .map(|pool| pool.choose_next(&self.host))
            .transpose()?;
        ChatCall::open(desk, turn, request, &provider, pool.zip(pinned.flatten()))
    }

    /// Returns what all calls share. The ledger is opened with the first of them.
    fn find_desk(&self, token: Option<&str>) -> Result<CallDesk, EffectError> {
        // A writer is put in whole, so the value is valid even after a panic of another thread.
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = match ledger.as_ref().filter(|writer| !writer.has_ended()) {
            Some(writer) => writer.clone(),
            None => ledger.insert(LedgerWriter::start(&self.host)?).clone(),
        };
        let ledger = TurnLedger::Shared(writer);
        Ok(CallDesk::for_service(
            &self.host,
            &self.processes,
            ledger,
            (&self.kept, token),
        ))
    }

    /// Waits for the whole answer: of the model, or of other members of a pool after it. Dropping the future ends it.
    ///
    /// # Errors
    /// The failure of the last attempt.
    pub async fn await_answer(&self, mut call: ChatCall) -> Result<ServedEnd, EffectError> {
        loop {
            let failure = match await_attempt(&call).await {
                Ok(end) => return Ok(end),
                Err(failure) => failure,
            };
            match run_blocking(|| call.follow_failure(&failure))? {
                Some(next) => call = next,
                None => return Err(failure),
            }
        }
    }

    /// Starts the answer on the runtime of the caller. Its pieces are passed on, and it ends when the receiver is dropped. Another member
    /// of a pool answers only as long as nothing was passed on.
    #[must_use]
    pub fn start_answer(&self, call: ChatCall) -> mpsc::Receiver<ServedEvent> {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        tokio::spawn(async move {
            let end = match serve_answer(call, &sender).await {
                Ok(Some(end)) => ServedEvent::Ended(Box::new(end)),
                Ok(None) => return,
                Err(failure) => ServedEvent::Failed(failure),
            };
            // A client that has gone needs no end.
            let _ = sender.send(end).await;
        });
        receiver
    }

    /// Lists the models that clients can name: pools, the user's own models, and what the providers that are set up have.
    ///
    /// # Errors
    /// If the profiles or the user's models cannot be read.
    pub fn list_offered(&self) -> Result<Vec<OfferedModel>, EffectError> {
        let host = &self.host;
        let tools = read_tools(host)?;
        let settings = host.providers().read_settings()?;
        let default = settings.default_provider().map(|default| default.provider);
        let mut offered = Vec::new();
        for provider in tools.profiled_names() {
            let pool = agentos_providers::pool_files::is_pool(&tools, provider);
            if !pool && tools.set_up_by(host, provider, default.as_deref()).is_none() {
                continue;
            }
            let overrides = ProviderOverrides::default();
            let is_server = tools
                .resolve_profile(host, provider, &overrides)
                .is_ok_and(|resolved| !resolved.profile.adapter.is_program());
            if pool || is_server {
                offered.push(OfferedModel {
                    id: provider.to_owned(),
                    owner: provider.to_owned(),
                });
            }
            let known = known_models()
                .iter()
                .filter(|model| is_server && model.provider == provider);
            offered.extend(known.map(|model| OfferedModel {
                id: format!("{provider}/{}", model.name),
                owner: provider.to_owned(),
            }));
        }
        offered.extend(tools.user_models().iter_models().map(|model| OfferedModel {
            id: model.id.clone(),
            owner: model.served_by().to_owned(),
        }));
        offered.sort_by(|one, other| one.id.cmp(&other.id));
        offered.dedup_by(|one, other| one.id == other.id);
        Ok(offered)
    }

    /// Finds the provider and model that a name means. True if it is a pool, which chooses again for each request.
    fn resolve_name(&self, name: &str) -> Result<(ProviderChoice, bool), EffectError> {
        let tools = read_tools(&self.host)?;
        let named = match name {
            DEFAULT_NAME => {
                let settings = self.host.providers().read_settings()?;
                let default = settings.default_provider().ok_or_else(|| unknown_model(name))?;
                ModelName {
                    provider: default.provider.into(),
                    model: default.model,
                }
            }
            _ => {
                let names = ModelNames::of_tools(&tools);
                let usual = self.host.providers().read_usual()?;
                let found = names.split_id(name, usual.as_ref())?;
                found.unwrap_or_else(|| names.resolve_alias(ModelName::parse(name)))
            }
        };
        let provider = named.provider.name();
        // A client of OpenAI or Anthropic knows the models of its vendor by their bare names, and a repository cannot take them.
        let bare = known_model(name).filter(|known| known.name == name);
        let named = match (bare, tools.has_profile(provider)) {
            (Some(known), has_profile) if !has_profile || tools.is_of_repository(provider) => {
                ModelName::parse(&format!("{}/{}", known.provider, known.name))
            }
            (_, true) => named,
            (_, false) => return Err(unknown_model(name)),
        };
        let is_pool = agentos_providers::pool_files::is_pool(&tools, named.provider.name());
        let choice = ProviderChoice {
            overrides: ProviderOverrides {
                model: named.model,
                ..ProviderOverrides::default()
            },
            ..ProviderChoice::named(named.provider)
        };
        Ok((choice, is_pool))
    }
}

fn unknown_model(name: &str) -> EffectError {
    let message = format!("there is no model or pool `{name}`");
    EffectError::new(Cause::Usage, "unknown-model", message)
        .hint("`GET /v1/models` lists the names; another model of a provider is `PROVIDER/MODEL`")
}

/// Asks the model, and other members of a pool after it. `None` if the client has gone.
async fn serve_answer(
    mut call: ChatCall,
    sender: &mpsc::Sender<ServedEvent>,
) -> Result<Option<ServedEnd>, EffectError> {
    loop {
        let mut has_started = false;
        let failure = match serve_attempt(&call, sender, &mut has_started).await {
            Ok(report) => return Ok(report),
            Err(failure) => failure,
        };
        // What was passed on cannot be withdrawn, and an answer has one author.
        if has_started {
            return Err(failure);
        }
        match run_blocking(|| call.follow_failure(&failure))? {
            Some(next) => call = next,
            None => return Err(failure),
        }
    }
}

/// Asks one model. `None` if the client has gone.
async fn serve_attempt(
    call: &ChatCall,
    sender: &mpsc::Sender<ServedEvent>,
    has_started: &mut bool,
) -> Result<Option<ServedEnd>, EffectError> {
    let started = || ServedEvent::Started {
        provider: call.provider_name().to_owned(),
        model: call.model_name().map(str::to_owned),
    };
    let mut answer = call.start();
    loop {
        let event = tokio::select! {
            event = answer.next_event() => event?,
            // Dropping the answer closes the connection, so that the server stops working for nobody.
            () = sender.closed() => return Ok(None),
        };
        let Some(event) = event else {
            break;
        };
        // The end is written after it is recorded, from the report.
        let is_piece = !matches!(event, ChatEvent::Note { .. } | ChatEvent::Finish(_));
        if !is_piece {
            continue;
        }
        if !std::mem::replace(has_started, true) && sender.send(started()).await.is_err() {
            return Ok(None);
        }
        if sender.send(ServedEvent::Piece(event)).await.is_err() {
            return Ok(None);
        }
    }
    let report = answer.finish_report().await?;
    if !*has_started && sender.send(started()).await.is_err() {
        return Ok(None);
    }
    Ok(Some(ServedEnd::of_report(call, report)))
}

/// Asks one model for its whole answer.
async fn await_attempt(call: &ChatCall) -> Result<ServedEnd, EffectError> {
    let mut answer = call.start_whole();
    while answer.next_event().await?.is_some() {}
    let report = answer.finish_report().await?;
    Ok(ServedEnd::of_report(call, report))
}

impl ServedEnd {
    fn of_report(call: &ChatCall, report: ChatReport) -> Self {
        Self {
            cost: report.usage.and_then(|usage| call.find_cost(&usage)),
            model: call.model_name().map(str::to_owned),
            report,
        }
    }
}

/// Describes a request for the choice of a pool's member.
fn describe_request(request: &ChatRequest) -> PoolQuery {
    let is_question = |message: &&ChatMessage| message.role == ChatRole::User && !message.text().is_empty();
    let last = request.messages.iter().rfind(is_question);
    let message = last.map(ChatMessage::text).unwrap_or_default();
    let parts = || request.messages.iter().flat_map(|message| &message.parts);
    let images = parts()
        .filter(|part| matches!(part, MessagePart::Image(_)))
        .count();
    let texts = parts().filter_map(|part| match part {
        MessagePart::Text(text) => Some(text),
        MessagePart::ToolResult(result) => Some(&result.text),
        MessagePart::Thinking(_) | MessagePart::Image(_) | MessagePart::ToolCall(_) => None,
    });
    let characters: usize = texts
        .chain(&request.system)
        .map(|text| text.chars().count())
        .sum();
    let context = characters.saturating_sub(message.chars().count());
    PoolQuery {
        images,
        tools: request.tools.len(),
        context_chars: u64::try_from(context).unwrap_or(u64::MAX),
        message,
        ..PoolQuery::default()
    }
}
