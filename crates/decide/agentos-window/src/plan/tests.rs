//! Tests of the plan.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::gauge::WindowGauge;
use crate::size::WindowSource;

use MessageKind::{Answer, Calls, Request, Results};

fn list_sizes(sizes: &[(MessageKind, u64)]) -> Vec<MessageSize> {
    let size = |(kind, tokens): &(MessageKind, u64)| MessageSize {
        kind: *kind,
        tokens: *tokens,
    };
    sizes.iter().map(size).collect()
}

/// A window of 1,200 tokens with a room of 1,000, of which system prompt, pins and tools have 100.
fn make_input(messages: &[MessageSize]) -> WindowInput<'_> {
    WindowInput {
        window: WindowSize {
            tokens: 1_200,
            source: WindowSource::Profile,
        },
        reserve: 200,
        system: 50,
        pins: 30,
        tools: 20,
        summary: 0,
        messages,
        summary_input: 800,
        rules: WindowRules::default(),
    }
}

fn describe_plan(sizes: &[(MessageKind, u64)], change: impl Fn(&mut WindowInput<'_>)) -> String {
    let messages = list_sizes(sizes);
    let mut input = make_input(&messages);
    change(&mut input);
    match plan_window(&input) {
        WindowPlan::SendWhole => "whole".to_owned(),
        WindowPlan::Compress {
            messages,
            summary_tokens,
        } => {
            format!("{messages:?} into {summary_tokens}")
        }
        WindowPlan::TooLarge(excess) => format!(
            "{:?} {} of {} in {}",
            excess.part, excess.part_tokens, excess.needed, excess.room
        ),
    }
}

#[test]
fn a_plan_follows_the_shares() {
    let short = [(Request, 100), (Answer, 100), (Request, 100)];
    let long = [
        (Request, 200),
        (Answer, 150),
        (Request, 100),
        (Answer, 150),
        (Request, 50),
    ];
    let tools = [
        (Request, 100),
        (Answer, 200),
        (Request, 50),
        (Calls, 100),
        (Results, 200),
    ];
    let same = |_: &mut WindowInput<'_>| {};
    let cases: [(&str, String); 10] = [
        ("no message", describe_plan(&[], same)),
        ("below 70 %", describe_plan(&short, same)),
        ("above", describe_plan(&long, |input| input.pins = 60)),
        (
            "the call stays with its result",
            describe_plan(&tools, |input| input.pins = 90),
        ),
        // The newest messages alone are above the share, so a summary would gain 40 tokens of 1,000.
        (
            "too little to gain",
            describe_plan(&[(Request, 40), (Request, 640)], same),
        ),
        (
            "the last request is too large",
            describe_plan(&[(Answer, 40), (Request, 900)], same),
        ),
        (
            "the pins are too large",
            describe_plan(&short, |input| input.pins = 900),
        ),
        (
            "the reserve is too large",
            describe_plan(&short, |input| input.reserve = 1_190),
        ),
        // After a change to a smaller window.
        (
            "the summary is too large",
            describe_plan(&[(Request, 500)], |input| input.summary = 500),
        ),
        (
            "the first request of a turn stays",
            describe_plan(
                &[
                    (Request, 300),
                    (Calls, 100),
                    (Results, 400),
                    (Calls, 50),
                    (Results, 60),
                ],
                same,
            ),
        ),
    ];
    let shown: Vec<String> = cases
        .iter()
        .map(|(name, plan)| format!("{name}: {plan}"))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r"
    no message: whole
    below 70 %: whole
    above: [0, 1, 2] into 100
    the call stays with its result: [0, 1] into 100
    too little to gain: whole
    the last request is too large: Request 900 of 1064 in 1000
    the pins are too large: Pins 900 of 1134 in 1000
    the reserve is too large: Reserve 1190 of 264 in 10
    the summary is too large: [] into 100
    the first request of a turn stays: [1, 2] into 100
    ");
}

#[test]
fn a_long_conversation_is_summarized_in_batches() {
    let messages = [(Request, 500); 40];
    // 500 each, and one call for a summary reads 800: one message at a time, whatever the window is.
    assert_eq!(describe_plan(&messages, |_| {}), "[0] into 100");
    assert_eq!(
        describe_plan(&messages, |input| input.summary_input = 1_600),
        "[0, 1, 2] into 100"
    );
    let pair = [(Calls, 500), (Results, 500), (Request, 300)];
    assert_eq!(describe_plan(&pair, |_| {}), "[0, 1] into 100");
}

#[test]
fn the_gauge_shows_every_part() {
    let messages = list_sizes(&[(Request, 300)]);
    let mut input = make_input(&messages);
    input.summary = 100;
    let gauge = WindowGauge::measure(&input);
    assert_eq!((gauge.free, gauge.filled_percent()), (500, 50));
    let shown = serde_json::to_string(&gauge).unwrap();
    insta::assert_snapshot!(shown, @r#"{"window":{"tokens":1200,"source":"profile"},"system":50,"pins":30,"tools":20,"summary":100,"messages":300,"reserve":200,"free":500}"#);
    // Never a number below 0, and no division by 0.
    input.reserve = 5_000;
    let gauge = WindowGauge::measure(&input);
    assert_eq!((gauge.free, gauge.filled_percent()), (0, 50_000));
}

/// Follows plans to their end, as a conversation does. Returns the summary and the messages that are sent, or nothing if the
/// request is too large.
fn follow_plans(input: &WindowInput<'_>, fill: u64) -> Option<(u64, Vec<MessageSize>)> {
    let mut messages = input.messages.to_vec();
    let mut summary = input.summary;
    // Each plan summarizes a message or shortens the summary, so there cannot be more.
    for _ in 0..=input.messages.len() + 2 {
        let state = WindowInput {
            summary,
            messages: &messages,
            ..*input
        };
        assert_eq!(
            plan_window(&state),
            plan_window(&state),
            "a plan is not deterministic"
        );
        match plan_window(&state) {
            WindowPlan::SendWhole => return Some((summary, messages)),
            WindowPlan::TooLarge(_) => return None,
            WindowPlan::Compress {
                messages: batch,
                summary_tokens,
            } => {
                check_batch(&messages, &batch);
                summary = (summary_tokens * fill / 100).max(1);
                let mut at = 0;
                messages.retain(|_| {
                    at += 1;
                    !batch.contains(&(at - 1))
                });
            }
        }
    }
    panic!("the plans do not come to an end");
}

fn check_batch(messages: &[MessageSize], batch: &[usize]) {
    let request = find_request(messages);
    assert!(
        request.is_none_or(|at| !batch.contains(&at)),
        "the last request was summarized"
    );
    for at in 1..messages.len() {
        if splits_pair(messages, at) {
            assert_eq!(
                batch.contains(&(at - 1)),
                batch.contains(&at),
                "a pair was split at {at}"
            );
        }
    }
}

/// Turns of a conversation: a request, and rounds of tools or an answer.
fn turns() -> impl Strategy<Value = Vec<MessageSize>> {
    let round =
        (1..400_u64, 1..3_000_u64).prop_map(|(call, result)| list_sizes(&[(Calls, call), (Results, result)]));
    let answer = (1..900_u64).prop_map(|tokens| list_sizes(&[(Answer, tokens)]));
    let turn = (1..600_u64, vec(prop_oneof![round, answer], 0..4)).prop_map(|(request, rest)| {
        let mut turn = list_sizes(&[(Request, request)]);
        turn.extend(rest.into_iter().flatten());
        turn
    });
    vec(turn, 1..12).prop_map(|turns| turns.into_iter().flatten().collect())
}

proptest! {
    #[test]
    fn what_is_sent_fits_and_has_the_last_request(
        messages in turns(),
        window in 100..20_000_u64,
        reserve in 0..3_000_u64,
        fixed in (0..500_u64, 0..500_u64, 0..500_u64),
        summary in 0..2_000_u64,
        fill in 1..=100_u64,
    ) {
        let input = WindowInput {
            window: WindowSize { tokens: window, source: WindowSource::Assumed },
            reserve, system: fixed.0, pins: fixed.1, tools: fixed.2, summary,
            messages: &messages,
            summary_input: window / 2,
            rules: WindowRules::default(),
        };
        let request = find_request(&messages).and_then(|at| messages.get(at)).copied();
        match follow_plans(&input, fill) {
            Some((summary, sent)) => {
                let whole = WindowInput { summary, messages: &sent, ..input };
                prop_assert!(whole.count_prompt() <= whole.room());
                prop_assert_eq!(find_request(&sent).and_then(|at| sent.get(at)).copied(), request);
            }
            None => {
                let needed = input.count_fixed() + request.map_or(0, |request| request.tokens) + SMALLEST_SUMMARY;
                prop_assert!(needed > input.room(), "{} fits into {}", needed, input.room());
            }
        }
    }

    #[test]
    fn the_newest_fifth_stays_word_for_word(messages in turns(), window in 6_000..40_000_u64) {
        // Requests of at most 600 tokens and results of at most 3,399 always leave room for the newest fifth.
        let input = WindowInput {
            window: WindowSize { tokens: window, source: WindowSource::Assumed },
            reserve: 0, system: 0, pins: 0, tools: 0, summary: 0,
            messages: &messages,
            summary_input: window,
            rules: WindowRules::default(),
        };
        if let WindowPlan::Compress { messages: batch, .. } = plan_window(&input) {
            let end = batch.last().map_or(0, |at| at + 1);
            let kept = messages.get(end..).map_or(0, sum_tokens);
            prop_assert!(kept >= window / 5, "{kept} of {window}");
        }
    }
}
