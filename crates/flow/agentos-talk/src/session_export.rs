//! A session as one document for other programs and people.
//!
//! Owns: its shape, and writing it to a file. Never: leaves a file that other users can read.

use std::collections::HashMap;
use std::path::Path;

use agentos_chat::SessionTotals;
use agentos_engine::ports::EffectError;
use agentos_evidence::RecordKind;
use agentos_ledger::{SessionKey, SessionSettings, TurnRecord, sum_costs};
use agentos_tool::{ExactCost, RunId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Talk;
use crate::sessions::{SessionMessage, SessionStory};
use agentos_calls::ledger::{Ledger, ledger_error, store_error};
use agentos_ground::own_file::write_own_text;

/// The output of `agentos chat export --format json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionExport {
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
    /// Turns with messages, the oldest first.
    pub turns: Vec<ExportedTurn>,
    /// Sums of tokens and cost.
    pub totals: SessionTotals,
}

/// Turn of an exported session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExportedTurn {
    /// Id of the turn.
    pub turn: RunId,
    /// Time of its end, RFC 3339. `None` if its record is on a tape that was replaced.
    pub time: Option<String>,
    /// Cost of its calls in US dollars, exact. `None` if one is not known.
    pub cost_usd: Option<ExactCost>,
    /// Messages of the turn.
    pub messages: Vec<SessionMessage>,
}

/// Time and cost of a turn.
type TurnFacts = (String, Option<ExactCost>);

impl Talk<'_> {
    /// Reads a session as one document.
    ///
    /// # Errors
    /// If there is no such session, or the ledger cannot be read.
    pub fn export_session(self, key: &SessionKey) -> Result<SessionExport, EffectError> {
        let SessionStory {
            version,
            session,
            title,
            settings,
            system,
            pins,
            summary,
            messages,
            totals,
        } = self.show_session(key)?;
        let facts = self.read_turn_facts(key)?;
        let mut turns: Vec<ExportedTurn> = Vec::new();
        for message in messages {
            match turns.last_mut() {
                Some(last) if last.turn == message.turn => last.messages.push(message),
                _ => {
                    let known = facts.get(message.turn.as_str());
                    turns.push(ExportedTurn {
                        turn: message.turn.clone(),
                        time: known.map(|(time, _)| time.clone()),
                        cost_usd: known.and_then(|(_, cost)| *cost),
                        messages: vec![message],
                    });
                }
            }
        }
        Ok(SessionExport {
            version,
            session,
            title,
            settings,
            system,
            pins,
            summary,
            turns,
            totals,
        })
    }

    /// Writes an exported session to a file that only its owner can read: it contains what the user typed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_export(self, path: &Path, text: &str) -> Result<(), EffectError> {
        write_own_text(
            &self.ground.environment().cwd.join(path),
            text,
            "export-not-written",
        )
    }

    fn read_turn_facts(self, key: &SessionKey) -> Result<HashMap<String, TurnFacts>, EffectError> {
        let ledger = Ledger::open(self.ground)?;
        let places = ledger.open_database()?.list_entries(key.as_str());
        let mut facts = HashMap::new();
        for place in places.map_err(|error| store_error(&error))? {
            let file = usize::try_from(place.file).unwrap_or(usize::MAX);
            let record = ledger.tape().record_at(file, place.byte, place.seq);
            let record = record.map_err(|error| ledger_error(&error))?;
            if record.kind == RecordKind::Turn
                && let Ok(turn) = serde_json::from_value::<TurnRecord>(record.body)
            {
                facts.insert(record.run, (record.ts, sum_costs(&turn.calls)));
            }
        }
        Ok(facts)
    }
}
