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

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_model::{ChatEvent, ChatMessage, ChatRequest, ChatRole, MessagePart};
use agentos_profile::{known_model, known_models};
use agentos_tool::{ExactCost, RunId};
use tokio::sync::mpsc;

use crate::chat::ChatCall;
use crate::chat_report::ChatReport;
use crate::health::read_tools;
use crate::host::Host;
use crate::hosted::ModelProcesses;
use crate::model_name::ModelName;
use crate::options::{ProviderChoice, ProviderOverrides};
use crate::pools::{PoolQuery, PoolTurn};
use crate::runtime::run_blocking;

/// Events that wait for a slow client. Then its server waits too.
const MOST_WAITING: usize = 16;
/// Name of the user's default provider.
const DEFAULT_NAME: &str = "default";

/// Models that a service offers. Clones share their confined processes.
#[derive(Clone)]
pub struct ServiceModels {
    host: Host,
    processes: ModelProcesses,
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
    /// Piece of the answer, only in a stream.
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
        }
    }

    /// Prepares a request to a model that a client names. Reads files, and sends nothing.
    ///
    /// # Errors
    /// If there is no such model, its profile is invalid, no member of a pool fits, or the cost cannot be recorded.
    pub fn prepare_call(
        &self,
        name: &str,
        request: ChatRequest,
        turn: &RunId,
    ) -> Result<ChatCall, EffectError> {
        let provider = ProviderChoice {
            max_output_tokens: request.max_output_tokens,
            ..self.find_provider(name)?
        };
        let mut pool = PoolTurn::begin(&self.host, &provider, describe_request(&request))?;
        let pinned = pool
            .as_mut()
            .map(|pool| pool.choose_next(&self.host))
            .transpose()?;
        let pool = pool.zip(pinned.flatten());
        ChatCall::open(&self.host, &self.processes, turn, request, &provider, pool)
    }

    /// Starts the answer on the runtime of the caller. It ends when the receiver is dropped. With `is_stream`, its pieces are passed on;
    /// then another member of a pool answers only as long as nothing was passed on.
    #[must_use]
    pub fn start_answer(&self, call: ChatCall, is_stream: bool) -> mpsc::Receiver<ServedEvent> {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        tokio::spawn(async move {
            let end = match serve_answer(call, is_stream, &sender).await {
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
        let settings = host.read_settings()?;
        let default = settings.default_provider().map(|default| default.provider);
        let mut offered = Vec::new();
        for provider in tools.profiled_names() {
            let pool = crate::pools::is_pool(&tools, provider);
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

    /// Finds the provider and model that a name means.
    fn find_provider(&self, name: &str) -> Result<ProviderChoice, EffectError> {
        let tools = read_tools(&self.host)?;
        let named = match name {
            DEFAULT_NAME => {
                let settings = self.host.read_settings()?;
                let default = settings.default_provider().ok_or_else(|| unknown_model(name))?;
                ModelName {
                    provider: default.provider.into(),
                    model: default.model,
                }
            }
            _ => ModelName::parse(name).resolve_alias(tools.user_models()),
        };
        let named = match tools.has_profile(named.provider.name()) {
            true => named,
            // A client of OpenAI or Anthropic knows the models of its vendor by their bare names.
            false => match known_model(name).filter(|known| known.name == name) {
                Some(known) => ModelName::parse(&format!("{}/{}", known.provider, known.name)),
                None => return Err(unknown_model(name)),
            },
        };
        Ok(ProviderChoice {
            overrides: ProviderOverrides {
                model: named.model,
                ..ProviderOverrides::default()
            },
            ..ProviderChoice::named(named.provider)
        })
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
    is_stream: bool,
    sender: &mpsc::Sender<ServedEvent>,
) -> Result<Option<ServedEnd>, EffectError> {
    loop {
        let mut has_started = false;
        let failure = match serve_attempt(&call, is_stream, sender, &mut has_started).await {
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
    is_stream: bool,
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
        if !is_stream || !is_piece {
            continue;
        }
        if !std::mem::replace(has_started, true) && sender.send(started()).await.is_err() {
            return Ok(None);
        }
        if sender.send(ServedEvent::Piece(event)).await.is_err() {
            return Ok(None);
        }
    }
    let report = answer.finish_report()?;
    if !*has_started && sender.send(started()).await.is_err() {
        return Ok(None);
    }
    let cost = report.usage.and_then(|usage| call.find_cost(&usage));
    Ok(Some(ServedEnd { report, cost }))
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
