//! Calls of tools in a turn: in parallel, with limits.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::support::{ScriptedModel, TestSession, call, say};
use crate::TurnEvent;

#[tokio::test(start_paused = true)]
async fn what_times_out_is_limited_or_fails_goes_back_in_the_order_of_the_calls() {
    let mut session = TestSession::new();
    let model = ScriptedModel::with_answers(vec![
        call(&[
            ("hang", json!({})),
            ("limited", json!({})),
            ("limited", json!({})),
            ("fail", json!({})),
            ("wait", json!({ "ms": 300 })),
            ("unknown", json!({})),
            ("echo", json!({ "texts": 1 })),
        ]),
        say("Done."),
    ]);
    let began = Instant::now();
    let finished = session.turn(&model, "Look.").await;
    assert_eq!(finished.answer.as_deref(), Some("Done."));
    // The slowest is the one that times out.
    assert_eq!(began.elapsed(), Duration::from_secs(10));
    insta::assert_snapshot!(session.show_messages(), @r#"
    User: Look.
    Assistant: I look.
    Assistant: call c0 hang {}
    Assistant: call c1 limited {}
    Assistant: call c2 limited {}
    Assistant: call c3 fail {}
    Assistant: call c4 wait {"ms":300}
    Assistant: call c5 unknown {}
    Assistant: call c6 echo {"texts":1}
    User: error c0 The tool `hang` did not answer within its limit of 10 s.
    User: result c1 done
    User: error c2 The limit on calls of `limited` is reached. Call it again in 60 s.
    User: error c3 no such file
    User: result c4 after 300 ms
    User: error c5 There is no tool `unknown`. Use one of: echo, long, wait, wait_search, wait_web, wait_image, wait_short, fail, hang, limited, propose.
    User: error c6 The arguments of `echo` do not match its schema: /: Additional properties are not allowed ('texts' was unexpected).
    Assistant: Done.
    "#);
    // The limit lasts from turn to turn, and refills by the clock.
    tokio::time::advance(Duration::from_secs(49)).await;
    let again = ScriptedModel::with_answers(vec![call(&[("limited", json!({}))]), say("Done.")]);
    session.turn(&again, "Again.").await;
    let shown = session.show_messages();
    assert!(shown.contains("Call it again in 1 s."), "{shown}");
    tokio::time::advance(Duration::from_secs(1)).await;
    session.turn(&again, "Again.").await;
    assert_eq!(
        session
            .tools
            .called
            .lock()
            .unwrap()
            .iter()
            .filter(|name| *name == "limited")
            .count(),
        1
    );
    let last = ScriptedModel::with_answers(vec![call(&[("limited", json!({}))]), say("Done.")]);
    session.turn(&last, "Again.").await;
    assert_eq!(
        session
            .tools
            .called
            .lock()
            .unwrap()
            .iter()
            .filter(|name| *name == "limited")
            .count(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn at_most_five_calls_run_at_once() {
    let cases = [(8, 5, 5, 2), (3, 5, 3, 1), (4, 1, 1, 4)];
    for (calls, cap, most, rounds) in cases {
        let mut session = TestSession::new();
        session.limits.parallel_calls = cap;
        let one: (&str, Value) = ("wait", json!({ "ms": 1_000 }));
        let model = ScriptedModel::with_answers(vec![call(&vec![one; calls]), say("Done.")]);
        let began = Instant::now();
        session.turn(&model, "Look.").await;
        assert_eq!(
            session
                .tools
                .most_running
                .load(std::sync::atomic::Ordering::SeqCst),
            most
        );
        assert_eq!(session.tools.called.lock().unwrap().len(), calls);
        assert_eq!(
            began.elapsed(),
            Duration::from_secs(rounds),
            "{calls} calls, {cap} at once"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_end_at_once_end_in_their_order() {
    let mut session = TestSession::new();
    let texts: Vec<String> = (0..8).map(|number| number.to_string()).collect();
    let calls: Vec<(&str, Value)> = texts
        .iter()
        .map(|text| ("propose", json!({ "text": text })))
        .collect();
    let model = ScriptedModel::with_answers(vec![call(&calls), say("Done.")]);
    session.turn(&model, "Look.").await;
    let ended = session.events.iter().filter_map(|event| match event {
        TurnEvent::ToolEnded { id, .. } => Some(id.as_str()),
        _ => None,
    });
    let ended: Vec<&str> = ended.collect();
    assert_eq!(ended, ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"]);
}

#[tokio::test(start_paused = true)]
async fn a_class_of_tools_has_its_own_time() {
    let cases = [
        ("wait", 10),
        ("wait_search", 15),
        ("wait_web", 20),
        ("wait_image", 30),
        // A time of its own, whatever its class has.
        ("wait_short", 1),
    ];
    for (tool, seconds) in cases {
        for (millis, text) in [
            (seconds * 1_000 - 1, "after"),
            (seconds * 1_000 + 1, "did not answer within its limit"),
        ] {
            let mut session = TestSession::new();
            let model =
                ScriptedModel::with_answers(vec![call(&[(tool, json!({ "ms": millis }))]), say("Done.")]);
            session.turn(&model, "Look.").await;
            let shown = session.show_messages();
            assert!(shown.contains(text), "{tool} after {millis} ms: {shown}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_result_is_cut_to_its_share_of_the_window() {
    let mut session = TestSession::new();
    session.window = 4_096;
    let model = ScriptedModel::with_answers(vec![
        call(&[("long", json!({})), ("echo", json!({ "text": "short" }))]),
        say("Done."),
    ]);
    let finished = session.turn(&model, "Look.").await;
    assert_eq!(finished.failure.map(|failure| failure.code), None);
    let shown = session.show_messages();
    assert!(shown.contains("[cut off: the first "), "{shown}");
    assert!(shown.contains("result c1 short"), "{shown}");
}
