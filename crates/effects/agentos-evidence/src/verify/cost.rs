//! The cost of a call, computed again from its token counts and prices.
//!
//! Owns: the comparison. Never: knows where the prices come from.

use agentos_tool::{ExactCost, TokenPrices, Usage};
use serde::Deserialize;
use serde_json::Value;

/// The part of a call's result of which its cost consists. Records of earlier versions have no prices.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CostParts {
    usage: Option<Usage>,
    price: Option<TokenPrices>,
    cost_usd: Option<ExactCost>,
    cost_micro_usd: Option<u64>,
}

/// Describes why a recorded cost is not that of the recorded tokens and prices. `None` if it is, or if none is recorded.
pub(super) fn find_wrong_cost(body: &Value) -> Option<String> {
    let result = body.get("result")?;
    if result.get("price").is_none() && result.get("cost_usd").is_none() {
        return None;
    }
    // Serde reads a list as a structure as well, and no record was ever written so.
    let is_sound = |value: Option<&Value>| value.is_none_or(|value| value.is_object() || value.is_null());
    let above = result.pointer("/price/above").and_then(Value::as_array);
    let is_sound = is_sound(result.get("price"))
        && is_sound(result.get("usage"))
        && above.is_none_or(|above| above.iter().all(Value::is_object));
    let parts = CostParts::deserialize(result).ok().filter(|_| is_sound);
    let Some(parts) = parts else {
        return Some("the recorded cost, prices or token counts cannot be read".to_owned());
    };
    let price = parts.price.unwrap_or_default();
    let cost = parts.usage.and_then(|usage| price.cost(&usage));
    if cost == parts.cost_usd && cost.map(ExactCost::micro_dollars) == parts.cost_micro_usd {
        return None;
    }
    let name = |cost: Option<ExactCost>| cost.map_or_else(|| "unknown".to_owned(), |cost| format!("${cost}"));
    Some(format!(
        "the recorded cost is {}, and that of the recorded tokens and prices is {}",
        name(parts.cost_usd),
        name(cost)
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cost_must_be_that_of_its_tokens_and_prices() {
        let right = json!({
            "usage": { "input_tokens": 1000, "cached_tokens": 900, "output_tokens": 200 },
            "price": { "input": "3", "cached": "0.3", "output": "15", "source": "profile" },
            "cost_usd": "0.00357",
            "cost_micro_usd": 3570,
        });
        assert_eq!(find_wrong_cost(&json!({ "result": right })), None);
        assert_eq!(
            find_wrong_cost(&json!({ "result": { "cost_micro_usd": 7 } })),
            None
        );
        assert_eq!(find_wrong_cost(&json!({})), None);
        let changes = [
            ("/usage/input_tokens", json!(1001)),
            ("/usage/output_tokens", json!("200")),
            ("/price/output", json!("15.000001")),
            ("/price/cached", json!(null)),
            ("/price", json!(null)),
            ("/cost_usd", json!("0.0035700001")),
            ("/cost_usd", json!(null)),
            ("/cost_micro_usd", json!(3571)),
        ];
        for (place, value) in changes {
            let mut result = right.clone();
            *result.pointer_mut(place).unwrap() = value;
            assert!(find_wrong_cost(&json!({ "result": result })).is_some(), "{place}");
        }
    }
}
