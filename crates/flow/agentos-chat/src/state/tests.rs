//! Tests of the fold.

use agentos_ledger::{
    CallRecord, CompressionReceipt, ForkOrigin, MessageRef, RepositoryReads, SessionEvent, SessionKey,
    SessionRecord, SessionSettings, TurnEnd, TurnRecord, TurnSource,
};
use agentos_model::ChatRole;
use agentos_tool::{RunId, Usage};
use proptest::prelude::*;

use super::*;

/// Makes the reads of a turn, which name the turn.
fn read_in(turn: &str) -> RepositoryReads {
    RepositoryReads {
        repository: "r".to_owned(),
        folder: "/r".to_owned(),
        commit: turn.to_owned(),
        policy: String::new(),
        readers: Vec::new(),
        files: Vec::new(),
    }
}

/// Tape that is written by short words.
#[derive(Default)]
struct TestTape(Vec<LedgerEntry>);

impl TestTape {
    fn push(&mut self, body: LedgerBody) {
        let number = u64::try_from(self.0.len()).unwrap();
        self.0.push(LedgerEntry { number, body });
    }

    /// Adds a turn with messages of these hashes, the user's and the model's in turn.
    fn turn(&mut self, session: &str, turn: &str, hashes: &[&str]) -> &mut Self {
        let message = |(at, hash): (usize, &&str)| MessageRef {
            role: if at % 2 == 0 {
                ChatRole::User
            } else {
                ChatRole::Assistant
            },
            message_sha256: (*hash).to_owned(),
            author: None,
            cut: None,
        };
        let call = CallRecord {
            provider: "p".to_owned(),
            usage: Some(Usage {
                input_tokens: Some(10),
                output_tokens: Some(1),
                ..Usage::default()
            }),
            cost_usd: Some("0.5".parse().unwrap()),
            ..CallRecord::default()
        };
        let record = TurnRecord {
            session: Some(SessionKey::parse(session).unwrap()),
            caller: None,
            source: TurnSource::Session,
            repository: None,
            runs: Vec::new(),
            reads: vec![read_in(turn)],
            messages: hashes.iter().enumerate().map(message).collect(),
            choice: None,
            discarded: Vec::new(),
            calls: vec![call],
            end: TurnEnd::Answered,
        };
        self.push(LedgerBody::Turn {
            turn: RunId::parse(turn).unwrap(),
            record: Box::new(record),
        });
        self
    }

    fn event(&mut self, session: &str, event: SessionEvent) -> &mut Self {
        self.push(LedgerBody::Session(Box::new(SessionRecord {
            session: SessionKey::parse(session).unwrap(),
            event,
        })));
        self
    }

    fn begin(&mut self, session: &str, title: &str, fork: Option<(&str, Option<&str>)>) -> &mut Self {
        let fork = fork.map(|(origin, turn)| ForkOrigin {
            session: SessionKey::parse(origin).unwrap(),
            turn: turn.map(|turn| RunId::parse(turn).unwrap()),
        });
        let settings = SessionSettings {
            title_sha256: Some(title.to_owned()),
            ..SessionSettings::default()
        };
        self.event(session, SessionEvent::Begun { settings, fork })
    }

    fn compress(&mut self, session: &str, summary: &str, replaced: &[&str]) -> &mut Self {
        let receipt = CompressionReceipt {
            summary_sha256: summary.to_owned(),
            replaced: replaced.iter().map(|hash| (*hash).to_owned()).collect(),
            tokens_before: 10,
            tokens_after: 1,
            call: Some(CallRecord::default()),
        };
        self.event(session, SessionEvent::Compressed(Box::new(receipt)))
    }

    /// Shows what is sent in the next turn.
    fn show(&self, session: &str) -> String {
        let Some(state) = fold_session(&SessionKey::parse(session).unwrap(), &self.0) else {
            return "nothing".to_owned();
        };
        assert_eq!(state.key().as_str(), format!("conversation:{session}"));
        let live: Vec<&str> = state
            .list_live()
            .map(|message| message.message_sha256.as_str())
            .collect();
        let summary = state
            .active_compression()
            .map_or("-", |compression| compression.receipt.summary_sha256.as_str());
        let totals = state.totals();
        format!(
            "{} | {} | {} | {} turns, {} calls, {} usd, {} unknown{}",
            state.settings().title_sha256.as_deref().unwrap_or("-"),
            summary,
            live.join(" "),
            totals.turns,
            totals.calls,
            totals.cost_usd,
            totals.calls_without_cost,
            if state.is_deleted() { ", deleted" } else { "" },
        )
    }
}

#[test]
fn a_session_is_the_fold_of_its_records() {
    let mut tape = TestTape::default();
    let mut shown = vec![tape.show("a")];
    tape.begin("a", "First", None)
        .turn("b", "t0", &["z"])
        .turn("a", "t1", &["m1", "m2"])
        .turn("a", "t2", &["m3", "m4"]);
    shown.push(tape.show("a"));
    tape.compress("a", "s1", &["m1", "m2"])
        .turn("a", "t3", &["m5", "m6"]);
    shown.push(tape.show("a"));
    tape.compress("a", "s2", &["m3", "m4"]);
    shown.push(tape.show("a"));
    // The second summary is made of the first, so without it the first is in use again.
    tape.event("a", SessionEvent::Restored { compression: 6 });
    shown.push(tape.show("a"));
    tape.event("a", SessionEvent::Restored { compression: 4 });
    shown.push(tape.show("a"));
    tape.event("a", SessionEvent::Cleared)
        .turn("a", "t4", &["m7", "m8"]);
    shown.push(tape.show("a"));
    // What was cleared does not come back.
    tape.event("a", SessionEvent::Restored { compression: 6 });
    shown.push(tape.show("a"));
    tape.event("a", SessionEvent::Deleted);
    shown.push(tape.show("a"));
    tape.begin("a", "Again", None).turn("a", "t5", &["m9", "m0"]);
    shown.push(tape.show("a"));
    insta::assert_snapshot!(shown.join("\n"), @r#"
    nothing
    First | - | m1 m2 m3 m4 | 2 turns, 2 calls, 1 usd, 0 unknown
    First | s1 | m3 m4 m5 m6 | 3 turns, 4 calls, 1.5 usd, 1 unknown
    First | s2 | m5 m6 | 3 turns, 5 calls, 1.5 usd, 2 unknown
    First | s1 | m3 m4 m5 m6 | 3 turns, 5 calls, 1.5 usd, 2 unknown
    First | - | m1 m2 m3 m4 m5 m6 | 3 turns, 5 calls, 1.5 usd, 2 unknown
    First | - | m7 m8 | 4 turns, 6 calls, 2 usd, 2 unknown
    First | - | m7 m8 | 4 turns, 6 calls, 2 usd, 2 unknown
    - | - |  | 0 turns, 0 calls, 0 usd, 0 unknown, deleted
    Again | - | m9 m0 | 1 turns, 1 calls, 0.5 usd, 0 unknown
    "#);
}

#[test]
fn a_fork_begins_with_the_turns_of_its_origin() {
    let mut tape = TestTape::default();
    tape.begin("a", "A", None)
        .turn("a", "t1", &["m1", "m2"])
        .turn("a", "t2", &["m3", "m4"])
        .compress("a", "s1", &["m1", "m2"])
        .turn("a", "t3", &["m5", "m6"])
        .begin("early", "Early", Some(("a", Some("t1"))))
        .begin("late", "Late", Some(("a", Some("t2"))))
        .begin("empty", "Empty", Some(("a", None)))
        .turn("late", "t4", &["m7", "m8"])
        .begin("second", "Second", Some(("late", Some("t4"))))
        // A turn that the origin itself has from its origin.
        .begin("through", "Through", Some(("late", Some("t1"))))
        .begin("wrong", "Wrong", Some(("a", Some("t9"))))
        // Nothing of this is in the forks.
        .turn("a", "t5", &["m9", "m0"])
        .event("a", SessionEvent::Deleted)
        .turn("second", "t6", &["n1", "n2"]);
    let names = ["a", "early", "late", "empty", "second", "through", "wrong"];
    let shown: Vec<String> = names
        .iter()
        .map(|name| format!("{name}: {}", tape.show(name)))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    a: - | - |  | 0 turns, 0 calls, 0 usd, 0 unknown, deleted
    early: Early | - | m1 m2 | 0 turns, 0 calls, 0 usd, 0 unknown
    late: Late | s1 | m3 m4 m7 m8 | 1 turns, 1 calls, 0.5 usd, 0 unknown
    empty: Empty | - |  | 0 turns, 0 calls, 0 usd, 0 unknown
    second: Second | s1 | m3 m4 m7 m8 n1 n2 | 1 turns, 1 calls, 0.5 usd, 0 unknown
    through: Through | - | m1 m2 | 0 turns, 0 calls, 0 usd, 0 unknown
    wrong: Wrong | - |  | 0 turns, 0 calls, 0 usd, 0 unknown
    "#);
}

#[test]
fn equal_messages_are_replaced_in_order() {
    let mut tape = TestTape::default();
    tape.begin("a", "A", None)
        .turn("a", "t1", &["yes", "m1"])
        .turn("a", "t2", &["yes", "m2"])
        .turn("a", "t3", &["yes", "m3"])
        .compress("a", "s1", &["yes", "m1", "yes", "m2"]);
    insta::assert_snapshot!(tape.show("a"), @"A | s1 | yes m3 | 3 turns, 4 calls, 1.5 usd, 1 unknown");
    // The last request stays, and what follows it in the same turn is replaced.
    tape.turn("a", "t4", &["yes", "m4", "m5", "m6"])
        .compress("a", "s2", &["yes", "m3", "m4", "m5"]);
    insta::assert_snapshot!(tape.show("a"), @"A | s2 | yes m6 | 4 turns, 6 calls, 2 usd, 2 unknown");
}

#[test]
fn sessions_that_name_each_other_as_origins_end() {
    let mut tape = TestTape::default();
    tape.begin("a", "A", Some(("b", Some("t1"))))
        .begin("b", "B", Some(("a", Some("t1"))))
        .turn("a", "t1", &["m1"])
        .begin("c", "C", Some(("c", None)));
    assert!(tape.show("a").contains("m1"));
    assert!(tape.show("b").starts_with('B'));
    assert!(tape.show("c").starts_with('C'));
}

proptest! {
    #[test]
    fn the_fold_of_a_tape_is_the_fold_of_its_parts(steps in proptest::collection::vec(0..6_u8, 0..40)) {
        let mut tape = TestTape::default();
        let key = SessionKey::parse("a").unwrap();
        let mut state = SessionState::new(key.clone());
        for (at, step) in steps.iter().enumerate() {
            let live: Vec<String> = state.list_live().map(|message| message.message_sha256.clone()).collect();
            let first: Vec<&str> = live.iter().take(3).map(String::as_str).collect();
            match step {
                0 => tape.compress("a", &format!("s{at}"), &first),
                1 => tape.event("a", SessionEvent::Restored { compression: u64::try_from(at / 2).unwrap() }),
                2 if at % 5 == 0 => tape.event("a", SessionEvent::Cleared),
                3 if at % 7 == 0 => tape.event("a", SessionEvent::Deleted),
                _ => tape.turn("a", &format!("t{at}"), &[&format!("u{at}"), &format!("v{at}")]),
            };
            let entry = tape.0.last().unwrap();
            match &entry.body {
                LedgerBody::Turn { turn, record } => state.apply_turn(turn, record),
                LedgerBody::Session(record) => state.apply_event(entry.number, &record.event),
            }
            prop_assert_eq!(fold_session(&key, &tape.0), Some(state.clone()));
        }
        // Every message is live, replaced by an active compression, or cleared.
        for message in state.messages() {
            let is_replaced = message.replaced_by.is_some_and(|number| {
                state.compressions().iter().any(|compression| compression.number == number)
            });
            prop_assert_eq!(message.replaced_by.is_some(), is_replaced);
        }
    }
}

/// Lists the turns whose reads count for the next turn.
fn list_reads(tape: &TestTape, session: &str) -> Vec<String> {
    let state = fold_session(&SessionKey::parse(session).unwrap(), &tape.0).unwrap();
    state.list_reads().map(|read| read.reads.commit.clone()).collect()
}

fn drop_since(turn: &str) -> SessionEvent {
    SessionEvent::Dropped {
        turn: RunId::parse(turn).unwrap(),
    }
}

#[test]
fn reads_count_as_long_as_something_of_their_turn_can_be_sent() {
    let mut tape = TestTape::default();
    tape.begin("a", "First", None)
        .turn("a", "t1", &["m1", "m2"])
        // Its messages were forgotten, because no model answered them.
        .turn("a", "t2", &[])
        .turn("a", "t3", &["m3", "m4"])
        .compress("a", "s1", &["m1", "m2"]);
    assert_eq!(
        list_reads(&tape, "a"),
        ["t1", "t3"],
        "a summary inherits the reads"
    );
    tape.begin("b", "Fork", Some(("a", Some("t1"))));
    assert_eq!(
        list_reads(&tape, "b"),
        ["t1"],
        "a fork has the reads of its origin"
    );
    tape.event("a", SessionEvent::Cleared).turn("a", "t4", &["m5"]);
    assert_eq!(list_reads(&tape, "a"), ["t4"]);
}

#[test]
fn a_dropped_turn_takes_later_turns_and_their_summaries_with_it() {
    let mut tape = TestTape::default();
    tape.begin("a", "First", None)
        .turn("a", "t1", &["m1", "m2"])
        .turn("a", "t2", &["m3", "m4"])
        .compress("a", "s1", &["m1", "m2"])
        .turn("a", "t3", &["m5", "m6"])
        .compress("a", "s2", &["m3", "m4"])
        .turn("a", "t4", &["m7"]);
    tape.event("a", drop_since("t3"));
    assert!(tape.show("a").contains("| s2 |  |"), "{}", tape.show("a"));
    assert_eq!(list_reads(&tape, "a"), ["t1", "t2"]);
    // The second summary stands for messages of the turn, and the first one does not.
    tape.event("a", drop_since("t2"));
    assert!(tape.show("a").contains("| s1 |  |"), "{}", tape.show("a"));
    assert_eq!(list_reads(&tape, "a"), ["t1"]);
    tape.event("a", drop_since("t1"));
    assert!(tape.show("a").contains("| - |  |"), "{}", tape.show("a"));
    assert!(list_reads(&tape, "a").is_empty());
}
