//! Tests of what needs no repository and no model.

use agentos_tool::{ExactCost, RunId, TaskLimits, Usage};

use super::*;
use agentos_ground::task_spec::ExploreLimits;

fn make_task(feedback: Option<&str>) -> ToolTask {
    ToolTask {
        task_id: RunId::parse("t-1").unwrap(),
        instruction: "Fix add.".to_owned(),
        context: Vec::new(),
        outline: Vec::new(),
        edit_format: agentos_tool::EditFormat::UnifiedDiff,
        allowed_paths: Vec::new(),
        forbidden_paths: Vec::new(),
        limits: TaskLimits {
            timeout_seconds: 1,
            max_output_tokens: None,
            loaded_context: None,
        },
        attempt: 1,
        feedback: feedback.map(str::to_owned),
        history: Vec::new(),
        remark: None,
        has_tools: true,
    }
}

#[test]
fn a_sum_of_tokens_is_unknown_if_one_call_has_none() {
    let call = |input: Option<u64>, cached: Option<u64>| CallRecord {
        usage: Some(Usage {
            input_tokens: input,
            cached_tokens: cached,
            output_tokens: Some(1),
            ..Usage::default()
        }),
        ..CallRecord::default()
    };
    let sum = sum_usage(&[call(Some(3), None), call(Some(4), Some(2))]).unwrap();
    assert_eq!(
        (sum.input_tokens, sum.cached_tokens, sum.output_tokens),
        (Some(7), Some(2), Some(2))
    );
    let sum = sum_usage(&[call(Some(3), None), call(None, None)]).unwrap();
    assert_eq!((sum.input_tokens, sum.output_tokens), (None, Some(2)));
    assert_eq!(sum_usage(&[CallRecord::default()]), None);
    assert_eq!(sum_usage(&[]), None);
}

#[test]
fn a_limit_is_named_with_the_step_that_raises_it() {
    let limits = ExploreLimits {
        rounds: 2,
        seconds: 9,
    };
    let shown: Vec<String> = ["rounds", "total-time"]
        .into_iter()
        .map(|limit| {
            let error = reached_limit(limits, limit);
            format!(
                "{} {:?}: {} {:?}",
                error.detail, error.failure, error.message, error.advice.next
            )
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    explore-limit Timeout: the model called tools in more than 2 of its answers, and proposed no change [RaiseLimit { limit: ExploreRounds }]
    explore-limit Timeout: the model did not propose a change within 9 s [RaiseLimit { limit: ExploreTime }]
    "#);
}

#[test]
fn the_first_message_is_the_task_whatever_the_feedback() {
    for feedback in [None, Some("of another process")] {
        let mut conversation = RunConversation::default();
        let message = conversation.write_message(&make_task(feedback)).unwrap();
        let text = format!("{message:?}");
        assert!(text.contains("Fix add."), "{text}");
    }
}

#[test]
fn a_sum_of_stated_costs_is_the_same_after_it_was_read_from_the_record() {
    let call = |dollars| CallRecord {
        usage: Some(Usage {
            stated_cost: ExactCost::from_stated(dollars),
            ..Usage::default()
        }),
        ..CallRecord::default()
    };
    for (stated, sum) in [(0.25, "0.5"), (600.0, "1000")] {
        let usage = sum_usage(&[call(stated), call(stated)]).unwrap();
        assert_eq!(usage.stated_cost, sum.parse().ok());
        let record = serde_json::to_string(&usage).unwrap();
        assert_eq!(serde_json::from_str::<Usage>(&record).unwrap(), usage);
    }
}
