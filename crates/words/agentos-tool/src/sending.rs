//! The permission that an adapter needs before each sending of a request to a model.
//!
//! Owns: the size of a sending, as the most tokens that its server can bill, and the gate that is asked. Never: knows a price or a budget.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::adapter::BoxFuture;
use crate::{ExactCost, ToolError, Usage};

/// Most tokens of one call that are counted. Sums of larger counts would not fit into a record, whose numbers end at 2^53 - 1.
pub const MOST_TOKENS: u64 = 1 << 40;

/// Most tokens that a server can bill for one sending of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendingSize {
    /// Most tokens of the request without its images: a token has at least one byte, so these are the bytes of the body.
    pub text_tokens: u64,
    /// Most tokens of the images.
    pub image_tokens: u64,
    /// Limit on the tokens of the answer that the body states. `None` if it states no limit.
    pub output_tokens: Option<u64>,
}

impl SendingSize {
    /// Returns the most tokens of the request. `window` is the model's context window, if a source states it that the server does not
    /// control: a longer text is refused. Images may be billed with more tokens than they have in the window.
    #[must_use]
    pub fn bound_input(&self, window: Option<u64>) -> u64 {
        let text = window.map_or(self.text_tokens, |window| window.min(self.text_tokens));
        text.saturating_add(self.image_tokens).min(MOST_TOKENS)
    }

    /// Limits the counts of a server to what is possible for this sending. Returns true if a count was larger.
    #[must_use]
    pub fn cap_usage(&self, usage: Usage) -> (Usage, bool) {
        let input = self.bound_input(None);
        let output = self.output_tokens.unwrap_or(MOST_TOKENS).min(MOST_TOKENS);
        let capped = Usage {
            input_tokens: usage.input_tokens.map(|count| count.min(input)),
            cached_tokens: usage.cached_tokens.map(|count| count.min(input)),
            cache_write_tokens: usage.cache_write_tokens.map(|count| count.min(input)),
            output_tokens: usage.output_tokens.map(|count| count.min(output)),
            reasoning_tokens: usage.reasoning_tokens.map(|count| count.min(output)),
            stated_cost: usage.stated_cost.map(ExactCost::cap),
        };
        (capped, capped != usage)
    }
}

/// Gate that an adapter asks before each sending of a request, and not only before the first one: a server may bill each of them.
pub trait SendGate: Send + Sync {
    /// Permits one sending. The request must not leave before the permission.
    ///
    /// # Errors
    /// If the request must not be sent.
    fn permit(&self, size: SendingSize) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Notes that the permitted sending failed, and that the request may be sent again. `failure` is the code of the failure, and
    /// `has_begun` is true if a part of an answer arrived.
    fn note_failure(&self, failure: &str, has_begun: bool);
}

/// Gate that permits everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct FreeGate;

impl FreeGate {
    /// Returns the gate as a shared trait object.
    #[must_use]
    pub fn share() -> Arc<dyn SendGate> {
        Arc::new(Self)
    }
}

impl SendGate for FreeGate {
    fn permit(&self, _size: SendingSize) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    fn note_failure(&self, _failure: &str, _has_begun: bool) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_bounds_the_text_and_no_image() {
        let size = SendingSize {
            text_tokens: 1_000,
            image_tokens: 500,
            output_tokens: None,
        };
        let cases = [(None, 1_500), (Some(200), 700), (Some(5_000), 1_500)];
        for (window, tokens) in cases {
            assert_eq!(size.bound_input(window), tokens, "{window:?}");
        }
        let endless = SendingSize {
            text_tokens: u64::MAX,
            image_tokens: u64::MAX,
            output_tokens: None,
        };
        assert_eq!(endless.bound_input(None), MOST_TOKENS);
    }

    #[test]
    fn a_count_beyond_what_was_sent_is_capped() {
        let usage = |input, output| Usage {
            input_tokens: input,
            output_tokens: output,
            ..Usage::default()
        };
        let size = |output_tokens| SendingSize {
            text_tokens: 60,
            image_tokens: 40,
            output_tokens,
        };
        // (limit of the answer, counts of the server, recorded counts, too large)
        let cases = [
            (
                Some(10),
                usage(Some(100), Some(10)),
                usage(Some(100), Some(10)),
                false,
            ),
            (Some(10), usage(Some(1), None), usage(Some(1), None), false),
            (
                Some(10),
                usage(Some(101), Some(3)),
                usage(Some(100), Some(3)),
                true,
            ),
            (
                Some(10),
                usage(Some(u64::MAX), Some(u64::MAX)),
                usage(Some(100), Some(10)),
                true,
            ),
            (
                None,
                usage(None, Some(5_000_000)),
                usage(None, Some(5_000_000)),
                false,
            ),
            (
                None,
                usage(None, Some(1 << 53)),
                usage(None, Some(MOST_TOKENS)),
                true,
            ),
        ];
        for (limit, reported, recorded, is_larger) in cases {
            assert_eq!(
                size(limit).cap_usage(reported),
                (recorded, is_larger),
                "{reported:?}"
            );
        }
    }

    #[test]
    fn a_count_that_no_record_takes_is_capped_where_it_is_read() {
        let read = |text: &str| serde_json::from_str::<Usage>(text).unwrap();
        assert_eq!(read("{}"), Usage::default());
        let usage = read(r#"{"input_tokens": 9007199254740993, "output_tokens": 3, "cached_tokens": null}"#);
        assert_eq!(
            (usage.input_tokens, usage.output_tokens),
            (Some(MOST_TOKENS), Some(3))
        );
    }
}
