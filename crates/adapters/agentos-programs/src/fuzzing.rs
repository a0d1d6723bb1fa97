//! The readers of both protocols, exposed for fuzzing.
//!
//! Owns: access to the two protocols without a program. Never: starts a program. Nothing here is part of the crate's public
//! interface.

use std::path::Path;
use std::sync::mpsc::channel;

use agentos_tool::{FinishReason, Progress, Usage};

use crate::acp::AcpClient;
use crate::lines::{AnswerReader, NoAnswer};

/// Result of reading a tool's lines.
#[derive(Debug, PartialEq)]
pub struct HeardTool {
    /// Text, end, model and tokens of a complete answer, or the reason why there is none.
    pub answer: Result<(String, FinishReason, Option<String>, Option<Usage>), String>,
    /// Progress that was reported meanwhile.
    pub shown: Vec<Progress>,
}

/// Reads a tool's output under the tool protocol, in these chunks.
#[must_use]
pub fn read_tool_lines(chunks: &[&[u8]]) -> HeardTool {
    let mut lines = AnswerReader::default();
    let mut shown = Vec::new();
    for chunk in chunks {
        lines.read_output(chunk, &mut |progress| shown.push(progress));
    }
    let answer = lines.finish_answer();
    HeardTool {
        answer: answer
            .map(|answer| (answer.text, answer.finish, answer.model, answer.usage))
            .map_err(describe_failure),
        shown,
    }
}

/// Result of a conversation with an agent.
#[derive(Debug, PartialEq)]
pub struct HeardAgent {
    /// How its turn ended, or the reason why it did not.
    pub end: Result<FinishReason, String>,
    /// Lines that were sent to it, in order.
    pub sent: Vec<Vec<u8>>,
    /// Progress that was reported meanwhile.
    pub shown: Vec<Progress>,
}

/// Runs a conversation with an agent that writes these chunks whatever it is sent.
#[must_use]
pub fn read_agent_lines(folder: &Path, prompt: &str, chunks: &[&[u8]]) -> HeardAgent {
    let (sender, receiver) = channel();
    let mut client = AcpClient::start_conversation(folder, prompt, sender);
    let mut shown = Vec::new();
    for chunk in chunks {
        client.read_output(chunk, &mut |progress| shown.push(progress));
    }
    let end = client.finish_turn().map_err(describe_failure);
    HeardAgent {
        end,
        sent: receiver.try_iter().collect(),
        shown,
    }
}

fn describe_failure(why: NoAnswer) -> String {
    match why {
        NoAnswer::Said(why) => format!("said: {why}"),
        NoAnswer::Broken(how) => format!("broken: {how}"),
    }
}
