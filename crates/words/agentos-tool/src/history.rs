//! Earlier tasks and answers that a tool is shown again.
//!
//! Owns: the type, and how much of it fits into a prompt. Never: decides whether a tool may see it; policy does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most bytes of an earlier task.
const MOST_TASK: usize = 2 << 10;
/// Most bytes of an earlier answer. A diff of this size has some 200 lines.
const MOST_ANSWER: usize = 8 << 10;
/// Most bytes of what became of an answer.
const MOST_OUTCOME: usize = 1 << 10;
/// Most bytes of the whole history. About 4,000 tokens, so that half of a window of 8,192 is left for files and answer.
const MOST_HISTORY: usize = 12 << 10;

/// Earlier task with its answer, shown to a tool as history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PastTurn {
    /// Task in the words of that time.
    pub task: String,
    /// Answer of the tool of that time, shortened in the middle if it is long.
    pub answer: String,
    /// Result of that answer, in words.
    pub outcome: String,
    /// Paths that the tool of that time was shown, and those that its answer changes.
    pub files: Vec<String>,
}

impl PastTurn {
    /// Makes a turn whose texts are shortened so far that a few turns fit into a prompt.
    #[must_use]
    pub fn bounded(task: &str, answer: &str, outcome: &str, files: Vec<String>) -> Self {
        Self {
            task: shorten_middle(task.trim(), MOST_TASK),
            answer: shorten_middle(answer.trim_matches('\n'), MOST_ANSWER),
            outcome: shorten_middle(outcome.trim(), MOST_OUTCOME),
            files,
        }
    }

    /// Returns the turn with another outcome, shortened as [`PastTurn::bounded`] does.
    #[must_use]
    pub fn with_outcome(self, outcome: &str) -> Self {
        Self {
            outcome: shorten_middle(outcome.trim(), MOST_OUTCOME),
            ..self
        }
    }

    /// Counts the bytes that a tool is shown.
    #[must_use]
    pub fn count_bytes(&self) -> usize {
        self.task.len() + self.answer.len() + self.outcome.len()
    }
}

/// Drops the oldest turns until the rest fits into a prompt. The newest one always stays.
#[must_use]
pub fn fit_history(mut turns: Vec<PastTurn>) -> Vec<PastTurn> {
    let mut size: usize = turns.iter().map(PastTurn::count_bytes).sum();
    let most_dropped = turns.len().saturating_sub(1);
    let mut dropped = 0;
    for turn in turns.iter().take(most_dropped) {
        if size <= MOST_HISTORY {
            break;
        }
        size -= turn.count_bytes();
        dropped += 1;
    }
    turns.drain(..dropped);
    turns
}

/// Shortens a text to about `most` bytes, and says where. The beginning is kept longer than the end: an answer names its files
/// there.
fn shorten_middle(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text
        .get(..text.floor_char_boundary(most / 4 * 3))
        .unwrap_or_default();
    let tail = text
        .get(text.ceil_char_boundary(text.len() - most / 4)..)
        .unwrap_or_default();
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[{left_out} bytes are left out here]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_in_the_middle_at_whole_characters() {
        assert_eq!(shorten_middle("short", 10), "short");
        let long = format!("begin{}end", "é".repeat(9000));
        let cut = shorten_middle(&long, MOST_ANSWER);
        assert!(cut.starts_with("begin") && cut.ends_with("end"), "{}", cut.len());
        assert!(cut.contains("bytes are left out here") && cut.len() < MOST_ANSWER + 50);
    }

    #[test]
    fn the_oldest_turns_are_dropped_first_and_the_newest_stays() {
        let turn = |task: &str| PastTurn::bounded(task, &"x".repeat(7000), "refused", Vec::new());
        let fitting = fit_history(vec![turn("a"), turn("b"), turn("c")]);
        let tasks: Vec<&str> = fitting.iter().map(|turn| turn.task.as_str()).collect();
        assert_eq!(tasks, ["c"]);
        let huge = PastTurn {
            answer: "x".repeat(50_000),
            ..turn("alone")
        };
        assert_eq!(fit_history(vec![huge]).len(), 1);
        assert_eq!(fit_history(Vec::new()), Vec::new());
    }
}
