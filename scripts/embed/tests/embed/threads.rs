//! The parts of a run, each used on a thread of its own.
//!
//! Owns: the proof that host, events, control and outcome are `Send`. Never: uses two of them on one thread.

use std::sync::mpsc;
use std::thread;

use agentos_host::{ConsentMode, OutcomeKind, RunEvent};

use crate::consent::change_workflow;
use crate::world::{World, outcome};
use crate::{Ended, wait_for};

/// Starts a run in one task, reads its events in another, answers from a plain thread, and awaits the outcome in a third task.
pub fn everything_is_send() -> Ended {
    wait_for(async {
        let world = World::new(&[("a.txt", "a\n")]);
        let host = world.host.clone();
        let started = tokio::spawn(async move { host.runs().start_run(change_workflow(ConsentMode::Person)) });
        let run = started.await.expect("the task ends").expect("the run starts");
        let control = run.control();
        let (sender, events) = mpsc::channel();
        let reading = tokio::spawn(async move {
            let mut run = run;
            while let Some(event) = run.events().next().await {
                sender.send(event).expect("somebody listens");
            }
            run
        });
        let answering = thread::spawn(move || {
            let questions = events.into_iter().filter_map(|event| match event {
                RunEvent::ConsentRequested(requested) => Some(requested),
                _ => None,
            });
            questions
                .map(|requested| control.answer(requested.yes("dana", "queue")))
                .count()
        });
        let run = reading.await.expect("the task ends");
        let landed = tokio::spawn(outcome(run)).await.expect("the task ends");
        assert_eq!(landed.outcome, OutcomeKind::Landed, "{landed:?}");
        assert_eq!(answering.join().expect("the thread ends"), 1);
        world.assert_whole(1);
    })
}
