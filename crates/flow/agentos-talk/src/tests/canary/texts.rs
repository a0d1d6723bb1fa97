//! Records of sessions in memory.
//!
//! Owns: the texts, and the number of the last record. Never: writes a file.

use std::collections::BTreeMap;

use agentos_chat::{StoreError, TranscriptStore};
use agentos_ledger::{SessionRecord, TurnRecord};
use agentos_tool::RunId;

/// Texts and numbers of the records of all sessions.
#[derive(Debug, Default)]
pub(super) struct Texts {
    texts: BTreeMap<String, String>,
    /// Number of the last record.
    pub(super) number: u64,
}

impl TranscriptStore for Texts {
    fn load_text(&self, sha256: &str) -> Result<String, StoreError> {
        let text = self.texts.get(sha256).cloned();
        text.ok_or_else(|| StoreError::new("evidence-no-blob", "there is no such text"))
    }

    fn store_text(&mut self, text: &str) -> Result<String, StoreError> {
        let hash = agentos_chain::hash_bytes(text.as_bytes());
        self.texts.insert(hash.clone(), text.to_owned());
        Ok(hash)
    }

    fn append_turn(&mut self, _turn: &RunId, _record: &TurnRecord) -> Result<u64, StoreError> {
        self.number += 1;
        Ok(self.number)
    }

    fn append_event(&mut self, _record: &SessionRecord) -> Result<u64, StoreError> {
        self.number += 1;
        Ok(self.number)
    }
}
