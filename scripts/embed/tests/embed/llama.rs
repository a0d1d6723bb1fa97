//! Two runs at once against real llama.cpp servers.
//!
//! Owns: what one product does with several models and one repository. Never: runs where the server's package is missing.

use agentos_host::{Activity, OutcomeKind, Progress, RecordKind, RunEvent};
use agentos_testkit::llama::{LlamaOptions, LlamaServer};

use crate::door::Door;
use crate::world::{World, at, follow, record_kinds, task};
use crate::{Ended, wait_for};

/// Starts a server whose model answers with a change of one line of one file, in prose and with wrong numbers.
fn server(file: &str, old: &str, new: &str) -> Option<LlamaServer> {
    let answer =
        format!("Here it is:\n\n```diff\n--- a/{file}\n+++ b/{file}\n@@ -7 +7 @@\n-{old}\n+{new}\n```\n");
    let options = LlamaOptions {
        answer: &answer,
        ..LlamaOptions::default()
    };
    LlamaServer::start(options).expect("the server starts")
}

async fn door(server: &LlamaServer) -> Door {
    let address = server.url().trim_start_matches("http://");
    Door::shut(Some(address.parse().expect("the server has an address"))).await
}

/// The second tool is at work from before the first change lands until after it: neither run may take the other's landing for
/// something that its tool did.
pub fn two_runs_at_once() -> Ended {
    let servers = server("one.txt", "one", "eins").zip(server("two.txt", "two", "zwei"));
    let Some((one, two)) = servers else {
        return Ended::Skipped("no llama.cpp server (see scripts/servers/README.md)".to_owned());
    };
    let world = World::new(&[("one.txt", "one\n"), ("two.txt", "two\n")]);
    // Only of a tool that the kernel holds is it certain that another run's landing was not its doing.
    if let Some(why) = world.lacks_sandbox() {
        return Ended::Skipped(format!("the kernel of this machine cannot hold a tool: {why}"));
    }
    wait_for(async move {
        let (one, two) = (door(&one).await, door(&two).await);
        let first = world.start(task(at("llamacpp", one.url()), "translate one", "one.txt"));
        let second = world.start(task(at("llamacpp", two.url()), "translate two", "two.txt"));
        let mut first = tokio::spawn(follow(first));
        let mut second = tokio::spawn(follow(second));
        for (door, run) in [(&one, &mut first), (&two, &mut second)] {
            tokio::select! {
                () = door.wait_for_guest() => {}
                ended = run => panic!("it ended before its tool was asked: {ended:?}"),
            }
        }
        one.open();
        let first = first.await.expect("the first run is followed");
        two.open();
        let second = second.await.expect("the second run is followed");

        for (events, outcome) in [&first, &second] {
            assert_eq!(outcome.outcome, OutcomeKind::Landed, "{outcome:?}");
            let asked = events
                .iter()
                .any(|event| matches!(event, RunEvent::Began(Activity::AskingTool)));
            assert!(asked, "{events:?}");
            let text = events
                .iter()
                .any(|event| matches!(event, RunEvent::Progress(Progress::Text(_))));
            assert!(text, "{events:?}");
            let way = [
                RecordKind::Task,
                RecordKind::Answer,
                RecordKind::Landing,
                RecordKind::Receipt,
            ];
            let mut kinds = record_kinds(events);
            kinds.retain(|kind| way.contains(kind));
            assert_eq!(kinds, way);
        }
        assert_ne!(first.1.run, second.1.run);
        assert_eq!(world.subjects(), ["translate two", "translate one", "begin"]);
        assert_eq!(world.repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
        assert_eq!(
            world
                .repo
                .git(&["rev-parse", "HEAD", "HEAD^"])
                .lines()
                .collect::<Vec<_>>(),
            [
                second.1.commit.as_deref().expect("the second has a commit"),
                first.1.commit.as_deref().expect("the first has a commit"),
            ]
        );
        assert_eq!(world.repo.read("one.txt"), b"eins\n");
        assert_eq!(world.repo.read("two.txt"), b"zwei\n");
        world.assert_whole(2);
    })
}
