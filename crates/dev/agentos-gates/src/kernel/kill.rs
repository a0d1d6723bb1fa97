//! Killed landings: a landing is complete or has not happened, and the next command recovers.
//!
//! Owns: killing the program at many moments of a landing, and examining the result with git. Never: uses the program's own
//! crash points; the program's tests do, and use every one.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use super::GateChecks;
use super::ground::{FIX, Ground};
use crate::error::GateError;

/// Number of killed landings, spread over the duration of one.
const POINTS: u32 = 24;
/// Content of an untracked file of the user, which no landing may touch.
const OWN: &str = "own work\n";

/// Kills a landing at every point, and checks that at least one was killed before its commit.
pub(super) fn kill_points(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let answer = ground.write_scratch("fix.diff", FIX)?;
    let whole = measure_landing(ground, &answer)?;
    let (mut wrong, mut before, mut after) = (Vec::new(), 0_u32, 0_u32);
    for point in 0..POINTS {
        let repository = ground.make_repository()?;
        ground.write_file(&repository.join("own.txt"), OWN)?;
        let base = ground.run_git(&repository, &["rev-parse", "HEAD"])?;
        let mut landing = ground.command(&repository, &["apply", &answer]);
        landing
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = landing.spawn().map_err(GateError::file(&repository))?;
        // A kill must come at an arbitrary moment of a real process, so the gate waits by the clock.
        std::thread::sleep(whole * point / POINTS);
        // The landing may have ended already.
        child.kill().ok();
        child.wait().map_err(GateError::file(&repository))?;
        match examine_repository(ground, &repository, &base)? {
            Ok(true) => after += 1,
            Ok(false) => before += 1,
            Err(problem) => wrong.push(format!("; point {point}: {problem}")),
        }
    }
    let between = wrong.len();
    let seen = format!(
        "{POINTS} killed: {before} not landed, {after} landed, {between} inconsistent{}",
        wrong.concat()
    );
    checks.add_check("KILL-whole", wrong.is_empty(), seen);
    checks.add_check("KILL-reach", before > 0, before.to_string());
    Ok(())
}

/// Measures the duration of a landing on this machine, plus a quarter.
fn measure_landing(ground: &Ground, answer: &str) -> Result<Duration, GateError> {
    let repository = ground.make_repository()?;
    let began = SystemTime::now();
    ground.call(&repository, &["apply", answer])?;
    // If the system's clock was set back in between, there is no duration, and a guess must do.
    let took = began.elapsed().unwrap_or(Duration::from_millis(100));
    Ok(took + took / 4)
}

/// Returns true if the change landed, false if it did not, or a description of an inconsistent state.
fn examine_repository(
    ground: &Ground,
    repository: &Path,
    base: &str,
) -> Result<Result<bool, String>, GateError> {
    let recover = ground.call(repository, &["recover", "--json"])?;
    if recover.code != Some(0) {
        return Ok(Err(format!("`recover`: {}", recover.describe_end())));
    }
    let made = ground.run_git(repository, &["rev-parse", "HEAD"])? != base;
    let status = ground.run_git(repository, &["status", "--porcelain"])?;
    let verify = ground.call(repository, &["evidence", "verify"])?;
    let read = |name: &str| {
        let file = repository.join(name);
        std::fs::read_to_string(&file).map_err(GateError::file(&file))
    };
    let (own, source) = (read("own.txt")?, read("src/lib.rs")?);
    // A landing that was killed before its first record leaves no tape, and `verify` then ends with code 2.
    let is_verified = verify.code == Some(0) || (verify.code == Some(2) && !made);
    Ok(if status != "?? own.txt" {
        Err(format!("the working tree is `{status}`"))
    } else if own != OWN {
        Err("the user's own file was changed".to_owned())
    } else if source.contains("a + b") != made {
        Err("commit and working tree do not match".to_owned())
    } else if !is_verified {
        Err(format!("the evidence: {}", verify.describe_end()))
    } else {
        Ok(made)
    })
}
