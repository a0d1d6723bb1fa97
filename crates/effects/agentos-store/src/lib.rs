//! The ledger as an SQLite database, for questions that the tape answers too slowly: costs, lists and search.
//!
//! Owns: the database file, its tables and its queries; and the reservations of budgets. Never: is the truth. Every row comes from a record of the tape, so the
//! file can be deleted at any time and is then made again.
//!
//! | table | a row for each | read by |
//! |---|---|---|
//! | `mark` | (one row) the place on the tape up to which records were read | [`LedgerStore::read_mark`] |
//! | `session` | session | lists of sessions |
//! | `entry` | record of a session, with its place on the tape | the state of a session |
//! | `call` | call of a model | costs |
//! | `text_use` | text that a session refers to | deletion, which keeps texts of other sessions |
//! | `words` | turn with text | search |
//!
//! Writes of one [`StoreBatch`] become visible together. A crash leaves the state before or after a batch. A file that cannot be
//! read, or has tables of another version, is replaced by an empty one.
//!
//! Reservations are in a file of their own, [`BudgetStore`], because no record is made of them:
//!
//! | state | counts as | until |
//! |---|---|---|
//! | `reserved` | the most that the call can use | it is marked as sent or refunded, or its lease ends |
//! | `sent` | the most that the call can use | it is settled or refunded, or its lease ends |
//! | `settled` | what the call used | the ledger has the call |
//! | `assumed`: also `sent` whose lease ended | the most that the call can have used | the period ends, or it is settled late |
//! | `refunded` | nothing | – |
//! | `expired`: `reserved` whose lease ended | nothing | – |

mod batch;
mod budgets;
mod costs;
mod database;
mod error;
mod locks;
mod sessions;
mod statistics;
mod words;

pub use batch::{EntryHead, SessionText, StoreBatch};
pub use budgets::{
    BudgetAmount, BudgetGroup, BudgetLimit, BudgetPeriod, BudgetScope, BudgetStore, BudgetSums, BudgetUnit,
    PlannedSpend, RecordedSpending, ReserveAnswer, SessionFilter, SpendEnd, SpendingQuery, WrongLimit,
    ZoneOffset, parse_amount,
};
pub use costs::{CostFilter, CostGroup, CostRow};
pub use database::{LedgerStore, StoreMark, make_private_folder};
pub use error::StoreError;
pub use locks::LedgerLock;
pub use sessions::{EntryPlace, FoundTurn, SessionRow};
pub use statistics::{CallEnd, CallStatistics, RequestedModel};

#[cfg(test)]
mod tests {
    use agentos_ledger::SessionKey;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    /// A database in a temporary folder, to which records are added as they are on a tape.
    struct Ledger {
        store: LedgerStore,
        seq: u64,
        folder: TempDir,
    }

    impl Ledger {
        fn new() -> Self {
            let folder = TempDir::new().unwrap();
            Self {
                store: LedgerStore::open(folder.path()).unwrap(),
                seq: 0,
                folder,
            }
        }

        fn add(&mut self, body: serde_json::Value, text: &str) {
            self.seq += 1;
            let (seq, turn) = (self.seq, format!("t-{}", self.seq));
            let at = EntryHead {
                place: EntryPlace {
                    seq,
                    file: 0,
                    byte: seq * 100,
                },
                ts: &format!("2026-11-2{}T09:14:00.000Z", 1 + seq / 4),
                turn: &turn,
            };
            let batch = self.store.begin_batch().unwrap();
            if body.get("event").is_some() {
                batch
                    .add_session(at, &serde_json::from_value(body).unwrap())
                    .unwrap();
            } else {
                let text = SessionText {
                    question: text.to_owned(),
                    all: text.to_owned(),
                };
                batch
                    .add_turn(at, &serde_json::from_value(body).unwrap(), &text)
                    .unwrap();
            }
            let mark = StoreMark {
                file: 0,
                byte: seq * 100 + 100,
                seq,
                hash: format!("h{seq}"),
            };
            batch.commit(&mark).unwrap();
        }

        fn turn(&mut self, session: Option<&str>, cost: Option<&str>, text: &str) {
            let message = format!("sha256:{text}");
            self.add(
                json!({
                    "session": session, "source": "session", "end": { "end": "answered" },
                    "messages": [{ "role": "user", "message_sha256": message }],
                    "calls": [{ "provider": "openai", "model": "asked", "model_id": "answered", "latency_ms": 1, "cost_usd": cost,
                                "usage": { "input_tokens": 10, "cached_tokens": 4, "output_tokens": 2 } }],
                }),
                text,
            );
        }

        fn found(&self, words: &str) -> Vec<String> {
            let found = self.store.search_turns(words, 10).unwrap();
            found
                .into_iter()
                .map(|turn| format!("{} {}", turn.session, turn.snippet))
                .collect()
        }
    }

    #[test]
    fn costs_are_exact_and_unknown_ones_are_counted() {
        let mut ledger = Ledger::new();
        for (session, cost) in [
            (Some("conversation:a"), Some("0.1")),
            (Some("conversation:a"), Some("0.000000000002")),
            (Some("conversation:b"), None),
            (None, Some("2")),
        ] {
            ledger.turn(session, cost, "text");
        }
        let sums = |group| {
            let rows = ledger.store.sum_costs(group, &CostFilter::default()).unwrap();
            let rows = rows.iter().map(|row| {
                let name = row.name.as_deref().unwrap_or("-");
                {
                    let cost = row
                        .cost_usd
                        .map_or_else(|| "-".to_owned(), |cost| cost.to_string());
                    format!("{name} {} {cost} {}", row.calls, row.unknown)
                }
            });
            rows.collect::<Vec<_>>()
        };
        let by_session = [
            "- 1 2 0",
            "conversation:a 2 0.100000000002 0",
            "conversation:b 1 0 1",
        ];
        assert_eq!(sums(CostGroup::Session), by_session);
        assert_eq!(sums(CostGroup::Model), ["openai/answered 4 2.100000000002 1"]);
        assert_eq!(sums(CostGroup::Provider), ["openai 4 2.100000000002 1"]);
        assert_eq!(
            sums(CostGroup::Day),
            ["2026-11-21 3 0.100000000002 1", "2026-11-22 1 2 0"]
        );
        let filter = CostFilter {
            since: Some("2026-11-22".to_owned()),
            ..CostFilter::default()
        };
        let rows = ledger.store.sum_costs(CostGroup::Provider, &filter).unwrap();
        assert_eq!(
            (
                rows[0].calls,
                rows[0].input_tokens,
                rows[0].cached_tokens,
                rows[0].output_tokens
            ),
            (1, 10, 4, 2)
        );
    }

    #[test]
    fn words_without_spaces_are_found_by_their_parts() {
        let mut ledger = Ledger::new();
        ledger.turn(Some("conversation:a"), None, "请把图片加到首页，then test it");
        ledger.turn(Some("conversation:b"), None, "画像をページに追加する");
        for (words, found) in [
            ("图片", 1),
            ("图", 1),
            ("首页", 1),
            ("片图", 0),
            ("图片 test", 1),
            ("ページ", 1),
            ("追加", 1),
        ] {
            assert_eq!(ledger.found(words).len(), found, "{words}");
        }
        assert_eq!(
            ledger.found("图片"),
            ["conversation:a 请把图片加到首页，then test it"]
        );
    }

    #[test]
    fn a_fork_keeps_what_it_has_in_common_with_a_deleted_session() {
        let mut ledger = Ledger::new();
        ledger.add(
            json!({ "session": "conversation:a", "event": "begun", "settings": { "title_sha256": "sha256:one" } }),
            "",
        );
        for text in ["apples", "pears", "plums"] {
            ledger.turn(Some("conversation:a"), None, text);
        }
        let fork = json!({ "session": "conversation:a", "turn": "t-3" });
        ledger.add(
            json!({ "session": "conversation:b", "event": "begun", "settings": {}, "fork": fork }),
            "",
        );
        let seqs = |ledger: &Ledger, session: &str| {
            let entries = ledger.store.list_entries(session).unwrap();
            entries.iter().map(|entry| entry.seq).collect::<Vec<_>>()
        };
        assert_eq!(seqs(&ledger, "conversation:b"), [1, 2, 3, 4, 5]);
        assert_eq!(
            ledger.found("apples"),
            ["conversation:a apples", "conversation:b apples"]
        );
        assert_eq!(
            ledger.store.list_own_texts("conversation:a").unwrap(),
            [] as [String; 0]
        );

        ledger.add(json!({ "session": "conversation:a", "event": "deleted" }), "");
        assert_eq!(ledger.found("apples"), ["conversation:b apples"]);
        assert_eq!(seqs(&ledger, "conversation:a"), [] as [u64; 0]);
        let (sessions, all) = ledger.store.list_sessions(10).unwrap();
        assert_eq!(
            (sessions.len(), all, sessions[0].session.as_str()),
            (1, 1, "conversation:b")
        );
        assert_eq!(ledger.store.find_session("conversation:a").unwrap(), None);
        // What it cost stays.
        assert_eq!(
            ledger
                .store
                .sum_costs(CostGroup::Session, &CostFilter::default())
                .unwrap()[0]
                .calls,
            3
        );

        ledger.add(
            json!({ "session": "conversation:a", "event": "begun", "settings": {} }),
            "",
        );
        let row = ledger.store.find_session("conversation:a").unwrap().unwrap();
        assert_eq!((row.turns, row.title, row.opening), (0, None, None));
    }

    #[test]
    fn a_cost_that_no_number_holds_is_no_failure() {
        let mut ledger = Ledger::new();
        for cost in ["18446744", "18446744", "0.000000000001"] {
            ledger.turn(Some("conversation:a"), Some(cost), "text");
        }
        let rows = ledger
            .store
            .sum_costs(CostGroup::Session, &CostFilter::default())
            .unwrap();
        assert_eq!((rows[0].calls, rows[0].cost_usd, rows[0].unknown), (3, None, 0));
        assert_eq!(ledger.store.list_sessions(1).unwrap().0[0].cost_usd, None);
    }

    #[test]
    fn a_deleted_text_is_not_in_the_file() {
        let mut ledger = Ledger::new();
        ledger.turn(Some("conversation:a"), None, "tulip tulip tulip");
        ledger.add(json!({ "session": "conversation:a", "event": "deleted" }), "");
        ledger.store.forget_pages().unwrap();
        for entry in std::fs::read_dir(ledger.folder.path()).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains("tulip"));
        }
    }

    #[test]
    fn words_of_a_search_are_no_language() {
        let mut ledger = Ledger::new();
        ledger.turn(Some("conversation:a"), None, "say \"AND\" or NOT (x*) é");
        for text in ["\"AND\"", "(x*", "not OR", "É", "say x"] {
            assert_eq!(ledger.found(text).len(), 1, "{text}");
        }
        assert_eq!(ledger.found("say y"), [] as [String; 0]);
        assert_eq!(ledger.found("  "), [] as [String; 0]);
    }

    #[test]
    fn the_newest_turns_are_found_first_and_the_limit_counts_turns() {
        let mut ledger = Ledger::new();
        for text in [
            "fish and fish",
            "bird",
            "fish in a long text about many other things",
        ] {
            ledger.turn(Some("conversation:a"), None, text);
        }
        let all = [
            "conversation:a fish in a long text about many other things",
            "conversation:a fish and fish",
        ];
        assert_eq!(ledger.found("fish"), all);
        let one = ledger.store.search_turns("fish", 1).unwrap();
        assert_eq!(one.iter().map(|turn| turn.seq).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_batch_without_its_end_leaves_nothing() {
        let mut ledger = Ledger::new();
        ledger.turn(Some("conversation:a"), Some("1"), "text");
        let turn = json!({ "session": "conversation:a", "source": "session", "calls": [], "end": { "end": "cancelled" } });
        let at = EntryHead {
            place: EntryPlace {
                seq: 9,
                file: 0,
                byte: 0,
            },
            ts: "2026",
            turn: "t-9",
        };
        let batch = ledger.store.begin_batch().unwrap();
        batch
            .add_turn(
                at,
                &serde_json::from_value(turn).unwrap(),
                &SessionText::default(),
            )
            .unwrap();
        drop(batch);
        assert_eq!(
            ledger
                .store
                .list_entries(SessionKey::parse("a").unwrap().as_str())
                .unwrap()
                .len(),
            1
        );
        assert_eq!(ledger.store.read_mark().unwrap().map(|mark| mark.seq), Some(1));
    }
}
