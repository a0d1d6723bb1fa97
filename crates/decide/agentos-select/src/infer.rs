//! Needs that follow from a turn.
//!
//! Owns: the rules. Never: overrides a need that was stated.

use crate::{AbilityValue, Needs};

/// Characters of context from which a large window is needed.
const LONG_CONTEXT: u64 = 50_000;
/// The window that is needed then, in tokens, unless the context is larger.
const LARGE_WINDOW: u64 = 32_000;
/// Words of a message about a picture.
const PICTURE_WORDS: [&str; 2] = ["image", "图片"];

/// Shape of a turn, as far as needs follow from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnShape<'a> {
    /// The user's message.
    pub message: &'a str,
    /// True if words of the message count.
    pub reads_words: bool,
    /// Number of images of the turn.
    pub images: usize,
    /// Number of tools on offer.
    pub tools: usize,
    /// Characters of all that is sent: instructions, earlier messages and context.
    pub context_chars: u64,
    /// Estimate of its tokens, with room for an answer. 0 if there is none.
    pub context_tokens: u64,
}

/// Adds the needs that follow from a turn to those that were stated, which win.
///
/// | in the turn | need |
/// |---|---|
/// | a tool on offer | `supports_tools=true` |
/// | an image, or a message with one of the words `image` and `图片` if words count | `supports_vision=true` |
/// | more than 50,000 characters of context | `min_context_window`: 32,000 tokens, or as many as the context has |
#[must_use]
pub fn infer_needs(stated: Needs, turn: &TurnShape<'_>) -> Needs {
    let mut needs = stated;
    if turn.tools > 0 {
        needs.infer("supports_tools", AbilityValue::Flag(true), "tools are on offer");
    }
    if turn.images > 0 {
        needs.infer(
            "supports_vision",
            AbilityValue::Flag(true),
            "the message has an image",
        );
    } else if turn.reads_words {
        // A message may be about a picture that a tool brings later, so a pool can count words as a sign of it.
        let message = turn.message.to_lowercase();
        if let Some(word) = PICTURE_WORDS.iter().find(|word| message.contains(**word)) {
            let reason = format!("the message has the word `{word}`");
            needs.infer("supports_vision", AbilityValue::Flag(true), &reason);
        }
    }
    if turn.context_chars > LONG_CONTEXT {
        let window = turn.context_tokens.max(LARGE_WINDOW);
        let reason = format!("the context has {} characters", turn.context_chars);
        // Below 2^53 a float is exact, and no window has so many tokens.
        needs.infer("min_context_window", AbilityValue::Number(window as f64), &reason);
    }
    needs
}
