//! The one reader of the tape for all listeners, and the last events for them.
//!
//! Owns: the looks at the tape, and a bounded list of the newest events. Never: waits for a listener, or keeps a queue for one.
//!
//! A listener has a number, and asks for what comes after it. What the list has no more, it is given from the tape. So a slow
//! listener costs no memory, holds nobody up, and misses nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentos_host::{TapeEvent, TapePlace};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::desk::SharedDesk;
use crate::fault::RequestFault;
use crate::keyed_places::{KeyedPlace, KeyedPlaces};

/// Most events that are kept, and most of one read.
pub const MOST_EVENTS: usize = 256;
/// Most listeners of all repositories over the network, the Unix socket and TLS: at most half of the connections of each way, so that
/// the other half stays free for requests.
const MOST_LISTENERS: [usize; 3] = [256, 32, 32];
/// Most listeners of one token or session. Otherwise one program could take the places of all others.
const MOST_OF_AUTHOR: usize = 32;
/// Time between two looks at the tape. Other processes write it too, and no system says so alike for every file system.
const LOOK_TIME: Duration = Duration::from_millis(300);

/// Number of the newest event, on the tape with this count of replacements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventMark {
    /// Number of tapes that were replaced before this one. A recovery replaces a tape, and the numbers begin again.
    pub tape: u64,
    /// Number of the event.
    pub seq: u64,
}

/// Places of the listeners of all repositories. Clones share them.
#[derive(Debug, Clone)]
pub struct ListenerPlaces {
    ways: Arc<[Arc<Semaphore>; 3]>,
    authors: KeyedPlaces<ListenerAuthor>,
}

/// Author of a listener.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ListenerAuthor {
    /// Token of this name.
    Token(String),
    /// Session of this name.
    Session(String),
}

/// Place of a listener, until it is dropped.
#[derive(Debug)]
pub struct ListenerPlace {
    _way: OwnedSemaphorePermit,
    _author: Option<KeyedPlace<ListenerAuthor>>,
}

/// Way on which a listener came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerWay {
    /// Address of the network.
    Network,
    /// Unix socket of the user.
    Socket,
    /// TLS of the service itself.
    Tls,
}

impl Default for ListenerPlaces {
    fn default() -> Self {
        Self {
            ways: Arc::new(MOST_LISTENERS.map(|most| Arc::new(Semaphore::new(most)))),
            authors: KeyedPlaces::new(MOST_OF_AUTHOR),
        }
    }
}

impl ListenerPlaces {
    /// Takes a place for a listener. `None` if too many came on this way, or of this author. A program of the user, over the Unix
    /// socket, has no author.
    pub fn take(&self, way: ListenerWay, author: Option<ListenerAuthor>) -> Option<ListenerPlace> {
        let [network, socket, tls] = self.ways.as_ref();
        let places = match way {
            ListenerWay::Network => network,
            ListenerWay::Socket => socket,
            ListenerWay::Tls => tls,
        };
        let author = match author {
            Some(author) => Some(self.authors.take(author)?),
            None => None,
        };
        Some(ListenerPlace {
            _way: Arc::clone(places).try_acquire_owned().ok()?,
            _author: author,
        })
    }
}

/// Reader of the tape.
#[derive(Debug)]
pub struct EventHub {
    place: tokio::sync::Mutex<TapePlace>,
    newest: Mutex<VecDeque<TapeEvent>>,
    mark: watch::Sender<EventMark>,
    has_reader: Mutex<bool>,
}

impl Default for EventHub {
    fn default() -> Self {
        Self {
            place: tokio::sync::Mutex::default(),
            newest: Mutex::default(),
            mark: watch::Sender::new(EventMark::default()),
            has_reader: Mutex::default(),
        }
    }
}

impl EventHub {
    /// Looks at the tape once, to its end. Returns the mark of the newest event.
    ///
    /// # Errors
    /// If the tape cannot be read.
    pub async fn look_once(&self, desk: &SharedDesk) -> Result<EventMark, RequestFault> {
        let mut place = self.place.lock().await;
        loop {
            let from = place.clone();
            let (events, next) = desk
                .call(move |desk| desk.host.stories().read_events(&from, MOST_EVENTS))
                .await?;
            let was_replaced = events.is_empty() && next == TapePlace::default() && *place != next;
            *place = next;
            if was_replaced {
                lock(&self.newest).clear();
                self.mark.send_modify(|mark| {
                    *mark = EventMark {
                        tape: mark.tape + 1,
                        seq: 0,
                    };
                });
                continue;
            }
            let Some(last) = events.last().map(|event| event.seq) else {
                return Ok(*self.mark.borrow());
            };
            self.keep_events(events);
            // After the events are kept: whoever is woken finds them.
            self.mark.send_modify(|mark| mark.seq = last);
        }
    }

    /// Keeps the newest events.
    fn keep_events(&self, events: Vec<TapeEvent>) {
        let mut newest = lock(&self.newest);
        newest.extend(events);
        let surplus = newest.len().saturating_sub(MOST_EVENTS);
        newest.drain(..surplus);
    }

    /// Watches the mark of the newest event. Starts the reader with the first listener.
    pub fn watch_mark(&self, desk: &SharedDesk) -> watch::Receiver<EventMark> {
        let receiver = self.mark.subscribe();
        let mut has_reader = lock(&self.has_reader);
        if !std::mem::replace(&mut *has_reader, true) {
            tokio::spawn(read_on(SharedDesk::clone(desk)));
        }
        receiver
    }

    /// Returns the kept events after a number. `None` if some of them are kept no more.
    pub fn list_kept(&self, after: u64) -> Option<Vec<TapeEvent>> {
        let newest = lock(&self.newest);
        let oldest = newest.front()?.seq;
        (after + 1 >= oldest).then(|| newest.iter().filter(|event| event.seq > after).cloned().collect())
    }

    /// Ends the reader if nobody listens. Decided under the lock of [`EventHub::watch_mark`], so that no listener is left without one.
    fn may_end(&self) -> bool {
        let mut has_reader = lock(&self.has_reader);
        let ends = self.mark.receiver_count() == 0;
        *has_reader = !ends;
        ends
    }
}

/// Reads the tape as long as somebody listens.
async fn read_on(desk: SharedDesk) {
    while !desk.events.may_end() {
        // A repository without a tape has no records yet, and a tape that cannot be read now may be readable later.
        if let Err(fault) = desk.events.look_once(&desk).await {
            tracing::debug!(code = fault.error.code, "tape not read");
        }
        tokio::time::sleep(LOOK_TIME).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is complete before its lock is dropped, so a panic elsewhere leaves no half of one.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64) -> TapeEvent {
        TapeEvent {
            version: 1,
            seq,
            at: String::new(),
            run: String::new(),
            kind: String::new(),
        }
    }

    #[test]
    fn listeners_of_all_repositories_leave_places_for_others() {
        use ListenerWay::{Network, Socket, Tls};
        let places = ListenerPlaces::default();
        let other = places.clone();
        let mut held = Vec::new();
        for (way, most) in [(Network, 256), (Socket, 32), (Tls, 32)] {
            let taken = (0..1_000).map_while(|at| {
                if at % 2 == 0 {
                    places.take(way, None)
                } else {
                    other.take(way, None)
                }
            });
            let taken: Vec<_> = taken.collect();
            assert_eq!(taken.len(), most, "{way:?}");
            held.push(taken);
        }
        held.clear();
        assert!(other.take(Network, None).is_some());
    }

    #[test]
    fn one_author_leaves_places_for_others() {
        let places = ListenerPlaces::default();
        let take = |author: ListenerAuthor| places.take(ListenerWay::Network, Some(author));
        let token = || ListenerAuthor::Token("a".to_owned());
        let taken: Vec<_> = (0..1_000).map_while(|_| take(token())).collect();
        assert_eq!(taken.len(), 32);
        // A session may have the name of a token.
        assert!(take(ListenerAuthor::Session("a".to_owned())).is_some());
        drop(taken);
        assert!(take(token()).is_some());
    }

    #[test]
    fn the_newest_events_are_kept_and_a_gap_is_never_hidden() {
        let hub = EventHub::default();
        assert_eq!(hub.list_kept(0), None);
        hub.keep_events((1..=MOST_EVENTS as u64 + 4).map(event).collect());
        for (after, first, count) in [(4, 5, MOST_EVENTS), (5, 6, MOST_EVENTS - 1), (259, 260, 1)] {
            let kept = hub.list_kept(after).unwrap();
            assert_eq!((kept[0].seq, kept.len()), (first, count), "{after}");
        }
        assert_eq!(hub.list_kept(260), Some(Vec::new()));
        // Number 4 is gone, so the tape is asked.
        assert_eq!(hub.list_kept(3), None);
    }
}
