//! Sessions of the ledger: listed, shown, searched, forked and deleted.
//!
//! Owns: these reports. Never: calls a model.

use agentos_chat::{SessionTotals, StateMessage, read_message};
use agentos_engine::ports::EffectError;
use agentos_ledger::{
    CompressionReceipt, ForkOrigin, SessionEvent, SessionKey, SessionRecord, SessionSettings,
};
use agentos_model::ChatMessage;
use agentos_store::{FoundTurn, LedgerLock, SessionRow};
use agentos_tool::RunId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Talk;
use crate::conversation::{Conversation, read_state, unknown_session, word_store};
use agentos_calls::ledger::{Ledger, ledger_error, store_error};
use agentos_ground::error::usage_error;
use agentos_ground::repository_id::KnownRepository;

/// The output of `agentos chat list --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionList {
    /// Version of this shape: 1.
    pub version: u32,
    /// Sessions, the last used first.
    pub sessions: Vec<SessionRow>,
    /// Number of all sessions.
    pub all: u64,
}

/// The output of `agentos chat search --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionSearch {
    /// Version of this shape: 1.
    pub version: u32,
    /// Turns that contain all words, the newest first.
    pub found: Vec<FoundTurn>,
}

/// The output of `agentos chat show --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionStory {
    /// Version of this shape: 1.
    pub version: u32,
    /// The session.
    pub session: SessionKey,
    /// Title for people. `None` if it has none.
    pub title: Option<String>,
    /// Settings of the next turn.
    pub settings: SessionSettings,
    /// System prompt. `None` if there is none. Untrusted.
    pub system: Option<String>,
    /// Pinned texts.
    pub pins: Vec<String>,
    /// Summary in use. `None` if there is none. Untrusted.
    pub summary: Option<String>,
    /// Messages, the oldest first.
    pub messages: Vec<SessionMessage>,
    /// Sums of tokens and cost.
    pub totals: SessionTotals,
}

/// Message of a session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionMessage {
    /// Turn that it belongs to.
    pub turn: RunId,
    /// `sha256:` and the hash of the message.
    pub sha256: String,
    /// Provider and model that wrote it. `None` for messages of a person and results of tools.
    pub author: Option<agentos_ledger::MessageAuthor>,
    /// True if the message is sent in the next turn.
    pub is_live: bool,
    /// True if a summary is sent in its place.
    pub is_summarized: bool,
    /// Reason why the model's message has no end. `None` if the message is complete.
    pub cut: Option<String>,
    /// The message. `None` if its text cannot be read any more. Untrusted.
    pub message: Option<ChatMessage>,
}

/// The output of the verbs of `agentos chat` that change a session, with `--json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionChange {
    /// Version of this shape: 1.
    pub version: u32,
    /// The session.
    pub session: SessionKey,
    /// The change.
    #[serde(flatten)]
    pub change: SessionChangeKind,
}

/// Change of a session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum SessionChangeKind {
    /// The session begins with the turns of another one.
    Forked {
        /// The other session.
        fork: SessionKey,
    },
    /// Earlier messages are not sent any more.
    Cleared,
    /// The session has a title.
    Titled {
        /// The title.
        title: String,
    },
    /// Earlier messages are sent as a summary.
    Summarized {
        /// Proof of what it replaces.
        receipt: Box<CompressionReceipt>,
    },
    /// Messages are sent again in place of their summary.
    Restored {
        /// Receipt of the summary that was taken back.
        receipt: Box<CompressionReceipt>,
    },
    /// A turn that read texts which policy withholds from a provider, and all later turns, are not sent any more.
    Dropped {
        /// First turn that is not sent.
        turn: RunId,
    },
    /// A provider may see texts that the session read, although policy withholds them from the provider.
    Shared {
        /// The provider.
        provider: String,
        /// Paths of the texts.
        texts: Vec<String>,
    },
    /// The session was deleted.
    Deleted {
        /// Number of texts that were removed. Their hashes stay on the tape.
        removed: usize,
    },
}

impl SessionChange {
    /// Makes the report of a change.
    #[must_use]
    pub fn new(session: &SessionKey, change: SessionChangeKind) -> Self {
        Self {
            version: 1,
            session: session.clone(),
            change,
        }
    }
}

impl Talk<'_> {
    /// Lists the sessions, the last used first.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn list_sessions(self, most: usize) -> Result<SessionList, EffectError> {
        let (sessions, all) = match Ledger::open_existing(self.ground)? {
            Some(database) => database
                .list_sessions(most)
                .map_err(|error| store_error(&error))?,
            None => (Vec::new(), 0),
        };
        let sessions = self.read_titles(sessions)?;
        Ok(SessionList {
            version: 1,
            sessions,
            all,
        })
    }

    /// Lists the session of a repository alone, if it has begun.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn list_session_of(self, known: &KnownRepository) -> Result<SessionList, EffectError> {
        let row = match (known.session(), Ledger::open_existing(self.ground)?) {
            (Some(own), Some(database)) => database
                .find_session(own.as_str())
                .map_err(|error| store_error(&error))?,
            (_, _) => None,
        };
        let sessions = self.read_titles(row.into_iter().collect())?;
        Ok(SessionList {
            version: 1,
            all: sessions.len() as u64,
            sessions,
        })
    }

    /// Replaces the hashes of titles, which the database has, by their texts.
    fn read_titles(self, mut sessions: Vec<SessionRow>) -> Result<Vec<SessionRow>, EffectError> {
        if sessions.iter().all(|session| session.title.is_none()) {
            return Ok(sessions);
        }
        let ledger = Ledger::open(self.ground)?;
        for session in &mut sessions {
            let text = session
                .title
                .take()
                .and_then(|title| ledger.tape().get_blob(&title).ok());
            session.title = text.map(|text| String::from_utf8_lossy(&text).into_owned());
        }
        Ok(sessions)
    }

    /// Finds turns of all sessions that contain all words of a text.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn search_sessions(self, text: &str, most: usize) -> Result<SessionSearch, EffectError> {
        let found = match Ledger::open_existing(self.ground)? {
            Some(database) => database
                .search_turns(text, most)
                .map_err(|error| store_error(&error))?,
            None => Vec::new(),
        };
        Ok(SessionSearch { version: 1, found })
    }

    /// Reads a session with its messages.
    ///
    /// # Errors
    /// If there is no such session, or the ledger cannot be read.
    pub fn show_session(self, key: &SessionKey) -> Result<SessionStory, EffectError> {
        let ledger = Ledger::open(self.ground)?;
        let state = read_state(&ledger, &ledger.open_database()?, key)?;
        let state = state
            .filter(|state| !state.is_deleted())
            .ok_or_else(|| unknown_session(key))?;
        let load = |sha256: &str| {
            let bytes = ledger
                .tape()
                .get_blob(sha256)
                .map_err(|error| ledger_error(&error))?;
            Ok::<String, EffectError>(String::from_utf8_lossy(&bytes).into_owned())
        };
        let read = |message: &StateMessage| {
            let sha256 = &message.reference.message_sha256;
            SessionMessage {
                turn: message.turn.clone(),
                sha256: sha256.clone(),
                author: message.reference.author.clone(),
                is_live: message.is_live(),
                cut: message.reference.cut.clone(),
                is_summarized: message.replaced_by.is_some() && !message.is_cleared,
                message: load(sha256)
                    .and_then(|text| read_message(&text, sha256).map_err(word_store))
                    .ok(),
            }
        };
        let settings = state.settings().clone();
        let summary = state.active_compression();
        Ok(SessionStory {
            version: 1,
            session: key.clone(),
            title: settings.title_sha256.as_deref().map(load).transpose()?,
            system: settings.system_sha256.as_deref().map(load).transpose()?,
            pins: settings
                .pins
                .iter()
                .map(|pin| load(&pin.pin_sha256))
                .collect::<Result<_, _>>()?,
            summary: summary
                .map(|summary| load(&summary.receipt.summary_sha256))
                .transpose()?,
            messages: state.messages().iter().map(read).collect(),
            totals: state.totals(),
            settings,
        })
    }

    /// Begins a session with the turns of another one, up to its last.
    ///
    /// # Errors
    /// If there is no such session, the new name is taken, or the ledger cannot be written.
    pub fn fork_session(self, from: &SessionKey, to: &SessionKey) -> Result<SessionChange, EffectError> {
        // Nobody begins the new session meanwhile, and nobody deletes the other one.
        let conversation = self.open_conversation(to)?;
        if conversation.has_begun() {
            let message = format!("there is a session `{to}` already");
            return Err(usage_error(message).hint("choose another name, or delete that session"));
        }
        let ledger = conversation.ledger();
        let _texts = LedgerLock::keep_texts(ledger.folder()).map_err(|error| store_error(&error))?;
        let state = read_state(ledger, &ledger.open_database()?, from)?;
        let state = state
            .filter(|state| !state.is_deleted())
            .ok_or_else(|| unknown_session(from))?;
        let event = SessionEvent::Begun {
            settings: state.settings().clone(),
            fork: Some(ForkOrigin {
                session: from.clone(),
                turn: state.last_turn().cloned(),
            }),
        };
        let record = SessionRecord {
            session: to.clone(),
            event,
        };
        ledger.record_event(&record, &[])?;
        Ok(SessionChange::new(
            to,
            SessionChangeKind::Forked { fork: from.clone() },
        ))
    }

    /// Begins the window of a session again: earlier messages are not sent any more, and stay readable.
    ///
    /// # Errors
    /// If there is no such session, somebody uses it, or the ledger cannot be written.
    pub fn clear_session(self, key: &SessionKey) -> Result<SessionChange, EffectError> {
        self.open_existing_conversation(key)?.clear()?;
        Ok(SessionChange::new(key, SessionChangeKind::Cleared))
    }

    /// Sets the title of a session.
    ///
    /// # Errors
    /// If there is no such session, somebody uses it, the title is empty, or the ledger cannot be written.
    pub fn title_session(self, key: &SessionKey, title: &str) -> Result<SessionChange, EffectError> {
        let title = self.open_existing_conversation(key)?.set_title(title)?;
        Ok(SessionChange::new(key, SessionChangeKind::Titled { title }))
    }

    /// Takes the last summary of a session back: the messages that it replaces are sent again.
    ///
    /// # Errors
    /// If there is no such session, no summary is in use, somebody uses the session, or the ledger cannot be written.
    pub fn restore_session(self, key: &SessionKey) -> Result<SessionChange, EffectError> {
        let receipt = self.open_existing_conversation(key)?.restore_messages()?;
        let receipt = Box::new(receipt);
        Ok(SessionChange::new(key, SessionChangeKind::Restored { receipt }))
    }

    /// Opens a session that has begun.
    ///
    /// # Errors
    /// If there is no such session, or those of [`Talk::open_conversation`].
    pub fn open_existing_conversation(self, key: &SessionKey) -> Result<Conversation, EffectError> {
        let conversation = self.open_conversation(key)?;
        match conversation.has_begun() {
            true => Ok(conversation),
            false => Err(unknown_session(key)),
        }
    }

    /// Deletes a session: the texts that no other session has are removed, and their hashes stay on the tape.
    ///
    /// # Errors
    /// If there is no such session, somebody uses it, or the ledger cannot be written.
    pub fn delete_session(self, key: &SessionKey) -> Result<SessionChange, EffectError> {
        // Open until the end, so that nobody adds a turn to what is being removed.
        let conversation = self.open_any_conversation(key)?;
        if !conversation.has_begun() {
            return Err(unknown_session(key));
        }
        let removed = conversation.ledger().delete_session(key)?;
        Ok(SessionChange::new(key, SessionChangeKind::Deleted { removed }))
    }
}
