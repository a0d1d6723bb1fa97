//! Lines of a text, measured once for everything that looks at them.
//!
//! Owns: where lines begin, how deep they are, and what their first marks say. Never: knows the grammar of a language.

/// Line of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MeasuredLine {
    /// Column of the first character.
    pub(crate) indent: usize,
    /// Length with its line end.
    pub(crate) bytes: usize,
    pub(crate) is_blank: bool,
    /// True for a line that continues the block above it, such as `}`.
    pub(crate) continues: bool,
    /// True for comments, attributes and decorators, which belong to the line below them.
    pub(crate) leads: bool,
    /// Tag of a section that the line consists of.
    pub(crate) section: SectionMark,
}

/// Tag at the left edge that begins or ends a section of a component: script, template or style.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SectionMark {
    #[default]
    None,
    Opens,
    Closes,
}

impl SectionMark {
    fn of_line(line: &str) -> Self {
        let Some(tag) = line.strip_prefix('<') else {
            return Self::None;
        };
        let (tag, mark) = match tag.strip_prefix('/') {
            Some(tag) => (tag, Self::Closes),
            None => (tag, Self::Opens),
        };
        let rest = ["script", "template", "style"]
            .iter()
            .find_map(|name| tag.strip_prefix(name));
        match rest.and_then(|rest| rest.chars().next()) {
            // A section on one line has no lines of its own.
            Some('>' | ' ' | '\n' | '\r') if mark == Self::Closes || !tag.contains("</") => mark,
            Some(_) | None => Self::None,
        }
    }
}

/// Columns of a tab. The value matters little, because files rarely mix tabs and blanks.
const TAB: usize = 4;

/// Words with which a block goes on. [`continues_block`] knows their first letters.
const CONTINUING: [&str; 9] = [
    "else", "elif", "except", "finally", "catch", "end", "fi", "done", "esac",
];
/// Labels that are no jump targets: the blocks below them belong to the block above.
const BLOCK_LABELS: [&str; 4] = ["else", "try", "finally", "default"];

/// Positions and shapes of the lines of a text. Measured once, because a search cuts, counts and outlines a megabyte of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextShape {
    lines: Vec<MeasuredLine>,
    /// Beginnings of the lines, and the end of the last one.
    starts: Vec<usize>,
}

impl TextShape {
    /// Measures the lines of a text.
    #[must_use]
    pub fn measure(text: &str) -> Self {
        // Lines of programs have about 32 bytes.
        let (mut lines, mut starts) = (
            Vec::with_capacity(text.len() / 32),
            Vec::with_capacity(text.len() / 32),
        );
        let mut loose = Vec::with_capacity(text.len() / 32);
        let mut end = 0;
        starts.push(end);
        for line in text.split_inclusive('\n') {
            end += line.len();
            starts.push(end);
            let written = trim_line(line);
            let comment = is_comment(written);
            lines.push(MeasuredLine {
                indent: indent_of(line),
                bytes: line.len(),
                is_blank: written.is_empty(),
                continues: continues_block(written),
                leads: comment || written.starts_with('@'),
                section: SectionMark::of_line(line),
            });
            loose.push(comment || is_label(written));
        }
        indent_loose_lines(&mut lines, &loose);
        Self { lines, starts }
    }

    /// Returns the number of lines.
    #[must_use]
    pub fn count_lines(&self) -> usize {
        self.lines.len()
    }

    /// Returns whole lines of the text that was measured, counted from 1. Empty if it has no such lines.
    #[must_use]
    pub fn slice_lines<'t>(&self, text: &'t str, first: usize, last: usize) -> &'t str {
        let start = first.checked_sub(1).and_then(|at| self.starts.get(at));
        let range = start.zip(self.starts.get(last));
        let lines = range.and_then(|(start, end)| text.get(*start..*end));
        lines.unwrap_or_default()
    }

    pub(crate) fn lines(&self) -> &[MeasuredLine] {
        &self.lines
    }
}

/// Moves lines inwards that are often at the left edge inside a deeper block: comments, preprocessor lines and labels. They count
/// as deep as the next line, so that they do not end the block.
fn indent_loose_lines(lines: &mut [MeasuredLine], loose: &[bool]) {
    let mut below = 0;
    for (line, is_loose) in lines.iter_mut().zip(loose).rev() {
        if *is_loose {
            line.indent = line.indent.max(below);
        } else if !line.is_blank {
            below = line.indent;
        }
    }
}

/// Returns a line without the blanks around it, as [`str::trim`] does. Nearly all lines begin and end with ASCII, and need no
/// decoding.
pub(crate) fn trim_line(line: &str) -> &str {
    let trimmed = line.trim_ascii();
    let edges = [trimmed.as_bytes().first(), trimmed.as_bytes().last()];
    // The vertical tab is a blank for `str::trim` only.
    let is_other = |byte: &u8| *byte >= 0x80 || *byte == 0x0B;
    match edges.into_iter().flatten().any(is_other) {
        true => trimmed.trim(),
        false => trimmed,
    }
}

fn is_comment(written: &str) -> bool {
    match written.as_bytes() {
        [b'#', ..] | [b'/', b'/' | b'*', ..] | [b'*', b' ' | b'/', ..] | [b'*'] | [b'-', b'-', ..] => true,
        [] | [_, ..] => false,
    }
}

/// Returns true for a line that continues the block above it, such as `}`.
fn continues_block(written: &str) -> bool {
    match written.as_bytes() {
        [b'}' | b')' | b']' | b'{', ..] | [b'*', b'/', ..] | [b'<', b'/', ..] | [b'"', b'"', b'"', ..] => {
            true
        }
        // The first letters of the words, so that few lines are compared with all of them.
        [b'c' | b'd' | b'e' | b'f', ..] => CONTINUING.iter().any(|word| starts_with_word(written, word)),
        [] | [_, ..] => false,
    }
}

fn indent_of(line: &str) -> usize {
    let mut column = 0;
    for byte in line.bytes() {
        match byte {
            b' ' => column += 1,
            b'\t' => column = column / TAB * TAB + TAB,
            _ => break,
        }
    }
    column
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Returns true for the target of a jump, such as `out:` in C.
fn is_label(written: &str) -> bool {
    written.strip_suffix(':').is_some_and(|name| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !BLOCK_LABELS.contains(&name)
    })
}
