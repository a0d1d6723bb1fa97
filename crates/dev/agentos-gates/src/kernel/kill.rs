//! A landing that is killed: wholly made or wholly not, and the next command sees to the rest.
//!
//! Owns: ending the program at many moments of a landing, and asking git what is there. Never: uses a place that the
//! program offers for it; the program's own tests do, and take every one.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::check;
use super::ground::{FIX, Ground};
use crate::error::GateError;
use crate::results::Check;

/// How many landings are killed, spread over the time that one takes.
const POINTS: u32 = 24;
/// An untracked file of the user's own, which no landing may touch.
const OWN: &str = "own work\n";

/// Every point, and that not all of them missed.
pub(super) fn points(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let answer = ground.put(ground.scratch(), "fix.diff", FIX)?;
    let whole = duration(ground, &answer)?;
    let (mut wrong, mut before, mut after) = (Vec::new(), 0_u32, 0_u32);
    for point in 0..POINTS {
        let repository = ground.repository()?;
        ground.put(&repository, "own.txt", OWN)?;
        let base = ground.git(&repository, &["rev-parse", "HEAD"])?;
        let mut child = ground.start(&repository, &["apply", &answer.to_string_lossy()], &[])?;
        std::thread::sleep(whole * point / POINTS);
        // It may have ended by itself already.
        child.kill().ok();
        child.wait().map_err(GateError::file(&repository))?;
        match problems(ground, &repository, &base)? {
            Ok(true) => after += 1,
            Ok(false) => before += 1,
            Err(problem) => wrong.push(format!("point {point}: {problem}")),
        }
    }
    let seen = format!(
        "{POINTS} killed: {before} not made, {after} made, {} in between",
        wrong.len()
    );
    let details = if wrong.is_empty() {
        seen
    } else {
        format!("{seen}; {}", wrong.join("; "))
    };
    Ok(vec![
        check(
            "KILL-whole",
            "a killed landing is wholly made or wholly not",
            wrong.is_empty(),
            details,
        ),
        check(
            "KILL-reach",
            "some were killed before they were made",
            before > 0,
            format!("{before}"),
        ),
    ])
}

/// How long a landing takes here, a little more.
fn duration(ground: &Ground, answer: &Path) -> Result<Duration, GateError> {
    let repository = ground.repository()?;
    let began = SystemTime::now();
    ground.call(&repository, &["apply", &answer.to_string_lossy()])?;
    // A clock that was set back meanwhile gives a guess.
    let took = began.elapsed().unwrap_or(Duration::from_millis(100));
    Ok(took + took / 4)
}

/// True when the change is there, false when it is not; what is wrong where it is neither.
fn problems(ground: &Ground, repository: &Path, base: &str) -> Result<Result<bool, String>, GateError> {
    let recover = ground.call(repository, &["recover", "--json"])?;
    if recover.code != Some(0) {
        return Ok(Err(format!("`recover`: {}", recover.short())));
    }
    let head = ground.git(repository, &["rev-parse", "HEAD"])?;
    let status = ground.git(repository, &["status", "--porcelain"])?;
    let verify = ground.call(repository, &["evidence", "verify"])?;
    let own = repository.join("own.txt");
    let own = std::fs::read_to_string(&own).map_err(GateError::file(&own))?;
    let made = head != base;
    let source = repository.join("src/lib.rs");
    let source = std::fs::read_to_string(&source).map_err(GateError::file(&source))?;
    let problem = if status != "?? own.txt" {
        Some(format!("the work tree is `{status}`"))
    } else if own != OWN {
        Some("the user's own file is another".to_owned())
    } else if source.contains("a + b") != made {
        Some("commit and work tree do not fit".to_owned())
    } else if !(verify.code == Some(0) || (verify.code == Some(2) && !made)) {
        // Killed before its first record there is no tape at all.
        Some(format!("the evidence: {}", verify.short()))
    } else {
        None
    };
    Ok(problem.map_or(Ok(made), Err))
}
