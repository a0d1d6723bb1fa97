//! Events as a service streams them, and an answer that comes back over the wire.

use std::sync::Arc;

use agentos_api::{Activity, ContextReport, Notice};
use agentos_engine::ports::{Answer, ConsentPort, ConsentQuestion};
use agentos_evidence::RecordKind;
use agentos_landing::{Change, FileState, RepoPath, ResultFacts};
use agentos_policy::{LandingTarget, PolicySet};
use agentos_schema::{SchemaName, validate_value};
use agentos_tool::{Progress, Timestamp};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::consent::PersonAsker;
use crate::events::{RecordSeen, event_channel};
use crate::proposals::patch_facts;
use crate::runtime::block_on;

const WORKFLOW: &str = ".github/workflows/ci.yml";

fn run() -> RunId {
    RunId::new(&Timestamp::from_unix_seconds(0), 1)
}

/// Makes a question about a workflow, which the built-in rules ask about.
fn question() -> Option<ConsentRequested> {
    let new = Some(FileState::regular(b"on: push\n"));
    let change = Change::new(vec![(RepoPath::new(WORKFLOW).ok()?, None, new)]).ok()?;
    let decision = PolicySet::builtin()
        .ok()?
        .decide(&change, &ResultFacts::default(), &patch_facts());
    let place = LandingTarget {
        base_commit: "1e",
        target_ref: "refs/heads/main",
        writes: "commit-only",
    };
    let hashes = ApprovalHashes::of(&change, &decision, &place);
    Some(ConsentRequested {
        change,
        decision,
        hashes,
        drift: None,
    })
}

#[test]
fn every_event_is_published_as_its_schema_says() {
    let context = ContextReport {
        version: 1,
        files: Vec::new(),
        bytes: 0,
        budget_bytes: 9,
        too_large: Vec::new(),
        ranked: 0,
        read: 0,
        ..ContextReport::default()
    };
    let record = RecordSeen {
        kind: RecordKind::ToolResult,
        at: Timestamp::from_unix_seconds(0),
        body: json!({ "status": "success" }),
    };
    let text = || "text".to_owned();
    let events = [
        ("began", RunEvent::Began(Activity::SigningCommit)),
        ("notice", RunEvent::Notice(Notice::new("tool", "slow"))),
        ("context-found", RunEvent::ContextFound(Arc::new(context))),
        ("answer-text", RunEvent::Progress(Progress::Text(text()))),
        ("tool-note", RunEvent::Progress(Progress::Note(text()))),
        (
            "tool-transcript",
            RunEvent::Progress(Progress::Transcript(text())),
        ),
        ("record", RunEvent::Record(Arc::new(record))),
        (
            "consent-requested",
            RunEvent::ConsentRequested(Arc::new(question().unwrap())),
        ),
    ];
    for (kind, event) in events {
        let published = serde_json::to_value(event.to_report(&run())).unwrap();
        assert_eq!(published["event"]["kind"], kind);
        assert_eq!(published["run"], "19700101T000000Z-00000001");
        assert_eq!(
            validate_value(SchemaName::RunEvent, &published),
            Ok(()),
            "{published}"
        );
    }
}

#[test]
fn a_question_names_the_rules_that_ask_and_the_whole_change() {
    let prompt = question().unwrap().to_prompt();
    assert_eq!(prompt.paths, [WORKFLOW]);
    assert!(prompt.diff.ends_with("+on: push\n"), "{}", prompt.diff);
    assert!(!prompt.reasons.is_empty());
    assert!(
        prompt
            .reasons
            .iter()
            .any(|reason| reason.path.as_deref() == Some(WORKFLOW))
    );
}

#[test]
fn an_answer_over_the_wire_counts_for_exactly_its_question() {
    let reply = |binding: Value, agrees: bool| {
        let reply = json!({ "version": 1, "run": run().as_str(), "agrees": agrees, "binding": binding });
        assert_eq!(validate_value(SchemaName::ConsentReply, &reply), Ok(()));
        ConsentAnswer::from_reply(serde_json::from_value(reply).unwrap(), "dana", "web form")
    };
    for agrees in [true, false] {
        let (events, mut heard) = event_channel(false);
        let (answers, answered) = mpsc::unbounded_channel();
        let asked = question().unwrap();
        let answer = block_on(async {
            let mut asker = PersonAsker::new(events, answered);
            let question = ConsentQuestion {
                change: &asked.change,
                decision: &asked.decision,
                hashes: &asked.hashes,
                drift: None,
            };
            let person = async {
                let event = heard.next().await.unwrap();
                let published = serde_json::to_value(event.to_report(&run())).unwrap();
                let binding = published["event"]["prompt"]["binding"].clone();
                let mut other = binding.clone();
                other["base_commit"] = "another".into();
                // An answer to another state is no answer to this question.
                answers.send(reply(other, !agrees)).unwrap();
                answers.send(reply(binding, agrees)).unwrap();
            };
            tokio::join!(asker.ask(question), person).0
        })
        .unwrap();
        match answer {
            Answer::Yes(consent) => {
                assert!(agrees);
                assert_eq!((consent.who.as_str(), consent.how.as_str()), ("dana", "web form"));
                assert_eq!(consent.hashes, asked.hashes);
            }
            Answer::No => assert!(!agrees),
            Answer::Nobody => panic!("nobody answered"),
        }
    }
}
