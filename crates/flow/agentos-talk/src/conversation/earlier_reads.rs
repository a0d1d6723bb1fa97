//! Reads of earlier turns of a session, when it is about to be sent to somebody.
//!
//! Owns: refusing a turn that would send a text to a reader from whom policy withholds the text, and the ways out of that. Never: leaves
//! messages out in silence: a model that misses half of a conversation answers wrongly.
//!
//! A local model may read files that a cloud model may not. Its answers and the results of its tools quote them, and are part of the
//! session. So each recorded read is decided again before the session is sent.

use std::collections::BTreeSet;

use agentos_api::Cause;
use agentos_chat::{SessionState, StateMessage, TranscriptStore, read_message};
use agentos_engine::ports::EffectError;
use agentos_ledger::{ReadText, Reader, RepositoryReads, SessionEvent};
use agentos_model::MessagePart;
use agentos_tool::{BaseUrl, Endpoint, RunId};

use super::transcript::LedgerTranscript;
use super::{Conversation, word_store};
use agentos_calls::chat_tools::RepositoryTools;
use agentos_calls::read_judge::{ReadJudge, WithheldText};
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::options::ProviderChoice;
use agentos_ground::proposals::ModelFacts;
use agentos_providers::known_tools::read_tools;

/// Texts that policy withholds from a reader, and the first turn that read one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldReads {
    /// The reader.
    pub reader: Reader,
    /// The texts. Empty if the turn is of a version that recorded no reads.
    pub texts: Vec<ReadText>,
    /// The first turn that read one of them.
    pub turn: RunId,
}

impl Conversation {
    /// Checks that a model, and everybody to whom it can send text, may have what the session has read.
    ///
    /// # Errors
    /// Fails if policy withholds a text from one of them, or a repository cannot be read.
    pub(super) fn require_readable_history(
        &self,
        model: &ModelFacts,
        receivers: &[ModelFacts],
    ) -> Result<(), EffectError> {
        match self.find_withheld(model, receivers)? {
            Some(withheld) => Err(word_withheld(&withheld)),
            None => Ok(()),
        }
    }

    /// Returns what policy withholds from a provider of what the session has read. `None` if the provider may have all of it.
    ///
    /// # Errors
    /// Fails if the provider is unknown, or a repository cannot be read.
    pub fn list_withheld(&self, choice: &ProviderChoice) -> Result<Option<WithheldReads>, EffectError> {
        let tools = read_tools(&self.ground)?;
        let resolved = tools.resolve_profile(&self.ground, choice.provider.name(), &choice.overrides)?;
        self.find_withheld(&ModelFacts::of_profile(&resolved.profile), &[])
    }

    /// Drops the turn that read something first which policy withholds from a provider, and all later turns: their answers can repeat
    /// it. The records stay. Returns the turn.
    ///
    /// # Errors
    /// Fails if nothing is withheld, or the ledger cannot be written.
    pub fn drop_withheld(&mut self, choice: &ProviderChoice) -> Result<RunId, EffectError> {
        let withheld = self.list_withheld(choice)?;
        let withheld = withheld.ok_or_else(|| nothing_withheld(choice))?;
        let turn = withheld.turn.clone();
        self.append(&SessionEvent::Dropped { turn: turn.clone() }, None)?;
        Ok(turn)
    }

    /// Lets a reader have texts that policy withholds from the reader. The person who calls this consents.
    ///
    /// # Errors
    /// Fails if the ledger cannot be written.
    pub fn share_withheld(&mut self, withheld: &WithheldReads) -> Result<(), EffectError> {
        let event = SessionEvent::Shared {
            reader: withheld.reader.clone(),
            texts: withheld.texts.clone(),
        };
        self.append(&event, None)
    }

    /// Refuses a provider of a repository that the session asked at another address: another repository gives the same name to a server
    /// of its own, and would be sent the words of the first one.
    ///
    /// # Errors
    /// Fails if the session asked this provider at another address last, or at an address that no record of it has.
    pub(super) fn require_same_place(&self, facts: &ModelFacts) -> Result<(), EffectError> {
        let by_provider = |message: &&StateMessage| {
            let author = message.reference.author.as_ref();
            author.is_some_and(|author| author.provider == facts.provider) && !message.is_cleared
        };
        let mut answers = self.state.messages().iter().rev().filter(by_provider).peekable();
        if answers.peek().is_none() {
            return Ok(());
        }
        // The call of an answer that was cut has no address, and an earlier call can have one.
        let asked = answers.find_map(|message| message.endpoint.clone());
        if asked.is_some() && asked == find_place(&facts.to_reader()) {
            return Ok(());
        }
        let provider = &facts.provider;
        let place = asked
            .as_ref()
            .map_or("an address that is not known", |asked| asked.as_str());
        let message = format!(
            "the session asked `{provider}` at {place}, and the profile of this repository names another server; nothing was sent"
        );
        Err(usage_error(message).hint("begin another session, or name a provider of your own"))
    }

    fn find_withheld(
        &self,
        model: &ModelFacts,
        receivers: &[ModelFacts],
    ) -> Result<Option<WithheldReads>, EffectError> {
        let store = LedgerTranscript::new(&self.ledger);
        let readers: Vec<ModelFacts> = std::iter::once(model).chain(receivers).cloned().collect();
        find_withheld(&self.ground, &self.state, &store, &readers)
    }
}

/// Finds what policy withholds from the readers of a session's next request: the model, and programs to which it can send text. `None`
/// if all of them may have everything that the session has read.
///
/// # Errors
/// Fails if a text of the session, or a repository, cannot be read.
pub fn find_withheld(
    ground: &Ground,
    state: &SessionState,
    store: &dyn TranscriptStore,
    readers: &[ModelFacts],
) -> Result<Option<WithheldReads>, EffectError> {
    let judge = ReadJudge::new(ground, readers, state.leaves());
    if let Some(withheld) = find_unrecorded(state, store, &judge)? {
        return Ok(Some(withheld));
    }
    let reads: Vec<&RepositoryReads> = state.list_reads().map(|read| &read.reads).collect();
    let found = judge.list_withheld(&reads)?;
    let Some(WithheldText { reader, position, .. }) = found.first() else {
        return Ok(None);
    };
    let turn = state.list_reads().nth(*position).map(|read| read.turn.clone());
    let texts = found.iter().filter(|text| text.reader == *reader);
    let mut texts: Vec<ReadText> = texts.map(|found| found.text.clone()).collect();
    texts.sort();
    texts.dedup();
    Ok(turn.map(|turn| WithheldReads {
        reader: reader.clone(),
        texts,
        turn,
    }))
}

/// Finds a turn of a version that recorded no reads, although tools read a repository in it. What such a turn read stays with the model
/// that saw it: the same provider, model and address, without programs that reach a host. `None` if there is no such turn, or the reader
/// is that model.
fn find_unrecorded(
    state: &SessionState,
    store: &dyn TranscriptStore,
    judge: &ReadJudge<'_>,
) -> Result<Option<WithheldReads>, EffectError> {
    let recorded: BTreeSet<&RunId> = state.list_reads().map(|read| &read.turn).collect();
    let names = RepositoryTools::list_names();
    let messages = state.messages().iter();
    for message in messages.filter(|message| !message.is_cleared && !recorded.contains(&message.turn)) {
        let mut readers = judge.readers().enumerate();
        let refused = readers.find(|(at, reader)| *at > 0 || !saw_turn(message, reader));
        // Only a model calls tools.
        let (Some((_, reader)), Some(_)) = (refused, &message.reference.author) else {
            continue;
        };
        let sha256 = &message.reference.message_sha256;
        let text = store.load_text(sha256).map_err(word_store)?;
        let parts = read_message(&text, sha256).map_err(word_store)?.parts;
        let reads =
            |part: &MessagePart| matches!(part, MessagePart::ToolCall(call) if names.contains(&call.name));
        if parts.iter().any(reads) {
            return Ok(Some(WithheldReads {
                reader: reader.clone(),
                texts: Vec::new(),
                turn: message.turn.clone(),
            }));
        }
    }
    Ok(None)
}

/// Returns true if a reader is the model that wrote a message.
fn saw_turn(message: &StateMessage, reader: &Reader) -> bool {
    let Some(author) = &message.reference.author else {
        return false;
    };
    let place = find_place(reader);
    author.provider == reader.provider
        && (reader.model.is_none() || author.model == reader.model)
        && place.is_some()
        && message.endpoint == place
}

/// Returns the host and port of a reader. `None` if its address is not known.
fn find_place(reader: &Reader) -> Option<Endpoint> {
    let url = BaseUrl::parse(reader.address.as_deref()?).ok()?;
    Some(url.endpoint())
}

fn word_withheld(withheld: &WithheldReads) -> EffectError {
    let reader = &withheld.reader.provider;
    let message = match withheld.texts.first() {
        Some(text) => format!(
            "the session read `{}`, and policy withholds it from `{reader}`; nothing was sent",
            text.path
        ),
        None => format!(
            "an earlier version did not record what the session read, so it stays with the model that saw it and `{reader}` may not \
             have it; nothing was sent"
        ),
    };
    EffectError::new(Cause::Policy, "history-withheld", message)
}

fn nothing_withheld(choice: &ProviderChoice) -> EffectError {
    usage_error(format!(
        "policy withholds nothing that the session read from `{}`",
        choice.provider.name()
    ))
}
