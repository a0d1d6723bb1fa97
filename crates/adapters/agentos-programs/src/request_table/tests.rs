//! Hostile lines: nothing that a child writes reaches another request, or grows without bound.

use std::time::Instant;

use agentos_model::{ChatEvent, ChatFinish};
use agentos_tool::FinishReason;
use proptest::prelude::*;

use super::*;

fn text(id: u64, size: usize) -> ChildLine {
    let text = "x".repeat(size);
    let event = ChatEvent::Text { text };
    let line = HostedLine::Event { event };
    ChildLine::Answer { id, line }
}

fn finish(id: u64) -> ChildLine {
    let end = ChatFinish {
        finish: FinishReason::Stop,
        model_id: None,
        endpoint: None,
        latency_ms: 1,
        warnings: Vec::new(),
    };
    let event = ChatEvent::Finish(end);
    let line = HostedLine::Event { event };
    ChildLine::Answer { id, line }
}

fn note(id: u64) -> ChildLine {
    let line = HostedLine::Note { note: "n".to_owned() };
    ChildLine::Answer { id, line }
}

fn cancelled(id: u64) -> ChildLine {
    let line = HostedLine::Cancelled;
    ChildLine::Answer { id, line }
}

/// A table that works on conversations with these ids, of which each is its own receiver.
fn serving(ids: &[u64]) -> RequestTable<u64> {
    let mut table = RequestTable::default();
    table.take_message(ChildLine::Ready, 8).unwrap();
    for id in ids {
        table.add_request(*id, *id, WorkKind::Chat, far_away());
    }
    table
}

fn far_away() -> TimeBox {
    let limit = Duration::from_secs(3600);
    TimeBox {
        deadline: Instant::now() + limit,
        limit,
    }
}

#[test]
fn every_broken_rule_has_its_fault() {
    use ProtocolFault::*;
    // Each line with its size.
    type Lines<'a> = &'a [(ChildLine, usize)];
    let cases: [(&str, Lines<'_>, ProtocolFault); 8] = [
        ("ready twice", &[(ChildLine::Ready, 8)], ReadyTwice),
        ("an unknown id", &[(text(3, 1), 9)], UnknownRequest),
        (
            "an event after the end",
            &[(finish(1), 9), (text(1, 1), 9)],
            UnknownRequest,
        ),
        ("a second end", &[(finish(1), 9), (finish(1), 9)], UnknownRequest),
        ("a line of a task", &[(note(1), 9)], WrongKind),
        ("an end that nobody asked for", &[(cancelled(1), 9)], NotCancelled),
        (
            "more than the window",
            &[(text(1, 1), SEND_WINDOW), (text(1, 1), 1)],
            WindowExceeded,
        ),
        (
            "more than an answer may have",
            &[(text(1, 1), MOST_OUTPUT + 1)],
            TooMuchOutput,
        ),
    ];
    for (name, lines, fault) in cases {
        let mut table = serving(&[1, 2]);
        let ((last, size), before) = lines.split_last().unwrap();
        for (line, size) in before {
            table.take_message(line.clone(), *size).unwrap();
        }
        assert_eq!(table.take_message(last.clone(), *size), Err(fault), "{name}");
    }
    let mut early = RequestTable::<u64>::default();
    assert_eq!(early.take_message(finish(1), 9), Err(NotReady));
    for (line, fault) in [
        (&b"hello\n"[..], NotMessage),
        (b"\"ready\" \"ready\"\n", NotMessage),
        (
            b"{\"answer\":{\"id\":1,\"line\":{\"type\":\"cancelled\"},\"more\":1}}\n",
            NotMessage,
        ),
        (
            b"{\"answer\":{\"id\":-1,\"line\":{\"type\":\"cancelled\"}}}\n",
            NotMessage,
        ),
        (&vec![b' '; LONGEST_LINE + 1], LineTooLong),
    ] {
        assert_eq!(parse_line(line), Err(fault));
    }
    assert_eq!(parse_line(b"\"ready\"\n"), Ok(ChildLine::Ready));
}

#[test]
fn answers_that_wait_have_a_common_limit() {
    let ids: Vec<u64> = (1..=3).collect();
    let mut table = serving(&ids);
    let half = MOST_UNREAD / 2;
    assert!(table.take_message(text(1, 1), half).is_ok());
    assert!(table.take_message(text(2, 1), half).is_ok());
    assert_eq!(
        table.take_message(text(3, 1), 1),
        Err(ProtocolFault::TooMuchUnread)
    );
    // Read bytes count no more, nor do those of a request that has ended.
    for read in [0, 1] {
        let mut table = serving(&ids);
        table.take_message(text(1, 1), half).unwrap();
        table.take_message(text(2, 1), half).unwrap();
        match read {
            0 => assert!(table.add_credit(1, half)),
            _ => assert!(table.take_message(finish(1), 1).is_ok()),
        }
        assert!(table.take_message(text(3, 1), half).is_ok());
    }
}

#[test]
fn a_cancelled_request_is_silent_until_it_has_ended() {
    let mut table = serving(&[1, 2]);
    assert!(table.cancel_request(1, Instant::now()));
    assert!(!table.cancel_request(1, Instant::now()));
    assert_eq!(table.take_message(text(1, 1), 9), Ok(LineMeaning::Unwanted));
    assert_eq!(table.take_message(cancelled(1), 9), Ok(LineMeaning::Unwanted));
    assert!(!table.cancel_request(1, Instant::now()));
    assert_eq!((table.count_running(), table.count_served()), (1, 1));
    // One that ends by itself meanwhile has nobody to answer either.
    assert!(table.cancel_request(2, Instant::now()));
    assert_eq!(table.take_message(finish(2), 9), Ok(LineMeaning::Unwanted));
    assert_eq!(table.next_deadline(), None);
}

#[test]
fn one_that_does_not_end_in_time_is_found_once() {
    let mut table = serving(&[1, 2]);
    let now = Instant::now();
    assert_eq!(table.take_overdue(now), None);
    let later = now + Duration::from_secs(7200);
    table.cancel_request(2, now);
    assert_eq!(table.take_overdue(now), Some(None));
    assert_eq!(
        table.take_overdue(later),
        Some(Some((1, Duration::from_secs(3600))))
    );
    assert_eq!(table.take_overdue(later), None);
}

/// Something that happens to the table.
#[derive(Debug, Clone)]
enum Step {
    Line(ChildLine, usize),
    Bytes(Vec<u8>),
    Credit(u64, usize),
    Cancel(u64),
    Add(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let id = 0_u64..6;
    let line = prop_oneof![
        (id.clone(), 0_usize..8).prop_map(|(id, size)| text(id, size)),
        id.clone().prop_map(finish),
        id.clone().prop_map(note),
        id.clone().prop_map(cancelled),
        Just(ChildLine::Ready),
    ];
    prop_oneof![
        8 => (line, prop_oneof![1_usize..64, Just(SEND_WINDOW), Just(MOST_OUTPUT)])
            .prop_map(|(line, size)| Step::Line(line, size)),
        1 => proptest::collection::vec(any::<u8>(), 0..64).prop_map(Step::Bytes),
        2 => (id.clone(), 0_usize..2 * SEND_WINDOW).prop_map(|(id, bytes)| Step::Credit(id, bytes)),
        1 => id.clone().prop_map(Step::Cancel),
        3 => id.prop_map(Step::Add),
    ]
}

proptest! {
    /// Whatever a child writes: nothing panics, a message reaches the request that it names and only while that one runs and is
    /// wanted, and what waits for readers is bounded.
    #[test]
    fn any_sequence_of_lines_reaches_only_the_request_that_it_names(
        steps in proptest::collection::vec(any_step(), 0..80)
    ) {
        let mut table = RequestTable::<u64>::default();
        let mut wanted = std::collections::BTreeSet::new();
        let mut unread = BTreeMap::new();
        for step in steps {
            match step {
                Step::Line(line, size) => {
                    let named = match &line {
                        ChildLine::Answer { id, line } => Some((*id, line.is_end())),
                        ChildLine::Ready => None,
                    };
                    // The process is ended with the first fault; the table must survive more.
                    if let Ok(LineMeaning::Message(receiver, _, bytes)) = table.take_message(line, size) {
                        let (id, is_end) = named.unwrap();
                        prop_assert_eq!((receiver, bytes), (id, size));
                        prop_assert!(wanted.contains(&id));
                        *unread.entry(id).or_insert(0) += size;
                        if is_end {
                            wanted.remove(&id);
                            unread.remove(&id);
                        }
                    }
                }
                Step::Bytes(bytes) => {
                    let _ = parse_line(&bytes).map(|line| table.take_message(line, bytes.len()));
                }
                Step::Credit(id, bytes) => {
                    table.add_credit(id, bytes);
                    let left = unread.entry(id).or_insert(0_usize);
                    *left = left.saturating_sub(bytes);
                }
                Step::Cancel(id) => {
                    table.cancel_request(id, Instant::now());
                    wanted.remove(&id);
                }
                // An id is used once in a process; the parent counts them.
                Step::Add(id) if table.running.contains_key(&id) => {}
                Step::Add(id) => {
                    table.add_request(id, id, WorkKind::Chat, far_away());
                    wanted.insert(id);
                    unread.insert(id, 0);
                }
            }
            prop_assert!(table.unread <= MOST_UNREAD);
            prop_assert_eq!(table.unread, table.running.values().map(|one| one.unread).sum::<usize>());
        }
        prop_assert!(table.end_all().iter().all(|id| wanted.contains(id)));
        prop_assert_eq!((table.count_running(), table.unread, table.is_ready()), (0, 0, false));
    }
}
