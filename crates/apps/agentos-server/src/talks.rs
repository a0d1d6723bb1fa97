//! Turns of conversations that the page began and that run now.
//!
//! Owns: their text so far, for every page that shows them, their events for listeners, and the bound on their number. Never: takes a turn
//! itself, or waits for a listener: a listener that is too slow learns how many events it has missed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_host::TurnEvent;
use serde::Serialize;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, broadcast, watch};

/// Most turns that run at once.
const MOST_TURNS: usize = 32;
/// Most turns that are known: running ones, and ended ones that were not shown yet, of which the oldest makes room.
const MOST_KNOWN: usize = 2 * MOST_TURNS;
/// Most turns that run at once in all repositories: each has a confined process, some threads and about 30 descriptors.
const MOST_OF_ALL: usize = 64;

/// Events that wait for a slow listener at most.
const MOST_EVENTS: usize = 1024;

/// Places of the turns of all repositories. Clones share them.
#[derive(Debug, Clone)]
pub struct TurnPlaces(Arc<Semaphore>);

impl Default for TurnPlaces {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST_OF_ALL)))
    }
}

/// Reason why a turn is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnRefusal {
    /// A turn runs in the session.
    SessionBusy,
    /// Places for turns are all taken.
    TooMany,
}

/// The turns, by session.
#[derive(Debug)]
pub struct OpenTalks {
    turns: Mutex<HashMap<String, Arc<OpenTurn>>>,
    begun: AtomicU64,
    events: broadcast::Sender<TalkEvent>,
}

impl Default for OpenTalks {
    fn default() -> Self {
        Self {
            turns: Mutex::default(),
            begun: AtomicU64::default(),
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
    /// Place among the turns of all repositories, until the turn ends.
    place: Mutex<Option<OwnedSemaphorePermit>>,
    /// Place in the order in which turns began.
    order: u64,
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
    /// Begins a turn.
    ///
    /// # Errors
    /// If a turn runs in this session, or too many run.
    pub fn begin_turn(
        &self,
        places: &TurnPlaces,
        session: &str,
        question: &str,
    ) -> Result<Arc<OpenTurn>, TurnRefusal> {
        let mut turns = lock(&self.turns);
        if turns.get(session).is_some_and(|turn| turn.runs()) {
            return Err(TurnRefusal::SessionBusy);
        }
        if turns.values().filter(|turn| turn.runs()).count() >= MOST_TURNS {
            return Err(TurnRefusal::TooMany);
        }
        let place = Arc::clone(&places.0).try_acquire_owned();
        let place = place.map_err(|_| TurnRefusal::TooMany)?;
        if turns.len() >= MOST_KNOWN {
            let ended = turns.iter().filter(|(_, turn)| !turn.runs());
            let oldest = ended.min_by_key(|(_, turn)| turn.order);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                turns.remove(&name);
            }
        }
        let turn = Arc::new(OpenTurn {
            question: question.to_owned(),
            stop: Notify::new(),
            session: session.to_owned(),
            place: Mutex::new(Some(place)),
            order: self.begun.fetch_add(1, Ordering::Relaxed),
            events: self.events.clone(),
            sent: Mutex::default(),
            text: Mutex::default(),
            changes: watch::Sender::new(0),
        });
        turns.insert(session.to_owned(), Arc::clone(&turn));
        Ok(turn)
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
        if turns.get(session).is_some_and(|turn| !turn.runs()) {
            turns.remove(session);
        }
    }
}

impl OpenTurn {
    fn runs(&self) -> bool {
        !lock(&self.text).is_done
    }

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
        lock(&self.place).take();
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
        let (talks, places) = (OpenTalks::default(), TurnPlaces::default());
        let turn = talks.begin_turn(&places, "a", "one").unwrap();
        let second = talks.begin_turn(&places, "a", "two");
        assert_eq!(second.unwrap_err(), TurnRefusal::SessionBusy);
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
    }

    #[test]
    fn turns_that_run_have_a_bound_and_ended_ones_make_room() {
        let places = TurnPlaces::default();
        let all: Vec<OpenTalks> = (0..3).map(|_| OpenTalks::default()).collect();
        let begin = |talks: &OpenTalks, name: String| talks.begin_turn(&places, &name, "");
        // Many turns that ended and were never shown, such as turns of programs.
        let failed = begin(&all[0], "first".to_owned()).unwrap();
        failed.end_turn(Some("no model".to_owned()));
        for at in 0..3 * MOST_KNOWN {
            begin(&all[0], format!("ended{at}")).unwrap().end_turn(None);
        }
        assert!(all[0].find_turn("first").is_none());
        assert!(
            all[0]
                .find_turn(&format!("ended{}", 3 * MOST_KNOWN - 1))
                .is_some()
        );
        for talks in all.iter().take(MOST_OF_ALL / MOST_TURNS) {
            for at in 0..MOST_TURNS {
                begin(talks, format!("s{at}")).unwrap();
            }
            let further = begin(talks, "more".to_owned());
            assert_eq!(further.unwrap_err(), TurnRefusal::TooMany);
        }
        // Another repository waits for a place too, and has it as soon as a turn ends.
        let other = begin(&all[2], "a".to_owned());
        assert_eq!(other.unwrap_err(), TurnRefusal::TooMany);
        all[0].find_turn("s0").unwrap().end_turn(None);
        begin(&all[2], "a".to_owned()).unwrap();
    }
}
