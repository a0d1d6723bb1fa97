//! The rogue suite: one program tries every way out of the sandbox, and the gate looks from outside if one worked.
//!
//! Owns: the order of the runs, one check for each attempt and for each thing outside that must be as it was. Never:
//! believes the rogue alone, or counts a suite that did not run as passed.

mod answers;
mod classes;
mod ground;
mod runs;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use agentos_tool::Timestamp;
use serde_json::json;

use crate::error::GateError;
use crate::evidence::{self, Tape};
use crate::results::{Check, CheckStatus, GateResults, Mode};
use ground::Ground;

const NAME: &str = "rogue";
/// Fewer attempts than this, and the suite itself is broken.
const FEWEST: usize = 40;

/// Runs the gate as a program; the exit codes are those of [`crate::main`].
#[must_use]
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let done = options(args).and_then(|(agentos, out)| run(&agentos, &out));
    match done {
        Ok(results) => crate::show(&results, false),
        Err(error) => {
            use std::io::Write;
            // A closed pipe changes nothing: the exit code tells.
            writeln!(std::io::stderr(), "error: the gate `{NAME}` broke: {error}").ok();
            ExitCode::from(2)
        }
    }
}

fn options(mut args: impl Iterator<Item = OsString>) -> Result<(PathBuf, PathBuf), GateError> {
    let mut agentos = std::env::var_os("AGENTOS_BIN").map(PathBuf::from);
    let mut out = PathBuf::from("outputs/gates").join(NAME);
    while let Some(arg) = args.next() {
        let value = args.next();
        match (arg.to_str(), value) {
            (Some("--agentos"), Some(value)) => agentos = Some(value.into()),
            (Some("--out"), Some(value)) => out = value.into(),
            _ => {
                let given = arg.to_string_lossy();
                return Err(GateError::Usage(format!(
                    "`{given}` is not understood; usage: {NAME} --agentos PATH [--out DIR]"
                )));
            }
        }
    }
    let agentos = agentos.ok_or_else(|| {
        GateError::Usage("no program to judge: give `--agentos PATH` or set `AGENTOS_BIN`".to_owned())
    })?;
    let agentos = std::path::absolute(&agentos).map_err(GateError::file(&agentos))?;
    Ok((agentos, out))
}

fn run(agentos: &std::path::Path, out: &std::path::Path) -> Result<GateResults, GateError> {
    let began = now();
    let mut tape = Tape::begin(out, &format!("{NAME}-{}", began.as_str()))?;
    tape.add(&began, "gate-started", json!({"gate": NAME, "mode": Mode::Gate}))?;
    let checks = match ground::python() {
        Some(python) => judge(agentos, &python, &mut tape)?,
        None => vec![skipped("there is no Python 3, which the rogue is written in")],
    };
    for check in &checks {
        tape.add(&now(), "check", check)?;
    }
    let results = GateResults::new(NAME, began, Mode::Gate, checks);
    let verdict = json!({"gate": NAME, "status": results.status, "counts": results.counts});
    tape.add(&now(), "gate-finished", verdict)?;
    evidence::report(out, "gate_results.json", &results)?;
    Ok(results)
}

fn judge(
    agentos: &std::path::Path,
    python: &std::path::Path,
    tape: &mut Tape,
) -> Result<Vec<Check>, GateError> {
    let ground = Ground::prepare()?;
    let program = runs::Program {
        agentos,
        python,
        ground: &ground,
    };
    if let Some(why) = program.cannot_confine()? {
        return Ok(vec![skipped(&why)]);
    }
    ground.open()?;
    let before = ground.measure()?;
    let attempts = program.attempts()?;
    let mut checks = Vec::new();
    match &attempts {
        Ok(lines) => {
            for line in lines {
                tape.add(&now(), "attempt", line)?;
                checks.push(runs::judged(line));
            }
            let enough = format!("{} attempts were made", lines.len());
            checks.push(check(
                "suite",
                "the suite is whole",
                lines.len() >= FEWEST,
                enough,
            ));
        }
        Err(why) => checks.push(check("suite", "the suite is whole", false, why.clone())),
    }
    for (name, runs) in [
        ("what does not end is ended", program.endless()?),
        ("the answer does not land", program.answers()?),
    ] {
        for (id, held, said) in runs {
            tape.add(&now(), "run", json!({"run": id, "held": held, "said": said}))?;
            checks.push(check(id, name, held, said));
        }
    }
    let differences = ground.differences(&before)?;
    for (id, name, held, said) in differences {
        checks.push(check(id, name, held, said));
    }
    let (held, said) = program.evidence_is_whole()?;
    checks.push(check("evidence", "the evidence verifies", held, said));
    let named = attempts.iter().flatten().map(runs::Attempt::name);
    checks.push(classes_have_cases(&checks, named));
    Ok(checks)
}

/// Every reported kind of hole stands among the attempts and the checks.
fn classes_have_cases<'a>(checks: &'a [Check], attempts: impl Iterator<Item = &'a str>) -> Check {
    let ids = checks.iter().filter_map(|check| check.id.strip_prefix("ROGUE-"));
    let made: BTreeSet<&str> = ids.chain(attempts).collect();
    let missing = classes::missing(&made);
    let said = match missing.is_empty() {
        true => format!("{} kinds of holes have their cases", classes::count()),
        false => missing.join("; "),
    };
    let name = "every reported kind of hole has a case";
    check("classes", name, missing.is_empty(), said)
}

fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

fn check(id: &str, name: &str, held: bool, said: String) -> Check {
    Check {
        id: format!("ROGUE-{id}"),
        name: name.to_owned(),
        status: if held {
            CheckStatus::Passed
        } else {
            CheckStatus::Failed
        },
        details: vec![said],
    }
}

fn skipped(why: &str) -> Check {
    Check {
        id: "ROGUE".to_owned(),
        name: "the rogue suite".to_owned(),
        status: CheckStatus::Skipped,
        details: vec![why.to_owned()],
    }
}
