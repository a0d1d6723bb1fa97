//! Turns of conversations that the page began and that run now.
//!
//! Owns: their text so far, for every page that shows them, their events for listeners, and the bound on their number. Never: takes a turn
//! itself, or waits for a listener: a listener that is too slow learns how many events it has missed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_host::TurnEvent;
use serde::Serialize;
use tokio::sync::{Notify, broadcast, watch};

/// Most turns that are known at once: running ones, and ended ones that failed and were not shown yet.
const MOST_TURNS: usize = 32;

/// Events that wait for a slow listener at most.
const MOST_EVENTS: usize = 1024;

/// The turns, by session.
#[derive(Debug)]
pub struct OpenTalks {
    turns: Mutex<HashMap<String, Arc<OpenTurn>>>,
    events: broadcast::Sender<TalkEvent>,
}

impl Default for OpenTalks {
    fn default() -> Self {
        Self {
            turns: Mutex::default(),
            events: broadcast::Sender::new(MOST_EVENTS),
        }
    }
}

/// Event of a turn, for programs that listen.
#[derive(Debug, Clone, Serialize)]
pub struct TalkEvent {
    /// Session.
    pub session: String,
    /// Place among the events of the turn, 1 for the first.
    pub number: u64,
    /// True if the session is the session of the page's repository.
    #[serde(skip)]
    pub is_own: bool,
    /// The event.
    #[serde(flatten)]
    pub event: TalkStep,
}

/// Step of a turn: its beginning, its end, and each event between them.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TalkStep {
    /// The turn begins.
    Begun {
        /// Message of the person.
        question: String,
    },
    /// The turn has ended.
    Ended {
        /// Reason why there is no answer. `None` if there is one.
        failure: Option<String>,
    },
    /// Event of the turn, as `agentos chat send --json` shows it.
    #[serde(untagged)]
    Event(TurnEvent),
}

/// Turn of a session.
#[derive(Debug)]
pub struct OpenTurn {
    /// Message of the person.
    pub question: String,
    /// Wakes whoever should stop the turn.
    pub stop: Notify,
    session: String,
    events: broadcast::Sender<TalkEvent>,
    sent: Mutex<SentSteps>,
    text: Mutex<TurnText>,
    changes: watch::Sender<u64>,
}

/// Count of the steps that were sent to listeners.
#[derive(Debug, Default)]
struct SentSteps {
    count: u64,
    is_own: bool,
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
        let mut turns = lock(&self.turns);
        let runs = turns.get(session).is_some_and(|turn| !turn.read_text().is_done);
        if runs || turns.len() >= MOST_TURNS {
            return None;
        }
        let turn = Arc::new(OpenTurn {
            question: question.to_owned(),
            stop: Notify::new(),
            session: session.to_owned(),
            events: self.events.clone(),
            sent: Mutex::default(),
            text: Mutex::default(),
            changes: watch::Sender::new(0),
        });
        turns.insert(session.to_owned(), Arc::clone(&turn));
        Some(turn)
    }

    /// Returns the turn of a session. `None` if there is none.
    pub fn find_turn(&self, session: &str) -> Option<Arc<OpenTurn>> {
        lock(&self.turns).get(session).cloned()
    }

    /// Listens to the events of all turns from now on.
    pub fn listen(&self) -> broadcast::Receiver<TalkEvent> {
        self.events.subscribe()
    }

    /// Forgets the turn of a session, if it has ended.
    pub fn forget_ended(&self, session: &str) {
        let mut turns = lock(&self.turns);
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

    /// Notes that the turn begins. `is_own` says whether the session is the one of the page's repository.
    pub fn begin(&self, is_own: bool) {
        lock(&self.sent).is_own = is_own;
        self.send_step(TalkStep::Begun {
            question: self.question.clone(),
        });
    }

    /// Sends the listeners a step. Without a listener, nothing is kept.
    fn send_step(&self, event: TalkStep) {
        // Sent under the lock, so that the events of a turn arrive in the order of their numbers.
        let mut sent = lock(&self.sent);
        sent.count += 1;
        let _ = self.events.send(TalkEvent {
            session: self.session.clone(),
            number: sent.count,
            is_own: sent.is_own,
            event,
        });
    }

    /// Adds an event of the turn.
    pub fn add_event(&self, event: TurnEvent) {
        self.send_step(TalkStep::Event(event.clone()));
        self.change_text(|text| match event {
            TurnEvent::Text { text: piece } => text.text.push_str(&piece),
            TurnEvent::Discarded { .. } | TurnEvent::TextWasThinking => {
                text.round += 1;
                text.text.clear();
            }
            TurnEvent::Cut { .. } => text.note = "was cut: the text so far is kept".to_owned(),
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
            text.failure = failure.clone();
        });
        self.send_step(TalkStep::Ended { failure });
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
