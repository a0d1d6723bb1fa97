//! Outlines: the definitions of files that a model is not shown as a whole.
//!
//! Owns: which lines an outline has, and their text. Never: shows a line of a file that policy withholds, or changes what is
//! shown of the files.

use std::ops::ControlFlow;

use agentos_context::{TextShape, estimate_tokens, for_each_definition};
use agentos_landing::Base;
use agentos_policy::{Effect, PolicySet, ToolFacts};
use agentos_tool::{FileOutline, OutlineLine};

use crate::context::{Context, decide_text, text_of};

/// Maximum tokens of all outlines. They are for orientation, and every token costs.
pub(crate) const MOST_OUTLINE: u64 = 2_000;
/// Maximum number of characters of a line. The name of a definition stands at its beginning.
const LONGEST_LINE: usize = 100;
/// Maximum depth of definitions: those of a file, and those inside them.
const DEEPEST: usize = 1;
/// Tokens of a line's number, and of the end of a heading.
const LINE_TOKENS: u64 = 4;
/// Tokens of the sentence above the outlines, and of their fence.
const TITLE_TOKENS: u64 = 40;

/// File of which an outline is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutlinedFile {
    /// Path inside the repository.
    pub path: String,
    /// Numbers of the lines, in the order of the file.
    pub lines: Vec<u64>,
}

/// Outlines chosen so far.
pub(crate) struct OutlineWriter {
    pub files: Vec<OutlinedFile>,
    /// Estimated tokens of all of them.
    pub tokens: u64,
    limit: u64,
}

impl OutlineWriter {
    /// Creates a writer for so many tokens.
    pub(crate) fn with_limit(limit: u64) -> Self {
        Self {
            files: Vec::new(),
            tokens: 0,
            limit: limit.min(MOST_OUTLINE),
        }
    }

    /// Returns true if there is no room for a further file.
    pub(crate) fn is_full(&self) -> bool {
        self.limit.saturating_sub(self.tokens) < 4 * LINE_TOKENS
    }

    /// Adds the definitions of a text outside the shown lines, as many as fit. A file without definitions is added only if the user
    /// means it: then the tool should know at least that it exists.
    pub(crate) fn add_file(
        &mut self,
        path: &str,
        (text, shape): (&str, &TextShape),
        shown: &[(u64, u64)],
        is_meant: bool,
    ) {
        let left = self.limit.saturating_sub(self.tokens);
        let mut cost = estimate_tokens(path) + LINE_TOKENS;
        if self.files.is_empty() {
            cost += TITLE_TOKENS;
        }
        // One large file must not take the room of all others.
        let share = (left / 2).max(cost);
        if cost > left {
            return;
        }
        let mut lines = Vec::new();
        let _ = for_each_head(path, text, shape, |line, text| {
            let is_shown = shown.iter().any(|(first, last)| (*first..=*last).contains(&line));
            let tokens = estimate_tokens(&text) + LINE_TOKENS;
            if !is_shown && cost + tokens <= share {
                cost += tokens;
                lines.push(line);
            }
            // No further line fits, however short it is. Most files have far more definitions than there is room for.
            match cost + LINE_TOKENS < share {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        if lines.is_empty() && !is_meant {
            return;
        }
        self.tokens += cost;
        self.files.push(OutlinedFile {
            path: path.to_owned(),
            lines,
        });
    }
}

/// Lists the first lines of the definitions of a text, with their numbers.
fn list_heads(path: &str, text: &str) -> Vec<(u64, String)> {
    let mut heads = Vec::new();
    let _ = for_each_head(path, text, &TextShape::measure(text), |line, text| {
        heads.push((line, text));
        ControlFlow::Continue(())
    });
    heads
}

/// Calls `each` with the first lines of the definitions of a text and their numbers, until it breaks off.
fn for_each_head(
    path: &str,
    text: &str,
    shape: &TextShape,
    mut each: impl FnMut(u64, String) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for_each_definition(path, text, shape, |found| {
        if found.inside.len() > DEEPEST {
            return ControlFlow::Continue(());
        }
        let line = shape.slice_lines(text, found.line, found.line);
        each(
            found.line as u64,
            line.trim_end().chars().take(LONGEST_LINE).collect(),
        )
    })
}

impl Context {
    /// Reads the outlines from the base, as far as policy lets the tool see the files.
    pub(crate) fn gather_outline(
        &mut self,
        files: &[OutlinedFile],
        base: &dyn Base,
        policy: &PolicySet,
        tool: &ToolFacts,
    ) {
        let mut sent: u64 = self.files.iter().map(|file| file.content.len() as u64).sum();
        for file in files {
            if decide_text(policy, &file.path, "", sent, tool).effect() != Effect::Allow {
                continue;
            }
            // A file that went away since the choice has no definitions any more.
            let Ok((_, text)) = text_of(&file.path, base) else {
                continue;
            };
            // The branch may have moved: a line that begins no definition any more is left out.
            let heads = list_heads(&file.path, &text);
            let lines = heads.into_iter().filter(|(line, _)| file.lines.contains(line));
            let outline = FileOutline {
                path: file.path.clone(),
                total_lines: text.lines().count() as u64,
                lines: lines.map(|(line, text)| OutlineLine { line, text }).collect(),
            };
            let bytes = outline.count_bytes();
            // The whole text is judged, as for a part: one line alone may not look like a secret.
            if decide_text(policy, &file.path, &text, sent + bytes, tool).effect() == Effect::Allow {
                sent += bytes;
                self.outline.push(outline);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agentos_context::TextShape;

    use super::OutlineWriter;

    #[test]
    fn an_outline_has_the_definitions_that_are_not_shown_and_fits() {
        let text = "struct Shop;\n\nimpl Shop {\n    fn open() {\n        let inner = 1;\n    }\n}\n\nfn close() {\n    go();\n}\n";
        let mut writer = OutlineWriter::with_limit(1000);
        let cases = [
            ("src/shop.rs", text, &[(3, 7)][..], false),
            ("src/shop.rs", text, &[], false),
            ("notes.md", "# Shop\n", &[], false),
            ("notes.md", "# Shop\n", &[], true),
        ];
        for (path, text, shown, is_meant) in cases {
            writer.add_file(path, (text, &TextShape::measure(text)), shown, is_meant);
        }
        let lines: Vec<&[u64]> = writer.files.iter().map(|file| file.lines.as_slice()).collect();
        assert_eq!(lines, [&[1, 9][..], &[1, 3, 4, 9], &[]]);
        let mut small = OutlineWriter::with_limit(160);
        let large = text.repeat(100);
        for _ in 0..20 {
            if !small.is_full() {
                small.add_file("src/shop.rs", (&large, &TextShape::measure(&large)), &[], false);
            }
        }
        assert!(!small.files.is_empty() && small.tokens <= 160, "{}", small.tokens);
    }
}
