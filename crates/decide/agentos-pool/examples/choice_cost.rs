//! Measures what a choice among 1,000 models costs, with the reasons against the others and the hash of the input.
//!
//! Owns: what is measured. Never: judges a time, unless a limit is given:
//! `cargo run --release -p agentos-pool --example choice_cost [-- MICROSECONDS]` ends with 1 if a median is above the limit.
//!
//! Reported is the time of one choice (median and 95th percentile of 2,000), and the processor time of all of them divided by their number.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use agentos_pool::make_choice;
use agentos_select::{
    AbilityValue, MachineFacts, MachineLook, ModelRecord, Needs, PoolModel, SelectionInput, SelectorKind,
    TurnShape, infer_complexity, infer_needs,
};
use agentos_tool::{TokenPrice, TokenPrices};

/// Models of the pool.
const MODELS: usize = 1_000;
/// Choices of each selector that are measured.
const CHOICES: usize = 2_000;
/// Choices before them.
const WARM_UP: usize = 200;
/// Ticks of the processor time in a second, which Linux has fixed for programs.
const TICKS: f64 = 100.0;

fn main() -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout();
    let limit: Option<f64> = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let selectors = [
        SelectorKind::Default,
        SelectorKind::Capability,
        SelectorKind::Cheapest,
        SelectorKind::Fastest,
        SelectorKind::Resources,
        SelectorKind::Complexity,
        SelectorKind::Best,
        SelectorKind::Split,
    ];
    writeln!(
        out,
        "{:12} {:>10} {:>10} {:>10}  of one choice, in microseconds",
        "selector", "median", "p95", "processor"
    )?;
    let mut is_kept = true;
    for selector in selectors {
        let input = make_input(selector);
        let mut times = Vec::with_capacity(CHOICES);
        for _ in 0..WARM_UP {
            black_box(make_choice("bench", input.clone(), None).is_ok());
        }
        // The input is the caller's, so its copy is made outside of the measured time, and its processor time is measured alone.
        let before = read_ticks();
        for _ in 0..CHOICES {
            black_box(input.clone());
        }
        let copied = read_ticks() - before;
        let before = read_ticks();
        for _ in 0..CHOICES {
            let input = input.clone();
            let began = read_clock();
            let choice = make_choice("bench", input, None);
            times.push(read_clock().saturating_sub(began).as_nanos() as f64 / 1_000.0);
            assert!(
                black_box(choice).is_ok_and(|choice| choice.alias.is_some()),
                "a model fits"
            );
        }
        let processor = (read_ticks() - before - copied) / TICKS * 1e6 / CHOICES as f64;
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            times
                .get(times.len() * percent / 100)
                .copied()
                .unwrap_or_default()
        };
        let name = format!("{selector:?}").to_lowercase();
        writeln!(out, "{name:12} {:10.1} {:10.1} {processor:10.1}", at(50), at(95))?;
        is_kept &= limit.is_none_or(|limit| at(50) <= limit);
    }
    Ok(if is_kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns the time of the system's clock. It may be set in between, which a median does not show.
fn read_clock() -> Duration {
    UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// Returns the processor time of this process in ticks: user and system.
fn read_ticks() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name of the program, which may have spaces in it: fields 14 and 15 of the file.
    let fields = text.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
    let ticks = fields.split(' ').skip(11).take(2);
    ticks.filter_map(|word| word.parse::<f64>().ok()).sum()
}

/// Returns a pool whose models differ in everything that a selector looks at, and a turn with needs that half of them meet.
fn make_input(selector: SelectorKind) -> SelectionInput {
    let turn = TurnShape {
        message: "fix the race in this image",
        tools: 3,
        ..TurnShape::default()
    };
    let stated = Needs::parse(["min_context_window=20000", "specialized_for=sql_generation"]);
    let records: BTreeMap<String, ModelRecord> = match selector {
        SelectorKind::Fastest | SelectorKind::Best | SelectorKind::Split => {
            (0..MODELS).map(make_record).collect()
        }
        _ => BTreeMap::new(),
    };
    SelectionInput {
        models: (0..MODELS).map(make_model).collect(),
        records,
        needs: infer_needs(stated.unwrap_or_default(), &turn),
        selector,
        input_tokens: 5_000,
        output_tokens: 500,
        complexity: (selector == SelectorKind::Complexity).then(|| infer_complexity(&turn, [])),
        task: (selector == SelectorKind::Split).then(|| "sha256:0".to_owned()),
        machine: (selector == SelectorKind::Resources).then(make_machine),
        ..SelectionInput::default()
    }
}

fn make_model(at: usize) -> PoolModel {
    let price = TokenPrice::from_number((at * 7 % 100) as f64);
    let tiers = ["small", "medium", "large"];
    let tier = tiers.get(at % 3).copied().unwrap_or_default();
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
            ("tier".to_owned(), AbilityValue::Text(tier.to_owned())),
        ]),
        prices: TokenPrices {
            input: price,
            output: price,
            ..TokenPrices::default()
        },
        latency_ms: Some((at * 13 % 900) as u64),
        memory_bytes: None,
    }
}

fn make_record(at: usize) -> (String, ModelRecord) {
    let record = ModelRecord {
        calls: 20,
        stayed: (at % 11) as u64,
        rejected: (at % 5) as u64,
        median_ms: Some((at * 17 % 700) as u64),
        ..ModelRecord::default()
    };
    (format!("model-{at}"), record)
}

fn make_machine() -> MachineFacts {
    let look = MachineLook {
        at_ms: 1_000,
        total_bytes: 64 << 30,
        free_bytes: 24 << 30,
        cpu_percent: Some(10),
    };
    MachineFacts {
        free_memory_bytes: 24 << 30,
        running: Some("model-5".to_owned()),
        looks: vec![look],
        ..MachineFacts::default()
    }
}
