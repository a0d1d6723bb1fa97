//! What the tape says of each provider and model.

use agentos_evidence::RecordKind;
use serde_json::{Value, json};

use crate::support::{TS, Tape};

/// A run of `local` with one call, and how it ended.
fn run(tape: &Tape, name: &str, result: Value, end: (RecordKind, Value)) {
    let task = json!({ "provider": "local", "model": "m" });
    let records = [
        (RecordKind::Task, task),
        (RecordKind::ToolResult, json!({ "result": result })),
        end,
    ];
    for (kind, body) in records {
        tape.store.append(name, kind, body, TS).unwrap();
    }
}

#[test]
fn health_landing_rate_refusals_tokens_cost_and_latency_are_counted() {
    let tape = Tape::new();
    let answered = |cost: Option<u64>, latency: u64| {
        let usage = json!({ "input_tokens": 100, "output_tokens": 10 });
        json!({ "usage": usage, "cost_micro_usd": cost, "latency_ms": latency })
    };
    let landed = || (RecordKind::Receipt, json!({ "commit": "c1" }));
    let refused = |code: &str| (RecordKind::Refusal, json!({ "code": code }));
    run(&tape, "r1", answered(Some(250), 40), landed());
    run(&tape, "r2", answered(Some(750), 60), refused("ambiguous"));
    run(&tape, "r3", answered(None, 20), refused("ambiguous"));
    let failed = json!({ "error_category": "network", "latency_ms": 5 });
    run(&tape, "r4", failed, refused("unreachable"));
    let stats = serde_json::to_value(tape.store.stats().unwrap()).unwrap();
    let expected = json!([{
        "provider": "local", "model": "m",
        "runs": 4, "landed": 1, "landing_rate": 0.25,
        "refused": { "ambiguous": 2, "unreachable": 1 },
        "calls": 4, "health": 0.75, "last_answer": TS, "last_failure": TS, "failed_calls": { "network": 1 },
        "input_tokens": 300, "output_tokens": 30, "cost_micro_usd": 1000, "priced_calls": 2,
        "latency_ms": 125, "slowest_ms": 60,
    }]);
    assert_eq!(stats, expected);
}

#[test]
fn an_answer_that_does_not_land_is_an_answer() {
    let tape = Tape::new();
    let useless = json!({ "result": { "error_category": "runtime", "latency_ms": 9 } });
    let failed = json!({ "result": { "error_category": "network" } });
    for (kind, body) in [
        (RecordKind::Task, json!({ "provider": "local", "model": "m" })),
        (RecordKind::Attempt, json!({ "attempt": 1 })),
        (RecordKind::Answer, json!({ "attempt": 1 })),
        (RecordKind::ToolResult, useless),
        (RecordKind::Attempt, json!({ "attempt": 2 })),
        (RecordKind::ToolResult, failed),
        (RecordKind::Refusal, json!({ "code": "rate-limited" })),
    ] {
        tape.store.append("r1", kind, body, TS).unwrap();
    }
    let stats = serde_json::to_value(tape.store.stats().unwrap()).unwrap();
    assert_eq!(
        (&stats[0]["calls"], &stats[0]["health"]),
        (&json!(2), &json!(0.5))
    );
    assert_eq!(stats[0]["failed_calls"], json!({ "network": 1 }));
}

#[test]
fn a_refusal_recorded_in_an_earlier_spelling_counts_as_its_present_code() {
    let tape = Tape::new();
    for (id, code) in [("r1", "bad_url"), ("r2", "bad-url"), ("r3", "own_rule_code")] {
        run(
            &tape,
            id,
            json!({ "latency_ms": 1 }),
            (RecordKind::Refusal, json!({ "code": code })),
        );
    }
    let stats = serde_json::to_value(tape.store.stats().unwrap()).unwrap();
    assert_eq!(stats[0]["refused"], json!({ "bad-url": 2, "own_rule_code": 1 }));
    for run in tape.store.runs().unwrap() {
        assert_ne!(run.code.as_deref(), Some("bad_url"), "{run:?}");
    }
}

#[test]
fn what_nobody_said_is_not_taken_for_nothing() {
    let tape = Tape::new();
    tape.add(RecordKind::Task, json!({ "provider": "patch" }));
    let stats = tape.store.stats().unwrap();
    assert_eq!((stats[0].health, stats[0].cost_micro_usd), (None, None));
    assert_eq!(stats[0].landing_rate, Some(0.0));
}

#[test]
fn the_newest_runs_are_those_that_a_reading_of_all_ends_with() {
    let tape = Tape::new();
    assert_eq!(
        (
            tape.store.newest_runs(5).unwrap().runs.len(),
            tape.store.newest_runs(5).unwrap().all
        ),
        (0, 0)
    );
    let expires = "2099-01-01T00:00:00.000Z";
    for number in 0..12 {
        let name = format!("r{number}");
        let quoted = "\",\"run\":\"r0\",\"seq\":1";
        let task = json!({ "provider": "local", "instruction": quoted });
        tape.store.append(&name, RecordKind::Task, task, TS).unwrap();
        // Records of runs at the same time alternate.
        let other = format!("r{}", number / 2);
        tape.store
            .append(&other, RecordKind::Answer, json!({}), TS)
            .unwrap();
    }
    let asks = json!({ "given": false, "request": { "expires": expires } });
    tape.store.append("r10", RecordKind::Consent, asks, TS).unwrap();
    let yes = json!({ "given": true, "answers": "r10", "consent": { "who": "ann" } });
    tape.store.append("r11", RecordKind::Consent, yes, TS).unwrap();
    tape.store
        .append("r11", RecordKind::Receipt, json!({ "commit": "c" }), TS)
        .unwrap();
    let all = tape.store.runs().unwrap();
    assert_eq!(all.len(), 12);
    assert_eq!(all[10].answered.as_deref(), Some("approved"));
    for most in [0, 1, 2, 7, 12, 50] {
        let newest = tape.store.newest_runs(most).unwrap();
        assert_eq!(newest.all, 12);
        assert_eq!(newest.runs, all[12_usize.saturating_sub(most)..], "{most}");
    }
}
