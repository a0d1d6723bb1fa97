//! A conversation: one session of the ledger, opened by one front end at a time.
//!
//! Owns: opening it, its settings, and its turns. Never: lands a change, or decides what a turn sends; `agentos-chat` does.
//!
//! | the caller | the ledger |
//! |---|---|
//! | [`Talk::open_conversation`] | nothing is written; the session is locked until the conversation is dropped |
//! | [`Conversation::change_settings`] | a `session` record |
//! | [`Conversation::take_turn`] | the texts, then a `turn` record, whatever the end is |
//! | [`Conversation::clear`] | a `session` record |

mod changes;
mod default_switch;
pub mod earlier_reads;
pub(crate) mod model;
mod offered;
mod transcript;
mod turn;

use std::path::PathBuf;

use agentos_chain::hash_bytes;
use agentos_chat::{
    FinishedTurn, LedgerBody, LedgerEntry, SessionState, StoreError, ToolSession, TranscriptStore, TurnEvent,
    TurnLimits, fold_session, read_message,
};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::{Record, RecordKind};
use agentos_ledger::{
    SessionEvent, SessionKey, SessionRecord, SessionSettings, TurnEnd, TurnRecord, find_counted_token,
};
use agentos_model::{ChatMessage, ChatRole};
use agentos_store::{LedgerLock, LedgerStore};
use agentos_tool::{BoxFuture, RunId};
use agentos_window::WindowGauge;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Talk;
use agentos_calls::Calls;
use agentos_calls::chat_tools::RepositoryTools;
use agentos_calls::hosted::ModelProcesses;
use agentos_calls::ledger::{Ledger, ledger_error, store_error};
use agentos_calls::toolbox_session::{OpenToolboxes, ToolboxStates};
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::options::ProviderChoice;
use agentos_ground::proposals::ModelFacts;
use agentos_ground::repository;
use agentos_ground::repository_id::{KnownRepository, identify, is_foreign};
use transcript::LedgerTranscript;

pub use changes::SummarySpec;
pub use default_switch::DefaultSwitch;
pub use earlier_reads::WithheldReads;

/// A session that this process uses.
pub struct Conversation {
    ground: Ground,
    ledger: Ledger,
    state: SessionState,
    has_begun: bool,
    tools: Option<ToolSession>,
    /// The tools of the repository, with the model that they are for. `None` before a turn with tools.
    repository_tools: Option<(ModelFacts, RepositoryTools)>,
    /// The toolboxes of the session, with what they were opened by. `None` before the first turn.
    toolboxes: Option<(ToolboxStates, OpenToolboxes)>,
    /// True if the notice was shown that a model which reads the repository can send what it reads to a host.
    is_network_reported: bool,
    /// Processes of the models that it has asked.
    processes: ModelProcesses,
    _lock: LedgerLock,
}

/// The order for a turn.
pub struct TurnSpec<'a> {
    /// The provider and its settings.
    pub provider: ProviderChoice,
    /// Message of the user.
    pub message: ChatMessage,
    /// Limits of the turn.
    pub limits: TurnLimits,
    /// Receiver of the turn's events. Must not block.
    pub emit: &'a mut (dyn FnMut(TurnEvent) + Send),
    /// Becomes ready when the user wishes to stop.
    pub cancel: BoxFuture<'a, ()>,
}

/// The output of `agentos chat send --session NAME --json`: a turn that ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TurnReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The session.
    pub session: SessionKey,
    /// Text of the answer. `None` if the turn ended without one. Untrusted.
    pub answer: Option<String>,
    /// Text of an answer that was cut and is kept, so that the next message can continue it. `None` if there is no such text. Untrusted.
    pub cut_answer: Option<String>,
    /// The record of the turn in the ledger.
    pub turn: TurnRecord,
    /// Tokens of the window by part, before the last call of the model. `None` if no model was called.
    pub gauge: Option<WindowGauge>,
    /// Reason in one sentence why there is no answer. `None` if there is one.
    pub message: Option<String>,
}

/// Returns the error of a turn that ended without an answer. `None` if it has one, or the user stopped it.
#[must_use]
pub fn find_turn_fault(turn: &FinishedTurn) -> Option<EffectError> {
    let fault = find_fault(turn)?;
    Some(match turn.cut {
        Some(_) => {
            let remedy = fault.hint.as_ref().map(|hint| format!("{hint}; "));
            let hint = remedy.unwrap_or_default() + CUT_HINT;
            EffectError {
                hint: Some(hint),
                ..fault
            }
        }
        None => fault,
    })
}

/// Remedy for an answer that was cut and is kept.
const CUT_HINT: &str = "the text so far is kept: `go on` continues it. An answer that was cut never lands, so ask for an edit again in full";

fn find_fault(turn: &FinishedTurn) -> Option<EffectError> {
    if let Some(failure) = &turn.failure {
        let cause = match failure.is_limit {
            true => Cause::Limit,
            false => Cause::Tool,
        };
        let mut error = EffectError::new(cause, &failure.code, failure.message.clone());
        error = error.caused_by(failure.causes.clone());
        error.hint.clone_from(&failure.advice.fix);
        return Some(error.suggest_steps(failure.advice.next.clone()));
    }
    match &turn.record.end {
        TurnEnd::Limited { limit } => {
            let message = format!("the turn reached its limit `{limit}` before its answer");
            Some(EffectError::new(Cause::Limit, "turn-limit", message))
        }
        TurnEnd::Answered | TurnEnd::Cancelled | TurnEnd::Failed { .. } => None,
    }
}

impl Talk<'_> {
    /// Opens a session; one that does not exist yet begins with its first turn or setting.
    ///
    /// # Errors
    /// If the name belongs to a token, another process uses the session, or the ledger cannot be read.
    pub fn open_conversation(self, key: &SessionKey) -> Result<Conversation, EffectError> {
        require_session_name(key)?;
        self.open_any_conversation(key)
    }

    /// Opens a session whatever its name is, as [`Talk::open_conversation`] does: a session of an earlier version may have the name
    /// of a token, and can be deleted.
    pub(crate) fn open_any_conversation(self, key: &SessionKey) -> Result<Conversation, EffectError> {
        let ledger = Ledger::open(self.ground)?;
        let lock =
            LedgerLock::lock_session(ledger.folder(), key.as_str()).map_err(|error| store_error(&error))?;
        let lock = lock.ok_or_else(|| {
            let message = format!("the session `{key}` is used by another process");
            EffectError::new(Cause::Usage, "session-busy", message)
        })?;
        let state = read_state(&ledger, &ledger.open_database()?, key)?;
        // The session's own repository, wherever it is opened, unless the caller names another one.
        let remembered = state
            .as_ref()
            .and_then(|state| state.settings().repository.clone());
        let ground = match (self.ground.named_repository(), remembered) {
            // The folder of a repository may have moved since, and the session of the repository with it.
            (None, Some(folder)) if *key != self.ground.usual_session() => {
                self.ground.clone().with_repository(Some(folder.into()))
            }
            (Some(_), _) | (None, _) => self.ground.clone(),
        };
        Ok(Conversation {
            ground,
            has_begun: state.as_ref().is_some_and(|state| !state.is_deleted()),
            state: state.unwrap_or_else(|| SessionState::new(key.clone())),
            ledger,
            tools: None,
            repository_tools: None,
            toolboxes: None,
            is_network_reported: false,
            processes: ModelProcesses::new(),
            _lock: lock,
        })
    }
}

/// Refuses the name under which the calls of a token are counted.
///
/// # Errors
/// If the name has the scope of tokens.
pub fn require_session_name(key: &SessionKey) -> Result<(), EffectError> {
    if find_counted_token(key.as_str()).is_none() {
        return Ok(());
    }
    // The calls of such a session would count for the budget of the token, and the token's calls for the budget of the session.
    let message =
        format!("`{key}` is a name for the calls of a token of the service, so no session can have it");
    Err(usage_error(message).hint("choose a name that does not begin with `token:`"))
}

impl Talk<'_> {
    /// Returns whether a name is that of a provider. False if the profiles cannot be read.
    #[must_use]
    pub fn is_provider(self, name: &str) -> bool {
        agentos_providers::known_tools::read_tools(self.ground)
            .is_ok_and(|tools| tools.require_known(name).is_ok())
    }
}

/// Reads the state of a session from its records. `None` if there is no such session.
///
/// # Errors
/// If the ledger cannot be read.
pub(crate) fn read_state(
    ledger: &Ledger,
    database: &LedgerStore,
    key: &SessionKey,
) -> Result<Option<SessionState>, EffectError> {
    let places = database
        .list_entries(key.as_str())
        .map_err(|error| store_error(&error))?;
    let mut entries = Vec::with_capacity(places.len());
    for place in places {
        let file = usize::try_from(place.file).unwrap_or(usize::MAX);
        let record = ledger.tape().record_at(file, place.byte, place.seq);
        entries.extend(read_entry(record.map_err(|error| ledger_error(&error))?));
    }
    Ok(fold_session(key, &entries))
}

/// Reads a record as an entry of a session. `None` if it is none, or has the shape of a later version.
fn read_entry(record: Record) -> Option<LedgerEntry> {
    let body = match record.kind {
        RecordKind::Turn => LedgerBody::Turn {
            turn: RunId::parse(&record.run)?,
            record: serde_json::from_value(record.body).ok()?,
        },
        RecordKind::Session => LedgerBody::Session(serde_json::from_value(record.body).ok()?),
        // The database lists turns and events of sessions only; every other kind is of a later version.
        RecordKind::Task
        | RecordKind::Attempt
        | RecordKind::Answer
        | RecordKind::ToolResult
        | RecordKind::Boundary
        | RecordKind::Landing
        | RecordKind::Check
        | RecordKind::Decision
        | RecordKind::Consent
        | RecordKind::Intent
        | RecordKind::Receipt
        | RecordKind::Refusal
        | RecordKind::Undo
        | RecordKind::Recovered
        | RecordKind::Checkpoint
        | RecordKind::Removed => return None,
    };
    Some(LedgerEntry {
        number: record.seq,
        body,
    })
}

impl Conversation {
    /// Uses processes that other conversations use too. Without this call, it has its own.
    pub fn share_processes(&mut self, processes: &ModelProcesses) {
        self.processes = processes.clone();
    }

    /// Returns the state of the session.
    #[must_use]
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// Returns the ground of the session, with its repository.
    #[must_use]
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Returns true if the session has a record. One that was deleted begins again.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Returns the ledger of the session.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the name of the session.
    #[must_use]
    pub fn key(&self) -> &SessionKey {
        self.state.key()
    }

    /// Changes the settings. They hold from the next turn on. Nothing is written if nothing changes.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn change_settings(&mut self, settings: SessionSettings) -> Result<(), EffectError> {
        self.change_with(settings, None)
    }

    /// Changes the settings, and stores a text that they refer to together with the record.
    fn change_with(&mut self, settings: SessionSettings, text: Option<&str>) -> Result<(), EffectError> {
        if self.has_begun && settings == *self.state.settings() {
            return Ok(());
        }
        let event = match std::mem::replace(&mut self.has_begun, true) {
            true => SessionEvent::Changed { settings },
            false => SessionEvent::Begun { settings, fork: None },
        };
        self.append(&event, text)
    }

    /// Sets the system prompt of the next turns. `None` removes it.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn set_system(&mut self, text: Option<&str>) -> Result<(), EffectError> {
        let mut settings = self.state.settings().clone();
        settings.system_sha256 = text.map(|text| hash_bytes(text.as_bytes()));
        self.change_with(settings, text)
    }

    /// Lets models read the repository and propose changes, or not any more.
    ///
    /// # Errors
    /// If there is no repository, or the ledger cannot be written.
    pub fn set_repository(&mut self, is_read: bool) -> Result<(), EffectError> {
        let mut settings = self.state.settings().clone();
        settings.repository = match is_read {
            true => {
                let repo = repository::open(&self.ground)?;
                self.require_own(&identify(&self.ground, &repo))?;
                let folder = repo.work_dir().unwrap_or_else(|| repo.common_dir());
                Some(folder.display().to_string())
            }
            false => None,
        };
        self.change_settings(settings)
    }

    /// Refuses another repository than the one that the session belongs to, if it belongs to one.
    fn require_own(&self, known: &KnownRepository) -> Result<(), EffectError> {
        if !is_foreign(self.key(), known) {
            return Ok(());
        }
        let message = format!(
            "the conversation `{}` belongs to another repository than {}",
            self.key(),
            known.folder.display()
        );
        Err(usage_error(message).hint("name another session, or none for the session of this repository"))
    }

    /// Pins a text: it is sent word for word in every turn, whatever is summarized.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn pin_text(&mut self, text: &str) -> Result<(), EffectError> {
        let mut settings = self.state.settings().clone();
        let pin_sha256 = hash_bytes(text.as_bytes());
        settings.pins.push(agentos_ledger::PinRef { pin_sha256 });
        self.change_with(settings, Some(text))
    }

    /// Begins with an empty window: messages so far are not sent any more, and stay readable.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn clear(&mut self) -> Result<(), EffectError> {
        if !self.has_begun {
            return Ok(());
        }
        self.append(&SessionEvent::Cleared, None)
    }

    /// Reads a stored text of the session.
    ///
    /// # Errors
    /// If there is no such text.
    pub fn load_text(&self, sha256: &str) -> Result<String, EffectError> {
        LedgerTranscript::new(&self.ledger)
            .load_text(sha256)
            .map_err(word_store)
    }

    /// Reads the messages that are sent in the next turn.
    ///
    /// # Errors
    /// If a text cannot be read.
    pub fn read_messages(&self) -> Result<Vec<ChatMessage>, EffectError> {
        let live = self.state.list_live();
        live.map(|message| {
            let text = self.load_text(&message.message_sha256)?;
            read_message(&text, &message.message_sha256).map_err(word_store)
        })
        .collect()
    }

    /// Reads the texts that the user sent in this session last, the oldest first.
    ///
    /// # Errors
    /// If a text cannot be read.
    pub fn list_prompts(&self, most: usize) -> Result<Vec<String>, EffectError> {
        let sent = self.state.messages().iter().rev();
        let sent = sent.filter(|message| message.reference.role == ChatRole::User);
        let mut prompts = Vec::new();
        for message in sent {
            let sha256 = &message.reference.message_sha256;
            let text = self.load_text(sha256)?;
            let text = read_message(&text, sha256).map_err(word_store)?.text();
            // Results of tools are messages of the user too, and have no text.
            if !text.is_empty() {
                prompts.push(text);
            }
            if prompts.len() >= most {
                break;
            }
        }
        prompts.reverse();
        Ok(prompts)
    }

    /// Makes a message of the user with images before its text.
    ///
    /// # Errors
    /// If an image cannot be read, or there is neither a text nor an image.
    pub fn make_message(&self, text: &str, images: &[PathBuf]) -> Result<ChatMessage, EffectError> {
        Calls::of(&self.ground).make_message(text, images)
    }

    fn append(&mut self, event: &SessionEvent, text: Option<&str>) -> Result<(), EffectError> {
        let record = SessionRecord {
            session: self.state.key().clone(),
            event: event.clone(),
        };
        let mut store = LedgerTranscript::new(&self.ledger);
        if let Some(text) = text {
            store.store_text(text).map_err(word_store)?;
        }
        let number = store.append_event(&record).map_err(word_store)?;
        self.state.apply_event(number, event);
        Ok(())
    }
}

/// Makes the error of a text or record that cannot be read or written.
pub(crate) fn word_store(error: StoreError) -> EffectError {
    let cause = match error.code.as_str() {
        "evidence-invalid-record" => Cause::Internal,
        _ => Cause::Evidence,
    };
    let mut effect = EffectError::new(cause, &error.code, error.message);
    if let Some(source) = error.source {
        effect = effect.caused_by([source.to_string()]);
    }
    effect
}

/// Makes the error of a session that does not exist.
#[must_use]
pub fn unknown_session(key: &SessionKey) -> EffectError {
    EffectError::new(Cause::Usage, "no-session", format!("there is no session `{key}`"))
}
