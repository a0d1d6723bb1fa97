//! Whatever call on the disk fails, with whatever error, nothing is half done and the reason is said.
//!
//! Owns: errors of a full, read-only or broken disk at each changing call, our own, libgit2's and the evidence's.
//! The normal run takes a sample; `AGENTOS_DISK_ALL=1` takes every call with every error.

use std::collections::BTreeMap;

use crate::calls::{self, Call, Fault};
use crate::kill::{Kind, Place, everything};

/// In the normal run: every so many faults.
const SAMPLE: usize = 60;

/// What may be told, with its exit code.
const ALLOWED: [(&str, Option<i32>); 11] = [
    ("landed", Some(0)),
    ("disk-full", Some(8)),
    ("read-only", Some(8)),
    // Errors that only a broken disk gives.
    ("write-failed", Some(8)),
    ("evidence-not-durable", Some(7)),
    // The change is made, and what follows it is not.
    ("unfinished", Some(8)),
    // The answer could not be printed, or only that.
    ("untold", Some(1)),
    ("output", Some(1)),
    // Which openings come in which order is not the same each time: one for reading may fail instead.
    ("unreadable-repository", Some(8)),
    ("unreadable-file", Some(8)),
    ("unreadable-base", Some(8)),
];

/// What a disk may answer to a call. A file cannot be opened for reading only once in a while: openings fail once.
fn faults(call: &Call) -> Vec<(&'static str, Fault)> {
    match call.name.as_str() {
        "write" | "pwrite64" | "writev" | "fsync" | "fdatasync" | "syncfs" => vec![
            ("ENOSPC", Fault::KeepsFailing("ENOSPC")),
            ("EIO", Fault::Fails("EIO")),
        ],
        "openat" => vec![
            ("ENOSPC", Fault::Fails("ENOSPC")),
            ("EROFS", Fault::Fails("EROFS")),
        ],
        "flock" => vec![("ENOLCK", Fault::Fails("ENOLCK"))],
        _ => vec![
            ("ENOSPC", Fault::Fails("ENOSPC")),
            ("EROFS", Fault::KeepsFailing("EROFS")),
        ],
    }
}

#[test]
fn a_failing_call_leaves_the_repository_wholly_before_or_wholly_after() {
    if !calls::can_trace() {
        return;
    }
    let every = std::env::vars_os().any(|(name, _)| name == "AGENTOS_DISK_ALL");
    let mut told = Told::default();
    let mut tried = 0;
    for (kind, target) in [(Kind::Normal, &[][..]), (Kind::Bare, &["--branch", "main"])] {
        tried += spoil(kind, target, every, &mut told);
    }
    let sample = if every {
        ""
    } else {
        ", a sample; AGENTOS_DISK_ALL=1 takes every one"
    };
    eprintln!("{tried} failing calls{sample}; what was told: {:#?}", told.counts);
    assert!(told.odd.is_empty(), "{}", told.odd.join("\n"));
    assert!(tried >= 5, "{tried}");
}

/// What the calls told.
#[derive(Default)]
struct Told {
    counts: BTreeMap<String, usize>,
    /// With a code that is not allowed.
    odd: Vec<String>,
}

fn spoil(kind: Kind, target: &[&str], every: bool, told: &mut Told) -> usize {
    let agentos = env!("CARGO_BIN_EXE_agentos");
    let program = [&[agentos, "apply", "-", "--yes", "--json"][..], target].concat();
    let mut place = Place::new(kind);
    let before = place.state();
    let found = calls::calls(&place.tracer(), &program, &everything());
    let after = place.state();
    place = Place::new(kind);
    let (mut tried, mut fresh) = (0, true);
    let faults = found
        .iter()
        .flat_map(|call| faults(call).into_iter().map(move |fault| (call, fault)));
    for (at, (call, (error, fault))) in faults.enumerate() {
        if !every && at % SAMPLE != SAMPLE / 2 {
            continue;
        }
        if !fresh {
            place = Place::new(kind);
        }
        tried += 1;
        let what = format!("{kind:?} {error} at {call:?}");
        let output = calls::spoiled(&place.tracer(), &program, &everything(), call, &fault);
        // The answer itself may be what could not be printed.
        let json = output.json().unwrap_or_default();
        let code = match &json["outcome"] {
            serde_json::Value::Null => "untold",
            _ => json["code"].as_str().unwrap_or("landed"),
        }
        .to_owned();
        if !ALLOWED.contains(&(code.as_str(), output.code)) {
            told.odd.push(format!("{what}: {output}"));
        }
        *told
            .counts
            .entry(format!("{error} {code} {:?}", output.code))
            .or_default() += 1;
        let recovered = place.run(&["recover"], "", 0);
        assert_eq!(recovered.code, Some(0), "{what}: {output}{recovered}");
        let state = place.state();
        assert!(
            state == before || state == after,
            "{what}: {output}{recovered}\n{state:#?}"
        );
        if output.code == Some(0) {
            assert!(state == after, "{what}: {output}");
        }
        // What is said is so: a commit is named if and only if there is one, whatever failed after it.
        if !matches!(code.as_str(), "unfinished" | "untold" | "output") {
            let is_made = !json["commit"].is_null();
            assert_eq!(state == after, is_made, "{what}: {output}");
        }
        place.assert_sound(&what);
        fresh = state == before;
    }
    tried
}
