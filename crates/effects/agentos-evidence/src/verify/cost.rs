//! The cost of a call, computed again from its token counts and prices.
//!
//! Owns: the comparison. Never: knows where the prices come from.

use agentos_tool::{ExactCost, TokenPrices, Usage};
use serde::Deserialize;
use serde_json::Value;

use crate::RecordKind;

/// The part of a call's result of which its cost consists. Records of earlier versions have no prices.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CostParts {
    usage: Option<Usage>,
    price: Option<TokenPrices>,
    cost_usd: Option<ExactCost>,
    cost_micro_usd: Option<u64>,
}

/// Describes why a cost of a record is not that of its tokens and prices. `None` if every cost is, or none is recorded.
pub(super) fn find_wrong_cost(kind: RecordKind, body: &Value) -> Option<String> {
    match kind {
        RecordKind::ToolResult => find_wrong_part(body.get("result")?, Rounded::Stated),
        RecordKind::Turn => {
            let mut calls = body.get("calls")?.as_array()?.iter();
            calls.find_map(|call| find_wrong_part(call, Rounded::LeftOut))
        }
        // Of these, only a compression calls a model.
        RecordKind::Session => find_wrong_part(body.get("call")?, Rounded::LeftOut),
        RecordKind::Task
        | RecordKind::Attempt
        | RecordKind::Answer
        | RecordKind::Boundary
        | RecordKind::Landing
        | RecordKind::Check
        | RecordKind::Decision
        | RecordKind::Consent
        | RecordKind::Intent
        | RecordKind::Receipt
        | RecordKind::Refusal
        | RecordKind::Undo
        | RecordKind::Recovered
        | RecordKind::Checkpoint
        | RecordKind::Removed => None,
    }
}

/// Returns whether records of this kind may state a cost.
pub(super) fn states_cost(kind: RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::ToolResult | RecordKind::Turn | RecordKind::Session
    )
}

/// Rounded cost, which calls of some records state as well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounded {
    Stated,
    LeftOut,
}

/// Describes why the cost of one call is wrong. `None` if it is right.
fn find_wrong_part(result: &Value, rounded: Rounded) -> Option<String> {
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
    let micro = cost.map(ExactCost::micro_dollars);
    if cost == parts.cost_usd && (rounded == Rounded::LeftOut || micro == parts.cost_micro_usd) {
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
    fn a_cost_that_the_server_stated_counts_without_prices() {
        let call = |usage: Value, price: Value, cost: &str| json!({ "usage": usage, "price": price, "cost_usd": cost });
        let cases = [
            (json!({ "stated_cost_usd": "0.5" }), json!(null), "0.5", false),
            (json!({ "stated_cost_usd": "0.5" }), json!(null), "0.4", true),
            (json!({ "stated_cost_usd": "9000" }), json!(null), "1000", false),
            (json!({ "stated_cost_usd": "-1" }), json!(null), "0", true),
            (json!({ "stated_cost_usd": 0.5 }), json!(null), "0.5", true),
            (
                json!({ "stated_cost_usd": "0", "input_tokens": 1_000_000, "output_tokens": 0 }),
                json!({ "input": "2" }),
                "0",
                true,
            ),
        ];
        for (usage, price, cost, is_wrong) in cases {
            let result = call(usage.clone(), price, cost);
            let found = find_wrong_cost(RecordKind::Turn, &json!({ "calls": [result] }));
            assert_eq!(found.is_some(), is_wrong, "{usage} {cost}");
        }
    }

    #[test]
    fn a_cost_must_be_that_of_its_tokens_and_prices() {
        let right = json!({
            "usage": { "input_tokens": 1000, "cached_tokens": 900, "output_tokens": 200 },
            "price": { "input": "3", "cached": "0.3", "output": "15", "source": "profile" },
            "cost_usd": "0.00357",
            "cost_micro_usd": 3570,
        });
        let judge = |result: &Value| {
            let call = find_wrong_cost(RecordKind::ToolResult, &json!({ "result": result }));
            let turn = find_wrong_cost(RecordKind::Turn, &json!({ "calls": [right.clone(), result] }));
            let session = find_wrong_cost(RecordKind::Session, &json!({ "call": result }));
            assert_eq!(turn, session);
            (call.is_some(), turn.is_some())
        };
        assert_eq!(judge(&right), (false, false));
        assert_eq!(judge(&json!({ "cost_micro_usd": 7 })), (false, false));
        assert_eq!(find_wrong_cost(RecordKind::Turn, &json!({})), None);
        let changes = [
            ("/usage/input_tokens", json!(1001), true),
            ("/usage/output_tokens", json!("200"), true),
            ("/price/output", json!("15.000001"), true),
            ("/usage/cached_tokens", json!(899), true),
            ("/price/cached", json!(null), true),
            ("/price", json!(null), true),
            ("/cost_usd", json!("0.0035700001"), true),
            ("/cost_usd", json!(null), true),
            // A call of a turn has the exact cost alone.
            ("/cost_micro_usd", json!(3571), false),
        ];
        for (place, value, in_turn) in changes {
            let mut result = right.clone();
            *result.pointer_mut(place).unwrap() = value;
            assert_eq!(judge(&result), (true, in_turn), "{place}");
        }
    }
}
