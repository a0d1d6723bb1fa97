//! Changes that need a person's consent: policy answers a changed workflow with ask.
//!
//! Owns: both kinds of consent, during the run and afterwards. Never: consents beforehand.

use std::sync::Arc;

use agentos_host::{
    ApprovalHashes, ApprovalMode, Cause, ConsentAnswer, ConsentMode, ConsentRequested, OutcomeKind,
    RecordKind, RunEvent, RunHandle, RunSpec, RunWork, SessionOptions,
};

use crate::world::{World, follow, new_file, outcome, replay};
use crate::{Ended, wait_for};

pub const WORKFLOW: &str = ".github/workflows/ci.yml";

/// Waits until the run asks a person.
pub async fn question(run: &mut RunHandle) -> Arc<ConsentRequested> {
    while let Some(event) = run.events().next().await {
        if let RunEvent::ConsentRequested(requested) = event {
            return requested;
        }
    }
    panic!("it ended without a question");
}

/// Makes a run that changes a workflow.
pub fn change_workflow(consent: ConsentMode) -> RunSpec {
    RunSpec {
        consent,
        ..replay(&new_file(WORKFLOW, "on: push"), "test every push")
    }
}

pub fn a_request_is_approved_at_once() -> Ended {
    wait_for(async {
        let world = World::new(&[("a.txt", "a\n")]);
        let mut run = world.start(change_workflow(ConsentMode::Person));
        let requested = question(&mut run).await;
        let paths: Vec<&str> = requested
            .change
            .files()
            .iter()
            .map(|file| file.path.as_str())
            .collect();
        assert_eq!(paths, [WORKFLOW]);
        let others = Box::new(ApprovalHashes {
            diff_sha256: "0".repeat(64),
            ..requested.hashes.clone()
        });
        // If either counted as an answer to this request, nothing would land, or the tape would have the wrong name.
        let control = run.control();
        control.answer(ConsentAnswer::Yes {
            hashes: others.clone(),
            who: "mallory".to_owned(),
            how: "guessed".to_owned(),
            releases_withheld: false,
        });
        control.answer(ConsentAnswer::No { hashes: others });
        control.answer(requested.yes("dana", "web form"));
        let (events, outcome) = follow(run).await;
        assert_eq!(outcome.outcome, OutcomeKind::Landed, "{outcome:?}");
        let consents: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                RunEvent::Record(record) if record.kind == RecordKind::Consent => {
                    Some(&record.body["consent"])
                }
                _ => None,
            })
            .collect();
        assert_eq!(consents.len(), 1, "{consents:?}");
        assert_eq!(
            (&consents[0]["who"], &consents[0]["how"]),
            (&"dana".into(), &"web form".into())
        );
        assert_eq!(world.repo.read(WORKFLOW), b"on: push\n");
        assert_eq!(world.subjects(), ["test every push", "begin"]);
        world.assert_whole(1);
    })
}

pub fn a_request_waits_and_is_approved_later() -> Ended {
    wait_for(async {
        let world = World::new(&[("a.txt", "a\n")]);
        let asked = outcome(world.start(change_workflow(ConsentMode::Nobody))).await;
        assert_eq!(
            (asked.outcome, asked.cause),
            (OutcomeKind::ConsentNeeded, Cause::Consent),
            "{asked:?}"
        );
        assert_eq!(world.subjects(), ["begin"]);
        let open = world.host.runs().open_requests().expect("requests can be read");
        let runs: Vec<&str> = open.iter().map(|request| request.run.as_str()).collect();
        assert_eq!(runs, [asked.run.as_str()]);
        let work = RunWork::Approval {
            request: open[0].run.clone(),
            consent: ApprovalMode::Named,
            revision: None,
        };
        let landed = outcome(world.start(RunSpec::new(SessionOptions::default(), work))).await;
        assert_eq!(landed.outcome, OutcomeKind::Landed, "{landed:?}");
        assert_eq!(world.host.runs().open_requests().expect("requests can be read").len(), 0);
        assert_eq!(world.repo.read(WORKFLOW), b"on: push\n");
        assert_eq!(world.subjects(), ["test every push", "begin"]);
        world.assert_whole(1);
    })
}
