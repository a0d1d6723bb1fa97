//! A landing that is killed: wholly made or wholly not, and the next command sees to the rest.
//!
//! Owns: ending the program at many moments of a landing, and asking git what is there. Never: uses a place that the
//! program offers for it; the program's own tests do, and take every one.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use super::Checks;
use super::ground::{FIX, Ground};
use crate::error::GateError;

/// How many landings are killed, spread over the time that one takes.
const POINTS: u32 = 24;
/// An untracked file of the user's own, which no landing may touch.
const OWN: &str = "own work\n";

/// Every point, and that not all of them missed.
pub(super) fn points(ground: &Ground, checks: &mut Checks<'_>) -> Result<(), GateError> {
    let answer = ground.put_scratch("fix.diff", FIX)?;
    let whole = duration(ground, &answer)?;
    let (mut wrong, mut before, mut after) = (Vec::new(), 0_u32, 0_u32);
    for point in 0..POINTS {
        let repository = ground.repository()?;
        ground.put(&repository.join("own.txt"), OWN)?;
        let base = ground.git(&repository, &["rev-parse", "HEAD"])?;
        let mut landing = ground.command(&repository, &["apply", &answer]);
        landing
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = landing.spawn().map_err(GateError::file(&repository))?;
        std::thread::sleep(whole * point / POINTS);
        // It may have ended by itself already.
        child.kill().ok();
        child.wait().map_err(GateError::file(&repository))?;
        match problems(ground, &repository, &base)? {
            Ok(true) => after += 1,
            Ok(false) => before += 1,
            Err(problem) => wrong.push(format!("; point {point}: {problem}")),
        }
    }
    let between = wrong.len();
    let seen = format!(
        "{POINTS} killed: {before} not made, {after} made, {between} in between{}",
        wrong.concat()
    );
    checks.add("KILL-whole", wrong.is_empty(), seen);
    checks.add("KILL-reach", before > 0, before.to_string());
    Ok(())
}

/// Returns how long a landing takes here, a little more.
fn duration(ground: &Ground, answer: &str) -> Result<Duration, GateError> {
    let repository = ground.repository()?;
    let began = SystemTime::now();
    ground.call(&repository, &["apply", answer])?;
    // A clock that was set back meanwhile gives a guess.
    let took = began.elapsed().unwrap_or(Duration::from_millis(100));
    Ok(took + took / 4)
}

/// Returns true when the change is there, false when it is not; what is wrong where it is neither.
fn problems(ground: &Ground, repository: &Path, base: &str) -> Result<Result<bool, String>, GateError> {
    let recover = ground.call(repository, &["recover", "--json"])?;
    if recover.code != Some(0) {
        return Ok(Err(format!("`recover`: {}", recover.short())));
    }
    let made = ground.git(repository, &["rev-parse", "HEAD"])? != base;
    let status = ground.git(repository, &["status", "--porcelain"])?;
    let verify = ground.call(repository, &["evidence", "verify"])?;
    let read = |name: &str| {
        let file = repository.join(name);
        std::fs::read_to_string(&file).map_err(GateError::file(&file))
    };
    let (own, source) = (read("own.txt")?, read("src/lib.rs")?);
    // Killed before its first record there is no tape at all.
    let is_verified = verify.code == Some(0) || (verify.code == Some(2) && !made);
    Ok(if status != "?? own.txt" {
        Err(format!("the work tree is `{status}`"))
    } else if own != OWN {
        Err("the user's own file is another".to_owned())
    } else if source.contains("a + b") != made {
        Err("commit and work tree do not fit".to_owned())
    } else if !is_verified {
        Err(format!("the evidence: {}", verify.short()))
    } else {
        Ok(made)
    })
}
