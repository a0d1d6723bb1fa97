//! The records of a tape, folded into the state of one session.
//!
//! Owns: which records belong to a session, and those of the sessions that it was forked from. Never: reads a tape.

use agentos_ledger::{ForkOrigin, SessionEvent, SessionKey, SessionRecord, TurnRecord};
use agentos_tool::RunId;

use super::SessionState;

/// Record of the tape about a session.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    /// Number of the record on the tape.
    pub number: u64,
    /// The record.
    pub body: LedgerBody,
}

/// Body of a record about a session.
#[derive(Debug, Clone, PartialEq)]
pub enum LedgerBody {
    /// A turn ended.
    Turn {
        /// Id of the turn.
        turn: RunId,
        /// Record of the turn.
        record: Box<TurnRecord>,
    },
    /// Something happened to a session.
    Session(Box<SessionRecord>),
}

impl LedgerEntry {
    /// Returns the session that the record is about. `None` for a turn without a session.
    #[must_use]
    pub fn session(&self) -> Option<&SessionKey> {
        match &self.body {
            LedgerBody::Turn { record, .. } => record.session.as_ref(),
            LedgerBody::Session(record) => Some(&record.session),
        }
    }

    /// Returns the event. `None` for a turn.
    fn event(&self) -> Option<&SessionEvent> {
        match &self.body {
            LedgerBody::Session(record) => Some(&record.event),
            LedgerBody::Turn { .. } => None,
        }
    }

    fn find_fork(&self) -> Option<&ForkOrigin> {
        match self.event()? {
            SessionEvent::Begun { fork, .. } => fork.as_ref(),
            SessionEvent::Changed { .. }
            | SessionEvent::Compressed(_)
            | SessionEvent::Restored { .. }
            | SessionEvent::Cleared
            | SessionEvent::Dropped { .. }
            | SessionEvent::Shared { .. }
            | SessionEvent::Deleted => None,
        }
    }

    fn is_begin(&self) -> bool {
        matches!(self.event(), Some(SessionEvent::Begun { .. }))
    }

    fn is_turn(&self, wanted: &RunId) -> bool {
        matches!(&self.body, LedgerBody::Turn { turn, .. } if turn == wanted)
    }
}

/// Folds the records of a tape, in their order, into the state of a session. `None` if no record is about it.
///
/// Records of other sessions may be among them. Those of the sessions that it was forked from must be, or the fork begins empty.
#[must_use]
pub fn fold_session(key: &SessionKey, entries: &[LedgerEntry]) -> Option<SessionState> {
    let segments = collect_segments(key, entries);
    // The origin of all forks comes first.
    let mut segments = segments.into_iter().rev();
    let first = segments.next()?;
    let mut state = SessionState::new(first.key.clone());
    first.apply_to(&mut state);
    for segment in segments {
        state.become_fork(segment.key.clone());
        segment.apply_to(&mut state);
    }
    Some(state)
}

/// Records of one session that count for the folded one.
struct SessionSegment<'a> {
    key: &'a SessionKey,
    entries: Vec<&'a LedgerEntry>,
}

impl SessionSegment<'_> {
    fn apply_to(&self, state: &mut SessionState) {
        for entry in &self.entries {
            match &entry.body {
                LedgerBody::Turn { turn, record } => state.apply_turn(turn, record),
                LedgerBody::Session(record) => state.apply_event(entry.number, &record.event),
            }
        }
    }
}

/// Collects the segments of a session and of its origins, itself first.
fn collect_segments<'a>(key: &'a SessionKey, entries: &'a [LedgerEntry]) -> Vec<SessionSegment<'a>> {
    let mut segments = Vec::new();
    let mut key = key;
    let mut end = entries.len();
    // The turn up to which the session counts. `None` for the one that is folded, which counts as a whole.
    let mut until: Option<Option<&RunId>> = None;
    loop {
        let earlier = entries.get(..end).unwrap_or_default();
        let own = |entry: &&LedgerEntry| entry.session() == Some(key);
        // A name may be used again after its session was deleted; then the last beginning counts.
        let begin = earlier.iter().rposition(|entry| own(&entry) && entry.is_begin());
        let fork = begin
            .and_then(|at| earlier.get(at))
            .and_then(LedgerEntry::find_fork);
        let since = earlier.get(begin.unwrap_or(0)..).unwrap_or_default();
        let own: Vec<&LedgerEntry> = since.iter().filter(own).collect();
        // A fork of a fork may end at a turn of an earlier origin: then the session between them adds nothing.
        let is_passed = match (until, fork) {
            (Some(Some(turn)), Some(_)) => !own.iter().any(|entry| entry.is_turn(turn)),
            (Some(_) | None, _) => false,
        };
        let (Some(fork), Some(at)) = (fork, begin) else {
            push_segment(&mut segments, key, own, until);
            return segments;
        };
        if is_passed {
            // `until` stays: the turn is looked for in the origin.
        } else {
            push_segment(&mut segments, key, own, until);
            until = Some(fork.turn.as_ref());
        }
        // Records grow older with every step, so sessions that name each other as origins end this as well.
        (key, end) = (&fork.session, at);
    }
}

fn push_segment<'a>(
    segments: &mut Vec<SessionSegment<'a>>,
    key: &'a SessionKey,
    own: Vec<&'a LedgerEntry>,
    until: Option<Option<&RunId>>,
) {
    let is_any_turn = |entry: &&LedgerEntry| matches!(entry.body, LedgerBody::Turn { .. });
    let count = match until {
        None => own.len(),
        // A summary is recorded after the turn that needed it, so what follows the turn counts up to the next one.
        Some(turn) => {
            let last = match turn {
                Some(turn) => own.iter().position(|entry| entry.is_turn(turn)).map(|at| at + 1),
                None => Some(0),
            };
            last.map_or(0, |last| {
                let rest = own.get(last..).unwrap_or_default();
                last + rest.iter().position(is_any_turn).unwrap_or(rest.len())
            })
        }
    };
    let entries: Vec<&LedgerEntry> = own.into_iter().take(count).collect();
    if !entries.is_empty() {
        segments.push(SessionSegment { key, entries });
    }
}
