//! Thoughts that a model writes before its answer.
//!
//! Owns: leaving them out. Never: takes a line of a file or of a diff for a thought.

use super::cursor::parse_fence;
use crate::text::{TextLine, empty_lines, trim_end};

/// Marks of thoughts, as models write them.
const MARKS: [(&[u8], &[u8]); 3] = [
    (b"<think>", b"</think>"),
    (b"<thinking>", b"</thinking>"),
    (b"<reasoning>", b"</reasoning>"),
];

/// Blanks the lines up to the mark that ends the thoughts, if the answer begins with them. Some servers remove the
/// first mark, so the closing mark alone is enough.
pub(super) fn leave_out(lines: &mut [TextLine<'_>]) {
    let Some(end) = thoughts_end(lines) else { return };
    empty_lines(lines, 0..end + 1);
}

/// Returns the last line of the thoughts: the last of the answer, if they have no end. Returns `None` if there are no
/// thoughts.
fn thoughts_end(lines: &[TextLine<'_>]) -> Option<usize> {
    let first = lines.iter().find(|line| !trim_end(line.text).is_empty())?;
    if let Some((_, close)) = MARKS.iter().find(|(open, _)| first.text.starts_with(open)) {
        let closes = |line: &TextLine<'_>| line.text.windows(close.len()).any(|window| window == *close);
        return Some(lines.iter().position(closes).unwrap_or(lines.len()));
    }
    let closes = |line: &TextLine<'_>| MARKS.iter().any(|(_, close)| trim_end(line.text) == *close);
    let end = lines.iter().position(closes)?;
    let fences = lines
        .iter()
        .take(end)
        .filter(|line| parse_fence(line.text).is_some())
        .count();
    // Inside an open fence the mark is a line of that block.
    (fences % 2 == 0).then_some(end)
}
