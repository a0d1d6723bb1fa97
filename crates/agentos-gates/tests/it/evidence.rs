//! What a gate leaves for a reviewer.

use serde_json::{Value, json};

use crate::stand_in::{StandIn, read};

#[test]
fn the_tape_tells_the_whole_run_in_order() {
    let stand_in = StandIn::new();
    stand_in.verdict();
    let tape = std::fs::read_to_string(stand_in.out().join("audit/run_tape.jsonl")).unwrap();
    let records: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = records
        .iter()
        .map(|record| record["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "gate-started",
            "tool-health",
            "tool-result",
            "tool-result",
            "check",
            "check",
            "check",
            "check",
            "check",
            "gate-finished"
        ]
    );
    for pair in records.windows(2) {
        assert_eq!(pair[1]["prev"], pair[0]["hash"]);
    }
    assert_eq!(records[2]["body"]["measured"], json!([]));
    assert_eq!(records[3]["body"]["result"]["output_kind"], "diff");
}

#[test]
fn a_second_run_keeps_the_tape_of_the_first() {
    let stand_in = StandIn::new();
    stand_in.verdict();
    let audit = stand_in.out().join("audit");
    let first = std::fs::read(audit.join("run_tape.jsonl")).unwrap();
    stand_in.verdict();
    let kept: Vec<_> = std::fs::read_dir(&audit)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("run_tape.jsonl"))
        .collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(std::fs::read(&kept[0]).unwrap(), first);
}

#[test]
fn the_health_summary_says_what_was_seen_and_if_the_gate_passed() {
    let stand_in = StandIn::new();
    stand_in.verdict();
    let summary = stand_in.out().join("reports/health_summary.json");
    assert_eq!(
        read(&summary),
        json!({
            "version": 1, "provider": "lmstudio", "status": "connected", "error_category": null,
            "checked_at": "2026-11-21T09:14:00.000Z", "details": "1 model is loaded", "fix": null,
            "endpoint": "127.0.0.1:1234", "gate_passed": true,
        })
    );
    let stand_in = StandIn::new().health(|health| *health = json!({"nothing": true}));
    stand_in.verdict();
    let summary = read(&stand_in.out().join("reports/health_summary.json"));
    assert_eq!(
        (&summary["status"], &summary["gate_passed"]),
        (&Value::Null, &json!(false))
    );
}
