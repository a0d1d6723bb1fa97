//! Short runs on the effects in memory, for the tests of the flow.
//!
//! Owns: the changes that several tests land, the set-up of a run, and a tool that is only described. Never: part of the product.

use agentos_tool::{
    Adapter, BoxFuture, DiffQuality, ExecutionMode, ProgressSink, RunId, Timestamp, ToolCapabilities,
    ToolError, ToolHealth, ToolOutput, ToolTask,
};

use crate::ports::{
    Answer, CancelSignal, ConsentFuture, ConsentPort, ConsentQuestion, Evidence, LandingPause, Repository,
};
use crate::settle::{Proposal, RunEffects, apply_answer, patch_facts};
use crate::test_ports::{NoonClock, TestRepository, TestTape};
use crate::{Outcome, OutcomeKind};

/// A change of `a.txt` that policy allows. Its base has the text `one`.
pub(crate) const DIFF: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";

/// A new workflow, about which policy asks.
pub(crate) const WORKFLOW: &str = "--- /dev/null\n+++ b/.github/workflows/ci.yml\n@@ -0,0 +1 @@\n+on: push\n";

/// Makes the proposal of an answer that a person brought.
pub(crate) fn propose<'a>(run: &'a RunId, answer: &'a str) -> Proposal<'a> {
    Proposal {
        run,
        answer: answer.as_bytes(),
        seen: Vec::new(),
        tool: patch_facts(Timestamp::from_unix_seconds(0)),
        reported_model: None,
        message: "x".to_owned(),
        trailers: Vec::new(),
        author: None,
        attempt: 1,
        partial: false,
        answers: None,
        source: None,
        proved: None,
    }
}

/// A consent port without a person.
pub(crate) struct Nobody;

impl ConsentPort for Nobody {
    fn ask<'a>(&'a mut self, _question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        Box::pin(std::future::ready(Answer::Nobody))
    }
}

/// Makes the pause of a repository in which nothing else happens.
pub(crate) fn no_pause() -> LandingPause {
    LandingPause {
        recovered: None,
        lock: Box::new(()),
    }
}

/// Does the work of a run that nobody stops, and that nobody can be asked about.
pub(crate) fn run_with_effects<T>(
    repo: &dyn Repository,
    tape: &mut dyn Evidence,
    run: &str,
    work: impl AsyncFnOnce(&mut RunEffects<'_>, &RunId, &mut CancelSignal<'_>) -> T,
) -> T {
    let mut effects = RunEffects {
        repo,
        evidence: tape,
        consent: &mut Nobody,
        clock: &NoonClock::default(),
        hooks: None,
        requests: None,
    };
    let run = RunId::parse(run).unwrap();
    // Never ready: nobody stops the run.
    let mut cancel: CancelSignal<'_> = Box::pin(std::future::pending());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(work(&mut effects, &run, &mut cancel))
}

/// Takes an answer to its end in a run of its own.
pub(crate) fn land_answer(repo: &TestRepository, tape: &mut TestTape, run: &str, answer: &str) -> Outcome {
    run_with_effects(repo, tape, run, async |effects, run, cancel| {
        apply_answer(effects, "apply", "x", &propose(run, answer), cancel).await
    })
}

/// Makes a repository on which the run `lands` has landed [`DIFF`].
pub(crate) fn landed_once() -> (TestRepository, TestTape) {
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    let tape = TestTape::default();
    let outcome = land_answer(&repo, &mut tape.begin_run("lands"), "lands", DIFF);
    assert_eq!(outcome.outcome, OutcomeKind::Landed, "{}", outcome.message);
    (repo, tape)
}

/// A tool that is only described.
pub(crate) struct DescribedTool(pub(crate) ExecutionMode);

impl Adapter for DescribedTool {
    fn provider(&self) -> &str {
        "described"
    }

    fn health_check(&self, _now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        Box::pin(std::future::pending())
    }

    fn run<'a>(
        &'a self,
        _task: &'a ToolTask,
        _progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::pending())
    }

    fn supports(&self) -> ToolCapabilities {
        ToolCapabilities {
            ..ToolCapabilities::diff_only(self.0, DiffQuality::Medium)
        }
    }
}
