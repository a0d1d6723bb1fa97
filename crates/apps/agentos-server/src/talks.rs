//! Turns of conversations that the page began and that run now.
//!
//! Owns: their text so far, for every page that shows them, and the bound on their number. Never: takes a turn itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_host::TurnEvent;
use tokio::sync::{Notify, watch};

/// Most turns that are known at once: running ones, and ended ones that failed and were not shown yet.
const MOST_TURNS: usize = 32;

/// The turns, by session.
#[derive(Debug, Default)]
pub struct OpenTalks(Mutex<HashMap<String, Arc<OpenTurn>>>);

/// Turn of a session.
#[derive(Debug)]
pub struct OpenTurn {
    /// Message of the person.
    pub question: String,
    /// Wakes whoever should stop the turn.
    pub stop: Notify,
    text: Mutex<TurnText>,
    changes: watch::Sender<u64>,
}

/// Text of a turn so far.
#[derive(Debug, Clone, Default)]
pub struct TurnText {
    /// Number of times that a text was thrown away, as when another model took over.
    pub round: u64,
    /// The model's text. Untrusted.
    pub text: String,
    /// Present activity of the turn, in words of this program.
    pub note: String,
    /// True if the turn has ended.
    pub is_done: bool,
    /// Reason why there is no answer. `None` if there is one, or none yet.
    pub failure: Option<String>,
}

impl OpenTalks {
    /// Begins a turn. `None` if one runs in this session, or there are too many.
    pub fn begin_turn(&self, session: &str, question: &str) -> Option<Arc<OpenTurn>> {
        let mut turns = lock(&self.0);
        let runs = turns.get(session).is_some_and(|turn| !turn.read_text().is_done);
        if runs || turns.len() >= MOST_TURNS {
            return None;
        }
        let turn = Arc::new(OpenTurn {
            question: question.to_owned(),
            stop: Notify::new(),
            text: Mutex::default(),
            changes: watch::Sender::new(0),
        });
        turns.insert(session.to_owned(), Arc::clone(&turn));
        Some(turn)
    }

    /// Returns the turn of a session. `None` if there is none.
    pub fn find_turn(&self, session: &str) -> Option<Arc<OpenTurn>> {
        lock(&self.0).get(session).cloned()
    }

    /// Forgets the turn of a session, if it has ended.
    pub fn forget_ended(&self, session: &str) {
        let mut turns = lock(&self.0);
        if turns.get(session).is_some_and(|turn| turn.read_text().is_done) {
            turns.remove(session);
        }
    }
}

impl OpenTurn {
    /// Returns the text so far.
    pub fn read_text(&self) -> TurnText {
        lock(&self.text).clone()
    }

    /// Watches for changes of the text.
    pub fn watch_text(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Adds an event of the turn.
    pub fn add_event(&self, event: TurnEvent) {
        self.change_text(|text| match event {
            TurnEvent::Text { text: piece } => text.text.push_str(&piece),
            TurnEvent::Discarded { .. } => {
                text.round += 1;
                text.text.clear();
            }
            TurnEvent::ToolBegun { name, .. } => text.note = format!("calls the tool {name}"),
            TurnEvent::Note { note } => text.note = note,
            TurnEvent::ToolEnded { name, .. } => text.note = format!("has the result of the tool {name}"),
            TurnEvent::Thinking { .. } => text.note = "is thinking".to_owned(),
            TurnEvent::Compressed(_) => text.note = "summarized earlier messages".to_owned(),
            TurnEvent::Gauge(_) | TurnEvent::Usage(_) => {}
        });
    }

    /// Ends the turn.
    pub fn end_turn(&self, failure: Option<String>) {
        self.change_text(|text| {
            text.is_done = true;
            text.failure = failure;
        });
    }

    fn change_text(&self, change: impl FnOnce(&mut TurnText)) {
        change(&mut lock(&self.text));
        // After the text is changed: whoever is woken finds it.
        self.changes.send_modify(|count| *count += 1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change leaves a valid text, so a panic elsewhere does no harm here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_one_turn_at_a_time_and_a_failure_stays_until_it_was_shown() {
        let talks = OpenTalks::default();
        let turn = talks.begin_turn("a", "one").unwrap();
        assert!(talks.begin_turn("a", "two").is_none());
        talks.forget_ended("a");
        turn.add_event(TurnEvent::Text {
            text: "half".to_owned(),
        });
        turn.add_event(TurnEvent::Discarded {
            reason: "gone".to_owned(),
        });
        turn.add_event(TurnEvent::Text {
            text: "whole".to_owned(),
        });
        let text = talks.find_turn("a").unwrap().read_text();
        assert_eq!(
            (text.round, text.text.as_str(), text.is_done),
            (1, "whole", false)
        );
        turn.end_turn(Some("no model".to_owned()));
        assert_eq!(
            talks.find_turn("a").unwrap().read_text().failure.as_deref(),
            Some("no model")
        );
        talks.forget_ended("a");
        assert!(talks.find_turn("a").is_none());
        for at in 0..MOST_TURNS {
            assert!(talks.begin_turn(&format!("s{at}"), "").is_some());
        }
        assert!(talks.begin_turn("a", "").is_none());
    }
}
