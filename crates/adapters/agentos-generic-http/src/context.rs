//! Whether a task fits the context that a server has loaded, before it is sent.
//!
//! Owns: the estimate of tokens from bytes, and the words with the numbers. Never: guesses a window; where none is
//! known nothing is said.

use agentos_tool::{ToolTask, prompt};

/// Bytes that one token stands for at the most, over a whole text of code or English. With fewer tokens than this no
/// known tokenizer writes it, so a task that does not fit by this count does not fit.
const MOST_BYTES: u64 = 6;
/// Bytes that one token of code stands for in most tokenizers.
const USUAL_BYTES: u64 = 3;
/// Tokens that an answer needs at the least; less room is worth a word.
const SHORT_ANSWER: u64 = 512;

/// How much of a context a task takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    /// Tokens of the prompt.
    prompt: u64,
    /// They were counted by the server itself.
    counted: bool,
    /// Surely no fewer than these.
    least: u64,
    /// Tokens the answer may have, where somebody set a limit.
    answer: Option<u64>,
}

/// What follows for a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Nothing to say.
    Fits,
    /// It may do, but the answer may be cut, or the prompt's beginning lost.
    Tight(String),
    /// It cannot do; the words, and the tokens of context that would.
    TooLong(String, u64),
}

impl Need {
    /// The need of a task; `counted` where the server has counted the prompt.
    pub(crate) fn of(task: &ToolTask, counted: Option<u64>, answer: Option<u64>) -> Self {
        let bytes = prompt::system(task).len() + prompt::user(task).len();
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Self {
            prompt: counted.unwrap_or(bytes.div_ceil(USUAL_BYTES)),
            counted: counted.is_some(),
            least: counted.unwrap_or(bytes / MOST_BYTES),
            answer,
        }
    }

    /// The task in a window of so many tokens.
    pub(crate) fn fits(self, window: u64) -> Fit {
        let about = if self.counted { "" } else { "about " };
        let answer = self.answer.unwrap_or(SHORT_ANSWER);
        let whole = self.prompt.saturating_add(answer);
        if self.least >= window {
            let words = format!(
                "the prompt has {about}{} tokens, the loaded context {window}",
                self.prompt
            );
            return Fit::TooLong(words, rounded(whole));
        }
        if whole <= window {
            return Fit::Fits;
        }
        let left = window.saturating_sub(self.prompt);
        Fit::Tight(format!(
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
            rounded(whole)
        ))
    }
}

/// A length of context that people set: the next power of two.
fn rounded(tokens: u64) -> u64 {
    tokens.checked_next_power_of_two().unwrap_or(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_measured_against_the_loaded_context_with_numbers() {
        let need = |prompt, counted, answer| Need {
            prompt,
            counted,
            least: if counted { prompt } else { prompt / 2 },
            answer,
        };
        let said = |need: Need, window| match need.fits(window) {
            Fit::Fits => "fits".to_owned(),
            Fit::Tight(words) => format!("tight: {words}"),
            Fit::TooLong(words, wanted) => format!("too long: {words}; {wanted}"),
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
        too long: the prompt has about 9000 tokens, the loaded context 4096; 16384
        tight: the loaded context may be too short: 4096 tokens for a prompt of 3000 and an answer of up to 2000; the answer may be cut after 1096, load the model with 8192 or more
        too long: the prompt has 4096 tokens, the loaded context 4096; 8192
        too long: the prompt has 18446744073709551615 tokens, the loaded context 1; 18446744073709551615
        ");
    }
}
