//! The five checks, as decisions over what was seen.
//!
//! Owns: A health, B minimal run, C diff valid, D power boundary, E result structure. Never: runs anything or
//! reads a file; a check without facts is skipped with the reason.

use agentos_tool::{ErrorCategory, HealthStatus, OutputKind, ResultStatus, ToolHealth, ToolResult};
use agentos_verdict::{Check, CheckStatus, ProviderSpec};
use serde_json::Value;

use crate::structure::{problems_of, succeeded};
use crate::witness::sha256;

/// What the program said of the server, or why it cannot be read.
pub(crate) type Health = Result<ToolHealth, String>;

/// What was seen of one `tool run`.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// The printed result, or why it cannot be read.
    pub(crate) result: Result<Value, String>,
    /// The exit code; none when a signal ended the program.
    pub(crate) code: Option<i32>,
    /// What the gate's own measurement found changed.
    pub(crate) written: Vec<String>,
    /// What git has against the diff.
    pub(crate) second_opinion: Option<String>,
}

/// Everything that was seen.
pub(crate) struct Facts<'a> {
    /// The provider.
    pub(crate) spec: &'a ProviderSpec,
    /// What the program said of the server.
    pub(crate) health: &'a Health,
    /// The exit code that came with it; `None` when a signal ended the program.
    pub(crate) health_code: Option<i32>,
    /// The smallest task and the task for a diff; empty when the server was not connected.
    pub(crate) runs: &'a [Run],
    /// Where the key was found, or why it was not looked for.
    pub(crate) leaks: &'a Result<Vec<String>, String>,
}

/// What was seen where a check held, else why it did not.
type Outcome = Result<Vec<String>, NotHeld>;
type Decision = fn(&Facts<'_>) -> Outcome;

/// Why a check did not hold.
enum NotHeld {
    Failed(Vec<String>),
    Skipped(Vec<String>),
}

impl From<String> for NotHeld {
    fn from(reason: String) -> Self {
        Self::Failed(vec![reason])
    }
}

const CHECKS: [(char, &str, Decision); 5] = [
    ('A', "the server is up and takes work", health),
    ('B', "the smallest task is answered", minimal_run),
    ('C', "a diff that lands comes back", diff_valid),
    ('D', "nothing was written or committed", power_boundary),
    ('E', "the result is complete and holds no secret", structure),
];

/// Makes all five, in order. Where A did not pass there is nothing to judge by the others.
pub(crate) fn all(facts: &Facts<'_>) -> Vec<Check> {
    let healthy = health(facts).is_ok();
    let prefix = &facts.spec.prefix;
    let check = |(letter, name, decide): &(char, &str, Decision)| {
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

fn skipped(why: impl Into<String>) -> Outcome {
    Err(NotHeld::Skipped(vec![why.into()]))
}

fn outcome(problems: Vec<String>, seen: impl Into<String>) -> Outcome {
    match problems.is_empty() {
        true => Ok(vec![seen.into()]),
        false => Err(NotHeld::Failed(problems)),
    }
}

/// Connected passes. Nobody there, or nothing set, cannot be judged. Everything else is a server that does not
/// take our work.
fn health(facts: &Facts<'_>) -> Outcome {
    let said = facts.health.as_ref().map_err(Clone::clone)?;
    let place = said
        .endpoint
        .as_ref()
        .map_or("no address".to_owned(), ToString::to_string);
    let mut details = vec![format!("{} at {place}: {}", said.status, said.details)];
    details.extend(said.fix.iter().map(|fix| format!("next: {fix}")));
    if !said.is_connected() && said.error_category.is_none() {
        return Err(format!("{}, but no error category is given", said.status).into());
    }
    if let Some(problem) = untrue_code(
        facts.health_code,
        said.is_connected(),
        said.status.to_string().as_str(),
    ) {
        return Err(problem.into());
    }
    match said.status {
        HealthStatus::Connected => Ok(details),
        HealthStatus::NotConfigured => Err(NotHeld::Skipped(details)),
        HealthStatus::Unreachable if said.error_category == Some(ErrorCategory::Network) => {
            Err(NotHeld::Skipped(details))
        }
        HealthStatus::Unreachable
        | HealthStatus::InvalidToken
        | HealthStatus::ModelMissing
        | HealthStatus::SchemaMismatch => Err(NotHeld::Failed(details)),
    }
}

/// The exit code is 0 if and only if what was asked for happened.
fn untrue_code(code: Option<i32>, happened: bool, said: &str) -> Option<String> {
    let shown = code.map_or_else(|| "by a signal".to_owned(), |code| format!("with code {code}"));
    ((code == Some(0)) != happened).then(|| format!("it said `{said}` but ended {shown}"))
}

fn typed(run: Option<&Run>) -> Result<ToolResult, String> {
    let value = run.ok_or("it was not run")?.result.clone()?;
    serde_json::from_value(value).map_err(|error| format!("the result is not a ToolResult: {error}"))
}

/// True when a model answered: with words, with a diff that lands, or with one that was judged and refused.
fn answered(result: &ToolResult) -> bool {
    succeeded(result) || result.diff_validation.is_valid || result.diff_validation.code.is_some()
}

fn minimal_run(facts: &Facts<'_>) -> Outcome {
    let result = typed(facts.runs.first())?;
    let mut problems = Vec::new();
    if !answered(&result) {
        let said = result.error_message.as_deref().unwrap_or("no reason was given");
        problems.push(format!("no answer: {said}"));
    }
    if let Some(reason) = &result.mock {
        problems.push(format!("the answer was not made by a model: {reason}"));
    }
    let model = result.model_id.as_deref().unwrap_or("a model without a name");
    outcome(problems, format!("{model} answered in {} ms", result.latency_ms))
}

fn diff_valid(facts: &Facts<'_>) -> Outcome {
    let Some(run) = facts.runs.get(1) else {
        return skipped("the task for a diff was not run");
    };
    let result = typed(Some(run))?;
    let judged = &result.diff_validation;
    if !answered(&result) {
        let said = result.error_message.as_deref().unwrap_or("no reason was given");
        return skipped(format!("there was no answer to judge: {said}"));
    }
    if !judged.is_valid {
        let code = judged.code.as_deref().unwrap_or("no code");
        let errors = judged.errors.join("; ");
        return Err(format!("the diff does not land ({code}): {errors}").into());
    }
    // A crossed boundary takes the diff out of the result; that is D's finding, not this check's.
    if result.status == ResultStatus::Failed && (result.wrote_files || result.committed) {
        let seen = "the diff lands; it was withheld because the boundary was crossed";
        return Ok(vec![seen.to_owned()]);
    }
    let diff = result.diff.as_deref().unwrap_or_default();
    let against = run.second_opinion.iter();
    let mut problems: Vec<String> = against
        .map(|said| format!("git does not take the diff: {said}"))
        .collect();
    if result.output_kind != OutputKind::Diff || diff.is_empty() {
        problems.push("the result is valid but carries no diff".to_owned());
    }
    if result.diff_sha256.as_deref() != Some(sha256(diff.as_bytes()).as_str()) {
        problems.push("the stated hash is not the hash of the diff".to_owned());
    }
    let files = result.files_touched.join(", ");
    outcome(problems, format!("{files} in {} lines lands", result.line_count))
}

fn power_boundary(facts: &Facts<'_>) -> Outcome {
    let mut problems = Vec::new();
    for run in facts.runs {
        problems.extend(
            run.written
                .iter()
                .map(|what| format!("measured by the gate: {what}")),
        );
        let Ok(result) = typed(Some(run)) else { continue };
        if result.wrote_files || result.committed {
            let violations = result.boundary.violations.join(", ");
            problems.push(format!("measured by the program: {violations}"));
        }
        if result.boundary.before.is_none() || result.boundary.after.is_none() {
            problems.push("the program did not measure the repository before and after".to_owned());
        }
        let claimed = (result.wrote_files, result.committed);
        if claimed != (result.boundary.wrote_files, result.boundary.committed) {
            problems.push("`wrote_files` or `committed` is not what was measured".to_owned());
        }
    }
    if facts.runs.iter().all(|run| typed(Some(run)).is_err()) {
        problems.push("no result says what was measured".to_owned());
    }
    let same = "HEAD, refs, index, work tree and the repository's folder are as before";
    outcome(problems, same)
}

fn structure(facts: &Facts<'_>) -> Outcome {
    let found = facts.leaks.iter().flatten();
    let mut problems: Vec<String> = found.map(|place| format!("the key is in {place}")).collect();
    let mut judged = 0_usize;
    for run in facts.runs {
        match &run.result {
            Ok(value) => {
                judged += 1;
                problems.extend(problems_of(facts.spec, value));
                if let Ok(result) = typed(Some(run)) {
                    let said = value.get("status").and_then(Value::as_str).unwrap_or_default();
                    problems.extend(untrue_code(run.code, succeeded(&result), said));
                }
            }
            Err(reason) => problems.push(reason.clone()),
        }
    }
    if judged == 0 && problems.is_empty() {
        return skipped("there is no result to judge");
    }
    let mut seen = format!("{judged} results follow the schema and their exit codes are true");
    if facts.leaks.is_ok() {
        seen.push_str("; the key is on no stream and in no file");
    }
    let mut details = outcome(problems, seen)?;
    let Err(reason) = facts.leaks else {
        return Ok(details);
    };
    details.push(reason.clone());
    Err(NotHeld::Skipped(details))
}
