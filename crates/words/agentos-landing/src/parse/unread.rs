//! Forms of edits that are not read. They are named in the refusal, so that their author knows the reason.
//!
//! Owns: the names. Never: reads an edit.

use crate::text::{TextLine, trim};

/// Returns true for a line that only this form has.
type FormSign = fn(&[u8]) -> bool;

/// Returns the form that the answer seems to have. Returns `None` if there is none.
pub(super) fn find_unread_form(lines: &[TextLine<'_>]) -> Option<&'static str> {
    const KINDS: [(FormSign, &str); 5] = [
        (is_context_diff, "a context diff"),
        (is_conflict, "conflict markers"),
        (is_command, "an ed script or a diff without context"),
        (is_tag, "edits in tags"),
        (is_before, "a text before and after"),
    ];
    KINDS
        .iter()
        .find(|(is, _)| lines.iter().any(|line| is(trim(line.text))))
        .map(|(_, kind)| *kind)
}

fn is_context_diff(line: &[u8]) -> bool {
    line == b"***************"
}

fn is_conflict(line: &[u8]) -> bool {
    line.starts_with(b"<<<<<<< ")
}

/// Returns true for a command such as `8c`, `8,9d` or `8c9,10`.
fn is_command(line: &[u8]) -> bool {
    let mut parts = line.split(|byte| matches!(byte, b'a' | b'c' | b'd'));
    let lines = |text: &[u8]| text.iter().all(|byte| byte.is_ascii_digit() || *byte == b',');
    let (Some(from), Some(to), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    from.first().is_some_and(u8::is_ascii_digit) && lines(from) && lines(to)
}

fn is_tag(line: &[u8]) -> bool {
    const TAGS: [&[u8]; 8] = [
        b"<old>",
        b"<search>",
        b"<old_str>",
        b"<old_string>",
        b"<file ",
        b"<diff ",
        b"<edit ",
        b"<change ",
    ];
    TAGS.iter().any(|tag| line.starts_with(tag))
}

fn is_before(line: &[u8]) -> bool {
    [
        b"before:".as_slice(),
        b"**before:**",
        b"**before**",
        b"### before",
    ]
    .iter()
    .any(|word| line.eq_ignore_ascii_case(word))
}
