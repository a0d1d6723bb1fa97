//! The tool protocol: a tool that keeps to it has an answer, any other has none, and the way its lines arrive makes
//! no difference.
//!
//! Owns: the claims, and a second reading of the protocol that the first one is compared with. Never: starts a
//! program.

use agentos_programs::fuzzing::{HeardTool, read_tool_lines};
use agentos_tool::{FinishReason, ToolMessage};

use crate::bytes::{ByteReader, cut_chunks};

/// Reads the first byte as the way to cut, and the rest as a tool's output.
///
/// # Panics
/// If a claim does not hold.
pub fn check_tool_protocol(data: &[u8]) {
    let mut bytes = ByteReader(data);
    let cuts = bytes.next();
    let said = bytes.0;
    let whole = read_tool_lines(&[said]);
    // A pipe delivers bytes in any portions. Byte by byte reaches every state of the reader between two bytes.
    let single: Vec<&[u8]> = said.chunks(1).collect();
    assert_eq!(
        read_tool_lines(&single),
        whole,
        "byte by byte it is another answer"
    );
    assert_eq!(
        read_tool_lines(&cut_chunks(said, cuts)),
        whole,
        "in chunks it is another answer"
    );
    check_against_messages(said, &whole);
}

/// There must be an answer exactly if every line is a message, the last one is `final`, and no other one is an end.
fn check_against_messages(said: &[u8], whole: &HeardTool) {
    let lines: Vec<&[u8]> = said.split_inclusive(|byte| *byte == b'\n').collect();
    let messages: Result<Vec<ToolMessage>, _> =
        lines.iter().map(|line| serde_json::from_slice(line)).collect();
    let is_end =
        |message: &ToolMessage| matches!(message, ToolMessage::Final { .. } | ToolMessage::Error { .. });
    let messages = messages.ok().filter(|messages| {
        let before = messages
            .split_last()
            .map(|(_, before)| before)
            .unwrap_or_default();
        !before.iter().any(is_end)
    });
    let last = messages.as_ref().and_then(|messages| messages.last());
    let Some(ToolMessage::Final { text, finish, model }) = last else {
        assert!(
            whole.answer.is_err(),
            "an answer without its end: {:?}",
            whole.answer
        );
        return;
    };
    let pieces = messages.iter().flatten().filter_map(|message| match message {
        ToolMessage::Text { text } => Some(text.as_str()),
        _ => None,
    });
    // The text of `final` replaces the pieces that were sent before.
    let wanted = text.clone().unwrap_or_else(|| pieces.collect());
    let mut tokens = messages.iter().flatten().filter_map(|message| match message {
        ToolMessage::Usage { usage } => Some(*usage),
        _ => None,
    });
    let finish = finish.unwrap_or(FinishReason::Stop);
    assert_eq!(
        whole.answer,
        Ok((wanted, finish, model.clone(), tokens.next_back())),
        "its messages say another answer"
    );
}
