//! The five checks of a connectivity gate, as decisions over observed facts.
//!
//! A gate shows that `agentos` works with one real provider. Other modules run `agentos` and collect the facts.
//!
//! Owns: the decisions of the checks A (health), B (minimal run), C (valid diff), D (power boundary: the tool wrote
//! nothing) and E (structure of the result). Never: runs anything or reads a file; a check without facts is skipped, with
//! the reason.

use agentos_tool::{ErrorCategory, HealthStatus, OutputKind, ResultStatus, ToolHealth, ToolResult};
use agentos_verdict::{Check, CheckStatus, ProviderSpec};
use serde_json::Value;

use crate::structure::{has_succeeded, problems_of};
use crate::witness::sha256;

/// Output of `agentos tool health` for the server, or the reason why it cannot be read.
pub(crate) type HealthReport = Result<ToolHealth, String>;

/// Observations of one run of `agentos tool run`.
#[derive(Debug, Clone)]
pub(crate) struct ToolRun {
    /// The printed result, or the reason why it cannot be read.
    pub(crate) result: Result<Value, String>,
    /// The exit code; `None` if a signal ended the program.
    pub(crate) code: Option<i32>,
    /// Changes in the repository that the gate itself measured.
    pub(crate) written: Vec<String>,
    /// Git's objection to the diff; `None` if git accepts it or there is no diff.
    pub(crate) second_opinion: Option<String>,
}

/// All facts over which the checks decide.
pub(crate) struct GateFacts<'a> {
    /// The provider.
    pub(crate) spec: &'a ProviderSpec,
    /// Output of the health check.
    pub(crate) health: &'a HealthReport,
    /// The exit code of the health check; `None` if a signal ended the program.
    pub(crate) health_code: Option<i32>,
    /// Runs of two tasks: first the smallest task, then one that requests a diff. Empty if the server was not connected.
    pub(crate) runs: &'a [ToolRun],
    /// The places in which the key was found, or the reason why nothing was searched.
    pub(crate) leaks: &'a Result<Vec<String>, String>,
}

/// Result of a check: the observations if it passed, otherwise the reasons why not.
type CheckOutcome = Result<Vec<String>, NotHeld>;
type CheckDecision = fn(&GateFacts<'_>) -> CheckOutcome;

/// The reasons why a check did not pass.
enum NotHeld {
    Failed(Vec<String>),
    Skipped(Vec<String>),
}

impl From<String> for NotHeld {
    fn from(reason: String) -> Self {
        Self::Failed(vec![reason])
    }
}

const CHECKS: [(char, &str, CheckDecision); 5] = [
    ('A', "the server is up and takes work", check_health),
    ('B', "the smallest task is answered", minimal_run),
    ('C', "a diff that lands comes back", diff_valid),
    ('D', "nothing was written or committed", power_boundary),
    ('E', "the result is complete and holds no secret", check_structure),
];

/// Makes all five checks, in order. If A does not pass, the others are skipped.
pub(crate) fn make_checks(facts: &GateFacts<'_>) -> Vec<Check> {
    // Without a healthy server the other checks would only repeat its failure under other names.
    let healthy = check_health(facts).is_ok();
    let prefix = &facts.spec.prefix;
    let check = |(letter, name, decide): &(char, &str, CheckDecision)| {
        let (status, details) = match decide(facts) {
            _ if *letter != 'A' && !healthy => {
                (CheckStatus::Skipped, vec![format!("{prefix}-A did not pass")])
            }
            Ok(seen) => (CheckStatus::Passed, seen),
            Err(NotHeld::Failed(problems)) => (CheckStatus::Failed, problems),
            Err(NotHeld::Skipped(why)) => (CheckStatus::Skipped, why),
        };
        let (id, name) = (format!("{prefix}-{letter}"), (*name).to_owned());
        Check {
            id,
            name,
            status,
            details,
        }
    };
    CHECKS.iter().map(check).collect()
}

/// Returns the result of a check that cannot be made.
fn skipped(why: impl Into<String>) -> CheckOutcome {
    Err(NotHeld::Skipped(vec![why.into()]))
}

/// Returns a passed check with the observation `seen` if there are no problems, otherwise a failed one.
fn check_outcome(problems: Vec<String>, seen: impl Into<String>) -> CheckOutcome {
    match problems.is_empty() {
        true => Ok(vec![seen.into()]),
        false => Err(NotHeld::Failed(problems)),
    }
}

/// Makes check A. It passes if the server is connected, is skipped without a server or a configuration, and fails in any
/// other state: then the server is there and does not accept tasks.
fn check_health(facts: &GateFacts<'_>) -> CheckOutcome {
    let health = facts.health.as_ref().map_err(Clone::clone)?;
    let place = health
        .endpoint
        .as_ref()
        .map_or("no address".to_owned(), ToString::to_string);
    let mut details = vec![format!("{} at {place}: {}", health.status, health.details)];
    details.extend(health.fix.iter().map(|fix| format!("next: {fix}")));
    // The schema cannot express this: `error_category` may be absent only if the server is connected.
    if !health.is_connected() && health.error_category.is_none() {
        return Err(format!("{}, but the report has no error category", health.status).into());
    }
    if let Some(problem) = untrue_code(
        facts.health_code,
        health.is_connected(),
        health.status.to_string().as_str(),
    ) {
        return Err(problem.into());
    }
    match health.status {
        HealthStatus::Connected => Ok(details),
        HealthStatus::NotConfigured => Err(NotHeld::Skipped(details)),
        // Only a network error means that there is no server. `unreachable` with another category is a server
        // that answered wrongly.
        HealthStatus::Unreachable if health.error_category == Some(ErrorCategory::Network) => {
            Err(NotHeld::Skipped(details))
        }
        HealthStatus::Unreachable
        | HealthStatus::InvalidToken
        | HealthStatus::ModelMissing
        | HealthStatus::SchemaMismatch => Err(NotHeld::Failed(details)),
    }
}

/// Returns a problem if the exit code contradicts the output: it must be 0 if and only if the call succeeded. `None` if they
/// agree.
fn untrue_code(code: Option<i32>, happened: bool, said: &str) -> Option<String> {
    let shown = code.map_or_else(|| "by a signal".to_owned(), |code| format!("with code {code}"));
    ((code == Some(0)) != happened).then(|| format!("it reported `{said}` but ended {shown}"))
}

/// Parses the result of a run.
///
/// # Errors
/// When there was no run, its output cannot be read, or it is not a `ToolResult`.
fn typed_result(run: Option<&ToolRun>) -> Result<ToolResult, String> {
    let value = run.ok_or("it was not run")?.result.clone()?;
    serde_json::from_value(value).map_err(|error| format!("the result is not a ToolResult: {error}"))
}

/// Returns true if a model answered: with text, with a diff that lands, or with a diff that was refused.
fn was_answered(result: &ToolResult) -> bool {
    has_succeeded(result) || result.diff_validation.is_valid || result.diff_validation.code.is_some()
}

/// Makes check B: a model answered the smallest task.
fn minimal_run(facts: &GateFacts<'_>) -> CheckOutcome {
    let result = typed_result(facts.runs.first())?;
    let mut problems = Vec::new();
    if !was_answered(&result) {
        let said = result.error_message.as_deref().unwrap_or("no reason was given");
        problems.push(format!("no answer: {said}"));
    }
    // A profile may replay a recording, which answers without any server. That is no evidence for a connection.
    if let Some(reason) = &result.mock {
        problems.push(format!("the answer was not made by a model: {reason}"));
    }
    let model = result.model_id.as_deref().unwrap_or("a model without a name");
    check_outcome(problems, format!("{model} answered in {} ms", result.latency_ms))
}

/// Makes check C: the answer to the second task contains a diff that lands. Skipped if there was no answer.
fn diff_valid(facts: &GateFacts<'_>) -> CheckOutcome {
    let Some(run) = facts.runs.get(1) else {
        return skipped("the task for a diff was not run");
    };
    let result = typed_result(Some(run))?;
    let judged = &result.diff_validation;
    if !was_answered(&result) {
        let said = result.error_message.as_deref().unwrap_or("no reason was given");
        return skipped(format!("there was no answer to judge: {said}"));
    }
    if !judged.is_valid {
        let code = judged.code.as_deref().unwrap_or("no code");
        let errors = judged.errors.join("; ");
        return Err(format!("the diff does not land ({code}): {errors}").into());
    }
    // `agentos` leaves the diff out of the result if the tool wrote to the repository. Check D reports that.
    if result.status == ResultStatus::Failed && (result.wrote_files || result.committed) {
        let seen = "the diff lands; it was withheld because the boundary was crossed";
        return Ok(vec![seen.to_owned()]);
    }
    let diff = result.diff.as_deref().unwrap_or_default();
    let against = run.second_opinion.iter();
    let mut problems: Vec<String> = against
        .map(|said| format!("git does not accept the diff: {said}"))
        .collect();
    if result.output_kind != OutputKind::Diff || diff.is_empty() {
        problems.push("the result is valid but contains no diff".to_owned());
    }
    // The gate computes the hash itself: if `agentos` hashed another text than it printed, only this shows it.
    if result.diff_sha256.as_deref() != Some(sha256(diff.as_bytes()).as_str()) {
        problems.push("the stated hash is not the hash of the diff".to_owned());
    }
    let files = result.files_touched.join(", ");
    check_outcome(problems, format!("{files} in {} lines lands", result.line_count))
}

/// Makes check D: no run wrote to the repository, by the gate's own measurement and by that of `agentos`.
fn power_boundary(facts: &GateFacts<'_>) -> CheckOutcome {
    let mut problems = Vec::new();
    for run in facts.runs {
        problems.extend(
            run.written
                .iter()
                .map(|what| format!("measured by the gate: {what}")),
        );
        let Ok(result) = typed_result(Some(run)) else {
            continue;
        };
        if result.wrote_files || result.committed {
            let violations = result.boundary.violations.join(", ");
            problems.push(format!("measured by the program: {violations}"));
        }
        // Without both measurements, `wrote_files: false` is not based on an observation.
        if result.boundary.before.is_none() || result.boundary.after.is_none() {
            problems.push("the program did not measure the repository before and after".to_owned());
        }
        let claimed = (result.wrote_files, result.committed);
        if claimed != (result.boundary.wrote_files, result.boundary.committed) {
            problems.push("`wrote_files` or `committed` differs from the measurement".to_owned());
        }
    }
    if facts.runs.iter().all(|run| typed_result(Some(run)).is_err()) {
        problems.push("no result contains a measurement".to_owned());
    }
    let same = "HEAD, refs, index, working tree and the repository's folder are unchanged";
    check_outcome(problems, same)
}

/// Makes check E: every result has the stated structure and exit code, and the key is nowhere.
fn check_structure(facts: &GateFacts<'_>) -> CheckOutcome {
    let found = facts.leaks.iter().flatten();
    let mut problems: Vec<String> = found.map(|place| format!("the key is in {place}")).collect();
    let mut judged = 0_usize;
    for run in facts.runs {
        match &run.result {
            Ok(value) => {
                judged += 1;
                problems.extend(problems_of(facts.spec, value));
                if let Ok(result) = typed_result(Some(run)) {
                    let said = value.get("status").and_then(Value::as_str).unwrap_or_default();
                    problems.extend(untrue_code(run.code, has_succeeded(&result), said));
                }
            }
            Err(reason) => problems.push(reason.clone()),
        }
    }
    if judged == 0 && problems.is_empty() {
        return skipped("there is no result to judge");
    }
    let mut seen = format!("{judged} results match the schema and their exit codes");
    if facts.leaks.is_ok() {
        seen.push_str("; the key is on no stream and in no file");
    }
    let mut details = check_outcome(problems, seen)?;
    // Decided last: a problem of structure makes the check fail even if no search for the key was possible.
    let Err(reason) = facts.leaks else {
        return Ok(details);
    };
    details.push(reason.clone());
    Err(NotHeld::Skipped(details))
}
