//! Prices of tokens and what a call cost, exactly.
//!
//! Owns: the arithmetic. Never: knows a price.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::Usage;

/// Digits after the point of a price in US dollars per million tokens. No published price has more.
const PRICE_DIGITS: usize = 6;
/// Digits after the point of a cost in US dollars: a price per token has six more than one per million tokens.
const COST_DIGITS: usize = 12;

/// Error for a text that is no price or cost: not a decimal number of 0 or more, or with too many digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a decimal number of 0 or more with few enough digits")]
pub struct WrongDecimal(String);

/// Price in US dollars per million tokens, as an exact number of millionths of it.
///
/// In JSON and text it is a decimal number, such as `"0.075"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenPrice(u64);

impl TokenPrice {
    /// Makes a price from a number of a profile, rounded to six digits after the point. `None` if it is negative, infinite or
    /// too large.
    #[must_use]
    pub fn from_number(dollars: f64) -> Option<Self> {
        // Through text, because a float such as 0.075 is not the decimal number that the user wrote.
        format!("{dollars:.PRICE_DIGITS$}").parse().ok()
    }

    /// Returns the cost of so many tokens. `None` if it is too large to count.
    fn of(self, tokens: u64) -> Option<u64> {
        self.0.checked_mul(tokens)
    }
}

/// Cost in US dollars, exact. In JSON and text it is a decimal number, such as `"0.0000123"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExactCost(u64);

impl ExactCost {
    /// Largest cost of one call that is recorded. A server that claims more is not believed.
    pub const MOST_OF_A_CALL: Self = Self(1_000 * 10_u64.pow(COST_DIGITS as u32));

    /// Makes a cost from a number of a server, rounded to twelve digits after the point and capped. `None` if it is negative or no
    /// finite number.
    #[must_use]
    pub fn from_stated(dollars: f64) -> Option<Self> {
        let is_cost = dollars.is_finite() && dollars >= 0.0;
        let most = 1_000.0;
        // Through text, as with the prices of a profile. `+ 0.0` makes `-0.0` a plain zero.
        let text = is_cost.then(|| format!("{:.COST_DIGITS$}", dollars.min(most) + 0.0))?;
        text.parse().ok()
    }

    /// Reads the cost that OpenRouter and LiteLLM state in US dollars in the counts of an answer. With the user's own key at the vendor,
    /// OpenRouter states its fee alone, and the vendor's bill next to it. `None` if they state none, or a part of it.
    #[must_use]
    pub fn read_stated(usage: &Value) -> Option<Self> {
        let stated = |pointer| usage.pointer(pointer)?.as_f64().and_then(Self::from_stated);
        let cost = stated("/cost")?;
        let at_vendor = match usage.get("is_byok").and_then(Value::as_bool) {
            Some(true) => stated("/cost_details/upstream_inference_cost")?,
            Some(false) | None => Self::default(),
        };
        cost.checked_add(at_vendor).map(Self::cap)
    }

    /// Returns the cost, at most the one that a call is taken to have.
    #[must_use]
    pub fn cap(self) -> Self {
        self.min(Self::MOST_OF_A_CALL)
    }

    /// Returns the cost in millionths of a US dollar, rounded to the nearest.
    #[must_use]
    pub fn micro_dollars(self) -> u64 {
        const PICO: u64 = 1_000_000;
        self.0 / PICO + u64::from(self.0 % PICO >= PICO / 2)
    }

    /// Returns the cost in millionths of a millionth of a US dollar, its unit.
    #[must_use]
    pub fn pico_dollars(self) -> u64 {
        self.0
    }

    /// Makes a cost from millionths of a millionth of a US dollar.
    #[must_use]
    pub const fn from_pico_dollars(pico: u64) -> Self {
        Self(pico)
    }

    /// Adds two costs. `None` if the sum is too large to count.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }
}

/// Implements text and JSON as a decimal string: a JSON number would be read as a float, which is not exact.
macro_rules! decimal_number {
    ($name:ident, $digits:ident, $title:literal, $meaning:literal) => {
        impl FromStr for $name {
            type Err = WrongDecimal;

            fn from_str(text: &str) -> Result<Self, WrongDecimal> {
                parse_decimal(text, $digits).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&format_decimal(self.0, $digits))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $title.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "description": $meaning, "type": "string", "pattern": r"^(0|[1-9]\d*)(\.\d*[1-9])?$" })
            }
        }
    };
}

decimal_number!(
    TokenPrice,
    PRICE_DIGITS,
    "TokenPrice",
    "US dollars per million tokens, as a decimal number."
);
decimal_number!(
    ExactCost,
    COST_DIGITS,
    "ExactCost",
    "US dollars, as an exact decimal number."
);

/// Parses a decimal number into an integer with so many digits after the point.
fn parse_decimal(text: &str, digits: usize) -> Result<u64, WrongDecimal> {
    let wrong = || WrongDecimal(text.chars().take(40).collect());
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let part = part.trim_end_matches('0');
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > digits || !is_number(whole) || !is_number(part) {
        return Err(wrong());
    }
    format!("{whole}{part:0<digits$}").parse().map_err(|_| wrong())
}

/// Formats an integer with so many digits after the point as a decimal number without zeros at its end.
fn format_decimal(value: u64, digits: usize) -> String {
    let text = format!("{value:0>width$}", width = digits + 1);
    let (whole, part) = text.split_at_checked(text.len() - digits).unwrap_or((&text, ""));
    match part.trim_end_matches('0') {
        "" => whole.to_owned(),
        part => format!("{whole}.{part}"),
    }
}

/// Prices of a model in US dollars per million tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenPrices {
    /// Price of the prompt. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<TokenPrice>,
    /// Price of the part of the prompt that is read from a cache. `None` if it is the same as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<TokenPrice>,
    /// Price of the part of the prompt that is written to a cache. `None` if it is the same as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<TokenPrice>,
    /// Price of the answer, including reasoning. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<TokenPrice>,
    /// Other prices of a call whose prompt is longer, the shortest prompt first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<LongPrices>,
    /// Origin of the prices, such as `profile` or the row of a public table. `None` if nobody stated them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Prices of a call whose prompt has more than so many tokens. A price that is not stated here stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LongPrices {
    /// The prompt is longer than this number of tokens.
    pub tokens: u64,
    /// Price of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<TokenPrice>,
    /// Price of the part of the prompt that is read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<TokenPrice>,
    /// Price of the part of the prompt that is written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<TokenPrice>,
    /// Price of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<TokenPrice>,
}

impl TokenPrices {
    /// Returns true if no price is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        // The price of a cached prompt alone is enough for a call that used nothing else.
        [self.input, self.cached, self.cache_write, self.output]
            .iter()
            .all(Option::is_none)
            && self.above.is_empty()
    }

    /// Returns the exact cost of these tokens. If no price is known at all, it is the one that the server states. `None` if nobody
    /// states any, or a required count or price is not known.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Option<ExactCost> {
        // With a price, the word of a server must not replace a count that is missing: what was reserved would shrink to it.
        match self.is_unknown() {
            true => usage.stated_cost.or_else(|| self.count_cost(usage)),
            false => self.count_cost(usage),
        }
    }

    fn count_cost(&self, usage: &Usage) -> Option<ExactCost> {
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        // Providers without a cache do not report the count, so a missing count of cached tokens means 0.
        let cached = usage.cached_tokens.unwrap_or(0).min(input);
        // What was read from a cache was not written to it, so the two counts are parts of the prompt that do not overlap.
        let written = usage.cache_write_tokens.unwrap_or(0).min(input - cached);
        let [for_input, for_cached, for_written, for_output] = self.prices_for(input);
        // A price is needed only for tokens that were used.
        let of = |tokens: u64, price: Option<TokenPrice>| match tokens {
            0 => Some(0),
            _ => price?.of(tokens),
        };
        let sum = of(input - cached - written, for_input)?
            .checked_add(of(cached, for_cached.or(for_input))?)?
            .checked_add(of(written, for_written.or(for_input))?)?
            .checked_add(of(output, for_output)?)?;
        Some(ExactCost(sum))
    }

    /// Returns the most that a call can cost whose prompt and answer have at most so many tokens. `None` if a required price is not
    /// known, or the cost is too large to count.
    #[must_use]
    pub fn bound_cost(&self, input_tokens: u64, output_tokens: u64) -> Option<ExactCost> {
        // A shorter prompt may have another price, and nobody knows which part of it a cache will have.
        let lengths = self
            .above
            .iter()
            .map(|long| long.tokens)
            .filter(|tokens| *tokens < input_tokens);
        let tiers = lengths
            .map(|tokens| tokens.saturating_add(1))
            .chain([0, input_tokens]);
        let mut most = [None::<TokenPrice>; 2];
        for length in tiers {
            let [input, cached, written, output] = self.prices_for(length);
            let [most_input, most_output] = &mut most;
            *most_input = [*most_input, input, cached, written].into_iter().flatten().max();
            *most_output = [*most_output, output].into_iter().flatten().max();
        }
        let [input, output] = most;
        // The price of a cached prompt alone says nothing about a prompt that is not.
        let input =
            input.filter(|_| self.input.is_some() || self.above.iter().any(|long| long.input.is_some()));
        let of = |tokens: u64, price: Option<TokenPrice>| match tokens {
            0 => Some(0),
            _ => price?.of(tokens),
        };
        let sum = of(input_tokens, input)?.checked_add(of(output_tokens, output)?)?;
        Some(ExactCost(sum))
    }

    /// Returns the prices of a prompt of this length: of new tokens, of those read from and written to a cache, and of the answer.
    fn prices_for(&self, input: u64) -> [Option<TokenPrice>; 4] {
        let usual = [self.input, self.cached, self.cache_write, self.output];
        let reached = self.above.iter().filter(|long| input > long.tokens);
        reached.fold(usual, |[input, cached, written, output], long| {
            [
                long.input.or(input),
                long.cached.or(cached),
                long.cache_write.or(written),
                long.output.or(output),
            ]
        })
    }
}

/// Formats a cost for people, as in `$0.0123`. A cost that would round to zero is written as a bound instead.
#[must_use]
pub fn format_dollars(micro: u64) -> String {
    // `$0.0000` would read as a small amount.
    if micro == 0 {
        return "$0".to_owned();
    }
    // `$0.0000` would also read as free, and these calls cost something.
    if micro < 100 {
        return "less than $0.0001".to_owned();
    }
    let (whole, part) = (micro / 1_000_000, micro % 1_000_000 / 100);
    format!("${whole}.{part:04}")
}

#[cfg(test)]
mod tests;
