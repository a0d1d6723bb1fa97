//! Answers that do not land, and another tool that goes on.

use std::cell::RefCell;

use agentos_tool::{EditFormat, NoProgress, TaskLimits, TokenPrices, ToolError};

use crate::OutcomeKind;
use crate::ReplayAdapter;
use crate::ports::{FoundSuccessor, SuccessorTool, ToolSuccession};
use crate::request::TaskRequest;
use crate::run::run;
use crate::test_ports::{TestRepository, TestTape};
use crate::test_runs::{DIFF, run_with_effects};

/// A pool that gives the task to `next` after two answers in a row that did not land.
struct Pool<'a> {
    next: &'a ReplayAdapter,
    asked: RefCell<Vec<u32>>,
}

impl ToolSuccession for Pool<'_> {
    fn find_next(&self, _failure: &ToolError) -> FoundSuccessor<'_> {
        Box::pin(std::future::ready(None))
    }

    fn find_abler(&self, refusals: u32, code: &str) -> FoundSuccessor<'_> {
        assert_eq!(code, "does-not-apply");
        self.asked.borrow_mut().push(refusals);
        let tool = SuccessorTool {
            adapter: self.next,
            model: Some("large".to_owned()),
            price: TokenPrices::default(),
            edit_format: EditFormat::UnifiedDiff,
            has_tools: false,
            timeout_seconds: 1,
        };
        Box::pin(std::future::ready((refusals >= 2).then_some(tool)))
    }

    fn take_back(&self) {
        self.asked.borrow_mut().push(0);
    }
}

#[test]
fn another_tool_goes_on_within_the_attempts_of_the_task() {
    let wrong = ReplayAdapter::new(Some(DIFF.replace("-one", "-seven")));
    let right = ReplayAdapter::new(Some(DIFF.to_owned()));
    let large = "version = 1\n[[rule]]\nid = \"ours.large\"\neffect = \"deny\"\nwhy = \"not this model\"\nmodel = [\"large\"]\n\
                 [rule.examples]\nmatch = [{ path = \"a\", model = \"large\" }]\nno_match = [{ path = \"a\" }]\n";
    // (policy, attempts, next tool, end, attempts that were used, refusals of which the pool was told; 0 for a tool that is taken back)
    let cases = [
        ("", 1, &right, OutcomeKind::Refused, 1, vec![]),
        ("", 2, &right, OutcomeKind::Refused, 2, vec![1]),
        ("", 3, &right, OutcomeKind::Landed, 3, vec![1, 2]),
        // It has its own two answers, and no more than the task allows.
        ("", 4, &wrong, OutcomeKind::Refused, 4, vec![1, 2, 1]),
        // Policy denies the other tool: the first one has its own attempts.
        (large, 4, &right, OutcomeKind::Refused, 4, vec![1, 2, 0, 3, 0]),
    ];
    for (policy, attempts, next, end, used, asked) in cases {
        let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
        repo.set_policy(policy);
        let pool = Pool {
            next,
            asked: RefCell::default(),
        };
        let mut tape = TestTape::default();
        let outcome = run_with_effects(&repo, &mut tape, "run-1", async |effects, id, cancel| {
            let request = TaskRequest {
                run: id,
                adapter: &wrong,
                model: Some("small".to_owned()),
                instruction: "x",
                history: &[],
                remark: None,
                follows: None,
                options: None,
                files: &[],
                outline: &[],
                choice: None,
                changes_named: false,
                edit_format: EditFormat::UnifiedDiff,
                limits: TaskLimits {
                    timeout_seconds: 1,
                    max_output_tokens: None,
                    loaded_context: None,
                },
                partial: false,
                attempts,
                price: TokenPrices::default(),
                mock: None,
                answers_once: false,
                has_tools: false,
                check: None,
                base_must_pass: false,
                successors: Some(&pool),
                search: None,
                windows: None,
            };
            run(effects, &request, "x", &NoProgress, cancel).await
        });
        assert_eq!((outcome.outcome, outcome.attempts), (end, used), "{attempts}");
        assert_eq!(*pool.asked.borrow(), asked, "{attempts}");
        assert_eq!(outcome.earlier.len(), used as usize - 1, "{attempts}");
    }
}
