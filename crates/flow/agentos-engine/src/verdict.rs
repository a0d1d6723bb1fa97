//! The engine's verdict on one call of a tool.
//!
//! Owns: how an output, a landing and a measured boundary become a `ToolResult`. Never: believes the tool.

use agentos_landing::{HunkStatus, LandingReport, RefusalCode};
use agentos_tool::{
    Boundary, DiffValidation, ErrorCategory, ExactCost, ExecutionMode, FinishReason, OutputKind,
    ResultStatus, RunId, Timestamp, TokenPrices, ToolError, ToolFailure, ToolOutput, ToolResult,
};

/// The result of placing an answer, as far as the verdict needs it.
pub(crate) enum PlacedAnswer<'a> {
    /// There was no answer to judge.
    Nothing,
    /// The answer lands.
    Lands(&'a agentos_landing::LandedChange),
    /// The answer does not land.
    Refused(&'a LandingReport),
}

/// Facts of a call that its answer does not change.
pub(crate) struct CallFacts<'a> {
    pub tool: &'a str,
    pub mode: ExecutionMode,
    pub run: &'a RunId,
    pub attempt: u32,
    pub began: Timestamp,
    pub price: TokenPrices,
    pub mock: Option<String>,
}

/// Makes the verdict on a call from its answer, its placing and the measured boundary.
pub(crate) fn judge_call(
    call: &CallFacts<'_>,
    answer: Result<&ToolOutput, &ToolError>,
    judged: &PlacedAnswer<'_>,
    boundary: Boundary,
) -> ToolResult {
    let mut result = ToolResult {
        tool: call.tool.to_owned(),
        status: ResultStatus::Success,
        output_kind: OutputKind::Explanation,
        diff: None,
        diff_sha256: None,
        files_touched: Vec::new(),
        line_count: 0,
        tool_run_id: RunId::parse(&format!("{}.{}", call.run, call.attempt))
            .unwrap_or_else(|| call.run.clone()),
        task_id: call.run.clone(),
        timestamp: call.began.clone(),
        model_id: None,
        provider: call.mode,
        endpoint: None,
        usage: None,
        cost_micro_usd: None,
        cost_usd: None,
        price: None,
        latency_ms: 0,
        error_category: None,
        error_message: None,
        diff_validation: DiffValidation {
            is_valid: false,
            code: None,
            errors: Vec::new(),
            warnings: Vec::new(),
            hunks: 0,
        },
        wrote_files: boundary.wrote_files,
        committed: boundary.committed,
        boundary,
        mock: call.mock.clone(),
    };
    match answer {
        Ok(output) => add_answer(&mut result, call, output, judged),
        Err(error) => add_failure(&mut result, error),
    }
    // Last, so that it replaces every other result: a tool that wrote into the repository failed, however good its
    // answer is.
    if !result.boundary.is_intact() {
        let what = result.boundary.violations.join(", ");
        mark_failed(
            &mut result,
            ErrorCategory::Runtime,
            format!("the repository changed while the tool ran: {what}"),
        );
    }
    result
}

/// Adds what the answer says and how it was placed.
fn add_answer(result: &mut ToolResult, call: &CallFacts<'_>, output: &ToolOutput, judged: &PlacedAnswer<'_>) {
    result.model_id.clone_from(&output.model_id);
    result.endpoint.clone_from(&output.endpoint);
    result.usage = output.usage;
    result.cost_usd = output.usage.and_then(|usage| call.price.cost(&usage));
    result.cost_micro_usd = result.cost_usd.map(ExactCost::micro_dollars);
    result.price = (!call.price.is_unknown()).then(|| call.price.clone());
    result.latency_ms = output.latency_ms;
    result.diff_validation.warnings.clone_from(&output.warnings);
    match judged {
        PlacedAnswer::Nothing => {}
        PlacedAnswer::Lands(found) => {
            let stats = found.change.stats();
            // A result is JSON text. A diff that is not UTF-8 is on the tape as a blob.
            result.diff = String::from_utf8(found.change.canonical_diff().to_vec()).ok();
            result.output_kind = OutputKind::Diff;
            result.diff_sha256 = Some(found.change.sha256().to_owned());
            result.files_touched = found
                .change
                .files()
                .iter()
                .map(|file| file.path.to_string())
                .collect();
            result.line_count = stats.added + stats.removed;
            result.diff_validation.is_valid = true;
            if found.report.partial {
                result.status = ResultStatus::PartialSuccess;
            }
            describe_hunks(&mut result.diff_validation, &found.report);
        }
        PlacedAnswer::Refused(report) => add_refusal(result, report),
    }
    // After the placing: a cut answer may land by chance, and must not count as a success.
    match output.finish {
        // Some servers give no reason. Their answers are judged by what lands.
        FinishReason::Stop | FinishReason::Unknown => {}
        FinishReason::Length => {
            mark_failed(
                result,
                ErrorCategory::Runtime,
                "the answer was cut off by the token limit".to_owned(),
            );
        }
        FinishReason::ContentFilter => {
            mark_failed(
                result,
                ErrorCategory::Runtime,
                "the provider filtered or refused the answer".to_owned(),
            );
        }
        FinishReason::ToolCalls => {
            mark_failed(
                result,
                ErrorCategory::Runtime,
                "the model called a tool instead of answering".to_owned(),
            );
        }
    }
}

/// Adds the reason for which landing refused the answer.
fn add_refusal(result: &mut ToolResult, report: &LandingReport) {
    describe_hunks(&mut result.diff_validation, report);
    let Some(refusal) = &report.refusal else { return };
    result.diff_validation.code = Some(refusal.code.to_string());
    result.diff_validation.errors.push(refusal.message.clone());
    // An answer in words is a valid answer of another kind; a diff that does not land is a failed one.
    if refusal.code != RefusalCode::NoDiff {
        mark_failed(result, ErrorCategory::Runtime, refusal.message.clone());
    }
}

/// Adds the hunks with their repairs and refusals.
fn describe_hunks(validation: &mut DiffValidation, report: &LandingReport) {
    validation.hunks = report
        .files
        .iter()
        .map(|file| u32::try_from(file.hunks.len()).unwrap_or(u32::MAX))
        .sum();
    for file in &report.files {
        let repairs = file
            .repairs
            .iter()
            .chain(file.hunks.iter().flat_map(|hunk| hunk.repairs.iter()));
        validation
            .warnings
            .extend(repairs.map(|repair| format!("{}: {}", file.path, repair.detail)));
        let refused = file
            .hunks
            .iter()
            .filter(|hunk| hunk.status == HunkStatus::Refused);
        validation.errors.extend(
            refused
                .filter_map(|hunk| hunk.refusal.as_ref())
                .map(|refusal| format!("{}: {}", file.path, refusal.message)),
        );
    }
}

/// Adds the failure of a call without an answer.
fn add_failure(result: &mut ToolResult, error: &ToolError) {
    result.endpoint.clone_from(&error.endpoint);
    result.latency_ms = error.latency_ms;
    result.status = match error.failure {
        ToolFailure::Failed => ResultStatus::Failed,
        ToolFailure::Timeout => ResultStatus::Timeout,
    };
    result.error_category = Some(error.category);
    result.error_message = Some(error.message.clone());
}

/// Marks the result as failed and removes its diff: only a success may carry one.
fn mark_failed(result: &mut ToolResult, category: ErrorCategory, message: String) {
    match result.status {
        ResultStatus::Success | ResultStatus::PartialSuccess => result.status = ResultStatus::Failed,
        // The first failure keeps its status: a timeout stays one.
        ResultStatus::Failed | ResultStatus::Timeout => {}
    }
    result.output_kind = OutputKind::Explanation;
    result.diff = None;
    result.diff_sha256 = None;
    result.error_category = Some(category);
    result.error_message = Some(message);
}

#[cfg(test)]
mod tests;
