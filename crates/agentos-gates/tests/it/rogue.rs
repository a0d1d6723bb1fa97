//! The rogue gate's own test: a product without a sandbox fails, attempt by attempt.

use std::path::Path;

use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{set_mode, write_file};
use serde_json::Value;

/// A product that runs the tool in a plain copy, as an ordinary user, and holds it back by nothing.
const UNCONFINED: &str = r#"#!/bin/sh
repo=$2
while [ "$1" != -- ] && [ $# -gt 0 ]; do shift; done
[ $# -gt 0 ] || exit 0
shift
copy=$(mktemp -d); cp -r "$repo/." "$copy"; chmod -R a+rwX "$copy"; cd "$copy" || exit 1
case "$*" in
  true) echo '{"status":"success"}'; exit 0 ;;
  *rogue.json) "$@" --drop ;;
  *) echo '{"status":"success"}'; exit 0 ;;
esac
python3 -c '
import json
lines = open("rogue.jsonl").read().splitlines()
print(json.dumps({"status": "success", "diff": "".join("+" + line + "\n" for line in lines)}))'
"#;

fn verdict(agentos: &Path, out: &Path) -> (Option<i32>, Value) {
    let gate = Cli::new(env!("CARGO_BIN_EXE_rogue")).unwrap();
    let (agentos, place) = (agentos.display().to_string(), out.display().to_string());
    let output = gate.run(&["--agentos", &agentos, "--out", &place]).unwrap();
    let results = std::fs::read_to_string(out.join("reports/gate_results.json")).unwrap_or_else(|_| {
        panic!("no verdict: {} {}", output.stdout, output.stderr);
    });
    (output.code, serde_json::from_str(&results).unwrap())
}

/// The checks that ended so, by id.
fn ids<'a>(verdict: &'a Value, status: &str) -> Vec<&'a str> {
    let checks = verdict["checks"].as_array().unwrap();
    let found = checks.iter().filter(|check| check["status"] == status);
    found.map(|check| check["id"].as_str().unwrap()).collect()
}

#[test]
fn without_a_sandbox_the_suite_fails_attempt_by_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let agentos = folder.path().join("agentos");
    write_file(&agentos, UNCONFINED);
    set_mode(&agentos, 0o755);
    let out = folder.path().join("out");
    let (code, verdict) = verdict(&agentos, &out);
    if verdict["status"] == "skipped" {
        println!("skipped: {}", verdict["checks"][0]["details"]);
        return;
    }
    assert_eq!((code, verdict["status"].as_str()), (Some(1), Some("failed")));
    let tape = std::fs::read_to_string(out.join("audit/run_tape.jsonl")).unwrap();
    let attempts: Vec<Value> = tape
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["kind"] == "attempt")
        .map(|record| record["body"].clone())
        .collect();
    assert!(attempts.len() >= 40, "{} attempts", attempts.len());
    let failed = ids(&verdict, "failed");
    // Whatever an ordinary user may do unconfined works, and is found.
    for attempt in attempts.iter().filter(|attempt| attempt["plain"] == true) {
        let name = attempt["attempt"].as_str().unwrap();
        assert!(failed.contains(&format!("ROGUE-{name}").as_str()), "{attempt}");
    }
    // And what the rogue did is seen from outside, whatever it says.
    for seen in [
        "repository",
        "outside",
        "shared-memory-outside",
        "silence",
        "endless-output",
        "never-ends",
    ] {
        assert!(
            failed.contains(&format!("ROGUE-{seen}").as_str()),
            "{seen}: {failed:?}"
        );
    }
}
