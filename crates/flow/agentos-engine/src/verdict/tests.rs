//! The verdict on a call, case by case.

use agentos_landing::{
    Change, FileState, LandedChange, LandingReport, Refusal, RefusalCode, RepoPath, ResultFacts,
};
use agentos_tool::{
    Boundary, Confinement, ErrorCategory, ExecutionMode, FinishReason, OutputKind, ResultStatus, RunId,
    StateMeasurement, Timestamp, TokenPrices, ToolError, ToolFailure, ToolOutput, ToolResult,
};

use super::{CallFacts, PlacedAnswer, judge_call};

fn state(head: &str, worktree: &str) -> StateMeasurement {
    StateMeasurement {
        head: head.to_owned(),
        refs: "refs".to_owned(),
        index: "index".to_owned(),
        worktree: worktree.to_owned(),
        git_files: "git".to_owned(),
    }
}

fn boundary(after: StateMeasurement) -> Boundary {
    Boundary::compare_states(
        &Confinement::observed(),
        state("main", "w"),
        after,
        &["src/a.rs".to_owned()],
    )
}

fn output(text: &str, finish: FinishReason) -> ToolOutput {
    ToolOutput {
        text: text.to_owned(),
        finish,
        model_id: Some("m".to_owned()),
        endpoint: None,
        usage: None,
        latency_ms: 5,
        warnings: Vec::new(),
    }
}

fn report(code: Option<RefusalCode>) -> LandingReport {
    LandingReport {
        version: 1,
        refusal: code.map(|code| Refusal::new(code, "the reason")),
        files: Vec::new(),
        notes: Vec::new(),
        partial: false,
    }
}

fn landed() -> LandedChange {
    let path = RepoPath::new("src/a.rs").unwrap();
    let change = Change::new(vec![(
        path,
        Some(FileState::regular(b"a\n")),
        Some(FileState::regular(b"b\n")),
    )])
    .unwrap();
    LandedChange {
        change,
        facts: ResultFacts::default(),
        report: report(None),
    }
}

fn judge(
    answer: Result<&ToolOutput, &ToolError>,
    judged: &PlacedAnswer<'_>,
    boundary: Boundary,
) -> ToolResult {
    let run = RunId::parse("run-1").unwrap();
    let call = CallFacts {
        tool: "llamacpp",
        mode: ExecutionMode::Local,
        run: &run,
        attempt: 2,
        began: Timestamp::from_unix_seconds(0),
        price: TokenPrices::default(),
        mock: None,
    };
    judge_call(&call, answer, judged, boundary)
}

#[test]
fn a_diff_that_lands_is_a_success_of_kind_diff() {
    let found = landed();
    let result = judge(
        Ok(&output("x", FinishReason::Stop)),
        &PlacedAnswer::Lands(&found),
        boundary(state("main", "w")),
    );
    assert_eq!(
        (result.status, result.output_kind),
        (ResultStatus::Success, OutputKind::Diff)
    );
    assert_eq!(
        result.diff.as_deref().map(str::as_bytes),
        Some(found.change.canonical_diff())
    );
    assert_eq!(result.files_touched, ["src/a.rs"]);
    assert_eq!(result.line_count, 2);
    assert_eq!(result.tool_run_id.as_str(), "run-1.2");
    assert!(result.diff_validation.is_valid);
}

#[test]
fn words_are_a_success_without_a_diff_and_a_misplaced_diff_is_a_failure() {
    let cases = [
        (RefusalCode::NoDiff, ResultStatus::Success),
        (RefusalCode::DoesNotApply, ResultStatus::Failed),
    ];
    for (code, status) in cases {
        let refused = report(Some(code));
        let result = judge(
            Ok(&output("x", FinishReason::Stop)),
            &PlacedAnswer::Refused(&refused),
            boundary(state("main", "w")),
        );
        assert_eq!(result.status, status, "{code}");
        assert_eq!(result.output_kind, OutputKind::Explanation);
        assert_eq!(result.diff, None);
        assert_eq!(result.diff_validation.code.as_deref(), Some(code.as_str()));
    }
}

#[test]
fn an_answer_that_was_cut_off_carries_no_diff_even_if_what_is_there_lands() {
    let found = landed();
    for finish in [
        FinishReason::Length,
        FinishReason::ContentFilter,
        FinishReason::ToolCalls,
    ] {
        let result = judge(
            Ok(&output("x", finish)),
            &PlacedAnswer::Lands(&found),
            boundary(state("main", "w")),
        );
        assert_eq!(result.status, ResultStatus::Failed, "{}", finish.as_str());
        assert_eq!(result.diff, None);
        assert_eq!(result.error_category, Some(ErrorCategory::Runtime));
    }
}

#[test]
fn a_crossed_boundary_fails_the_best_answer() {
    let found = landed();
    let cases = [
        (state("main", "changed"), true, false),
        (state("moved", "w"), false, true),
    ];
    for (after, wrote, committed) in cases {
        let result = judge(
            Ok(&output("x", FinishReason::Stop)),
            &PlacedAnswer::Lands(&found),
            boundary(after),
        );
        assert_eq!(result.status, ResultStatus::Failed);
        assert_eq!((result.wrote_files, result.committed), (wrote, committed));
        assert_eq!(result.diff, None);
        assert!(
            result
                .error_message
                .unwrap()
                .contains("changed while the tool ran")
        );
    }
}

#[test]
fn a_call_without_an_answer_keeps_its_evidence() {
    for (failure, status) in [
        (ToolFailure::Failed, ResultStatus::Failed),
        (ToolFailure::Timeout, ResultStatus::Timeout),
    ] {
        let error = ToolError {
            failure,
            category: ErrorCategory::Network,
            detail: "refused".to_owned(),
            health: None,
            message: "nobody listens".to_owned(),
            causes: Vec::new(),
            advice: Box::default(),
            endpoint: None,
            latency_ms: 3,
        };
        let result = judge(Err(&error), &PlacedAnswer::Nothing, boundary(state("main", "w")));
        assert_eq!(result.status, status);
        assert_eq!(result.error_category, Some(ErrorCategory::Network));
        assert_eq!(result.error_message.as_deref(), Some("nobody listens"));
        assert!(result.boundary.before.is_some());
    }
}
