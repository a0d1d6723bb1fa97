//! A change from task to commit, as the TL-R1 gates of the source system judged it, and a tool that tries to write.
//!
//! Owns: the expected effect of each call, as git sees it. Never: relies on the program's report about its writes.

use std::path::Path;

use serde_json::Value;

use super::GateChecks;
use super::ground::{FIX, Ground};
use crate::child::FinishedCall;
use crate::error::GateError;

/// The stations of a run that lands, in order.
const STATIONS: &str = "task attempt answer tool_result landing decision intent receipt checkpoint";

/// Runs a tool from task to commit, and undoes the run.
pub(super) fn end_to_end(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let repository = ground.make_repository()?;
    let base = ground.run_git(&repository, &["rev-parse", "HEAD^{tree}"])?;
    let answer = ground.write_scratch("answer.md", format!("Here:\n\n```diff\n{FIX}```\n"))?;
    let run = ["run", "-p", "replay", "--replay", &answer, "fix add", "--json"];
    let ended = ground.call(&repository, &run)?;
    let landed = ended.code == Some(0) && ended.text_at("outcome") == "landed";
    checks.add_check("TLR1-A", landed, ended.describe_end());

    // The commit is read with git, because the program could report a commit that it did not make.
    let head = ground.run_git(&repository, &["rev-parse", "HEAD", "HEAD^{tree}"])?;
    let stated = format!("{}\n{}", ended.text_at("commit"), ended.text_at("tree"));
    let clean = ground.run_git(&repository, &["status", "--porcelain"])?;
    checks.add_check("TLR1-B", head == stated && clean.is_empty(), head);

    let kind = ended.text_at("result/output_kind");
    let has_diff = ended.json.pointer("/result/diff").is_some_and(Value::is_string);
    let verified = has_diff && ended.text_at("result/tool") == "replay" && kind == "diff";
    checks.add_check("TLR1-C", verified, kind);

    check_evidence(ground, &repository, &ended, checks)?;

    let undo = ground.call(&repository, &["undo", "--json"])?;
    let back = ground.run_git(&repository, &["rev-parse", "HEAD^{tree}"])?;
    checks.add_check("TLR1-H", undo.code == Some(0) && back == base, back);
    Ok(())
}

/// Checks the evidence of the run: a record of each station, a commit with the hash of its intent, and both verified.
fn check_evidence(
    ground: &Ground,
    repository: &Path,
    ended: &FinishedCall,
    checks: &mut GateChecks<'_>,
) -> Result<(), GateError> {
    let show = ground.call(repository, &["evidence", "show", "--json"])?;
    let kinds = show.texts_at("records", "/kind").join(" ");
    checks.add_check("TLR1-D", kinds == STATIONS, kinds);

    let trailers = ground.run_git(repository, &["log", "-1", "--format=%(trailers:only)"])?;
    let intent = ended.text_at("evidence/intent");
    let named = trailers.contains(&format!("AgentOS-Evidence: {intent}")) && intent.starts_with("sha256:");
    checks.add_check("TLR1-E", named, trailers);

    let verify = ground.call(repository, &["evidence", "verify", "--json"])?;
    checks.add_check("TLR1-F", verify.code == Some(0), verify.describe_end());
    let replay = ground.call(repository, &["evidence", "replay", "--all"])?;
    checks.add_check("TLR1-G", replay.code == Some(0), replay.describe_end());
    Ok(())
}

/// Runs a program as a tool that writes wherever it can: only its difference may leave the sandbox.
pub(super) fn own_program(ground: &Ground, checks: &mut GateChecks<'_>) -> Result<(), GateError> {
    let repository = ground.make_repository()?;
    let script =
        "echo x > new.txt; git commit -qam x 2>/dev/null; echo x > .git/HEAD; echo x > \"$0.out\"; exit 0";
    let args = ["tool", "run", "-p", "command", "--json", "--", "sh", "-c", script];
    let (ended, changed) = ground.changed_by(&repository, || ground.call(&repository, &args))?;
    if ended.stdout.contains("could not be confined") {
        checks.skip_check("C6", "this machine cannot confine a tool");
        return Ok(());
    }
    let is_false = |name: &str| ended.json.get(name).and_then(Value::as_bool) == Some(false);
    let held = changed.is_empty() && is_false("wrote_files") && is_false("committed");
    let said = format!("{}; changed: {}", ended.describe_end(), changed.join(", "));
    checks.add_check("C6", held, said);
    Ok(())
}
