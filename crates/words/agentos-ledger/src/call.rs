//! One call of a model, with its tokens and cost.
//!
//! Owns: the shape, and the sum of several costs. Never: knows a price.

use agentos_tool::{Endpoint, ExactCost, FinishReason, TokenPrices, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Call of a model within a turn. A turn has several if tools were called or an answer was asked again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// Name of the provider.
    pub provider: String,
    /// Model that was requested. `None` if the server chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Model that answered, as the answer names it. `None` if it names none, or there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// Address of the server that answered. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Token counts. `None` if the server reported none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The prices from which the cost is computed. `None` if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrices>,
    /// Cost of the tokens in US dollars, exact. `None` if a count or a price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<ExactCost>,
    /// Time from the request to the last byte, in milliseconds.
    pub latency_ms: u64,
    /// Reason why the model stopped. `None` if there is no whole answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// Code of the failure. `None` if there is a whole answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Id of the reservation for the call, if budgets are set. `None` if nothing was reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
}

impl CallRecord {
    /// Returns the name by which statistics know the model: the one that answered, else the requested one, else `unknown`.
    #[must_use]
    pub fn answering_model(&self) -> &str {
        self.model_id
            .as_deref()
            .or(self.model.as_deref())
            .unwrap_or("unknown")
    }
}

/// Adds the costs of calls. `None` if a cost is not known, or the sum is too large to count.
#[must_use]
pub fn sum_costs<'a>(calls: impl IntoIterator<Item = &'a CallRecord>) -> Option<ExactCost> {
    // A sum without its unknown parts would look like a small bill.
    calls
        .into_iter()
        .try_fold(ExactCost::default(), |sum, call| sum.checked_add(call.cost_usd?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_unknown_if_one_cost_is() {
        let call = |cost: Option<&str>| CallRecord {
            cost_usd: cost.map(|cost| cost.parse().unwrap()),
            ..CallRecord::default()
        };
        let cases = [
            (vec![], Some("0")),
            (vec![call(Some("0.1")), call(Some("0.000002"))], Some("0.100002")),
            (vec![call(Some("0.1")), call(None)], None),
            (vec![call(Some("18000000")), call(Some("18000000"))], None),
        ];
        for (calls, sum) in cases {
            assert_eq!(sum_costs(&calls).map(|cost| cost.to_string()).as_deref(), sum);
        }
    }
}
