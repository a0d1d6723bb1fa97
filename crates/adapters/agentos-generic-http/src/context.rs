//! Checks before a request if a task fits the context window that the server has loaded.
//!
//! Owns: the estimate of tokens from bytes, and the messages with the numbers. Never: guesses a window; without one, nothing
//! is checked.

/// Maximum average of bytes per token over a text of code or English. No known tokenizer needs fewer tokens, so a task that
/// does not fit by this count cannot fit.
const MOST_BYTES: u64 = 6;
/// Usual average of bytes per token of code.
const USUAL_BYTES: u64 = 3;
/// Minimum tokens for an answer. A warning is given if less is left.
const SHORT_ANSWER: u64 = 512;

/// Tokens of the context window that a task needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContextNeed {
    /// Tokens of the prompt.
    prompt: u64,
    /// True if the server itself counted the prompt.
    counted: bool,
    /// Lower bound of the prompt's tokens.
    least: u64,
    /// Maximum tokens of the answer. `None` if no limit is set.
    answer: Option<u64>,
}

/// Result of comparing a task with a context window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContextFit {
    /// The task fits.
    Fits,
    /// The answer may be cut off, or the beginning of the prompt lost. Contains the warning.
    Tight(String),
    /// The task cannot fit. Contains the message, and the window that would be enough.
    TooLong(String, u64),
}

impl ContextNeed {
    /// Computes the need of a prompt of so many bytes. `counted` is the server's own count of the prompt's tokens.
    pub(crate) fn of_bytes(bytes: usize, counted: Option<u64>, answer: Option<u64>) -> Self {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Self {
            // Rounded up, because this count only warns; `least` is rounded down, because it refuses.
            prompt: counted.unwrap_or(bytes.div_ceil(USUAL_BYTES)),
            counted: counted.is_some(),
            least: counted.unwrap_or(bytes / MOST_BYTES),
            answer,
        }
    }

    /// Compares the need with a window of so many tokens.
    pub(crate) fn fit_in(self, window: u64) -> ContextFit {
        let about = if self.counted { "" } else { "about " };
        let answer = self.answer.unwrap_or(SHORT_ANSWER);
        let whole = self.prompt.saturating_add(answer);
        // Only the lower bound refuses. The usual estimate may be off by a factor of two, and a refusal would be final.
        if self.least >= window {
            let words = format!(
                "the prompt has {about}{} tokens, but the loaded context only {window}",
                self.prompt
            );
            return ContextFit::TooLong(words, round_up(whole));
        }
        if whole <= window {
            return ContextFit::Fits;
        }
        let left = window.saturating_sub(self.prompt);
        ContextFit::Tight(format!(
            "the loaded context may be too short: {window} tokens for a prompt of {about}{} and an answer of {}{answer}; \
             {}, load the model with {} or more",
            self.prompt,
            if self.answer.is_some() {
                "up to "
            } else {
                "at least "
            },
            if left == 0 {
                "the prompt may not fit".to_owned()
            } else {
                format!("the answer may be cut after {left}")
            },
            round_up(whole)
        ))
    }
}

/// Rounds up to the next power of two, as users set context lengths.
fn round_up(tokens: u64) -> u64 {
    tokens.checked_next_power_of_two().unwrap_or(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_measured_against_the_loaded_context_with_numbers() {
        let need = |prompt, counted, answer| ContextNeed {
            prompt,
            counted,
            least: if counted { prompt } else { prompt / 2 },
            answer,
        };
        let said = |need: ContextNeed, window| match need.fit_in(window) {
            ContextFit::Fits => "fits".to_owned(),
            ContextFit::Tight(words) => format!("tight: {words}"),
            ContextFit::TooLong(words, wanted) => format!("too long: {words}; {wanted}"),
        };
        let cases = [
            said(need(1000, false, None), 4096),
            said(need(3585, false, None), 4096),
            said(need(5000, false, None), 4096),
            said(need(9000, false, None), 4096),
            said(need(3000, true, Some(2000)), 4096),
            said(need(4096, true, None), 4096),
            said(need(u64::MAX, true, Some(1)), 1),
        ];
        insta::assert_snapshot!(cases.join("\n"), @r"
        fits
        tight: the loaded context may be too short: 4096 tokens for a prompt of about 3585 and an answer of at least 512; the answer may be cut after 511, load the model with 8192 or more
        tight: the loaded context may be too short: 4096 tokens for a prompt of about 5000 and an answer of at least 512; the prompt may not fit, load the model with 8192 or more
        too long: the prompt has about 9000 tokens, but the loaded context only 4096; 16384
        tight: the loaded context may be too short: 4096 tokens for a prompt of 3000 and an answer of up to 2000; the answer may be cut after 1096, load the model with 8192 or more
        too long: the prompt has 4096 tokens, but the loaded context only 4096; 8192
        too long: the prompt has 18446744073709551615 tokens, but the loaded context only 1; 18446744073709551615
        ");
    }
}
