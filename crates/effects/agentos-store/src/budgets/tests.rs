//! Budgets under calls at the same time, after crashes, and over the boundary of a period.

use std::io::{BufRead as _, BufReader, stdin};
use std::process::{Child, Stdio};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// Time of every call that does not state another one.
const NOON: &str = "2026-11-23T12:00:00Z";
/// Beginning of the argument by which a child process knows what to do.
const CHILD: &str = "child=";

fn cost(text: &str) -> ExactCost {
    text.parse().unwrap_or_default()
}

fn limit(amount: &str, period: BudgetPeriod) -> BudgetLimit {
    BudgetLimit {
        amount_usd: cost(amount),
        period,
        zone: ZoneOffset::default(),
        scope: BudgetScope::default(),
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
        now,
        lease_seconds: 60,
    }
}

/// Ledger without a call.
fn empty(_: &BudgetLimit, _: &Timestamp) -> Result<RecordedSpending, StoreError> {
    Ok(spent("0", &[]))
}

fn spent(amount: &str, ids: &[&str]) -> RecordedSpending {
    RecordedSpending {
        cost: Some(cost(amount)),
        unknown: 0,
        reservations: ids.iter().map(|id| (*id).to_owned()).collect(),
    }
}

fn reserve(store: &mut BudgetStore, limit: &BudgetLimit, call: &PlannedSpend<'_>) -> bool {
    let answer = store.reserve(std::slice::from_ref(limit), call, empty);
    matches!(answer, Ok(ReserveAnswer::Reserved))
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
fn reserve_all_and_wait(name: &str, store: &mut BudgetStore) {
    let now = at(NOON);
    let done = reserve(store, &limit("1", BudgetPeriod::Day), &call(name, "1", &now));
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
    let sums = store
        .sum_budget(&limit("1", BudgetPeriod::Day), &at(NOON), &spent("0", &[]))
        .unwrap()
        .unwrap();
    assert_eq!((sums.reserved, sums.spent), (cost("0.999"), cost("0")));
}

#[test]
fn a_killed_process_blocks_its_reservation_until_the_lease_ends() {
    if let Some((name, mut store)) = read_order() {
        return reserve_all_and_wait(&name, &mut store);
    }
    let folder = TempDir::new().unwrap();
    let mut child = start_child(
        "a_killed_process_blocks_its_reservation_until_the_lease_ends",
        folder.path(),
        "lost",
    );
    assert_eq!(read_result(&mut child, "RESERVED "), "true");
    // `Child::kill` is SIGKILL: nothing of the process can clean up.
    child.kill().unwrap();
    child.wait().unwrap();
    let mut store = BudgetStore::open(folder.path()).unwrap();
    let limit = limit("1", BudgetPeriod::Day);
    let (before, after) = (at("2026-11-23T12:00:59Z"), at("2026-11-23T12:01:00Z"));
    assert!(!reserve(&mut store, &limit, &call("next", "0.1", &before)));
    assert!(reserve(&mut store, &limit, &call("next", "0.1", &after)));
    // The process was only slow after all: what it spent counts, although it is more than the budget now.
    store.close("lost", SpendEnd::Known(cost("0.95"))).unwrap();
    let sums = store
        .sum_budget(&limit, &after, &spent("0", &[]))
        .unwrap()
        .unwrap();
    assert_eq!((sums.spent, sums.reserved), (cost("0.95"), cost("0.1")));
    assert!(!reserve(
        &mut store,
        &limit,
        &call("third", "0.000000000001", &after)
    ));
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
    let mut sum = |now: &str| store.sum_budget(&limit, &at(now), &none).unwrap().unwrap();
    // Four callers alone have 500 calls: the budget is full, and not overrun.
    assert_eq!(sum(NOON).reserved, cost("0.999"));
    assert_eq!(sum("2026-11-23T12:00:59Z").reserved, cost("0.999"));
    let (after, later) = (at("2026-11-23T12:01:00Z"), sum("2026-11-23T12:01:00Z"));
    assert_eq!((later.reserved, later.spent), (cost("0"), cost("0")));
    assert!(reserve(&mut store, &limit, &call("all", "1", &after)));
}

#[test]
fn a_reservation_counts_once_until_and_after_the_ledger_has_it() {
    let folder = TempDir::new().unwrap();
    let mut store = BudgetStore::open(folder.path()).unwrap();
    let (limit, now) = (limit("1", BudgetPeriod::Day), at(NOON));
    assert!(reserve(&mut store, &limit, &call("known", "0.5", &now)));
    assert!(reserve(&mut store, &limit, &call("lost", "0.3", &now)));
    assert!(reserve(&mut store, &limit, &call("unsent", "0.2", &now)));
    store.close("known", SpendEnd::Known(cost("0.1"))).unwrap();
    store.close("lost", SpendEnd::Unknown).unwrap();
    store.close("unsent", SpendEnd::Nothing).unwrap();
    let mut sum = |ledger| store.sum_budget(&limit, &now, &ledger).unwrap().unwrap();
    assert_eq!(sum(spent("0", &[])).spent, cost("0.4"));
    // The record of the first call is on the tape; the second one has no cost there.
    assert_eq!(sum(spent("0.1", &["known"])).spent, cost("0.4"));
    assert_eq!(sum(spent("0.1", &["known"])).reserved, cost("0"));
    // The next day begins with nothing, also if the ledger is empty.
    let tomorrow = at("2026-11-24T00:00:00Z");
    assert_eq!(
        store
            .sum_budget(&limit, &tomorrow, &spent("0", &[]))
            .unwrap()
            .unwrap()
            .spent,
        cost("0")
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
fn periods_begin_in_their_time_zone() {
    let begins = |period: BudgetPeriod, zone: &str, now: &str| {
        period.begin_at(&at(now), zone.parse().unwrap()).to_string()
    };
    let cases = [
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
    ];
    let shown = amounts.map(|text| match parse_amount(text) {
        Ok((amount, period)) => format!("{text}: {amount} {}", period.name()),
        Err(error) => format!("{error}"),
    });
    insta::assert_snapshot!(shown.join("\n"), @r"
    5usd/day: 5 day
    $0.50/hour: 0.5 hour
    20/month: 20 month
    1 USD/week: 1 week
    `0/day` is not an amount with a period, as in `5usd/day`; the periods are hour, day, week and month
    `-1/day` is not an amount with a period, as in `5usd/day`; the periods are hour, day, week and month
    `5/year` is not an amount with a period, as in `5usd/day`; the periods are hour, day, week and month
    `5usd` is not an amount with a period, as in `5usd/day`; the periods are hour, day, week and month
    `1000001/day` is not an amount with a period, as in `5usd/day`; the periods are hour, day, week and month
    `1e3/day` is not an amount with a period, as in `5usd/day`; the periods are hour, day, week and month
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
        let limit = BudgetLimit { amount_usd: ExactCost::from_pico_dollars(8_000_000), ..limit("1", BudgetPeriod::Month) };
        let now = at(NOON);
        let (mut open, mut closed) = (0_u64, 0_u64);
        let (mut recorded, mut ids) = (0_u64, BTreeSet::new());
        for (number, (bound, end, actual)) in steps.into_iter().enumerate() {
            let id = format!("c{number}");
            let planned = PlannedSpend { bound: ExactCost::from_pico_dollars(bound), ..call(&id, "0", &now) };
            let ledger = RecordedSpending {
                cost: Some(ExactCost::from_pico_dollars(recorded)),
                unknown: 0,
                reservations: ids.clone(),
            };
            let answer = store.reserve::<StoreError>(std::slice::from_ref(&limit), &planned, |_, _| Ok(ledger.clone())).unwrap();
            let fits = open + closed + bound <= 8_000_000;
            prop_assert_eq!(answer == ReserveAnswer::Reserved, fits);
            if !fits {
                continue;
            }
            let known = SpendEnd::Known(ExactCost::from_pico_dollars(actual));
            match end {
                0 => open += bound,
                1 => store.close(&id, SpendEnd::Nothing).unwrap(),
                2 => { store.close(&id, SpendEnd::Unknown).unwrap(); closed += bound; }
                3 => { store.close(&id, known).unwrap(); closed += actual; }
                _ => { store.close(&id, known).unwrap(); closed += actual; recorded += actual; ids.insert(id); }
            }
        }
        let ledger = RecordedSpending { cost: Some(ExactCost::from_pico_dollars(recorded)), unknown: 0, reservations: ids };
        let sums = store.sum_budget(&limit, &now, &ledger).unwrap().unwrap();
        prop_assert_eq!((sums.spent.pico_dollars(), sums.reserved.pico_dollars()), (closed, open));
    }
}
