//! A summary that the user requests, between two turns.
//!
//! Owns: what it replaces, and what is recorded. Never: sends a message of the user.

use agentos_ledger::{CompressionReceipt, SessionEvent, SessionRecord};

use super::flow::TurnFlow;
use super::{FinishedTurn, TurnOrder, TurnPorts};
use crate::ports::StoreError;
use crate::state::SessionState;

/// Smallest number of tokens of a summary.
const SMALLEST_SUMMARY: u64 = 64;
/// Part of the window's room that a summary may fill: a tenth, as in a turn.
const SUMMARY_SHARE: u64 = 10;

/// End of a requested summary.
#[derive(Debug, Clone, PartialEq)]
pub enum SummaryEnd {
    /// The messages are sent as a summary from now on.
    Compressed(Box<CompressionReceipt>),
    /// There is no message to summarize.
    Unneeded,
    /// There is no summary, and the session is as before. The call of the model is recorded as a turn without messages.
    Failed(Box<FinishedTurn>),
}

/// Replaces all messages that are sent by a summary, and applies its record to the state.
///
/// Must be awaited on a thread with a runtime that has timers. The message of the order is not used.
///
/// # Errors
/// If a text of the session cannot be read, or the summary cannot be recorded.
pub async fn compress_session(
    state: &mut SessionState,
    order: TurnOrder,
    ports: TurnPorts<'_>,
) -> Result<SummaryEnd, StoreError> {
    let mut flow = TurnFlow::load_live(state, order, ports)?;
    let positions: Vec<usize> = (0..flow.count_live()).collect();
    if positions.is_empty() {
        return Ok(SummaryEnd::Unneeded);
    }
    let model = flow.ports.model;
    let room = model.window.tokens.saturating_sub(model.output_reserve);
    let tokens = (room / SUMMARY_SHARE).max(SMALLEST_SUMMARY);
    // The summary is the whole request, so its failure is the end, whether the messages fit or not.
    if let Err(end) = flow.compress(&positions, tokens, false).await {
        return flow
            .finish(state, end)
            .map(|turn| SummaryEnd::Failed(Box::new(turn)));
    }
    match flow.receipts.pop() {
        None => Ok(SummaryEnd::Unneeded),
        Some((receipt, summary)) => {
            flow.ports.store.store_text(&summary)?;
            let event = SessionEvent::Compressed(Box::new(receipt.clone()));
            let number = flow.ports.store.append_event(&SessionRecord {
                session: state.key().clone(),
                event: event.clone(),
            })?;
            state.apply_event(number, &event);
            Ok(SummaryEnd::Compressed(Box::new(receipt)))
        }
    }
}
