//! The way of a change, as the source system's TL-R1 gates judged it: end to end, bad diffs, no power.
//!
//! Owns: what must come of each call, seen by git. Never: takes the program's word for what it wrote.

use std::path::Path;

use serde_json::Value;

use super::ground::{FIX, Ground, Said, WORKFLOW};
use super::{check, skipped};
use crate::error::GateError;
use crate::results::Check;

/// The stations of a run that lands, in order.
const STATIONS: [&str; 9] = [
    "task",
    "attempt",
    "answer",
    "tool_result",
    "landing",
    "decision",
    "intent",
    "receipt",
    "checkpoint",
];

/// A diff: id, name, answer, flags, exit code, and the class of its refusal where it has only one.
type Case<'a> = (&'a str, &'a str, &'a str, &'a [&'a str], i32, &'a str);
/// A call that writes nothing: id, name, arguments, standard input, exit code.
type Call<'a> = (&'a str, &'a str, &'a [&'a str], &'a str, i32);

/// One run of a tool from task to commit and back.
pub(super) fn end_to_end(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let repository = ground.repository()?;
    let base = ground.git(&repository, &["rev-parse", "HEAD^{tree}"])?;
    let answer = ground.put(
        ground.scratch(),
        "answer.md",
        format!("Here:\n\n```diff\n{FIX}```\n"),
    )?;
    let answer = answer.to_string_lossy();
    let run = ["run", "-p", "replay", "--replay", &answer, "mend add", "--json"];
    let said = ground.call(&repository, &run)?;
    let json = said.json();
    let landed = said.code == Some(0) && said.text("/outcome") == "landed";
    let mut checks = vec![check("TLR1-A", "a task ends in a commit", landed, said.short())];

    let head = ground.git(&repository, &["rev-parse", "HEAD", "HEAD^{tree}"])?;
    let stated = format!("{}\n{}", said.text("/commit"), said.text("/tree"));
    let clean = ground.git(&repository, &["status", "--porcelain"])?;
    let same = head == stated && clean.is_empty();
    checks.push(check(
        "TLR1-B",
        "git has the commit and tree that were stated",
        same,
        head,
    ));

    let diff = json.pointer("/result/diff").and_then(Value::as_str);
    let verified = diff.is_some() && said.text("/result/tool") == "replay";
    let kind = said.text("/result/output_kind");
    checks.push(check(
        "TLR1-C",
        "the tool's result was judged",
        verified && kind == "diff",
        kind,
    ));

    checks.extend(recorded(ground, &repository, &said)?);

    let undo = ground.call(&repository, &["undo", "--json"])?;
    let back = ground.git(&repository, &["rev-parse", "HEAD^{tree}"])?;
    let undone = undo.code == Some(0) && back == base;
    checks.push(check("TLR1-H", "undo brings the tree back", undone, back));
    Ok(checks)
}

/// What the run left: a record of each station, a commit that names them, and all of it as it says.
fn recorded(ground: &Ground, repository: &Path, said: &Said) -> Result<Vec<Check>, GateError> {
    let show = ground.call(repository, &["evidence", "show", "--json"])?.json();
    let records = show.get("records").and_then(Value::as_array);
    let kinds: Vec<&str> = records
        .into_iter()
        .flatten()
        .filter_map(|record| record.get("kind")?.as_str())
        .collect();
    let told = kinds.join(" ");
    let mut checks = vec![check(
        "TLR1-D",
        "every station left a record, in order",
        kinds == STATIONS,
        told,
    )];

    let trailers = ground.git(repository, &["log", "-1", "--format=%(trailers:only)"])?;
    let intent = said.text("/evidence/intent");
    let named = trailers.contains(&format!("AgentOS-Evidence: {intent}")) && intent.starts_with("sha256:");
    checks.push(check("TLR1-E", "the commit names its evidence", named, trailers));

    let verify = ground.call(repository, &["evidence", "verify", "--json"])?;
    let whole = verify.code == Some(0);
    checks.push(check("TLR1-F", "the evidence verifies", whole, verify.short()));
    let replay = ground.call(repository, &["evidence", "replay", "--all"])?;
    let again = replay.code == Some(0);
    checks.push(check(
        "TLR1-G",
        "a replay derives the same",
        again,
        replay.short(),
    ));
    Ok(checks)
}

/// Diffs that must not land, and one that must.
pub(super) fn negative_diffs(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let repository = ground.repository()?;
    let docs_only = "version = 1\n[[rule]]\nid = \"docs-only\"\neffect = \"deny\"\nwhy = \"only docs\"\n\
                     action = [\"create\", \"modify\", \"delete\", \"rename\"]\nexcept_paths = [\"docs/**\"]\n";
    let policy = ground.put(ground.scratch(), "docs-only.toml", docs_only)?;
    let policy = policy.to_string_lossy();
    let hook = FIX.replace("src/lib.rs", ".git/hooks/pre-commit");
    let outside = FIX.replace("src/lib.rs", "../outside.rs");
    let stale = FIX.replace("    a - b", "    a * b");
    let cases: [Case<'_>; 9] = [
        ("empty", "an empty answer", "", &[], 6, "empty"),
        ("words", "words", "All good, nothing to do.\n", &[], 6, "no-diff"),
        // Two lines that only look like a header.
        ("junk", "a diff in name only", "--- hi\n+++ there\n", &[], 6, ""),
        ("git-dir", "git's own folder", &hook, &[], 6, "git-dir"),
        ("outside", "a path outside", &outside, &[], 6, "path-escape"),
        ("stale", "another state of the file", &stale, &[], 6, ""),
        (
            "forbidden",
            "a path that policy forbids",
            FIX,
            &["--policy", &policy],
            3,
            "protected-path",
        ),
        (
            "unasked",
            "a path that a person is asked about",
            WORKFLOW,
            &[],
            4,
            "protected-path",
        ),
        ("valid", "a good diff", FIX, &[], 0, ""),
    ];
    let mut checks = Vec::new();
    for (id, name, answer, flags, code, class) in cases {
        let args = [&["apply", "-", "--json"], flags].concat();
        let (said, changed) = ground.changed_by(&repository, || ground.give(&repository, &args, answer))?;
        let right_class = class.is_empty() || said.text("/code") == class;
        let right_change = changed.is_empty() == (code != 0);
        let held = said.code == Some(code) && right_class && right_change;
        let seen = format!("{}; changed: {}", said.short(), changed.join(", "));
        checks.push(check(format!("N1-{id}"), name, held, seen));
    }
    Ok(checks)
}

/// What must write nothing, measured.
pub(super) fn power_boundary(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let repository = ground.repository()?;
    let answer = ground.put(ground.scratch(), "answer.md", FIX)?;
    let answer = answer.to_string_lossy();
    let deny = "version = 1\n[[rule]]\nid = \"frozen\"\neffect = \"deny\"\nwhy = \"frozen\"\n";
    let deny = ground.put(ground.scratch(), "frozen.toml", deny)?;
    let deny = deny.to_string_lossy();
    let calls: [Call<'_>; 5] = [
        (
            "C1",
            "a tool call writes nothing",
            &["tool", "run", "-p", "replay", "--replay", &answer, "x", "--json"],
            "",
            0,
        ),
        (
            "C2",
            "a dry run writes nothing",
            &["apply", "-", "--dry-run", "--json"],
            FIX,
            0,
        ),
        (
            "C3",
            "what is denied writes nothing",
            &["apply", "-", "--policy", &deny, "--yes", "--json"],
            FIX,
            3,
        ),
        (
            "C4",
            "what needs a person writes nothing",
            &["apply", "-", "--json"],
            WORKFLOW,
            4,
        ),
        (
            "C5",
            "looking writes nothing",
            &["policy", "check", "-", "--json"],
            FIX,
            0,
        ),
    ];
    let mut checks = Vec::new();
    for (id, name, args, input, code) in calls {
        let (said, changed) = ground.changed_by(&repository, || ground.give(&repository, args, input))?;
        let held = said.code == Some(code) && changed.is_empty();
        let seen = format!("{}; changed: {}", said.short(), changed.join(", "));
        checks.push(check(id, name, held, seen));
    }
    checks.push(own_program(ground)?);
    Ok(checks)
}

/// A program as a tool, which writes all it can: only its difference comes out, and it lands by policy alone.
fn own_program(ground: &Ground) -> Result<Check, GateError> {
    let (id, name) = ("C6", "a program as a tool writes nothing here");
    let repository = ground.repository()?;
    let script =
        "echo x > new.txt; git commit -qam x 2>/dev/null; echo x > .git/HEAD; echo x > \"$0.out\"; exit 0";
    let args = ["tool", "run", "-p", "command", "--json", "--", "sh", "-c", script];
    let (said, changed) = ground.changed_by(&repository, || ground.call(&repository, &args))?;
    if said.stdout.contains("could not be confined") {
        return Ok(skipped(id, name, "this machine cannot confine a tool"));
    }
    let json = said.json();
    let told = |name: &str| json.get(name).and_then(Value::as_bool) == Some(false);
    let held = changed.is_empty() && told("wrote_files") && told("committed");
    let seen = format!("{}; changed: {}", said.short(), changed.join(", "));
    Ok(check(id, name, held, seen))
}
