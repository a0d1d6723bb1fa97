//! The gates that need no server: each judges the built program from outside, on repositories of its own.
//!
//! Owns: which of these gates there are, and their verdicts and tapes. Never: believes what the program says of itself
//! where git or the files can be asked. Several gates are one binary, so that they are linked once.

mod evidence;
mod flow;
mod ground;
mod hostile;
mod kill;
mod policy;
mod secrets;
mod tools;
mod types;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use agentos_tool::Timestamp;
use serde_json::json;

use crate::error::GateError;
use crate::evidence::{Tape, report};
use crate::results::{Check, CheckStatus, GateResults, Mode};
use ground::Ground;

/// One gate: its name, which is its folder's too, and what it does.
type Gate = (&'static str, fn(&Ground) -> Result<Vec<Check>, GateError>);

/// Every gate of this binary.
const GATES: &[Gate] = &[
    ("tl_r1_end_to_end", flow::end_to_end),
    ("tl_r1_negative_diffs", flow::negative_diffs),
    ("tl_r1_power_boundary", flow::power_boundary),
    ("okind_n1", tools::output_kinds),
    ("cap_sanity", tools::capabilities),
    ("no_selection", tools::no_selection),
    ("type_robustness", types::robustness),
    ("policy_not_widened", policy::not_widened),
    ("hostile_inputs", hostile::refused),
    ("evidence_tampering", evidence::tampering),
    ("secrets_canary", secrets::searched),
    ("kill_points", kill::points),
];

/// The names of the gates.
pub fn names() -> impl Iterator<Item = &'static str> {
    GATES.iter().map(|(name, _)| *name)
}

/// Runs one gate as a program; the exit codes are those of [`crate::main`].
#[must_use]
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    use std::io::Write;
    let done = asked(args).and_then(|asked| run(&asked.gate, &asked.agentos, &asked.out));
    match done {
        Ok(results) => crate::show(&results, false),
        Err(error) => {
            // A closed pipe changes nothing: the exit code tells.
            writeln!(std::io::stderr(), "error: the gate broke: {error}").ok();
            ExitCode::from(2)
        }
    }
}

struct Asked {
    gate: Gate,
    agentos: PathBuf,
    out: PathBuf,
}

fn asked(mut args: impl Iterator<Item = OsString>) -> Result<Asked, GateError> {
    let usage = |what: &str| {
        let known: Vec<&str> = names().collect();
        GateError::Usage(format!(
            "{what}; usage: kernel GATE --agentos PATH [--out DIR], with one of `{}`",
            known.join("`, `")
        ))
    };
    let name = args.next().ok_or_else(|| usage("no gate is named"))?;
    let gate = GATES
        .iter()
        .find(|(known, _)| name.to_str() == Some(*known))
        .ok_or_else(|| usage(&format!("`{}` is no gate", name.to_string_lossy())))?;
    let mut agentos = std::env::var_os("AGENTOS_BIN").map(PathBuf::from);
    let mut out = PathBuf::from("outputs/gates").join(gate.0);
    while let Some(arg) = args.next() {
        match (arg.to_str(), args.next()) {
            (Some("--agentos"), Some(value)) => agentos = Some(value.into()),
            (Some("--out"), Some(value)) => out = value.into(),
            _ => return Err(usage(&format!("`{}` is not understood", arg.to_string_lossy()))),
        }
    }
    let agentos = agentos.ok_or_else(|| usage("no program to judge"))?;
    Ok(Asked {
        gate: *gate,
        agentos: std::path::absolute(&agentos).map_err(GateError::file(&agentos))?,
        out,
    })
}

fn run((name, judge): &Gate, agentos: &Path, out: &Path) -> Result<GateResults, GateError> {
    let began = now();
    let mut tape = Tape::begin(out, &format!("{name}-{}", began.as_str()))?;
    tape.add(&began, "gate-started", json!({"gate": name, "mode": Mode::Gate}))?;
    let ground = Ground::new(agentos)?;
    let checks = judge(&ground)?;
    for said in ground.calls() {
        tape.add(&now(), "call", said)?;
    }
    for check in &checks {
        tape.add(&now(), "check", check)?;
    }
    let results = GateResults::new(name, began, Mode::Gate, checks);
    let verdict = json!({"gate": name, "status": results.status, "counts": results.counts});
    tape.add(&now(), "gate-finished", verdict)?;
    report(out, "gate_results.json", &results)?;
    Ok(results)
}

fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

/// A check that held, or did not.
fn check(id: impl Into<String>, name: &str, held: bool, said: impl Into<String>) -> Check {
    Check {
        id: id.into(),
        name: name.to_owned(),
        status: if held {
            CheckStatus::Passed
        } else {
            CheckStatus::Failed
        },
        details: vec![said.into()],
    }
}

/// A check that could not be made.
fn skipped(id: impl Into<String>, name: &str, why: impl Into<String>) -> Check {
    Check {
        id: id.into(),
        name: name.to_owned(),
        status: CheckStatus::Skipped,
        details: vec![why.into()],
    }
}
