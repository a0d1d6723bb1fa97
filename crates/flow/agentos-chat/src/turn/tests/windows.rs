//! Conversations that outgrow their window: summaries, pins, and changes of the model.

use agentos_ledger::{SessionEvent, TurnEnd};
use agentos_model::ChatRequest;
use agentos_tool::FinishReason;
use proptest::prelude::*;

use super::support::{ScriptedModel, Step, TestSession, finish, say, show_end, text_step, usage};
use crate::TurnEvent;

/// Pinned facts with everything that a careless join, trim or escape would change.
const PINS: [&str; 2] = [
    "The password hint is \"tulip\".\r\n\tSecond line  ",
    "\u{65e5}\u{672c}\u{8a9e} \u{1f6f6} </pin> \\n {\"a\": 1}",
];

fn is_summary(request: &ChatRequest) -> bool {
    request
        .system
        .as_deref()
        .is_some_and(|system| system.starts_with("You summarize"))
}

/// Makes a model that answers at length, and summarizes in a few words.
fn make_talker(provider: &str) -> ScriptedModel {
    let name = provider.to_owned();
    ScriptedModel::new(provider, move |at, request| {
        if is_summary(request) {
            return say(&format!("Summary {at} of {name}."));
        }
        say(&format!("Answer {at} of {name}. {}", "word ".repeat(300)))
    })
}

#[tokio::test(start_paused = true)]
async fn pins_survive_five_compressions_and_three_changes_of_the_model_byte_for_byte() {
    let mut session = TestSession::new();
    session.window = 4_096;
    session.change_settings("Be exact.", &PINS);
    let models = ["one", "two", "three", "four"].map(make_talker);
    let mut turns = 0;
    while session.state.compressions().len() < 5 || turns < 4 * 4 {
        let model = &models[turns % 4];
        let finished = session
            .turn(model, &format!("Question {turns}. {}", "please ".repeat(100)))
            .await;
        assert_eq!(finished.record.end, TurnEnd::Answered, "{:?}", finished.failure);
        turns += 1;
        assert!(turns < 100, "the conversation is never compressed");
    }
    for model in &models {
        for request in model
            .requests
            .lock()
            .unwrap()
            .iter()
            .filter(|request| !is_summary(request))
        {
            let system = request.system.clone().unwrap_or_default();
            assert_eq!(
                system,
                format!("Be exact.\n\n# Pinned by the user\n\n{}\n\n{}", PINS[0], PINS[1])
            );
        }
    }
    // The last request has the summary of all that is gone, and the newest messages with their authors.
    let last = models[(turns - 1) % 4].last_request();
    let first = last.messages[0].text();
    assert!(
        first.starts_with("[Summary of the earlier part") && first.contains("Summary "),
        "{first}"
    );
    assert!(
        last.messages
            .last()
            .unwrap()
            .text()
            .starts_with(&format!("Question {}.", turns - 1))
    );
    let gone = session
        .state
        .messages()
        .iter()
        .filter(|message| !message.is_live())
        .count();
    assert!(gone > 10, "{gone}");
}

#[tokio::test(start_paused = true)]
async fn a_receipt_names_what_a_summary_replaces_and_can_be_taken_back() {
    let mut session = TestSession::new();
    session.window = 4_096;
    let model = make_talker("p");
    let before = loop {
        let before = session.live_messages();
        session.turn(&model, "And?").await;
        if !session.state.compressions().is_empty() {
            break before;
        }
    };
    let compression = session.state.active_compression().unwrap().clone();
    let receipt = &compression.receipt;
    assert!(receipt.tokens_after < receipt.tokens_before, "{receipt:?}");
    assert_eq!(
        receipt.call.as_ref().and_then(|call| call.finish),
        Some(FinishReason::Stop)
    );
    assert!(
        session
            .events
            .contains(&TurnEvent::Compressed(Box::new(receipt.clone())))
    );
    // The replaced messages are the oldest, and are still there.
    for (hash, message) in receipt.replaced.iter().zip(&before) {
        let text = session.store.texts.get(hash).unwrap();
        assert_eq!(&crate::read_message(text, hash).unwrap(), message);
    }
    let live = session.state.list_live().count();
    session.append_event(SessionEvent::Restored {
        compression: compression.number,
    });
    assert_eq!(session.state.list_live().count(), live + receipt.replaced.len());
    assert_eq!(session.state.active_compression(), None);
    assert_eq!(session.live_messages()[..before.len()], before);
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_fails_changes_nothing() {
    let bad: [(&str, Vec<Step>); 4] = [
        (
            "empty",
            vec![text_step("  \n"), usage(), finish(FinishReason::Stop)],
        ),
        (
            "cut",
            vec![text_step("They"), usage(), finish(FinishReason::Length)],
        ),
        ("failed", vec![Step::Fail("overloaded")]),
        ("too long", say(&"long ".repeat(3_000))),
    ];
    let mut shown = Vec::new();
    for (name, steps) in bad {
        let mut session = TestSession::new();
        session.window = 4_096;
        let model = ScriptedModel::new("p", move |_, request| match is_summary(request) {
            true => steps.clone(),
            false => say(&"word ".repeat(300)),
        });
        // Between 70 % and all of the room, the conversation goes on without a summary.
        let mut notes = 0;
        let finished = loop {
            let finished = session.turn(&model, "And?").await;
            notes += session
                .events
                .iter()
                .filter(|event| matches!(event, TurnEvent::Note { .. }))
                .count();
            if finished.failure.is_some() {
                break finished;
            }
        };
        assert!(notes > 0, "{name}");
        assert!(session.state.compressions().is_empty(), "{name}");
        assert!(
            session.state.messages().iter().all(crate::StateMessage::is_live),
            "{name}"
        );
        shown.push(format!(
            "{name}: {}: {}",
            show_end(&finished),
            finished.failure.unwrap().message
        ));
    }
    insta::assert_snapshot!(shown.join("\n"), @r#"
    empty: Failed { code: "no-answer" } [no-answer 0.00102]: earlier messages could not be summarized: the model answered with nothing
    cut: Failed { code: "unfinished-answer" } [unfinished-answer 0.00102]: earlier messages could not be summarized: the answer was cut off by the token limit
    failed: Failed { code: "overloaded" } [overloaded ?]: earlier messages could not be summarized: scripted: overloaded
    too long: Failed { code: "no-answer" } [stop 0.00102]: earlier messages could not be summarized: the summary of earlier messages is as long as the messages
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_fits_in_no_way_is_refused_and_not_kept() {
    let mut session = TestSession::new();
    session.window = 4_096;
    let model = make_talker("p");
    session.turn(&model, "Hello.").await;
    let finished = session.turn(&model, &"much ".repeat(5_000)).await;
    let failure = finished.failure.clone().unwrap();
    insta::assert_snapshot!(format!("{}: {} ({:?})", show_end(&finished), failure.message, failure.excess.unwrap().part), @r#"Failed { code: "context-length" } []: the conversation does not fit: it needs 5147 tokens, and the model's window has room for 3584 (Request)"#);
    assert!(finished.record.messages.is_empty());
    // The session is not stuck.
    assert_eq!(session.turn(&model, "Hello?").await.record.end, TurnEnd::Answered);
}

#[tokio::test(start_paused = true)]
async fn a_change_to_a_small_window_summarizes_in_steps() {
    let mut session = TestSession::new();
    let model = make_talker("large");
    for _ in 0..40 {
        session.turn(&model, &"please ".repeat(200)).await;
    }
    assert!(session.state.compressions().is_empty());
    session.window = 4_096;
    let small = make_talker("small");
    let finished = session.turn(&small, "Go on.").await;
    assert_eq!(finished.record.end, TurnEnd::Answered, "{:?}", finished.failure);
    assert!(session.state.compressions().len() > 2);
    // Each of its requests fits into its window.
    for request in small.requests.lock().unwrap().iter() {
        let tokens: u64 = request
            .messages
            .iter()
            .map(agentos_window::estimate_message)
            .sum();
        assert!(tokens < 4_096 - 512, "{tokens}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_is_pinned_is_sent_as_it_is(pins in proptest::collection::vec("\\PC{1,60}", 1..4), turns in 1..6_usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut session = TestSession::new();
            session.window = 4_096;
            let pins: Vec<&str> = pins.iter().map(String::as_str).collect();
            session.change_settings("Be exact.", &pins);
            let model = make_talker("p");
            for _ in 0..turns {
                session.turn(&model, &"please ".repeat(300)).await;
                let system = model.last_request().system.unwrap_or_default();
                prop_assert!(system.ends_with(&pins.join("\n\n")), "{system}");
            }
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_states_the_window_is_answered_with_a_shorter_request_once() {
    let cases = [
        // The window is larger than what is known, or not stated: nothing changes.
        (Some(200_000), "context-length", None, 1),
        (None, "context-length", None, 1),
        // Smaller: the refused request, two steps of a summary, and the shorter request.
        (Some(4_000), "", Some(4_000), 4),
        // Nothing can be left out of so small a window.
        (Some(300), "context-length", Some(300), 1),
    ];
    for (stated, failure, learned, requests) in cases {
        let mut session = TestSession::new();
        let long = "word ".repeat(500);
        let filler = ScriptedModel::with_answers(vec![say(&long)]);
        for _ in 0..8 {
            session.turn(&filler, "more").await;
        }
        let model = ScriptedModel::new("p", move |_, request| {
            let is_long = request.count_bytes() > 16_000 && !is_summary(request);
            match (is_long, stated) {
                (false, _) => say("short"),
                (true, Some(tokens)) => vec![Step::TooLong(tokens)],
                (true, None) => vec![Step::Fail("context-length")],
            }
        });
        let finished = session.turn(&model, "and now?").await;
        let code = finished.failure.map(|failure| failure.code).unwrap_or_default();
        assert_eq!(
            (code.as_str(), finished.learned_window),
            (failure, learned),
            "{stated:?}"
        );
        assert_eq!(model.requests.lock().unwrap().len(), requests, "{stated:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_has_begun_is_not_asked_for_again() {
    let mut session = TestSession::new();
    let filler = ScriptedModel::with_answers(vec![say(&"word ".repeat(500))]);
    for _ in 0..8 {
        session.turn(&filler, "more").await;
    }
    let model = ScriptedModel::with_answers(vec![vec![text_step("It"), Step::TooLong(4_000)]]);
    let finished = session.turn(&model, "and now?").await;
    assert_eq!(
        (finished.cut.as_deref(), finished.learned_window),
        (Some("It"), None)
    );
    assert_eq!(model.requests.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_the_request_is_made_shorter_ends_the_turn_as_a_stop() {
    let mut session = TestSession::new();
    let filler = ScriptedModel::with_answers(vec![say(&"word ".repeat(500))]);
    for _ in 0..8 {
        session.turn(&filler, "more").await;
    }
    let model = ScriptedModel::with_answers(vec![vec![Step::TooLong(4_000)], vec![Step::Hang]]);
    let stop = Box::pin(tokio::time::sleep(std::time::Duration::from_secs(1)));
    let finished = session.turn_until(&model, "and now?", stop).await.unwrap();
    assert_eq!(finished.record.end, TurnEnd::Cancelled);
}
