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

/// Every attempt must end as without it.
pub(super) fn not_widened(ground: &Ground) -> Result<Vec<Check>, GateError> {
    let mut checks = Vec::new();
    let mut attempt = |id: &str, name: &str, repository: &Path, args: &[&str], input: &str, code: i32| {
        let args = [&["apply", "-", "--json"], args].concat();
        let (said, changed) = ground.changed_by(repository, || ground.give(repository, &args, input))?;
        let held = said.code == Some(code) && changed.is_empty();
        checks.push(check(format!("WIDE-{id}"), name, held, said.short()));
        Ok::<(), GateError>(())
    };
    let wide = ground.put(ground.scratch(), "wide.toml", EVERYTHING)?;
    let wide = wide.to_string_lossy();
    let allow = EVERYTHING.replace("preset = \"none\"\n", "");
    let allow = ground.put(ground.scratch(), "allow.toml", allow)?;
    let allow = allow.to_string_lossy();

    let repository = frozen(ground)?;
    attempt("plain", "the policy holds", &repository, &[], FIX, 3)?;
    attempt(
        "yes",
        "consent does not lift a deny",
        &repository,
        &["--yes"],
        FIX,
        3,
    )?;
    attempt(
        "flag-preset",
        "a flag names no preset",
        &repository,
        &["--policy", &wide],
        FIX,
        3,
    )?;
    attempt(
        "flag-allow",
        "a flag's allow has no say",
        &repository,
        &["--policy", &allow],
        FIX,
        3,
    )?;
    let both = format!("{}{FIX}", widening());
    attempt(
        "change",
        "a change does not judge itself",
        &repository,
        &["--yes"],
        &both,
        3,
    )?;
    attempt(
        "policy",
        "a change of the policy needs a person",
        &repository,
        &[],
        &widening(),
        4,
    )?;

    ground.put(&repository, PLACE, EVERYTHING)?;
    ground.put(&repository, ".agentos/policy/more.toml", EVERYTHING)?;
    attempt(
        "dirty",
        "what is not committed is not in force",
        &repository,
        &[],
        FIX,
        3,
    )?;

    let repository = frozen(ground)?;
    let mine = ground.put(
        &ground.home().join(".config/agentos/policy"),
        "mine.toml",
        EVERYTHING,
    )?;
    attempt(
        "user",
        "a user does not widen the repository's",
        &repository,
        &[],
        FIX,
        3,
    )?;
    std::fs::remove_file(&mine).map_err(GateError::file(&mine))?;

    let repository = ground.repository()?;
    ground.put(&repository, PLACE, EVERYTHING)?;
    witness::commit_all(&repository, "allow all")?;
    let more = EVERYTHING.replace("id = \"all\"", "id = \"more\"");
    let policy = format!(
        "--- /dev/null\n+++ b/.agentos/policy/more.toml\n@@ -0,0 +1,{} @@\n{}",
        more.lines().count(),
        more.lines().map(|line| format!("+{line}\n")).collect::<String>()
    );
    attempt(
        "floor-policy",
        "the floor guards the policy whatever allows it",
        &repository,
        &[],
        &policy,
        4,
    )?;
    let gate = WORKFLOW.replace("+on: [push]\n", "+run: agentos policy test\n");
    attempt(
        "floor-ci",
        "the floor guards CI that calls us",
        &repository,
        &[],
        &gate,
        4,
    )?;
    attempt(
        "floor-git",
        "the floor guards git's own folder",
        &repository,
        &["--yes"],
        &FIX.replace("src/lib.rs", ".git/config"),
        6,
    )?;

    let repository = ground.repository()?;
    attempt(
        "none",
        "no policy is the default, not none",
        &repository,
        &[],
        WORKFLOW,
        4,
    )?;
    Ok(checks)
}

fn frozen(ground: &Ground) -> Result<PathBuf, GateError> {
    let repository = ground.repository()?;
    ground.put(&repository, PLACE, FROZEN)?;
    witness::commit_all(&repository, "freeze the sources")?;
    Ok(repository)
}
