//! The state of a session: a pure fold of the ledger's records.
//!
//! Owns: which messages are sent in the next turn, the summary in use, settings and totals. Never: reads a text; it has hashes.
//!
//! | record | effect on the state |
//! |---|---|
//! | `session` begun | settings; a fork also has the state of its origin at that turn, with totals of its own |
//! | `session` changed | settings |
//! | `turn` | its messages are appended; totals grow |
//! | `session` compressed | the messages that it names are not sent any more; its summary is |
//! | `session` restored | they are sent again; the summary before it is in use again |
//! | `session` cleared | no message so far is sent any more, and no summary |
//! | `session` dropped | the same for the messages since a turn, and for the summaries that were made of them |
//! | `session` shared | a reader may see texts that policy withholds from the reader |
//! | `session` deleted | nothing is left. A later record begins a new session of that name |

mod fold;

use std::collections::BTreeSet;

use agentos_ledger::{
    CallRecord, CompressionReceipt, MessageRef, ReadText, Reader, RepositoryReads, SessionEvent, SessionKey,
    SessionSettings, TurnRecord,
};
use agentos_tool::{Endpoint, ExactCost, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use fold::{LedgerBody, LedgerEntry, fold_session};

/// State of a session after some records.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionState {
    key: SessionKey,
    settings: SessionSettings,
    messages: Vec<StateMessage>,
    compressions: Vec<StateCompression>,
    reads: Vec<StateReads>,
    leaves: Vec<ReadLeave>,
    totals: SessionTotals,
    last_turn: Option<RunId>,
    is_deleted: bool,
}

/// Message of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateMessage {
    /// The message, by its hash.
    pub reference: MessageRef,
    /// Turn that it belongs to.
    pub turn: RunId,
    /// Number of the record of the compression that replaces it. `None` if none does.
    pub replaced_by: Option<u64>,
    /// True if the session was cleared after it.
    pub is_cleared: bool,
    /// Address of the server that answered in its turn. `None` if it is not known.
    pub endpoint: Option<Endpoint>,
}

impl StateMessage {
    /// Returns true if the message is sent in the next turn.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.replaced_by.is_none() && !self.is_cleared
    }
}

/// Texts that the model of a turn was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateReads {
    /// The turn.
    pub turn: RunId,
    /// The texts.
    pub reads: RepositoryReads,
}

/// A person's leave for a reader to see texts that the session read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLeave {
    /// The reader.
    pub reader: Reader,
    /// The texts.
    pub texts: Vec<ReadText>,
}

/// Compression of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct StateCompression {
    /// Number of its record on the tape.
    pub number: u64,
    /// Proof of what it replaces.
    pub receipt: CompressionReceipt,
    /// True if its summary may be sent: it was not taken back, and the session was not cleared after it.
    pub is_active: bool,
}

/// Totals of a session, without those of a session that it was forked from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionTotals {
    /// Turns.
    pub turns: u64,
    /// Calls of models, those for summaries included.
    pub calls: u64,
    /// Tokens of the prompts, as far as servers reported them.
    pub input_tokens: u64,
    /// Tokens of the answers, as far as servers reported them.
    pub output_tokens: u64,
    /// Sum of the known costs in US dollars, exact.
    pub cost_usd: ExactCost,
    /// Calls whose cost is not known. With any, the sum is a lower bound.
    pub calls_without_cost: u64,
}

impl SessionTotals {
    fn add_call(&mut self, call: &CallRecord) {
        let usage = call.usage.unwrap_or_default();
        self.calls = self.calls.saturating_add(1);
        self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens.unwrap_or(0));
        self.output_tokens = self
            .output_tokens
            .saturating_add(usage.output_tokens.unwrap_or(0));
        match call.cost_usd.and_then(|cost| self.cost_usd.checked_add(cost)) {
            Some(sum) => self.cost_usd = sum,
            None => self.calls_without_cost = self.calls_without_cost.saturating_add(1),
        }
    }
}

impl SessionState {
    /// Makes the state of a session without records.
    #[must_use]
    pub fn new(key: SessionKey) -> Self {
        Self {
            key,
            settings: SessionSettings::default(),
            messages: Vec::new(),
            compressions: Vec::new(),
            reads: Vec::new(),
            leaves: Vec::new(),
            totals: SessionTotals::default(),
            last_turn: None,
            is_deleted: false,
        }
    }

    /// Returns the name of the session.
    #[must_use]
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Returns the settings of the next turn.
    #[must_use]
    pub fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// Returns all messages, the oldest first, those included that are not sent any more.
    #[must_use]
    pub fn messages(&self) -> &[StateMessage] {
        &self.messages
    }

    /// Lists the messages that are sent in the next turn.
    pub fn list_live(&self) -> impl Iterator<Item = &MessageRef> {
        self.messages
            .iter()
            .filter(|message| message.is_live())
            .map(|message| &message.reference)
    }

    /// Returns all compressions in their order, those included that were taken back.
    #[must_use]
    pub fn compressions(&self) -> &[StateCompression] {
        &self.compressions
    }

    /// Returns true if the last message is an answer that was cut.
    #[must_use]
    pub fn ends_cut(&self) -> bool {
        self.messages
            .last()
            .is_some_and(|message| message.reference.cut.is_some() && !message.is_cleared)
    }

    /// Returns the compression whose summary is in use. `None` if no summary is.
    #[must_use]
    pub fn active_compression(&self) -> Option<&StateCompression> {
        // Each summary is also made of the one before it, so the last one stands for all.
        self.compressions
            .iter()
            .rev()
            .find(|compression| compression.is_active)
    }

    /// Lists what the models of the session read that its next turn can send or repeat: the reads of each turn that is not cleared. A
    /// summary stands for messages that are still here, so it inherits their reads.
    pub fn list_reads(&self) -> impl Iterator<Item = &StateReads> {
        self.reads.iter()
    }

    /// Returns what a person let readers see.
    #[must_use]
    pub fn leaves(&self) -> &[ReadLeave] {
        &self.leaves
    }

    /// Returns the totals.
    #[must_use]
    pub fn totals(&self) -> SessionTotals {
        self.totals
    }

    /// Returns the last turn. `None` if there is none yet.
    #[must_use]
    pub fn last_turn(&self) -> Option<&RunId> {
        self.last_turn.as_ref()
    }

    /// Returns true if the session was deleted.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    /// Applies the record of a turn of this session.
    pub fn apply_turn(&mut self, turn: &RunId, record: &TurnRecord) {
        self.revive();
        self.totals.turns = self.totals.turns.saturating_add(1);
        record.calls.iter().for_each(|call| self.totals.add_call(call));
        self.last_turn = Some(turn.clone());
        let endpoint = record.calls.iter().find_map(|call| call.endpoint.clone());
        let messages = record.messages.iter().map(|reference| StateMessage {
            reference: reference.clone(),
            turn: turn.clone(),
            replaced_by: None,
            is_cleared: false,
            endpoint: endpoint.clone(),
        });
        self.messages.extend(messages);
        // Without messages, nothing of the turn is sent again.
        if !record.messages.is_empty() {
            let reads = record.reads.iter().map(|reads| StateReads {
                turn: turn.clone(),
                reads: reads.clone(),
            });
            self.reads.extend(reads);
        }
    }

    /// Applies an event of this session. `number` is that of its record on the tape.
    pub fn apply_event(&mut self, number: u64, event: &SessionEvent) {
        match event {
            SessionEvent::Begun { settings, .. } | SessionEvent::Changed { settings } => {
                self.revive();
                self.settings = settings.clone();
            }
            SessionEvent::Compressed(receipt) => self.apply_compression(number, receipt),
            SessionEvent::Restored { compression } => self.restore_compression(*compression),
            SessionEvent::Cleared => {
                for message in &mut self.messages {
                    message.is_cleared = true;
                }
                self.deactivate_all();
                self.reads.clear();
            }
            SessionEvent::Dropped { turn } => self.drop_since(turn),
            SessionEvent::Shared { reader, texts } => self.leaves.push(ReadLeave {
                reader: reader.clone(),
                texts: texts.clone(),
            }),
            SessionEvent::Deleted => {
                *self = Self {
                    is_deleted: true,
                    ..Self::new(self.key.clone())
                };
            }
        }
    }

    /// Begins again after a deletion.
    fn revive(&mut self) {
        self.is_deleted = false;
    }

    fn apply_compression(&mut self, number: u64, receipt: &CompressionReceipt) {
        if let Some(call) = &receipt.call {
            self.totals.add_call(call);
        }
        // Equal messages have equal hashes, so the receipt is matched in order: a message between two that it names stays only if
        // it differs from the next one named. The last request, which stays, is followed by a message of the model.
        let mut named = receipt.replaced.iter().peekable();
        for message in self.messages.iter_mut().filter(|message| message.is_live()) {
            if named
                .next_if(|hash| **hash == message.reference.message_sha256)
                .is_some()
            {
                message.replaced_by = Some(number);
            }
        }
        self.compressions.push(StateCompression {
            number,
            receipt: receipt.clone(),
            is_active: true,
        });
    }

    fn restore_compression(&mut self, number: u64) {
        for compression in &mut self.compressions {
            if compression.number == number {
                compression.is_active = false;
            }
        }
        for message in &mut self.messages {
            if message.replaced_by == Some(number) {
                message.replaced_by = None;
            }
        }
    }

    /// Clears the messages since a turn. Summaries that stand for one of them are taken back, and so are the summaries after them,
    /// because each summary is also made of the summary before it.
    fn drop_since(&mut self, turn: &RunId) {
        let Some(first) = self.messages.iter().position(|message| message.turn == *turn) else {
            return;
        };
        let (kept, dropped) = self.messages.split_at_mut(first);
        let kept: BTreeSet<&RunId> = kept.iter().map(|message| &message.turn).collect();
        self.reads.retain(|read| kept.contains(&read.turn));
        let mut since = None;
        for message in dropped {
            message.is_cleared = true;
            since = message.replaced_by.into_iter().chain(since).min();
        }
        let tainted = |number: u64| since.is_some_and(|since| number >= since);
        let numbers: Vec<u64> = self.compressions.iter().map(|found| found.number).collect();
        for number in numbers.into_iter().filter(|number| tainted(*number)) {
            self.restore_compression(number);
        }
    }

    fn deactivate_all(&mut self) {
        for compression in &mut self.compressions {
            compression.is_active = false;
        }
    }

    /// Becomes the state of a session that is forked from this one.
    fn become_fork(&mut self, key: SessionKey) {
        self.key = key;
        // What the origin cost was paid once, and is counted there.
        self.totals = SessionTotals::default();
    }
}

#[cfg(test)]
mod tests;
