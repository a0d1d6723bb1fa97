//! The ledger as the store of a conversation's texts and records.
//!
//! Owns: the order in which both become durable. Never: keeps a text without a record for longer than a turn.

use agentos_chain::hash_bytes;
use agentos_chat::{StoreError, TranscriptStore};
use agentos_engine::ports::EffectError;
use agentos_evidence::RecordKind;
use agentos_ledger::{SessionRecord, TurnRecord};
use agentos_tool::RunId;
use serde_json::Value;

use agentos_calls::ledger::{Ledger, ledger_error};

/// Port of a turn to the ledger.
pub struct LedgerTranscript<'a> {
    ledger: &'a Ledger,
    /// Texts that the next record refers to. They are written with it, because nobody may remove them in between.
    texts: Vec<String>,
    /// Choice of the pool's member that answers. `None` if the user named a provider.
    choice: Option<Value>,
}

impl<'a> LedgerTranscript<'a> {
    /// Makes the port.
    pub fn new(ledger: &'a Ledger) -> Self {
        Self {
            ledger,
            texts: Vec::new(),
            choice: None,
        }
    }

    /// Records this choice with the turn.
    pub fn with_choice(self, choice: Option<Value>) -> Self {
        Self { choice, ..self }
    }
}

impl TranscriptStore for LedgerTranscript<'_> {
    fn load_text(&self, sha256: &str) -> Result<String, StoreError> {
        let bytes = self.ledger.tape().get_blob(sha256);
        let bytes = bytes.map_err(|error| word_effect(ledger_error(&error)))?;
        String::from_utf8(bytes).map_err(|_| {
            StoreError::new(
                "evidence-blob-changed",
                format!("the text `{sha256}` is not UTF-8"),
            )
        })
    }

    fn store_text(&mut self, text: &str) -> Result<String, StoreError> {
        self.texts.push(text.to_owned());
        Ok(hash_bytes(text.as_bytes()))
    }

    fn append_turn(&mut self, turn: &RunId, record: &TurnRecord) -> Result<u64, StoreError> {
        let record = &TurnRecord {
            choice: self.choice.clone().map(Box::new),
            ..record.clone()
        };
        // Kept until the last record of the turn is written: a summary's receipt follows the turn.
        let written = self.ledger.record(turn, RecordKind::Turn, record, &self.texts);
        written.map_err(word_effect)
    }

    fn append_event(&mut self, record: &SessionRecord) -> Result<u64, StoreError> {
        self.ledger.record_event(record, &self.texts).map_err(word_effect)
    }
}

fn word_effect(error: EffectError) -> StoreError {
    StoreError::new(&error.code, error.message.clone())
}
