//! What a gate leaves for a reviewer.

use std::process::Command;

use agentos_schema::{SchemaName, validate_value};
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
    assert_eq!(records[1]["body"]["health"]["status"], "connected");
    let codes: Vec<&Value> = records[1..4]
        .iter()
        .map(|record| &record["body"]["exit_code"])
        .collect();
    assert_eq!(codes, [&json!(0); 3]);
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
fn what_a_gate_writes_follows_its_published_schema_which_it_prints() {
    let nobody = |health: &mut Value| {
        health["status"] = json!("unreachable");
        health["error_category"] = json!("network");
        health["fix"] = json!("start the server");
    };
    let stand_ins = [
        StandIn::new(),
        StandIn::new().health(nobody),
        StandIn::new().health(|health| *health = json!({"nothing": true})),
        StandIn::new().mode("0").misdeed("echo x > src/new.rs"),
    ];
    for stand_in in stand_ins {
        stand_in.verdict();
        let files = [
            (SchemaName::GateResults, "gate_results.json"),
            (SchemaName::HealthSummary, "health_summary.json"),
        ];
        for (schema, file) in files {
            let written = read(&stand_in.out().join("reports").join(file));
            assert_eq!(validate_value(schema, &written), Ok(()), "{written:#}");
            let mut more = written;
            more["version"] = json!("one");
            assert!(validate_value(schema, &more).is_err(), "{schema}");
        }
    }
    for schema in SchemaName::OF_GATES {
        let output = Command::new(env!("CARGO_BIN_EXE_gate"))
            .args(["--schema", schema.as_str()])
            .output()
            .unwrap();
        assert!(
            output.stdout == agentos_schema::schema_text(*schema).as_bytes(),
            "`{schema}` is stale: run `cargo xtask schemas`"
        );
    }
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
