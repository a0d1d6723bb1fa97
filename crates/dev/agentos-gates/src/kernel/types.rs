//! Values of the wrong type on the tape: an error, never a crash, never accepted.
//!
//! Owns: the wrong records; wrong values for other readers are cases. Never: judges the wording of an error; the snapshots
//! of the program do.

use super::GateChecks;
use super::ground::{FIX, Ground};
use crate::error::GateError;

const LINES: [&str; 7] = [
    "[]",
    "null",
    "7",
    "\"x\"",
    "{}",
    "{\"v\":\"1\",\"seq\":\"0\"}",
    "{\"v\":1,\"seq\":-1}",
];

/// Replaces the first record with each wrong one, and checks that verification fails with an error.
pub(super) fn wrong_records(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let repository = ground.make_repository()?;
    ground.call_with_input(&repository, &["apply", "-"], FIX)?;
    let tape = repository.join(".git/agentos/tape.jsonl");
    let good = std::fs::read_to_string(&tape).map_err(GateError::file(&tape))?;
    let rest = good.split_once('\n').map_or("", |(_, rest)| rest);
    for (number, line) in LINES.iter().enumerate() {
        ground.write_file(&tape, format!("{line}\n{rest}"))?;
        let ended = ground.call(&repository, &["evidence", "verify", "--json"])?;
        let held = ended.code == Some(7) && !ended.has_crashed();
        checks.add_check(&format!("TYPE-tape-{number}"), held, ended.describe_end());
    }
    Ok(())
}
