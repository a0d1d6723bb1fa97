//! Nobody below can widen what a policy allows: not the change, not the dirty work tree, not the user, not a flag.
//!
//! Owns: each attempt to. Never: judges the rules themselves.

use std::path::{Path, PathBuf};

use super::check;
use super::ground::{FIX, Ground, WORKFLOW};
use crate::error::GateError;
use crate::results::Check;
use crate::witness;

const FROZEN: &str =
    "version = 1\n[[rule]]\nid = \"frozen\"\neffect = \"deny\"\nwhy = \"frozen\"\npaths = [\"src/**\"]\n";
const EVERYTHING: &str =
    "version = 1\npreset = \"none\"\n[[rule]]\nid = \"all\"\neffect = \"allow\"\nwhy = \"all\"\n";
const PLACE: &str = ".agentos/policy/team.toml";

/// A diff that turns the frozen policy into one that allows all.
fn widening() -> String {
    let lines =
        |sign: char, text: &str| -> String { text.lines().map(|line| format!("{sign}{line}\n")).collect() };
    format!(
        "--- a/{PLACE}\n+++ b/{PLACE}\n@@ -1,{} +1,{} @@\n{}{}",
        FROZEN.lines().count(),
        EVERYTHING.lines().count(),
        lines('-', FROZEN),
        lines('+', EVERYTHING)
    )
}

/// One try to be allowed more, and how it must end: as it would without it.
struct Attempt<'a> {
    id: &'a str,
    name: &'a str,
    args: &'a [&'a str],
    input: &'a str,
    code: i32,
}

const fn attempt<'a>(
    id: &'a str,
    name: &'a str,
    args: &'a [&'a str],
    input: &'a str,
    code: i32,
) -> Attempt<'a> {
    Attempt {
        id,
        name,
        args,
        input,
        code,
    }
}

/// Every attempt must end as without it.
pub(super) fn not_widened(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let mut checks = by_flags_and_change(ground)?;
    checks.extend(by_files(ground)?);
    checks.extend(below_the_floor(ground)?);
    Ok(checks)
}

/// Makes the attempts, one after the other.
fn made(ground: &Ground, repository: &Path, attempts: &[Attempt<'_>]) -> Result<Vec<Check>, GateError> {
    let one = |attempt: &Attempt<'_>| {
        let args = [&["apply", "-", "--json"], attempt.args].concat();
        let (said, changed) =
            ground.changed_by(repository, || ground.give(repository, &args, attempt.input))?;
        let held = said.code == Some(attempt.code) && changed.is_empty();
        Ok(check(
            format!("WIDE-{}", attempt.id),
            attempt.name,
            held,
            said.short(),
        ))
    };
    attempts.iter().map(one).collect()
}

fn by_flags_and_change(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let wide = ground.put(ground.scratch(), "wide.toml", EVERYTHING)?;
    let wide = wide.to_string_lossy();
    let allow = EVERYTHING.replace("preset = \"none\"\n", "");
    let allow = ground.put(ground.scratch(), "allow.toml", allow)?;
    let allow = allow.to_string_lossy();
    let both = format!("{}{FIX}", widening());
    made(
        ground,
        &frozen(ground)?,
        &[
            attempt("plain", "the policy holds", &[], FIX, 3),
            attempt("yes", "consent does not lift a deny", &["--yes"], FIX, 3),
            attempt(
                "flag-preset",
                "a flag names no preset",
                &["--policy", &wide],
                FIX,
                3,
            ),
            attempt(
                "flag-allow",
                "a flag's allow has no say",
                &["--policy", &allow],
                FIX,
                3,
            ),
            attempt("change", "a change does not judge itself", &["--yes"], &both, 3),
            attempt(
                "policy",
                "a change of the policy needs a person",
                &[],
                &widening(),
                4,
            ),
        ],
    )
}

/// By files that are not committed, and by a user's own.
fn by_files(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let repository = frozen(ground)?;
    ground.put(&repository, PLACE, EVERYTHING)?;
    ground.put(&repository, ".agentos/policy/more.toml", EVERYTHING)?;
    let dirty = attempt("dirty", "what is not committed is not in force", &[], FIX, 3);
    let mut checks = made(ground, &repository, &[dirty])?;
    let repository = frozen(ground)?;
    let users = ground.home().join(".config/agentos/policy");
    let mine = ground.put(&users, "mine.toml", EVERYTHING)?;
    let user = attempt("user", "a user does not widen the repository's", &[], FIX, 3);
    checks.extend(made(ground, &repository, &[user])?);
    std::fs::remove_file(&mine).map_err(GateError::file(&mine))?;
    Ok(checks)
}

/// By a committed policy that allows everything, and by having none.
fn below_the_floor(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let repository = ground.repository()?;
    ground.put(&repository, PLACE, EVERYTHING)?;
    witness::commit_all(&repository, "allow all")?;
    let more = EVERYTHING.replace("id = \"all\"", "id = \"more\"");
    let policy = format!(
        "--- /dev/null\n+++ b/.agentos/policy/more.toml\n@@ -0,0 +1,{} @@\n{}",
        more.lines().count(),
        more.lines().map(|line| format!("+{line}\n")).collect::<String>()
    );
    let gate = WORKFLOW.replace("+on: [push]\n", "+run: agentos policy test\n");
    let git = FIX.replace("src/lib.rs", ".git/config");
    let whatever = "the floor guards the policy whatever allows it";
    let mut checks = made(
        ground,
        &repository,
        &[
            attempt("floor-policy", whatever, &[], &policy, 4),
            attempt("floor-ci", "the floor guards CI that calls us", &[], &gate, 4),
            attempt(
                "floor-git",
                "the floor guards git's own folder",
                &["--yes"],
                &git,
                6,
            ),
        ],
    )?;
    let none = attempt("none", "no policy is the default, not none", &[], WORKFLOW, 4);
    checks.extend(made(ground, &ground.repository()?, &[none])?);
    Ok(checks)
}

fn frozen(ground: &Ground) -> Result<PathBuf, GateError> {
    let repository = ground.repository()?;
    ground.put(&repository, PLACE, FROZEN)?;
    witness::commit_all(&repository, "freeze the sources")?;
    Ok(repository)
}
