//! The rogue suite: one program tries every way out of the sandbox, and the gate looks from outside if one worked.
//!
//! Owns: who starts the product (root and an ordinary user), and the verdict over both. Never: counts a suite that did
//! not run as passed.

mod answers;
mod caches;
mod classes;
mod disk;
mod forged;
mod ground;
mod half;
mod listeners;
mod past;
mod runs;
mod suite;
mod watch;
mod whole;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::SystemTime;

use agentos_tool::Timestamp;
use serde_json::json;

use crate::error::GateError;
use crate::evidence::{self, Tape};
use crate::results::{Check, CheckStatus, GateResults, Mode};
use half::Half;

const NAME: &str = "rogue";
/// Fewer attempts than this by one user, and the suite itself is broken.
const FEWEST: usize = 260;

/// Users among which one is chosen who has no process and no file: "65520-65533: unused" in systemd's table of users
/// (UIDS-GIDS.md). The product takes its tools' users from another range of that table.
const UNUSED_USERS: std::ops::Range<u32> = 65_520..65_530;

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

fn run(agentos: &Path, out: &Path) -> Result<GateResults, GateError> {
    let began = now();
    let mut tape = Tape::begin(out, &format!("{NAME}-{}", began.as_str()))?;
    tape.add(&began, "gate-started", json!({"gate": NAME, "mode": Mode::Gate}))?;
    let checks = match ground::python() {
        Some(python) => judge(agentos, &python, &mut tape)?,
        None => vec![skipped(
            "suite",
            "there is no Python 3, which the rogue is written in",
        )],
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

/// Judges the product started by root and by an ordinary user, as far as the user who starts the gate may.
fn judge(agentos: &Path, python: &Path, tape: &mut Tape) -> Result<Vec<Check>, GateError> {
    let mut checks = Vec::new();
    let mut halves = Vec::new();
    if ground::starter()? == 0 {
        halves.push(Half {
            name: "root",
            user: None,
        });
        match ordinary_user(agentos) {
            Ok(user) => halves.push(Half {
                name: "user",
                user: Some(user),
            }),
            Err(why) => checks.push(skipped("user", &why)),
        }
    } else {
        checks.push(skipped(
            "root",
            "the gate was started by an ordinary user, who cannot start the product as root",
        ));
        halves.push(Half {
            name: "user",
            user: None,
        });
    }
    for half in halves {
        let judged = half.judge(agentos, python, tape)?;
        match judged {
            Err(why) => checks.push(skipped(half.name, &why)),
            Ok(found) => {
                checks.extend(suite_is_whole(half.name, &found));
                checks.extend(found);
            }
        }
    }
    Ok(checks)
}

/// Chooses an ordinary user who can start the product.
///
/// # Errors
/// Why there is none.
fn ordinary_user(agentos: &Path) -> Result<u32, String> {
    use std::os::unix::process::CommandExt;
    // Another gate at the same time has another number.
    let length = UNUSED_USERS.end - UNUSED_USERS.start;
    let user = UNUSED_USERS.start + std::process::id() % length;
    let started = Command::new(agentos)
        .arg("--version")
        .uid(user)
        .gid(user)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match started {
        Ok(status) if status.success() => Ok(user),
        Ok(status) => Err(format!(
            "user {user} cannot run `{}`: {status}",
            agentos.display()
        )),
        Err(error) => Err(format!("user {user} cannot run `{}`: {error}", agentos.display())),
    }
}

/// Enough attempts were made, and every reported kind of hole has its cases among them.
fn suite_is_whole(half: &str, checks: &[Check]) -> [Check; 2] {
    let prefix = format!("ROGUE-{half}/");
    let made: BTreeSet<&str> = checks
        .iter()
        .filter_map(|check| check.id.strip_prefix(prefix.as_str()))
        .collect();
    let missing = classes::missing(&made);
    let said = match missing.is_empty() {
        true => format!("{} kinds of holes have their cases", classes::count()),
        false => missing.join("; "),
    };
    let count = made.len();
    [
        check_of(
            &format!("{half}/suite"),
            "the suite is whole",
            count >= FEWEST,
            format!("{count} attempts and runs were judged"),
        ),
        check_of(
            &format!("{half}/classes"),
            "every reported kind of hole has a case",
            missing.is_empty(),
            said,
        ),
    ]
}

fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

fn check_of(id: &str, name: &str, held: bool, said: String) -> Check {
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

fn skipped(id: &str, why: &str) -> Check {
    Check {
        id: format!("ROGUE-{id}"),
        name: "the rogue suite".to_owned(),
        status: CheckStatus::Skipped,
        details: vec![why.to_owned()],
    }
}
