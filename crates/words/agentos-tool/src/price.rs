//! Cost of a call.
//!
//! Owns: the calculation. Never: treats an unknown count or price as zero.

use crate::Usage;

/// Prices in US dollars per million tokens, which is the same number as millionths of a dollar per token.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TokenPrices {
    /// Price of the prompt. `None` if it is not known.
    pub input: Option<f64>,
    /// Price of the part of the prompt that is read from a cache. `None` if it is the same as `input`.
    pub cached: Option<f64>,
    /// Price of the answer, including reasoning. `None` if it is not known.
    pub output: Option<f64>,
}

impl TokenPrices {
    /// Returns the cost of these tokens in millionths of a US dollar, rounded to the nearest. `None` if a required count or
    /// price is not known.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Option<u64> {
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        // Providers without a cache do not report the count, so a missing count of cached tokens means 0.
        let cached = usage.cached_tokens.unwrap_or(0).min(input);
        let of = |tokens: u64, price: Option<f64>| {
            if tokens == 0 {
                return Some(0.0);
            }
            // `f64::from` accepts `u32` but not `u64`. More than 4 billion tokens in one call is not a plausible count.
            Some(f64::from(u32::try_from(tokens).ok()?) * price?)
        };
        let sum = of(input - cached, self.input)?
            + of(cached, self.cached.or(self.input))?
            + of(output, self.output)?;
        // Prices come from a profile and may be negative, infinite or not a number. Below 1e15 a float still counts exactly.
        if !(0.0..1e15).contains(&sum) {
            return None;
        }
        // The conversion goes through text: `as u64` is not checked, and std has no checked conversion that rounds.
        format!("{sum:.0}").parse().ok()
    }
}

/// Formats a cost for people, as in `$0.0123`. A cost that would round to zero is written as a bound instead.
#[must_use]
pub fn format_dollars(micro: u64) -> String {
    // `$0.0000` would read as almost nothing.
    if micro == 0 {
        return "$0".to_owned();
    }
    // And here as free.
    if micro < 100 {
        return "less than $0.0001".to_owned();
    }
    let (whole, part) = (micro / 1_000_000, micro % 1_000_000 / 100);
    format!("${whole}.{part:04}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: Option<u64>, cached: Option<u64>, output: Option<u64>) -> Usage {
        Usage {
            input_tokens: input,
            cached_tokens: cached,
            output_tokens: output,
            reasoning_tokens: None,
        }
    }

    #[test]
    fn unknown_stays_unknown() {
        let price = |input, cached, output| TokenPrices {
            input,
            cached,
            output,
        };
        let full = price(Some(3.0), Some(0.3), Some(15.0));
        let cases = [
            (full, usage(Some(1000), None, Some(200)), Some(6000)),
            (full, usage(Some(1000), Some(900), Some(200)), Some(3570)),
            (
                price(Some(3.0), None, Some(15.0)),
                usage(Some(1000), Some(900), Some(200)),
                Some(6000),
            ),
            (
                price(Some(0.15), None, Some(0.6)),
                usage(Some(7), None, Some(1)),
                Some(2),
            ),
            (
                price(Some(0.0), None, Some(0.0)),
                usage(Some(7), None, Some(1)),
                Some(0),
            ),
            (full, usage(None, None, Some(200)), None),
            (full, usage(Some(1000), None, None), None),
            (
                price(None, None, Some(15.0)),
                usage(Some(1000), None, Some(200)),
                None,
            ),
            (
                price(Some(3.0), None, None),
                usage(Some(1000), None, Some(200)),
                None,
            ),
            (price(None, None, None), usage(Some(0), None, Some(0)), Some(0)),
            (full, usage(Some(u64::MAX), None, Some(1)), None),
        ];
        for (price, usage, cost) in cases {
            assert_eq!(price.cost(&usage), cost, "{price:?} {usage:?}");
        }
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
}
