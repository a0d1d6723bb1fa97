//! Makes tapes for the benchmark: whole runs with the records that a landing leaves, or one durable record after another.
//!
//! Owns: what such a run says. Never: reads a clock; `cargo xtask bench evidence` calls it and measures from outside.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use agentos_evidence::{RecordKind, RunFacts, SigningKey, Store};
use serde_json::{Value, json};

const USAGE: &str = "usage: tape write DIR RUNS plain|signed|blobs\n\
       tape append DIR RECORDS\n       tape runs DIR RUNS\n       tape disk FILE RECORDS\n       tape log DIR all|newest";
/// Number of runs that are synced together when a tape is written.
const TOGETHER: usize = 200;
const TS: &str = "2026-11-21T09:14:00.000Z";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["write", dir, runs, with] => write(dir.as_ref(), runs, with),
        ["append", dir, records] => append_records(dir.as_ref(), records),
        ["runs", dir, count] => append_runs(dir.as_ref(), count),
        ["log", dir, which] => read_log(dir.as_ref(), which),
        ["disk", file, records] => measure_disk(file.as_ref(), records),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            writeln!(std::io::stderr(), "error: {problem}").ok();
            ExitCode::FAILURE
        }
    }
}

/// Writes a tape of `runs` runs: unsigned, signed, or signed and with three blobs for each run.
fn write(dir: &Path, runs: &str, with: &str) -> Result<(), String> {
    let store = Store::open(dir).map_err(|error| error.to_string())?;
    let key = match with {
        "plain" => None,
        "signed" | "blobs" => Some(SigningKey::generate().map_err(|error| error.to_string())?.0),
        _ => return Err(USAGE.to_owned()),
    };
    // A sync for each run would take most of the time, and this tape is only to be read afterwards.
    for run in 0..parse_count(runs)? {
        let blobs = (with == "blobs").then_some(&store);
        note_run(&store, run, blobs)
            .and_then(|(name, facts)| {
                let signer = key.as_ref().ok_or("the tape is to be unsigned");
                store.write_checkpoint(&name, &facts, signer, TS)
            })
            .and_then(|_| match (run + 1) % TOGETHER {
                0 => store.sync(),
                _ => Ok(()),
            })
            .map_err(|error| error.to_string())?;
    }
    store.sync().map_err(|error| error.to_string())
}

/// Summarises all runs, or the newest twenty.
fn read_log(dir: &Path, which: &str) -> Result<(), String> {
    let store = Store::open(dir).map_err(|error| error.to_string())?;
    let count = match which {
        "all" => store.runs().map_err(|error| error.to_string())?.len(),
        "newest" => store
            .newest_runs(20)
            .map_err(|error| error.to_string())?
            .runs
            .len(),
        _ => return Err(USAGE.to_owned()),
    };
    writeln!(std::io::stdout(), "{count} runs").map_err(|error| error.to_string())
}

/// Appends one record at a time, each durable before the next.
fn append_records(dir: &Path, records: &str) -> Result<(), String> {
    let store = Store::open(dir).map_err(|error| error.to_string())?;
    for record in 0..parse_count(records)? {
        let body = landing_body(record, &fake_digest(record));
        let appended = store.append("20261121T091400Z-00000000", RecordKind::Landing, body, TS);
        appended.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Appends one run at a time; its records are noted and synced together.
fn append_runs(dir: &Path, runs: &str) -> Result<(), String> {
    let store = Store::open(dir).map_err(|error| error.to_string())?;
    for run in 0..parse_count(runs)? {
        note_run(&store, run, None)
            .and_then(|(name, facts)| store.checkpoint(&name, &facts, Err("unsigned"), TS))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Measures the disk itself: writes and syncs a line as long as such a record, again and again.
fn measure_disk(file: &Path, records: &str) -> Result<(), String> {
    // The other members of a record take about 280 bytes. The time of this loop is the limit below which no tape can be
    // faster, and the goal of the benchmark counts from it.
    let line = landing_body(0, &fake_digest(0)).to_string() + &" ".repeat(280) + "\n";
    let mut open = OpenOptions::new();
    let mut file = open
        .create(true)
        .append(true)
        .open(file)
        .map_err(|error| error.to_string())?;
    for _ in 0..parse_count(records)? {
        file.write_all(line.as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn parse_count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

/// Returns a digest of a blob that is not stored.
fn fake_digest(number: usize) -> String {
    format!("{number:064x}")
}

/// Notes the records of a run without its end, as `agentos apply` leaves them. With a store for blobs, they refer to blobs.
fn note_run(
    store: &Store,
    run: usize,
    blobs: Option<&Store>,
) -> Result<(String, RunFacts), agentos_evidence::EvidenceError> {
    // As long as a real id of a run, since the length of a line counts in the measurement.
    let name = format!("20261121T091400Z-{run:08x}");
    let keep = |what: &str| match blobs {
        Some(blobs) => blobs.put_blob(format!("{what} of run {run}\n").repeat(40).as_bytes()),
        None => Ok(fake_digest(run)),
    };
    let (answer, diff, policy) = (keep("answer")?, keep("diff")?, keep("policy")?);
    let commit = format!("{run:040x}");
    let records = [
        (RecordKind::Task, task_body(run)),
        (
            RecordKind::Answer,
            json!({ "answer_sha256": answer, "attempt": 1, "bytes": 188 }),
        ),
        (RecordKind::Landing, landing_body(run, &diff)),
        (RecordKind::Decision, decision_body(run, &policy)),
        (
            RecordKind::Intent,
            json!({ "hashes": hashes_body(run), "plan": written_body(run) }),
        ),
        (RecordKind::Receipt, {
            let mut body = written_body(run);
            if let Value::Object(body) = &mut body {
                body.insert("commit".to_owned(), json!(commit));
                body.insert("work_tree_updated".to_owned(), json!(true));
            }
            body
        }),
    ];
    let mut facts = RunFacts::default();
    for (kind, body) in records {
        facts.add_record(kind, &body, TS);
        store.note(&name, kind, body, TS)?;
    }
    Ok((name, facts))
}

fn task_body(run: usize) -> Value {
    let oid = format!("{run:040x}");
    json!({
        "verb": "apply", "provider": "patch", "model": null, "execution_mode": "local",
        "instruction": "a change from standard input", "policy_sha256": fake_digest(run),
        "target": {
            "base_commit": oid, "base_tree": oid, "creates_branch": false,
            "refname": "refs/heads/main", "writes": "commit-and-work-tree",
        },
    })
}

fn landing_body(run: usize, diff: &str) -> Value {
    let hunk = json!({
        "index": 1, "status": "landed", "rung": "exact-moved", "stated_line": 7, "found_line": 12,
        "actual": [], "candidates": [], "expected": [], "repairs": [],
    });
    let path = format!("crates/shop/src/part{:04}.rs", run % 5000);
    json!({
        "attempt": 1, "base_commit": format!("{run:040x}"), "diff_blob_sha256": diff,
        "diff_sha256": fake_digest(run), "partial": false,
        "report": {
            "version": 1, "partial": false, "notes": [],
            "files": [{
                "path": path, "dialect": "unified-diff", "hunks": [hunk],
                "repairs": [{ "kind": "no-git-header", "detail": "there is no `diff --git` line" }],
            }],
        },
    })
}

fn decision_body(run: usize, policy: &str) -> Value {
    let reason = |rule: &str, line: usize, why: &str| {
        json!({
            "and_more": 0, "code": "protected-path", "effect": "allow", "layer": "default", "line": line,
            "rule": rule, "source": "built-in/default.toml", "why": why,
        })
    };
    json!({
        "base_commit": format!("{run:040x}"), "diff_sha256": fake_digest(run), "policy_blob_sha256": policy,
        "target_ref": "refs/heads/main",
        "decision": {
            "effect": "allow", "diff_sha256": fake_digest(run), "policy_sha256": fake_digest(run),
            "facts": {
                "added": 1, "created": 0, "deleted": 0, "files": 1, "findings": [], "removed": 1, "touches": [],
            },
            "reasons": [
                reason("default.edit", 7, "ordinary files may be edited"),
                reason("default.land", 16, "a change whose paths are allowed may land"),
            ],
        },
    })
}

fn hashes_body(run: usize) -> Value {
    json!({
        "base_commit": format!("{run:040x}"), "diff_sha256": fake_digest(run), "policy_sha256": fake_digest(run),
        "target_ref": "refs/heads/main", "writes": "commit-and-work-tree",
    })
}

fn written_body(run: usize) -> Value {
    let oid = format!("{run:040x}");
    let state = json!({ "mode": "regular", "oid": oid });
    json!({
        "diff_sha256": fake_digest(run), "parent": oid, "policy_sha256": fake_digest(run),
        "refname": "refs/heads/main", "run": format!("20261121T091400Z-{run:08x}"), "tree": oid,
        "writes": "commit-and-work-tree",
        "files": [{
            "path": format!("crates/shop/src/part{:04}.rs", run % 5000), "old": state, "new": state,
        }],
    })
}
