//! Turns that are stopped: by the user, and by the limit on their time.

use std::time::Duration;

use agentos_ledger::{CallRecord, TurnEnd};
use agentos_tool::BoxFuture;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::support::{ScriptedModel, Step, TestSession, call, say, show_end, text_step};

fn after(seconds: u64) -> BoxFuture<'static, ()> {
    Box::pin(sleep(Duration::from_secs(seconds)))
}

#[tokio::test(start_paused = true)]
async fn each_call_is_reported_once_also_if_the_turn_is_dropped() {
    let answers = || {
        vec![
            call(&[("echo", json!({}))]),
            call(&[("echo", json!({}))]),
            vec![text_step("So"), Step::Hang],
        ]
    };
    let reported = |session: &TestSession| -> Vec<CallRecord> { session.meter.0.lock().unwrap().clone() };
    let mut session = TestSession::new();
    let model = ScriptedModel::with_answers(answers());
    let finished = session.turn_until(&model, "Look.", after(2)).await.unwrap();
    assert_eq!(reported(&session), finished.record.calls);

    let mut session = TestSession::new();
    let model = ScriptedModel::with_answers(answers());
    let dropped = timeout(Duration::from_secs(2), session.try_turn(&model, "Look.")).await;
    assert!(dropped.is_err());
    let shown: Vec<_> = reported(&session)
        .iter()
        .map(|call| format!("{:?} {:?} {}", call.cost_usd, call.failure, call.model.is_some()))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    Some(ExactCost(1020000000)) None true
    Some(ExactCost(1020000000)) None true
    None Some("cancelled") true
    "#);
    assert!(session.store.entries.is_empty(), "no record of the turn");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_cancelled_keeps_what_was_said() {
    let tools = || {
        call(&[
            ("wait", json!({ "ms": 500 })),
            ("hang", json!({})),
            ("propose", json!({ "text": "a change" })),
        ])
    };
    let cases = [
        ("before the first word", vec![vec![Step::Hang]]),
        (
            "in the middle of a text",
            vec![vec![text_step("I think"), Step::Hang]],
        ),
        ("in the middle of tools", vec![tools()]),
        (
            "in a later round",
            vec![
                call(&[("echo", json!({}))]),
                vec![text_step("So"), Step::Wait(9_000), text_step(" it is")],
            ],
        ),
    ];
    let mut shown = Vec::new();
    for (name, answers) in cases {
        let mut session = TestSession::new();
        let model = ScriptedModel::with_answers(answers);
        let began = Instant::now();
        let finished = session.turn_until(&model, "Look.", after(2)).await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_secs(2), "{name}");
        assert_eq!(finished.record.end, TurnEnd::Cancelled);
        shown.push(format!(
            "{name}: {}\n{}",
            show_end(&finished),
            session.show_messages()
        ));
        // The session goes on.
        let next = ScriptedModel::with_answers(vec![say("Yes.")]);
        assert_eq!(session.turn(&next, "Well?").await.answer.as_deref(), Some("Yes."));
    }
    insta::assert_snapshot!(shown.join("\n"), @r#"
    before the first word: Cancelled [cancelled ?]

    in the middle of a text: Cancelled [cancelled ?]
    User: Look.
    Assistant: I think

    in the middle of tools: Cancelled [tool_calls 0.00102]
    User: Look.
    Assistant: I look.
    Assistant: call c0 wait {"ms":500}
    Assistant: call c1 hang {}
    Assistant: call c2 propose {"text":"a change"}
    User: result c0 after 500 ms
    User: error c1 The call was cancelled by the user.
    User: result c2 a change

    in a later round: Cancelled [tool_calls 0.00102, cancelled ?]
    User: Look.
    Assistant: I look.
    Assistant: call c0 echo {}
    User: result c0 done
    Assistant: So
    "#);
}

#[tokio::test(start_paused = true)]
async fn the_limit_on_the_time_of_a_turn_is_named() {
    let cases = [
        ("a model that hangs", vec![vec![text_step("I think"), Step::Hang]]),
        (
            "a model that is slow in each round",
            vec![{
                let mut slow = vec![Step::Wait(40_000)];
                slow.extend(call(&[("echo", json!({}))]));
                slow
            }],
        ),
    ];
    let mut shown = Vec::new();
    for (name, answers) in cases {
        let mut session = TestSession::new();
        let model = ScriptedModel::with_answers(answers);
        let began = Instant::now();
        let finished = session.turn(&model, "Look.").await;
        assert_eq!(began.elapsed(), Duration::from_secs(300), "{name}");
        shown.push(format!("{name}: {}", show_end(&finished)));
    }
    // Shorter than the limit of a tool.
    let mut session = TestSession::new();
    session.limits.total = Duration::from_secs(3);
    let model = ScriptedModel::with_answers(vec![call(&[("hang", json!({}))])]);
    let finished = session.turn(&model, "Look.").await;
    shown.push(format!(
        "tools: {}\n{}",
        show_end(&finished),
        session.show_messages()
    ));
    insta::assert_snapshot!(shown.join("\n"), @r#"
    a model that hangs: Limited { limit: "total-time" } [total-time ?]
    a model that is slow in each round: Limited { limit: "total-time" } [tool_calls 0.00102, tool_calls 0.00102, tool_calls 0.00102, tool_calls 0.00102, tool_calls 0.00102, tool_calls 0.00102, tool_calls 0.00102, total-time ?]
    tools: Limited { limit: "total-time" } [tool_calls 0.00102]
    User: Look.
    Assistant: I look.
    Assistant: call c0 hang {}
    User: error c0 The call was stopped, because the turn reached its limit of 3 s.
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_stop_that_came_before_the_turn_stops_it() {
    let mut session = TestSession::new();
    let model = ScriptedModel::with_answers(vec![say("Done.")]);
    let finished = session
        .turn_until(&model, "Look.", Box::pin(std::future::ready(())))
        .await
        .unwrap();
    assert_eq!(finished.record.end, TurnEnd::Cancelled);
}
