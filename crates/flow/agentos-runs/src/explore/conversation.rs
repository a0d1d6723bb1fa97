//! The conversation of a run with its model, in memory.
//!
//! Owns: what the model is sent next, and the sums of its calls. Never: outlives the run.

use std::collections::BTreeMap;

use agentos_chain::hash_bytes;
use agentos_chat::{SessionState, StoreError, TranscriptStore};
use agentos_ledger::{CallRecord, SessionEvent, SessionKey, SessionRecord, SessionSettings, TurnRecord};
use agentos_model::{ChatMessage, ChatRole, MessagePart, ToolResult};
use agentos_tool::{ExactCost, RunId, ToolTask, Usage, prompt};

/// Conversation of a run.
pub(super) struct RunConversation {
    pub(super) state: SessionState,
    pub(super) store: MemoryTranscript,
    /// Results of the last calls, without that of the proposal. Empty if the last attempt did not end with a call.
    open: Vec<ToolResult>,
    /// Ids of the calls that proposed the change of the last attempt.
    proposed: Vec<String>,
    /// Bytes of files that the model was sent.
    pub(super) sent: u64,
}

impl Default for RunConversation {
    fn default() -> Self {
        Self {
            state: SessionState::new(SessionKey::default()),
            store: MemoryTranscript::default(),
            open: Vec::new(),
            proposed: Vec::new(),
            sent: 0,
        }
    }
}

impl RunConversation {
    /// Makes the next message of the user: the task, or why the last answer could not be used.
    ///
    /// # Errors
    /// If the system prompt cannot be kept.
    pub(super) fn write_message(&mut self, task: &ToolTask) -> Result<ChatMessage, StoreError> {
        let has_begun = !self.state.messages().is_empty();
        let Some(feedback) = task.feedback.as_deref().filter(|_| has_begun) else {
            self.begin(task)?;
            return Ok(ChatMessage::from_user(prompt::user(task)));
        };
        let open = std::mem::take(&mut self.open);
        if open.is_empty() {
            let text = format!(
                "Your last answer could not be used:\n{}\nAnswer again, in full.",
                feedback.trim()
            );
            return Ok(ChatMessage::from_user(text));
        }
        let proposed = std::mem::take(&mut self.proposed);
        let results = open
            .into_iter()
            .map(|result| match proposed.contains(&result.tool_use_id) {
                true => ToolResult {
                    text: format!(
                        "The change could not be used:\n{}\nPropose the whole change again.",
                        feedback.trim()
                    ),
                    is_error: true,
                    ..result
                },
                false => result,
            });
        Ok(ChatMessage {
            role: ChatRole::User,
            parts: results.map(MessagePart::ToolResult).collect(),
        })
    }

    fn begin(&mut self, task: &ToolTask) -> Result<(), StoreError> {
        let settings = SessionSettings {
            system_sha256: Some(self.store.store_text(&prompt::system(task))?),
            ..SessionSettings::default()
        };
        let event = SessionEvent::Begun { settings, fork: None };
        let number = self.store.next_number();
        self.state.apply_event(number, &event);
        self.sent = task.count_context_bytes();
        Ok(())
    }

    /// Keeps the results of the calls with which an attempt ended, for the next one.
    pub(super) fn keep_open(&mut self, results: Vec<ToolResult>, proposed: Vec<String>) {
        self.open = results;
        self.proposed = proposed;
    }
}

/// Texts and calls of a run's conversation.
#[derive(Debug, Default)]
pub(super) struct MemoryTranscript {
    texts: BTreeMap<String, String>,
    calls: Vec<CallRecord>,
    number: u64,
}

impl MemoryTranscript {
    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Takes the calls of models since the last call of this function.
    pub(super) fn take_calls(&mut self) -> Vec<CallRecord> {
        std::mem::take(&mut self.calls)
    }
}

impl TranscriptStore for MemoryTranscript {
    fn load_text(&self, sha256: &str) -> Result<String, StoreError> {
        let text = self.texts.get(sha256).cloned();
        text.ok_or_else(|| StoreError::new("evidence-no-blob", format!("there is no text `{sha256}`")))
    }

    fn store_text(&mut self, text: &str) -> Result<String, StoreError> {
        let sha256 = hash_bytes(text.as_bytes());
        self.texts.insert(sha256.clone(), text.to_owned());
        Ok(sha256)
    }

    fn append_turn(&mut self, _turn: &RunId, record: &TurnRecord) -> Result<u64, StoreError> {
        self.calls.extend(record.calls.iter().cloned());
        Ok(self.next_number())
    }

    fn append_event(&mut self, record: &SessionRecord) -> Result<u64, StoreError> {
        if let SessionEvent::Compressed(receipt) = &record.event {
            self.calls.extend(receipt.call.clone());
        }
        Ok(self.next_number())
    }
}

/// Adds the costs that the server states, up to the cap that a reader of the record applies to them. `None` if it states none for one of the
/// calls.
fn sum_stated(calls: &[CallRecord]) -> Option<ExactCost> {
    let mut stated = calls.iter().map(|call| call.usage.as_ref()?.stated_cost);
    let sum = stated.try_fold(ExactCost::default(), |sum, cost| sum.checked_add(cost?));
    sum.map(ExactCost::cap)
}

/// Adds the tokens of calls. A count that one of the calls lacks is unknown, because a sum without it would be too small. `None` if
/// nothing is known.
pub(super) fn sum_usage(calls: &[CallRecord]) -> Option<Usage> {
    let add = |count: fn(&Usage) -> Option<u64>| {
        let counts = calls.iter().map(|call| call.usage.as_ref().and_then(count));
        counts.sum::<Option<u64>>()
    };
    // Vendors leave these out where they are 0.
    let add_known = |count: fn(&Usage) -> Option<u64>| {
        let known = calls
            .iter()
            .filter_map(|call| call.usage.as_ref().and_then(count));
        known.reduce(u64::saturating_add)
    };
    let usage = Usage {
        input_tokens: add(|usage| usage.input_tokens),
        cached_tokens: add_known(|usage| usage.cached_tokens),
        cache_write_tokens: add_known(|usage| usage.cache_write_tokens),
        output_tokens: add(|usage| usage.output_tokens),
        reasoning_tokens: add_known(|usage| usage.reasoning_tokens),
        stated_cost: sum_stated(calls),
    };
    (!calls.is_empty() && !usage.is_unknown()).then_some(usage)
}
