//! The rogue suite: a program tries every way out of the sandbox, and the gate examines from outside whether one worked.
//!
//! Owns: the users who start the product (root and an ordinary user), and checking that the suite is complete. Never:
//! counts a suite that did not run as passed.

mod basics;
mod caches;
mod forged;
mod ground;
mod half;
mod listeners;
mod past;
mod runs;
mod suite;
mod table;
mod toolbox;
mod watch;
mod whole;
mod widening;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use agentos_verdict::{Check, GateTape};

use crate::error::GateError;
use half::SuiteHalf;

pub(crate) const NAME: &str = "rogue";
/// Fewest attempts of one user. With fewer, the suite itself is incomplete.
const FEWEST: usize = 1_300;

/// Ids of users without processes and files, one of which is chosen: "65520-65533: unused" in systemd's table of users
/// (UIDS-GIDS.md). The product takes its tools' users from another range of that table.
const UNUSED_USERS: std::ops::Range<u32> = 65_520..65_530;

/// Judges the product started by root and by an ordinary user, as far as the user who started the gate can do both.
pub(crate) fn judge_rogue(agentos: &Path, tape: &mut GateTape) -> Result<Vec<Check>, GateError> {
    let Some(python) = ground::find_python() else {
        let why = "there is no Python 3, which the rogue is written in";
        return Ok(vec![skipped_part("suite", why)]);
    };
    let mut checks = Vec::new();
    let mut halves = Vec::new();
    if ground::gate_user()? == 0 {
        halves.push(SuiteHalf {
            name: "root",
            user: None,
        });
        match ordinary_user(agentos) {
            Ok(user) => halves.push(SuiteHalf {
                name: "user",
                user: Some(user),
            }),
            Err(why) => checks.push(skipped_part("user", &why)),
        }
    } else {
        let why = "the gate was started by an ordinary user, who cannot start the product as root";
        checks.push(skipped_part("root", why));
        halves.push(SuiteHalf {
            name: "user",
            user: None,
        });
    }
    for half in halves {
        match half.judge_half(agentos, &python, tape)? {
            Err(why) => checks.push(skipped_part(half.name, &why)),
            Ok(found) => {
                checks.extend(suite_is_whole(&half, &found)?);
                checks.extend(found);
            }
        }
    }
    Ok(checks)
}

/// Creates the check of a part of the suite that cannot be run.
fn skipped_part(id: &str, why: &str) -> Check {
    Check::skipped(format!("ROGUE-{id}"), "the rogue suite", why)
}

/// Chooses an ordinary user who can start the product.
///
/// # Errors
/// When that user cannot start it; the message is the reason.
fn ordinary_user(agentos: &Path) -> Result<u32, String> {
    use std::os::unix::process::CommandExt;
    // The process id makes it likely that gates which run at the same time use different users.
    let length = UNUSED_USERS.end - UNUSED_USERS.start;
    let user = UNUSED_USERS.start + std::process::id() % length;
    let mut look = Command::new(agentos);
    look.arg("--version").uid(user).gid(user).current_dir("/");
    look.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let why = match look.status() {
        Ok(status) if status.success() => return Ok(user),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(format!("user {user} cannot run `{}`: {why}", agentos.display()))
}

/// Checks that enough attempts were made, and that they include the cases of every reported kind of hole.
fn suite_is_whole(half: &SuiteHalf, checks: &[Check]) -> Result<[Check; 2], GateError> {
    let prefix = format!("ROGUE-{}/", half.name);
    let made = checks
        .iter()
        .filter_map(|check| check.id.strip_prefix(prefix.as_str()));
    let made: BTreeSet<&str> = made.collect();
    let classes = table::hole_classes()?;
    let missing: Vec<String> = classes
        .iter()
        .flat_map(|class| class.missing_cases(&made))
        .collect();
    let said = match missing.is_empty() {
        true => format!("{} kinds of holes have their cases", classes.len()),
        false => missing.join("; "),
    };
    let count = made.len();
    let counted = format!("{count} attempts and runs were judged");
    Ok([
        half.check("suite", "the suite is whole", count >= FEWEST, counted),
        half.check(
            "classes",
            "every reported kind of hole has a case",
            missing.is_empty(),
            said,
        ),
    ])
}
