//! Prices and costs as exact numbers.

use proptest::prelude::*;
use serde_json::json;

use super::*;

proptest! {
    /// No call within the bound's tokens costs more than the bound, whatever a cache read or wrote, and in every tier of prices.
    #[test]
    fn a_bound_is_never_too_low(
        prices in prop::array::uniform8(prop::option::of(0_u64..1_000_000)),
        (tokens, most_input, most_output) in (0_u64..5_000, 0_u64..10_000, 0_u64..10_000),
        (input, cached, written, output) in (0_u64..10_000, 0_u64..10_000, 0_u64..10_000, 0_u64..10_000),
    ) {
        let [input_price, cached_price, written_price, output_price, rest @ ..] = prices.map(|price| price.map(TokenPrice));
        let [long_input, long_cached, long_written, long_output] = rest;
        let long = LongPrices { tokens, input: long_input, cached: long_cached, cache_write: long_written, output: long_output };
        let prices = TokenPrices {
            input: input_price,
            cached: cached_price,
            cache_write: written_price,
            output: output_price,
            above: vec![long],
            source: None,
        };
        let usage = Usage {
            input_tokens: Some(input.min(most_input)),
            cached_tokens: Some(cached),
            cache_write_tokens: Some(written),
            output_tokens: Some(output.min(most_output)),
            ..Usage::default()
        };
        if let (Some(bound), Some(cost)) = (prices.bound_cost(most_input, most_output), prices.cost(&usage)) {
            prop_assert!(cost <= bound, "{cost} > {bound}");
        }
    }
}

#[test]
fn a_stated_cost_is_a_plain_number_and_counts_without_prices_alone() {
    let cases = [
        (0.00099, "0.00099"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e-13, "0"),
        (1e300, "1000"),
        (-0.01, "-"),
        (f64::NAN, "-"),
        (f64::INFINITY, "-"),
    ];
    for (number, cost) in cases {
        let read = ExactCost::from_stated(number).map_or_else(|| "-".to_owned(), |cost| cost.to_string());
        assert_eq!(read, cost, "{number}");
    }
    let priced = |input: &str| TokenPrices {
        input: input.parse().ok(),
        output: input.parse().ok(),
        ..TokenPrices::default()
    };
    let stated = |input, output| Usage {
        stated_cost: "0.5".parse().ok(),
        ..usage(input, None, output)
    };
    let cases = [
        (TokenPrices::default(), stated(None, None), Some("0.5")),
        (TokenPrices::default(), stated(Some(3), Some(1)), Some("0.5")),
        (TokenPrices::default(), usage(Some(3), None, Some(1)), None),
        (priced("2"), stated(Some(1_000_000), Some(0)), Some("2")),
        (priced("0"), stated(Some(1_000_000), Some(0)), Some("0")),
        // What was reserved stays, although the server says that the call was cheap.
        (priced("2"), stated(Some(1_000_000), None), None),
    ];
    for (prices, usage, cost) in cases {
        let found = prices.cost(&usage).map(|cost| cost.to_string());
        assert_eq!(found.as_deref(), cost, "{prices:?} {usage:?}");
    }
}

fn usage(input: Option<u64>, cached: Option<u64>, output: Option<u64>) -> Usage {
    Usage {
        input_tokens: input,
        cached_tokens: cached,
        cache_write_tokens: None,
        output_tokens: output,
        reasoning_tokens: None,
        stated_cost: None,
    }
}

fn prices(input: &str, cached: &str, output: &str) -> TokenPrices {
    TokenPrices {
        input: input.parse().ok(),
        cached: cached.parse().ok(),
        output: output.parse().ok(),
        ..TokenPrices::default()
    }
}

#[test]
fn a_cost_is_exact_and_unknown_stays_unknown() {
    let full = prices("3", "0.3", "15");
    let cases = [
        (&full, usage(Some(1000), None, Some(200)), Some("0.006")),
        (&full, usage(Some(1000), Some(900), Some(200)), Some("0.00357")),
        (
            &prices("3", "", "15"),
            usage(Some(1000), Some(900), Some(200)),
            Some("0.006"),
        ),
        (
            &prices("0.15", "", "0.6"),
            usage(Some(7), None, Some(1)),
            Some("0.00000165"),
        ),
        (
            &prices("0.000001", "", "0"),
            usage(Some(1), None, Some(1)),
            Some("0.000000000001"),
        ),
        (&prices("0", "", "0"), usage(Some(7), None, Some(1)), Some("0")),
        (&full, usage(None, None, Some(200)), None),
        (&full, usage(Some(1000), None, None), None),
        (&prices("", "", "15"), usage(Some(1000), None, Some(200)), None),
        (&prices("3", "", ""), usage(Some(1000), None, Some(200)), None),
        (&prices("", "", ""), usage(Some(0), None, Some(0)), Some("0")),
        (&full, usage(Some(u64::MAX), None, Some(1)), None),
    ];
    for (price, usage, cost) in cases {
        let found = price.cost(&usage).map(|cost| cost.to_string());
        assert_eq!(found.as_deref(), cost, "{price:?} {usage:?}");
    }
}

// LB-02: a price of what is written to a cache.
#[test]
fn tokens_written_to_a_cache_have_a_price_of_their_own() {
    let mut full = prices("3", "0.3", "15");
    let written = |count| Usage {
        cache_write_tokens: Some(count),
        ..usage(Some(1000), Some(200), Some(100))
    };
    let cost = |prices: &TokenPrices, count| prices.cost(&written(count)).map(|cost| cost.to_string());
    // Without a price of its own, it is a part of the prompt like any other.
    assert_eq!(cost(&full, 500).as_deref(), Some("0.00396"));
    full.cache_write = "3.75".parse().ok();
    assert_eq!(cost(&full, 500).as_deref(), Some("0.004335"));
    assert_eq!(cost(&full, 0).as_deref(), Some("0.00396"));
    // A server that counts more than the prompt has cannot make it cost more than the prompt.
    assert_eq!(cost(&full, 5000), cost(&full, 800));
    let above = LongPrices {
        tokens: 999,
        input: "6".parse().ok(),
        cached: None,
        cache_write: "7.5".parse().ok(),
        output: None,
    };
    full.above = vec![above];
    assert_eq!(cost(&full, 500).as_deref(), Some("0.00711"));
}

#[test]
fn prices_of_which_a_cost_is_made_are_known() {
    let cached = prices("", "0.5", "");
    assert!(cached.cost(&usage(Some(100), Some(100), Some(0))).is_some());
    assert!(!cached.is_unknown() && !prices("", "", "2").is_unknown());
    assert!(prices("", "", "").is_unknown());
}

#[test]
fn a_long_prompt_has_its_own_prices() {
    let mut prices = prices("1.25", "0.125", "10");
    prices.above = vec![LongPrices {
        tokens: 200_000,
        input: "2.5".parse().ok(),
        cached: None,
        cache_write: None,
        output: "15".parse().ok(),
    }];
    let cases = [
        (usage(Some(200_000), None, Some(0)), "0.25"),
        (usage(Some(200_001), None, Some(0)), "0.5000025"),
        (usage(Some(200_001), Some(200_001), Some(1)), "0.025015125"),
    ];
    for (usage, cost) in cases {
        assert_eq!(
            prices.cost(&usage).map(|cost| cost.to_string()).as_deref(),
            Some(cost)
        );
    }
}

#[test]
fn decimal_numbers_are_read_and_written_exactly() {
    for text in ["0", "3", "0.075", "0.000001", "18446744073709.551615"] {
        assert_eq!(text.parse::<TokenPrice>().unwrap().to_string(), text);
    }
    for wrong in [
        "",
        ".5",
        "-1",
        "1e3",
        "0.0000001",
        "+1",
        "1_0",
        "NaN",
        "18446744073710",
        " 1",
    ] {
        assert_eq!(
            wrong.parse::<TokenPrice>(),
            Err(WrongDecimal(wrong.to_owned())),
            "{wrong}"
        );
    }
    assert_eq!("2.50".parse::<TokenPrice>().unwrap().to_string(), "2.5");
    let from_profile = |number| TokenPrice::from_number(number).map(|price| price.to_string());
    assert_eq!(from_profile(0.075).as_deref(), Some("0.075"));
    assert_eq!(from_profile(-0.5), None);
    assert_eq!(from_profile(f64::INFINITY), None);
}

#[test]
fn a_cost_rounds_to_the_nearest_millionth() {
    let micro = |text: &str| text.parse::<ExactCost>().unwrap().micro_dollars();
    assert_eq!(
        [micro("0.0000014"), micro("0.0000015"), micro("3")],
        [1, 2, 3_000_000]
    );
}

#[test]
fn dollars_are_readable() {
    let cases = [
        (0, "$0"),
        (99, "less than $0.0001"),
        (12_345, "$0.0123"),
        (3_000_000, "$3.0000"),
    ];
    for (micro, text) in cases {
        assert_eq!(format_dollars(micro), text);
    }
}

#[test]
fn a_cost_of_a_gateway_is_read_with_care() {
    let cases = [
        (json!({ "cost": 0.00099 }), "0.00099"),
        (json!({ "cost": 0 }), "0"),
        (json!({ "cost": -1 }), "-"),
        (json!({ "cost": "0.5" }), "-"),
        (json!({ "cost": null }), "-"),
        (json!({ "cost": 1e200 }), "1000"),
        (json!({}), "-"),
        (
            json!({ "cost": 0.01, "is_byok": false, "cost_details": { "upstream_inference_cost": 0.2 } }),
            "0.01",
        ),
        (
            json!({ "cost": 0.01, "is_byok": true, "cost_details": { "upstream_inference_cost": 0.2 } }),
            "0.21",
        ),
        // The vendor's bill is not known, so the sum is not either.
        (json!({ "cost": 0.01, "is_byok": true }), "-"),
    ];
    for (usage, expected) in cases {
        let cost = ExactCost::read_stated(&usage).map_or_else(|| "-".to_owned(), |cost| cost.to_string());
        assert_eq!(cost, expected, "{usage}");
    }
}
