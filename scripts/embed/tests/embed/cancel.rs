//! A run that is cancelled while its server is silent, next to one that continues.
//!
//! Owns: what cancelling leaves behind: nothing. Never: waits for a time-out.

use agentos_host::{Cause, ConsentMode, OutcomeKind};

use crate::consent::{WORKFLOW, change_workflow, question};
use crate::door::Door;
use crate::world::{World, at, follow, outcome, task};
use crate::{Ended, wait_for};

pub fn a_run_is_cancelled() -> Ended {
    wait_for(async {
        let world = World::new(&[("a.txt", "a\n")]);
        let silent = Door::shut(None).await;
        let mut other = world.start(change_workflow(ConsentMode::Person));
        let requested = question(&mut other).await;

        let run = world.start(task(at("openai", silent.url()), "say nothing", "a.txt"));
        let control = run.control();
        let mut run = tokio::spawn(follow(run));
        tokio::select! {
            () = silent.wait_for_guest() => {}
            ended = &mut run => panic!("it ended before its tool was asked: {ended:?}"),
        }
        control.cancel();
        let (_, stopped) = run.await.expect("the run is followed");
        assert_eq!(
            (stopped.outcome, stopped.cause),
            (OutcomeKind::Failed, Cause::Interrupted),
            "{stopped:?}"
        );
        assert_eq!(world.subjects(), ["begin"]);
        assert_eq!(
            world.repo.git(&["for-each-ref", "--format=%(refname)"]),
            "refs/heads/main"
        );
        assert_eq!(world.repo.read("a.txt"), b"a\n");
        world.assert_whole(0);

        other.control().answer(requested.yes("dana", "web form"));
        let landed = outcome(other).await;
        assert_eq!(landed.outcome, OutcomeKind::Landed, "{landed:?}");
        assert_eq!(world.repo.read(WORKFLOW), b"on: push\n");
        world.assert_whole(1);
    })
}
