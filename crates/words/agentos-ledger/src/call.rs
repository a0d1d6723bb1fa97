//! One call of a model, with its tokens and cost.
//!
//! Owns: the shape, the sum of several costs, and which failures certainly cost nothing. Never: knows a price.

use agentos_tool::{Endpoint, ExactCost, FinishReason, TokenPrices, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Codes of failures before the request left.
const NOT_SENT: [&str; 11] = [
    "missing-url",
    "bad-url",
    "missing-model",
    "missing-key",
    "bad-key",
    "setup",
    "dns",
    "refused",
    "connect-timeout",
    "tls",
    "tls-certificate",
];

/// Codes of failures with which a server refuses a request in place of an answer: a status of 400 to 499, 429 among them, or a server that
/// says that it has not begun. Vendors bill none of them.
///
/// Every other failure keeps what was reserved for its call until the budget's period ends. A connection that is lost, a timeout and a
/// status of 500 or more say nothing about what the server did before, and vendors count answers that nobody received.
const REFUSED: [&str; 13] = [
    "key-required",
    "unauthorized",
    "forbidden",
    "proxy-auth",
    "unknown-model",
    "not-loaded",
    "no-models",
    "wrong-path",
    "quota",
    "rate-limited",
    "context-length",
    "rejected",
    "loading",
];

/// Returns whether a call may have cost something. `failure` is the code of its failure, `None` if there is a whole answer. `has_begun` is
/// true if a part of an answer arrived.
#[must_use]
pub fn may_have_cost(failure: Option<&str>, has_begun: bool) -> bool {
    has_begun || failure.is_none_or(|code| !NOT_SENT.contains(&code) && !REFUSED.contains(&code))
}

/// Returns whether the request of a call may have reached the server. `failure` is the code of its failure, `None` if there is a whole
/// answer.
#[must_use]
pub fn may_have_arrived(failure: Option<&str>) -> bool {
    failure.is_none_or(|code| !NOT_SENT.contains(&code))
}

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

    #[test]
    fn only_a_call_that_certainly_gave_nothing_costs_nothing() {
        assert!(!may_have_arrived(Some("refused")) && may_have_arrived(Some("rate-limited")));
        // (failure, a part arrived, may cost something)
        let cases = [
            (None, false, true),
            (Some("refused"), false, false),
            (Some("connect-timeout"), false, false),
            (Some("unauthorized"), false, false),
            (Some("rate-limited"), false, false),
            (Some("context-length"), false, false),
            // A gateway refuses the key of the server behind it in the middle of a stream.
            (Some("unauthorized"), true, true),
            (Some("server-error"), false, true),
            (Some("overloaded"), false, true),
            (Some("closed"), false, true),
            (Some("read-timeout"), false, true),
            (Some("timeout"), false, true),
            (Some("broken-stream"), true, true),
            (Some("endless-answer"), false, true),
            (Some("cancelled"), false, true),
            (Some("a code of a later version"), false, true),
        ];
        for (failure, has_begun, expected) in cases {
            assert_eq!(
                may_have_cost(failure, has_begun),
                expected,
                "{failure:?} {has_begun}"
            );
        }
    }
}
