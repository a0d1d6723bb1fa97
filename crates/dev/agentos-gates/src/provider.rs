//! A connectivity gate, from its first call to its checks.
//!
//! Owns: the order of the calls, and their records. Never: decides a check; `checks` does.

use std::path::Path;

use agentos_verdict::{GateTape, ProviderSpec};
use serde_json::json;

use crate::checks::{self, GateFacts, HealthReport, ToolRun};
use crate::child::FinishedCall;
use crate::error::GateError;
use crate::now;
use crate::options::GateRun;
use crate::product::JudgedProduct;
use crate::summary::{HealthSummary, JudgedGate};
use crate::witness::{self, RepoState};

/// The smallest task.
const SAY_OK: &str = "Say 'ok'.";
/// A task whose answer must be a diff of one line.
const FIX_ADD: &str = "The function `add` in src/lib.rs subtracts. Make it add. Answer with one unified diff of src/lib.rs and \
                       change nothing else.";

/// Calls the program and makes the five checks.
pub(crate) fn judge_provider(
    asked: &GateRun,
    spec: &ProviderSpec,
    tape: &mut GateTape,
) -> Result<JudgedGate, GateError> {
    let began = now();
    let temporary = tempfile::TempDir::new().map_err(GateError::file("the temporary folder"))?;
    let scratch = asked.options.scratch.as_deref().unwrap_or(temporary.path());
    let home = scratch.join("home");
    std::fs::create_dir_all(&home).map_err(GateError::file(&home))?;
    let product = JudgedProduct::new(spec, asked, scratch)?;
    let mut ended = Vec::new();
    let (health_code, health) = record_health(&product, scratch, tape, &mut ended)?;
    let runs = match &health {
        Ok(said) if said.is_connected() => run_tasks(&product, scratch, tape, &mut ended)?,
        // A task for a server that is not connected would only repeat the failure of check A.
        Ok(_) | Err(_) => Vec::new(),
    };
    let leaks = find_leaks(&product, scratch, &ended)?;
    let checks = checks::make_checks(&GateFacts {
        spec,
        health: &health,
        health_code,
        runs: &runs,
        leaks: &leaks,
    });
    let summary = match health {
        Ok(health) => HealthSummary::new(&health),
        Err(reason) => HealthSummary::unreadable(&spec.id, began, reason),
    };
    Ok(JudgedGate {
        checks,
        summary: Some(summary),
    })
}

/// Calls the health check and records its report.
fn record_health(
    product: &JudgedProduct<'_>,
    scratch: &Path,
    tape: &mut GateTape,
    all: &mut Vec<FinishedCall>,
) -> Result<(Option<i32>, HealthReport), GateError> {
    let (ended, health) = product.check_health(scratch)?;
    let code = ended.code;
    all.push(ended);
    let body = match &health {
        Ok(health) => json!({"health": health, "exit_code": code}),
        Err(reason) => json!({"provider": product.spec.id, "unreadable": reason, "exit_code": code}),
    };
    tape.append_record(now().as_str(), "tool-health", body)?;
    Ok((code, health))
}

/// Runs both tasks in one repository, which the gate measures before and after each.
fn run_tasks(
    product: &JudgedProduct<'_>,
    scratch: &Path,
    tape: &mut GateTape,
    all: &mut Vec<FinishedCall>,
) -> Result<Vec<ToolRun>, GateError> {
    let repository = witness::make_repository(scratch)?;
    let mut runs = Vec::new();
    for (task, file) in [(SAY_OK, None), (FIX_ADD, Some("src/lib.rs"))] {
        // Measured for each task, so that a write is attributed to the run that made it.
        let before = RepoState::measure(&repository)?;
        let (ended, result) = product.run(&repository, task, file)?;
        let code = ended.code;
        let written = before.list_differences(&RepoState::measure(&repository)?);
        all.push(ended);
        let body = match &result {
            Ok(value) => json!({"task": task, "exit_code": code, "measured": written, "result": value}),
            Err(reason) => {
                json!({"task": task, "exit_code": code, "measured": written, "unreadable": reason})
            }
        };
        tape.append_record(now().as_str(), "tool-result", body)?;
        let diff = result.as_ref().ok().and_then(|value| value.get("diff")?.as_str());
        let second_opinion = diff.and_then(|diff| witness::check_applies(&repository, diff).err());
        runs.push(ToolRun {
            second_opinion: second_opinion.map(|error: GateError| error.to_string()),
            result,
            code,
            written,
        });
    }
    Ok(runs)
}

/// Searches for the key in both streams, and in the files that the program stored in its home and in the repository.
/// Returns the places, or the reason why it cannot search.
fn find_leaks(
    product: &JudgedProduct<'_>,
    scratch: &Path,
    all: &[FinishedCall],
) -> Result<Result<Vec<String>, String>, GateError> {
    let key = match product.searched_key() {
        Ok(key) => key,
        Err(reason) => return Ok(Err(reason)),
    };
    let on = |stream: fn(&FinishedCall) -> &str| all.iter().any(|ended| stream(ended).contains(key));
    let streams = [
        ("standard output", on(|ended| &ended.stdout)),
        ("standard error", on(|ended| &ended.stderr)),
    ];
    let mut found: Vec<String> = streams
        .iter()
        .filter(|(_, has)| *has)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    // The whole scratch folder: it contains the home, the repository and its evidence.
    let stored = witness::files_containing(scratch, key.as_bytes())?;
    found.extend(stored.iter().map(|path| path.display().to_string()));
    Ok(Ok(found))
}
