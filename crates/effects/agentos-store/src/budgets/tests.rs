//! Budgets under calls at the same time, after crashes, and over the boundary of a period.

mod alert;

use std::io::{BufRead as _, BufReader, stdin};
use std::process::{Child, Stdio};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::LedgerStore;

/// Time of every call that does not state another one.
const NOON: &str = "2026-11-23T12:00:00Z";
/// Beginning of the argument by which a child process knows what to do.
const CHILD: &str = "child=";

fn cost(text: &str) -> ExactCost {
    text.parse().unwrap_or_default()
}

fn limit(amount: &str, period: BudgetPeriod) -> BudgetLimit {
    limit_of(BudgetAmount::Cost(cost(amount)), period)
}

fn limit_of(amount: BudgetAmount, period: BudgetPeriod) -> BudgetLimit {
    BudgetLimit {
        amount,
        period,
        zone: ZoneOffset::default(),
        scope: BudgetScope::default(),
        each: None,
    }
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn call<'a>(id: &'a str, bound: &str, now: &'a Timestamp) -> PlannedSpend<'a> {
    PlannedSpend {
        id,
        session: Some("conversation:a"),
        provider: "openai",
        model: Some("asked"),
        bound: cost(bound),
        bound_tokens: 100,
        now,
        lease_seconds: 60,
    }
}

/// Ledger without a call.
fn empty(_: &SpendingQuery) -> Result<RecordedSpending, StoreError> {
    Ok(spent("0", &[]))
}

fn spent(amount: &str, ids: &[&str]) -> RecordedSpending {
    RecordedSpending {
        sum: Some(cost(amount).pico_dollars()),
        unknown: 0,
        reservations: ids.iter().map(|id| (*id).to_owned()).collect(),
    }
}

/// Returns what is spent and reserved of a budget that all calls share.
fn sum_of(
    store: &mut BudgetStore,
    limit: &BudgetLimit,
    now: &Timestamp,
    ledger: &RecordedSpending,
) -> (BudgetAmount, BudgetAmount) {
    let sums = store.sum_budget(&limit.query_session(None, now), now, ledger);
    let sums = sums.unwrap().unwrap();
    (sums.spent, sums.reserved)
}

/// Reserves and marks as sent.
fn send(store: &mut BudgetStore, limit: &BudgetLimit, call: &PlannedSpend<'_>) -> bool {
    reserve(store, limit, call) && store.mark_sent(call.id, call.now).unwrap()
}

fn usd(amount: &str) -> BudgetAmount {
    BudgetAmount::Cost(cost(amount))
}

fn known(amount: &str) -> SpendEnd {
    SpendEnd::Ended {
        cost: Some(cost(amount)),
        tokens: None,
    }
}

/// End of a call of which nothing is known.
const UNKNOWN: SpendEnd = SpendEnd::Ended {
    cost: None,
    tokens: None,
};

fn reserve(store: &mut BudgetStore, limit: &BudgetLimit, call: &PlannedSpend<'_>) -> bool {
    let answer = store.reserve(std::slice::from_ref(limit), call, empty);
    matches!(answer, Ok(ReserveAnswer::Reserved { .. }))
}

/// Starts this test program again as another process, which runs the test of this name as a child.
fn start_child(test: &str, folder: &Path, name: &str) -> Child {
    let this = std::env::current_exe().unwrap();
    // Another filter, which no test has as its name: the child finds its order in it.
    let order = format!("{CHILD}{name}={}", folder.display());
    agentos_testkit::cli::program(this.to_str().unwrap())
        .args([
            "--exact",
            &format!("budgets::tests::{test}"),
            &order,
            "--nocapture",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads the order of a child. `None` if this process is no child.
fn read_order() -> Option<(String, BudgetStore)> {
    let order = std::env::args().find_map(|word| word.strip_prefix(CHILD).map(str::to_owned))?;
    let (name, folder) = order.split_once('=')?;
    Some((name.to_owned(), BudgetStore::open(Path::new(folder)).ok()?))
}

/// Reads what a child prints after a word.
fn read_result(child: &mut Child, word: &str) -> String {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let mut found = lines
        .map_while(Result::ok)
        .filter_map(|line| line.split_once(word).map(|(_, rest)| rest.to_owned()));
    found.next().unwrap_or_default()
}

/// Work of a child: more reservations than a budget has room for.
fn reserve_often(name: &str, store: &mut BudgetStore) {
    let (limit, now) = (limit("1", BudgetPeriod::Day), at(NOON));
    let reserved = (0..125)
        .filter(|count| reserve(store, &limit, &call(&format!("{name}-{count}"), "0.003", &now)))
        .count();
    println!("RESERVED {reserved}");
}

/// Work of a child: one reservation of everything, and then nothing until it is killed.
fn reserve_all_and_wait(name: &str, store: &mut BudgetStore, is_sent: bool) {
    let (limit, now) = (limit("1", BudgetPeriod::Day), at(NOON));
    let done = match is_sent {
        true => send(store, &limit, &call(name, "1", &now)),
        false => reserve(store, &limit, &call(name, "1", &now)),
    };
    println!("RESERVED {done}");
    let _ = stdin().read_line(&mut String::new());
}

#[test]
fn a_thousand_reservations_of_eight_processes_never_overrun() {
    if let Some((name, mut store)) = read_order() {
        return reserve_often(&name, &mut store);
    }
    let folder = TempDir::new().unwrap();
    drop(BudgetStore::open(folder.path()).unwrap());
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut children = names.map(|name| {
        start_child(
            "a_thousand_reservations_of_eight_processes_never_overrun",
            folder.path(),
            name,
        )
    });
    let mut reserved = 0_u32;
    for child in &mut children {
        reserved += read_result(child, "RESERVED ").parse::<u32>().unwrap();
        assert!(child.wait().unwrap().success());
    }
    // 333 times 0.003 is 0.999.
    assert_eq!(reserved, 333);
    let mut store = BudgetStore::open(folder.path()).unwrap();
    let sums = sum_of(
        &mut store,
        &limit("1", BudgetPeriod::Day),
        &at(NOON),
        &spent("0", &[]),
    );
    assert_eq!(sums, (usd("0"), usd("0.999")));
}

/// Work of a child: calls that end in every way, as far as a budget in calls has room.
fn call_often(name: &str, store: &mut BudgetStore) {
    let (limit, now) = (limit_of(BudgetAmount::Calls(300), BudgetPeriod::Minute), at(NOON));
    let mut counted = 0;
    for count in 0..125 {
        let id = format!("{name}-{count}");
        // Without a price: a budget in calls needs none.
        if !send(store, &limit, &call(&id, "0", &now)) {
            continue;
        }
        let ends = [SpendEnd::Nothing, UNKNOWN, known("0.1")];
        // The fourth kind stays open when the process ends.
        if let Some(end) = ends.get(count % 4) {
            store.close(&id, *end).unwrap();
        }
        counted += u32::from(!count.is_multiple_of(4));
    }
    println!("RESERVED {counted}");
}

#[test]
fn calls_of_eight_processes_at_once_are_counted_exactly() {
    let test = "calls_of_eight_processes_at_once_are_counted_exactly";
    if let Some((name, mut store)) = read_order() {
        return call_often(&name, &mut store);
    }
    let folder = TempDir::new().unwrap();
    drop(BudgetStore::open(folder.path()).unwrap());
    let mut children =
        ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| start_child(test, folder.path(), name));
    let mut counted = 0_u64;
    for child in &mut children {
        counted += read_result(child, "RESERVED ").parse::<u64>().unwrap();
        assert!(child.wait().unwrap().success());
    }
    // Three of four calls of 1,000 count, which is more than there is room for.
    assert_eq!(counted, 300);
    let mut store = BudgetStore::open(folder.path()).unwrap();
    let limit = limit_of(BudgetAmount::Calls(300), BudgetPeriod::Minute);
    let sum = |store: &mut BudgetStore, now: &str| {
        let (spent, reserved) = sum_of(store, &limit, &at(now), &spent("0", &[]));
        (spent.number() + reserved.number(), reserved.number())
    };
    let (all, open) = sum(&mut store, NOON);
    assert!(all == 300 && open > 0, "{all} {open}");
    // The next minute has room again, as soon as the calls of the ended processes are over.
    assert_eq!(sum(&mut store, "2026-11-23T12:01:00Z"), (0, 0));
}

#[test]
fn a_process_that_is_killed_before_its_request_leaves_loses_nothing() {
    let test = "a_process_that_is_killed_before_its_request_leaves_loses_nothing";
    if let Some((name, mut store)) = read_order() {
        return reserve_all_and_wait(&name, &mut store, false);
    }
    let (folder, limit) = (TempDir::new().unwrap(), limit("1", BudgetPeriod::Day));
    let mut store = kill_caller(test, folder.path());
    let (before, after) = (at("2026-11-23T12:00:59Z"), at("2026-11-23T12:01:00Z"));
    assert!(!reserve(&mut store, &limit, &call("next", "0.1", &before)));
    assert!(reserve(&mut store, &limit, &call("next", "0.1", &after)));
    assert_eq!(
        sum_of(&mut store, &limit, &after, &spent("0", &[])),
        (usd("0"), usd("0.1"))
    );
    // The process only slept after all: what it reserved is not there any more, so it must not send.
    assert!(!store.mark_sent("lost", &after).unwrap());
}

#[test]
fn a_process_that_is_killed_after_its_request_left_spends_the_bound() {
    let test = "a_process_that_is_killed_after_its_request_left_spends_the_bound";
    if let Some((name, mut store)) = read_order() {
        return reserve_all_and_wait(&name, &mut store, true);
    }
    let (folder, limit) = (TempDir::new().unwrap(), limit("1", BudgetPeriod::Day));
    let mut store = kill_caller(test, folder.path());
    let (before, after) = (at("2026-11-23T12:00:59Z"), at("2026-11-23T12:01:00Z"));
    let mut sum = |now: &Timestamp| sum_of(&mut store, &limit, now, &spent("0", &[]));
    assert_eq!(sum(&before), (usd("0"), usd("1")));
    // Its server may have counted an answer that nobody received, so the budget stays full, and nothing is reserved any more.
    assert_eq!(sum(&after), (usd("1"), usd("0")));
    assert!(!reserve(&mut store, &limit, &call("next", "0.1", &after)));
    // The process was only slow after all: what it really spent counts.
    store.close("lost", known("0.95")).unwrap();
    assert_eq!(
        sum_of(&mut store, &limit, &after, &spent("0", &[])),
        (usd("0.95"), usd("0"))
    );
    // The next day begins with nothing.
    let tomorrow = at("2026-11-24T00:00:00Z");
    assert_eq!(
        sum_of(&mut store, &limit, &tomorrow, &spent("0", &[])),
        (usd("0"), usd("0"))
    );
}

/// Runs a test's child until it has reserved everything, and kills it.
fn kill_caller(test: &str, folder: &Path) -> BudgetStore {
    let mut child = start_child(test, folder, "lost");
    assert_eq!(read_result(&mut child, "RESERVED "), "true");
    // `Child::kill` is SIGKILL: nothing of the process can clean up.
    child.kill().unwrap();
    child.wait().unwrap();
    BudgetStore::open(folder).unwrap()
}

/// One step of a call, with the state that the table has after it.
enum Step {
    Send,
    Lease,
    Close(SpendEnd),
}

#[test]
fn every_end_of_a_call_has_its_state() {
    use Step::{Close, Lease, Send};
    let cases: [(&str, &[Step]); 11] = [
        ("reserved 0.5", &[]),
        ("sent 0.5", &[Send]),
        ("settled 0.2", &[Send, Close(known("0.2"))]),
        ("assumed 0.5", &[Send, Close(UNKNOWN)]),
        ("refunded 0", &[Send, Close(SpendEnd::Nothing)]),
        ("refunded 0", &[Close(UNKNOWN)]),
        ("refunded 0", &[Close(SpendEnd::Nothing)]),
        ("expired 0", &[Lease]),
        ("assumed 0.5", &[Send, Lease]),
        ("settled 0.2", &[Send, Lease, Close(known("0.2"))]),
        ("refunded 0", &[Lease, Send, Close(UNKNOWN)]),
    ];
    let (limit, noon, later) = (
        limit("1", BudgetPeriod::Day),
        at(NOON),
        at("2026-11-23T12:05:00Z"),
    );
    for (position, (expected, steps)) in cases.into_iter().enumerate() {
        let folder = TempDir::new().unwrap();
        let mut store = BudgetStore::open(folder.path()).unwrap();
        assert!(reserve(&mut store, &limit, &call("one", "0.5", &noon)));
        let mut now = &noon;
        for step in steps {
            match step {
                Send => drop(store.mark_sent("one", now).unwrap()),
                Lease => {
                    now = &later;
                    sum_of(&mut store, &limit, now, &spent("0", &[]));
                }
                Close(end) => store.close("one", *end).unwrap(),
            }
        }
        let (spent, reserved) = sum_of(&mut store, &limit, now, &spent("0", &[]));
        let state: String = store
            .db
            .query_row("SELECT state FROM reservation", [], |row| row.get(0))
            .unwrap();
        let counted = BudgetUnit::Cost.amount(spent.number() + reserved.number());
        assert_eq!(
            format!("{state} {}", counted.to_string().trim_start_matches('$')),
            expected,
            "case {position}"
        );
    }
}

/// Work of a child: 125 calls, of which the first ones are reported while the others are still being reserved.
fn reserve_in_parallel(name: &str, store: &mut BudgetStore) {
    let (limit, now) = (limit("1", BudgetPeriod::Day), at(NOON));
    for count in 0..125 {
        reserve(store, &limit, &call(&format!("{name}-{count}"), "0.003", &now));
        if count == 10 {
            println!("BEGAN here");
        }
    }
    println!("RESERVED all");
}

#[test]
fn callers_that_are_killed_while_others_reserve_overrun_nothing_and_leak_nothing() {
    if let Some((name, mut store)) = read_order() {
        return reserve_in_parallel(&name, &mut store);
    }
    let folder = TempDir::new().unwrap();
    drop(BudgetStore::open(folder.path()).unwrap());
    let mut children = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| {
        start_child(
            "callers_that_are_killed_while_others_reserve_overrun_nothing_and_leak_nothing",
            folder.path(),
            name,
        )
    });
    for (position, child) in children.iter_mut().enumerate() {
        match position % 2 {
            // In the middle of its calls, which may be the middle of a transaction.
            0 => {
                assert_eq!(read_result(child, "BEGAN "), "here");
                child.kill().unwrap();
            }
            _ => assert_eq!(read_result(child, "RESERVED "), "all"),
        }
        child.wait().unwrap();
    }
    let mut store = BudgetStore::open(folder.path()).unwrap();
    let (limit, none) = (limit("1", BudgetPeriod::Day), spent("0", &[]));
    let mut sum = |now: &str| sum_of(&mut store, &limit, &at(now), &none);
    // Four callers alone have 500 calls: the budget is full, and not overrun.
    assert_eq!(sum(NOON), (usd("0"), usd("0.999")));
    assert_eq!(sum("2026-11-23T12:00:59Z"), (usd("0"), usd("0.999")));
    // No request left.
    let after = at("2026-11-23T12:01:00Z");
    assert_eq!(sum("2026-11-23T12:01:00Z"), (usd("0"), usd("0")));
    assert!(reserve(&mut store, &limit, &call("all", "1", &after)));
}

#[test]
fn a_reservation_counts_once_until_and_after_the_ledger_has_it() {
    let folder = TempDir::new().unwrap();
    let mut store = BudgetStore::open(folder.path()).unwrap();
    let (limit, now) = (limit("1", BudgetPeriod::Day), at(NOON));
    assert!(send(&mut store, &limit, &call("known", "0.5", &now)));
    assert!(send(&mut store, &limit, &call("lost", "0.3", &now)));
    assert!(send(&mut store, &limit, &call("unsent", "0.2", &now)));
    store.close("known", known("0.1")).unwrap();
    store.close("lost", UNKNOWN).unwrap();
    store.close("unsent", SpendEnd::Nothing).unwrap();
    let mut sum = |ledger| sum_of(&mut store, &limit, &now, &ledger);
    assert_eq!(sum(spent("0", &[])), (usd("0.4"), usd("0")));
    // The record of the first call is on the tape; the second one has no cost there.
    assert_eq!(sum(spent("0.1", &["known"])), (usd("0.4"), usd("0")));
    // The next day begins with nothing, also if the ledger is empty.
    let tomorrow = at("2026-11-24T00:00:00Z");
    assert_eq!(
        sum_of(&mut store, &limit, &tomorrow, &spent("0", &[])),
        (usd("0"), usd("0"))
    );
}

#[test]
fn a_budget_is_about_the_calls_of_its_scope() {
    let folder = TempDir::new().unwrap();
    let mut store = BudgetStore::open(folder.path()).unwrap();
    let now = at(NOON);
    let scoped = |session: Option<&str>, provider: Option<&str>, model: Option<&str>| BudgetLimit {
        scope: BudgetScope {
            session: session.map(str::to_owned),
            provider: provider.map(str::to_owned),
            model: model.map(str::to_owned),
            guild: None,
        },
        ..limit("0.1", BudgetPeriod::Day)
    };
    let cases = [
        (scoped(None, None, None), false),
        (scoped(Some("conversation:a"), None, None), false),
        (scoped(Some("conversation:b"), None, None), true),
        (scoped(None, Some("openai"), Some("asked")), false),
        (scoped(None, Some("openai"), Some("other")), true),
        (scoped(None, Some("gemini"), None), true),
    ];
    for (at, (limit, is_free)) in cases.iter().enumerate() {
        assert_eq!(
            reserve(&mut store, limit, &call(&format!("c{at}"), "0.2", &now)),
            *is_free,
            "{limit:?}"
        );
    }
}

#[test]
fn each_guild_and_each_session_has_the_whole_amount() {
    let folder = TempDir::new().unwrap();
    let mut store = BudgetStore::open(folder.path()).unwrap();
    let now = at(NOON);
    let per_day = |scope: BudgetScope, each: Option<BudgetGroup>| BudgetLimit {
        scope,
        each,
        ..limit_of(BudgetAmount::Calls(2), BudgetPeriod::Day)
    };
    let of_guild = |name: &str| BudgetScope {
        guild: Some(name.to_owned()),
        ..BudgetScope::default()
    };
    let mut number = 0;
    let mut try_call = |limit: &BudgetLimit, session: Option<&str>| {
        number += 1;
        let id = format!("c{number}");
        let planned = PlannedSpend {
            session,
            ..call(&id, "0", &now)
        };
        let answer = store.reserve(std::slice::from_ref(limit), &planned, empty);
        matches!(answer, Ok(ReserveAnswer::Reserved { .. }))
    };
    let each = per_day(BudgetScope::default(), Some(BudgetGroup::Guild));
    let (general, other) = (Some("channel:red.general"), Some("channel:red.other"));
    assert!(try_call(&each, general) && try_call(&each, other) && !try_call(&each, general));
    // Another guild has its own two calls, and so have all calls outside of guilds together.
    assert!(try_call(&each, Some("channel:blue.general")));
    assert!(try_call(&each, None) && try_call(&each, Some("channel:1234")) && !try_call(&each, None));
    let red = per_day(of_guild("red"), None);
    assert!(
        !try_call(&red, other),
        "the calls of the guild are counted already"
    );
    assert!(
        try_call(&red, Some("channel:green.x")),
        "the budget is not about this guild"
    );
    let session = per_day(BudgetScope::default(), Some(BudgetGroup::Session));
    assert!(try_call(&session, other) && !try_call(&session, other));
    let groups = store.list_sessions(&each.query_group(None, &now)).unwrap();
    assert_eq!(groups.len(), 6);
}

#[test]
fn a_budget_of_a_guild_counts_what_the_ledger_has() {
    let folder = TempDir::new().unwrap();
    let ledger = LedgerStore::open(folder.path()).unwrap();
    let rows = [
        ("channel:red.general", None, 10),
        ("channel:red.other", Some("cancelled"), 0),
        // The server refused it: a call that cost nothing.
        ("channel:red.other", Some("rate-limited"), 0),
        ("channel:redder.general", None, 30),
        ("channel:1234", None, 50),
    ];
    for (seq, (session, failure, tokens)) in rows.into_iter().enumerate() {
        ledger
            .db
            .execute(
                "INSERT INTO call (seq, position, ts, session, source, provider, model, input, cached, output, failed, latency, failure,
                 reservation) VALUES (?1, 0, ?2, ?3, 'session', 'openai', 'm', ?4, 0, 1, 0, 0, ?5, 'r' || ?1)",
                params![seq, NOON, session, tokens, failure],
            )
            .unwrap();
    }
    let mut answers = Vec::new();
    for unit in [BudgetAmount::Calls(1), BudgetAmount::Tokens(1)] {
        let limit = BudgetLimit {
            each: Some(BudgetGroup::Guild),
            ..limit_of(unit, BudgetPeriod::Day)
        };
        for group in [Some("red"), Some("redder"), None] {
            let found = ledger.sum_recorded(&limit.query_group(group, &at(NOON))).unwrap();
            answers.push(format!("{group:?} {:?} {:?}", unit.unit(), found.sum));
        }
    }
    insta::assert_snapshot!(answers.join("\n"), @r#"
    Some("red") Calls Some(3)
    Some("redder") Calls Some(1)
    None Calls Some(1)
    Some("red") Tokens Some(13)
    Some("redder") Tokens Some(31)
    None Tokens Some(51)
    "#);
    let all = limit_of(BudgetAmount::Calls(1), BudgetPeriod::Day).query_session(None, &at(NOON));
    assert_eq!(ledger.sum_recorded(&all).unwrap().reservations.len(), 5);
    assert_eq!(ledger.list_calling_sessions(&all).unwrap().len(), 4);
}

#[test]
fn a_file_of_the_first_version_is_kept() {
    let folder = TempDir::new().unwrap();
    let file = Connection::open(folder.path().join(FILE)).unwrap();
    file.execute_batch(
        "CREATE TABLE reservation (id TEXT PRIMARY KEY, at TEXT NOT NULL, at_unix INTEGER NOT NULL, expires INTEGER NOT NULL, session TEXT,
         provider TEXT NOT NULL, model TEXT, state TEXT NOT NULL, bound INTEGER NOT NULL, cost INTEGER) WITHOUT ROWID;
         INSERT INTO reservation VALUES ('old', '2026-11-23T11:00:00Z', 1795431600, 9999999999, NULL, 'openai', NULL, 'reserved', 7, NULL);",
    )
    .unwrap();
    drop(file);
    let now = at(NOON);
    for _ in 0..2 {
        let mut store = BudgetStore::open(folder.path()).unwrap();
        let mut sum = |amount| {
            sum_of(
                &mut store,
                &limit_of(amount, BudgetPeriod::Day),
                &now,
                &spent("0", &[]),
            )
            .1
            .number()
        };
        assert_eq!(sum(usd("1")), 7);
        assert_eq!(
            (sum(BudgetAmount::Calls(1)), sum(BudgetAmount::Tokens(1))),
            (1, 0)
        );
    }
}

#[test]
fn a_limit_has_one_unit_and_one_group_of_calls() {
    let texts = [
        r#"{"amount_usd":"5","period":"day"}"#,
        r#"{"calls":50,"period":"minute","scope":{"guild":"red"}}"#,
        r#"{"tokens":5,"period":"day","scope":{},"zone":"+09:00","each":"guild"}"#,
        r#"{"calls":1,"tokens":1,"period":"day"}"#,
        r#"{"period":"day"}"#,
        r#"{"calls":1,"period":"day","each":"guild","scope":{"session":"a"}}"#,
        r#"{"calls":1,"period":"day","scope":{"guild":"a.b"}}"#,
    ];
    let shown = texts.map(|text| match serde_json::from_str::<BudgetLimit>(text) {
        Ok(limit) => serde_json::to_string(&limit).unwrap(),
        Err(error) => error.to_string(),
    });
    insta::assert_snapshot!(shown.join("\n"), @r#"
    {"amount_usd":"5","period":"day","zone":"+00:00","scope":{}}
    {"calls":50,"period":"minute","zone":"+00:00","scope":{"guild":"red"}}
    {"tokens":5,"period":"day","zone":"+09:00","scope":{},"each":"guild"}
    a budget has exactly one of `amount_usd`, `calls` and `tokens`
    a budget has exactly one of `amount_usd`, `calls` and `tokens`
    a budget is about one session, one guild, or each of several, and not about two of these
    `a.b` is not the name of a guild: use 1 to 64 letters, digits, `-` and `_`
    "#);
}

#[test]
fn periods_begin_in_their_time_zone() {
    let begins = |period: BudgetPeriod, zone: &str, now: &str| {
        period.begin_at(&at(now), zone.parse().unwrap()).to_string()
    };
    let cases = [
        (
            BudgetPeriod::Minute,
            "+05:30",
            "2026-11-23T12:34:56Z",
            "2026-11-23T12:34:00.000Z",
        ),
        (
            BudgetPeriod::Hour,
            "UTC",
            "2026-11-23T12:34:56Z",
            "2026-11-23T12:00:00.000Z",
        ),
        (
            BudgetPeriod::Hour,
            "+05:30",
            "2026-11-23T12:34:56Z",
            "2026-11-23T12:30:00.000Z",
        ),
        (
            BudgetPeriod::Day,
            "+09:00",
            "2026-11-23T14:59:59Z",
            "2026-11-22T15:00:00.000Z",
        ),
        (
            BudgetPeriod::Day,
            "+09:00",
            "2026-11-23T15:00:00Z",
            "2026-11-23T15:00:00.000Z",
        ),
        (
            BudgetPeriod::Day,
            "-05:00",
            "2026-11-23T04:00:00Z",
            "2026-11-22T05:00:00.000Z",
        ),
        // 2026-11-23 is a Monday.
        (
            BudgetPeriod::Week,
            "UTC",
            "2026-11-23T00:00:00Z",
            "2026-11-23T00:00:00.000Z",
        ),
        (
            BudgetPeriod::Week,
            "UTC",
            "2026-11-22T23:59:59Z",
            "2026-11-16T00:00:00.000Z",
        ),
        (
            BudgetPeriod::Month,
            "UTC",
            "2028-02-29T23:59:59Z",
            "2028-02-01T00:00:00.000Z",
        ),
        (
            BudgetPeriod::Month,
            "UTC",
            "2028-03-01T00:00:00Z",
            "2028-03-01T00:00:00.000Z",
        ),
        (
            BudgetPeriod::Month,
            "+09:00",
            "2026-12-31T15:00:00Z",
            "2026-12-31T15:00:00.000Z",
        ),
    ];
    for (period, zone, now, begin) in cases {
        assert_eq!(begins(period, zone, now), begin, "{period:?} {zone} {now}");
    }
}

#[test]
fn amounts_and_offsets_have_one_text() {
    let amounts = [
        "5usd/day",
        "$0.50/hour",
        "20/month",
        "1 USD/week",
        "0/day",
        "-1/day",
        "5/year",
        "5usd",
        "1000001/day",
        "1e3/day",
        "50calls/day",
        "1 call/minute",
        "100000 tokens/hour",
        "0calls/day",
        "-1calls/day",
        "1.5calls/day",
        "+1calls/day",
        "9999999999999tokens/day",
    ];
    let shown = amounts.map(|text| match parse_amount(text) {
        Ok((amount, period)) => format!("{text}: {amount} {}", period.name()),
        Err(error) => format!("{error}"),
    });
    insta::assert_snapshot!(shown.join("\n"), @r"
    5usd/day: $5 day
    $0.50/hour: $0.5 hour
    20/month: $20 month
    1 USD/week: $1 week
    `0/day` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    `-1/day` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    `5/year` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    `5usd` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    `1000001/day` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    `1e3/day` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    50calls/day: 50 calls day
    1 call/minute: 1 call minute
    100000 tokens/hour: 100000 tokens hour
    `0calls/day` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    `-1calls/day` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    `1.5calls/day` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    `+1calls/day` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    `9999999999999tokens/day` is not an amount with a period, as in `5usd/day`, `20calls/minute` or `100000tokens/hour`; the periods are minute, hour, day, week and month
    ");
    for (text, is_valid) in [
        ("+09:00", true),
        ("-03:30", true),
        ("UTC", true),
        ("+15:00", false),
        ("09:00", false),
        ("+9:00", false),
        ("+09:60", false),
    ] {
        assert_eq!(text.parse::<ZoneOffset>().is_ok(), is_valid, "{text}");
    }
}

proptest! {
    /// Whatever is reserved, settled and recorded in which order: the sum of a budget is that of a model that adds by hand, and a
    /// reservation is refused exactly if it would not fit.
    #[test]
    fn sums_are_exact(steps in prop::collection::vec((0_u64..2_000_000, 0_u8..5, 0_u64..2_000_000), 1..40)) {
        let folder = TempDir::new().unwrap();
        let mut store = BudgetStore::open(folder.path()).unwrap();
        let limit = BudgetLimit { amount: BudgetUnit::Cost.amount(8_000_000), ..limit("1", BudgetPeriod::Month) };
        let now = at(NOON);
        let (mut open, mut closed) = (0_u64, 0_u64);
        let (mut recorded, mut ids) = (0_u64, BTreeSet::new());
        for (number, (bound, end, actual)) in steps.into_iter().enumerate() {
            let id = format!("c{number}");
            let planned = PlannedSpend { bound: ExactCost::from_pico_dollars(bound), ..call(&id, "0", &now) };
            let ledger = RecordedSpending {
                sum: Some(recorded),
                unknown: 0,
                reservations: ids.clone(),
            };
            let answer = store.reserve::<StoreError>(std::slice::from_ref(&limit), &planned, |_| Ok(ledger.clone())).unwrap();
            let fits = open + closed + bound <= 8_000_000;
            let is_reserved = matches!(answer, ReserveAnswer::Reserved { .. });
            prop_assert_eq!(is_reserved, fits);
            if !fits {
                continue;
            }
            prop_assert!(store.mark_sent(&id, &now).unwrap());
            let known = SpendEnd::Ended { cost: Some(ExactCost::from_pico_dollars(actual)), tokens: None };
            match end {
                0 => open += bound,
                1 => store.close(&id, SpendEnd::Nothing).unwrap(),
                2 => { store.close(&id, UNKNOWN).unwrap(); closed += bound; }
                3 => { store.close(&id, known).unwrap(); closed += actual; }
                _ => { store.close(&id, known).unwrap(); closed += actual; recorded += actual; ids.insert(id); }
            }
        }
        let ledger = RecordedSpending { sum: Some(recorded), unknown: 0, reservations: ids };
        let (spent, reserved) = sum_of(&mut store, &limit, &now, &ledger);
        prop_assert_eq!((spent.number(), reserved.number()), (closed, open));
    }
}
