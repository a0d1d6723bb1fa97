//! What programs say, line by line, opened for fuzzing.
//!
//! Owns: a thin way to the two protocols without a program. Never: starts one, and nothing here is part of the crate's
//! interface.

use std::path::Path;
use std::sync::mpsc::channel;

use agentos_tool::{FinishReason, Progress, Usage};

use crate::acp::Client;
use crate::lines::{Lines, NoAnswer};

/// What the lines of a tool amount to.
#[derive(Debug, PartialEq)]
pub struct HeardTool {
    /// Text, end, model and tokens of a whole answer, or why there is none.
    pub answer: Result<(String, FinishReason, Option<String>, Option<Usage>), String>,
    /// Everything that was shown while it spoke.
    pub shown: Vec<Progress>,
}

/// Reads what a tool wrote under the tool protocol, in these chunks.
#[must_use]
pub fn read_tool_lines(chunks: &[&[u8]]) -> HeardTool {
    let mut lines = Lines::default();
    let mut shown = Vec::new();
    for chunk in chunks {
        lines.take(chunk, &mut |progress| shown.push(progress));
    }
    let answer = lines.end();
    HeardTool {
        answer: answer
            .map(|answer| (answer.text, answer.finish, answer.model, answer.usage))
            .map_err(said),
        shown,
    }
}

/// What came of a conversation with an agent.
#[derive(Debug, PartialEq)]
pub struct HeardAgent {
    /// How its turn ended, or why it did not.
    pub end: Result<FinishReason, String>,
    /// The lines that were sent to it, in order.
    pub sent: Vec<Vec<u8>>,
    /// Everything that was shown while it spoke.
    pub shown: Vec<Progress>,
}

/// Speaks with an agent of the Agent Client Protocol that writes these chunks whatever it is asked.
#[must_use]
pub fn read_agent_lines(folder: &Path, words: &str, chunks: &[&[u8]]) -> HeardAgent {
    let (say, heard) = channel();
    let mut client = Client::begin(folder, words, say);
    let mut shown = Vec::new();
    for chunk in chunks {
        client.take(chunk, &mut |progress| shown.push(progress));
    }
    let end = client.end().map_err(said);
    HeardAgent {
        end,
        sent: heard.try_iter().collect(),
        shown,
    }
}

fn said(why: NoAnswer) -> String {
    match why {
        NoAnswer::Said(why) => format!("said: {why}"),
        NoAnswer::Broken(how) => format!("broken: {how}"),
    }
}
