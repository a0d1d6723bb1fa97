//! What a choice costs: one model of 1,000, with the reasons against the others.
//!
//! Owns: what is measured. Never: judges a time; the numbers are for people: `cargo bench -p agentos-select`.

use std::collections::BTreeMap;
use std::hint::black_box;

use agentos_select::{
    AbilityValue, ModelRecord, Needs, PoolModel, SelectionInput, SelectorKind, TurnShape, infer_needs,
    select_model,
};
use agentos_tool::{TokenPrice, TokenPrices};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    let chosen = select_model(&input(SelectorKind::Best)).is_ok();
    assert!(chosen, "no model of the bench fits");
    divan::main();
}

/// Models of the pool.
const MODELS: usize = 1_000;

/// A pool whose models differ in everything that a selector looks at, and a turn with three needs that half of them meet.
fn input(selector: SelectorKind) -> SelectionInput {
    let model = |at: usize| {
        let price = TokenPrice::from_number((at * 7 % 100) as f64);
        PoolModel {
            alias: format!("model-{at}"),
            provider: format!("provider-{}", at % 20),
            model: Some(format!("family-{}/size-{at}", at % 7)),
            abilities: BTreeMap::from([
                (
                    "context_window".to_owned(),
                    AbilityValue::Number((1_000 * (at % 200)) as f64),
                ),
                (
                    "supports_tools".to_owned(),
                    AbilityValue::Flag(!at.is_multiple_of(8)),
                ),
                (
                    "supports_vision".to_owned(),
                    AbilityValue::Flag(!at.is_multiple_of(3)),
                ),
                (
                    "specialized_for".to_owned(),
                    AbilityValue::Text("sql_generation".to_owned()),
                ),
            ]),
            prices: TokenPrices {
                input: price,
                output: price,
                ..TokenPrices::default()
            },
            latency_ms: Some((at * 13 % 900) as u64),
            memory_bytes: None,
        }
    };
    let record = |at: usize| {
        let record = ModelRecord {
            calls: 20,
            stayed: (at % 11) as u64,
            rejected: (at % 5) as u64,
            median_ms: Some((at * 17 % 700) as u64),
            ..ModelRecord::default()
        };
        (format!("model-{at}"), record)
    };
    let stated = Needs::parse(["min_context_window=20000", "specialized_for=sql_generation"]);
    let turn = TurnShape {
        message: "describe this image",
        tools: 3,
        ..TurnShape::default()
    };
    SelectionInput {
        models: (0..MODELS).map(model).collect(),
        records: (0..MODELS).map(record).collect(),
        needs: infer_needs(stated.unwrap_or_default(), &turn),
        selector,
        input_tokens: 5_000,
        output_tokens: 500,
        ..SelectionInput::default()
    }
}

#[divan::bench(args = [
    SelectorKind::Default, SelectorKind::Capability, SelectorKind::Cheapest, SelectorKind::Fastest, SelectorKind::Best,
    SelectorKind::Split,
])]
fn choose_among_1000_models(bencher: Bencher<'_, '_>, selector: &SelectorKind) {
    let input = input(*selector);
    bencher
        .counter(ItemsCount::new(MODELS))
        .bench_local(|| black_box(select_model(&input).is_ok()));
}

#[divan::bench]
fn write_the_reasons_of_1000_models(bencher: Bencher<'_, '_>) {
    let input = input(SelectorKind::Default);
    bencher.bench_local(|| {
        let Ok(selection) = select_model(&input) else {
            return 0;
        };
        let reasons = selection.refused.iter();
        black_box(
            reasons
                .map(|refused| refused.describe(&input.needs).len())
                .sum::<usize>(),
        )
    });
}
