//! Results of calls, as the model gets them.
//!
//! Owns: the limit on their text. Never: interprets it.

use agentos_context::estimate_tokens;
use agentos_model::{ToolCall, ToolResult};

use crate::ports::ToolAnswer;

/// Limit on the text of a result.
#[derive(Debug, Clone, Copy)]
pub struct TextLimit {
    /// Most bytes.
    pub bytes: usize,
    /// Most tokens, as estimated.
    pub tokens: u64,
}

/// Makes the result of a call.
pub(crate) fn make_result(call: &ToolCall, answer: ToolAnswer, limit: TextLimit) -> ToolResult {
    ToolResult {
        tool_use_id: call.id.clone(),
        text: limit_text(answer.text, limit),
        images: answer.images,
        is_error: answer.is_error,
    }
}

/// Cuts a text at a limit, at the end of a line if possible, and says so at its end.
#[must_use]
pub fn limit_text(text: String, limit: TextLimit) -> String {
    let mut bytes = limit.bytes.min(text.len());
    loop {
        let kept = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
        let tokens = estimate_tokens(kept);
        if tokens <= limit.tokens || kept.is_empty() {
            if kept.len() == text.len() {
                return text;
            }
            // A line that is cut in the middle looks like a whole one to a model.
            let kept = kept
                .rfind('\n')
                .and_then(|end| kept.get(..=end))
                .filter(|lines| lines.len() > kept.len() / 2)
                .unwrap_or(kept);
            return format!(
                "{kept}\n[cut off: the first {} of {} bytes are shown]",
                kept.len(),
                text.len()
            );
        }
        // Tokens are spread unevenly over a text, so the first guess may be too long. Each step is at least a sixteenth shorter.
        let guess = u64::try_from(kept.len())
            .unwrap_or(u64::MAX)
            .saturating_mul(limit.tokens)
            / tokens.max(1);
        bytes = usize::try_from(guess)
            .unwrap_or(usize::MAX)
            .min(kept.len() - kept.len().div_ceil(16));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str, bytes: usize, tokens: u64) -> String {
        limit_text(text.to_owned(), TextLimit { bytes, tokens })
    }

    #[test]
    fn a_long_text_is_cut_at_a_line_and_says_so() {
        let cases = [
            (cut("short", 100, 100), "short"),
            (
                cut("one line\nanother line\n", 12, 100),
                "one line\n\n[cut off: the first 9 of 22 bytes are shown]",
            ),
            (
                cut("no line ends here at all", 10, 100),
                "no line en\n[cut off: the first 10 of 24 bytes are shown]",
            ),
            // Never in the middle of a character.
            (
                cut("\u{4e16}\u{754c}", 4, 100),
                "\u{4e16}\n[cut off: the first 3 of 6 bytes are shown]",
            ),
            (
                cut("words", 100, 0),
                "\n[cut off: the first 0 of 5 bytes are shown]",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(text, expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_is_a_beginning_within_the_limits(text in "\\PC{0,400}", bytes in 0..400_usize, tokens in 0..100_u64) {
            let limited = cut(&text, bytes, tokens);
            if let Some((kept, _)) = limited.rsplit_once("\n[cut off: ") {
                prop_assert!(text.starts_with(kept) && kept.len() <= bytes && estimate_tokens(kept) <= tokens);
            } else {
                prop_assert_eq!(limited, text);
            }
        }
    }
}
