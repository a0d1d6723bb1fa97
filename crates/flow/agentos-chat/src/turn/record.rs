//! What a turn leaves behind: its messages, its record, its receipts.
//!
//! Owns: the order in which they are written. Never: decides how a turn ends.

use agentos_ledger::{
    CompressionReceipt, MessageAuthor, MessageRef, SessionEvent, SessionRecord, TurnEnd, TurnRecord,
};
use agentos_model::ChatMessage;

use super::flow::TurnFlow;
use super::{FinishedTurn, StopCause, TurnFailure};
use crate::ports::StoreError;
use crate::state::SessionState;
use crate::transcript::write_message;

/// Message of a conversation, as a turn has it.
pub(crate) struct HeldMessage {
    pub(crate) message: ChatMessage,
    pub(crate) reference: MessageRef,
}

impl HeldMessage {
    /// Makes a message of this turn.
    pub(crate) fn new(
        message: ChatMessage,
        author: Option<MessageAuthor>,
        cut: Option<String>,
    ) -> Result<(Self, String), StoreError> {
        let stored = write_message(&message)?;
        let reference = MessageRef {
            role: message.role,
            message_sha256: stored.sha256,
            author,
            cut,
        };
        Ok((Self { message, reference }, stored.text))
    }
}

/// End of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FlowEnd {
    /// With a whole answer.
    Answered(String),
    /// By a limit.
    Limited(&'static str),
    /// By the user.
    Cancelled,
    /// By a failure.
    Failed(TurnFailure),
}

impl From<StopCause> for FlowEnd {
    fn from(cause: StopCause) -> Self {
        match cause {
            StopCause::Cancelled => Self::Cancelled,
            StopCause::TotalTime => Self::Limited(cause.name()),
        }
    }
}

impl TurnFlow<'_> {
    /// Stores the messages of the turn, then its record, then its receipts, and applies them to the state.
    pub(crate) fn finish(
        mut self,
        state: &mut SessionState,
        end: FlowEnd,
    ) -> Result<FinishedTurn, StoreError> {
        if self.is_unsendable() || self.is_unanswered() {
            // Kept, the message would be sent again with the next one, which usually repeats it; or make every later turn fail.
            self.forget_messages();
        }
        // Texts before the record that refers to them: a process that is killed in between leaves texts that nobody is shown.
        for (_, text) in &self.added {
            self.ports.store.store_text(text)?;
        }
        for (_, summary) in &self.receipts {
            self.ports.store.store_text(summary)?;
        }
        let (turn_end, answer, failure) = match end {
            FlowEnd::Answered(text) => (TurnEnd::Answered, Some(text), None),
            FlowEnd::Limited(limit) => (
                TurnEnd::Limited {
                    limit: limit.to_owned(),
                },
                None,
                None,
            ),
            FlowEnd::Cancelled => (TurnEnd::Cancelled, None, None),
            FlowEnd::Failed(failure) => (
                TurnEnd::Failed {
                    code: failure.code.clone(),
                },
                None,
                Some(failure),
            ),
        };
        let record = TurnRecord {
            session: Some(state.key().clone()),
            caller: None,
            source: self.order.source,
            repository: state.settings().repository.clone(),
            runs: self.runs,
            reads: self.reads,
            messages: self.added.into_iter().map(|(reference, _)| reference).collect(),
            // The caller chose, if anybody did, and adds it.
            choice: None,
            discarded: Vec::new(),
            calls: self.calls,
            end: turn_end,
        };
        self.ports.store.append_turn(&self.order.turn, &record)?;
        state.apply_turn(&self.order.turn, &record);
        // After the turn: a summary may replace messages of this turn, which exist only now.
        for (receipt, _) in self.receipts {
            let event = SessionEvent::Compressed(Box::new(receipt));
            let number = self.ports.store.append_event(&SessionRecord {
                session: state.key().clone(),
                event: event.clone(),
            })?;
            state.apply_event(number, &event);
        }
        Ok(FinishedTurn {
            record,
            answer,
            cut: self.cut,
            failure,
            open_results: self.open_results,
            learned_window: self.learned_window,
        })
    }
}

/// Receipt of a summary with its text.
pub(crate) type HeldReceipt = (CompressionReceipt, String);
