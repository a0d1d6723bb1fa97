//! Definitions of a text, with the lines that they reach.
//!
//! Owns: where a definition begins and ends, and which others enclose it. Never: knows the grammar of a language.

use std::ops::ControlFlow;

use crate::cut::is_prose;
use crate::lines::{MeasuredLine, TextShape};
use crate::signature::read_signature;

/// Definition of a function, a type or a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Defined name.
    pub name: String,
    /// Names of the types and functions that enclose it, the innermost last.
    pub inside: Vec<String>,
    /// Number of the line with the name, counted from 1.
    pub line: usize,
    /// Number of the first line, with the comments and attributes above.
    pub first_line: usize,
    /// Number of the last line.
    pub last_line: usize,
    /// True if it adds to a type that is defined elsewhere, such as `impl` in Rust.
    pub extends: bool,
}

/// Lists the definitions of a text in their order. Prose has none.
#[must_use]
pub fn list_definitions(path: &str, text: &str) -> Vec<Definition> {
    let mut found = Vec::new();
    let _ = for_each_definition(path, text, &TextShape::measure(text), |definition| {
        found.push(definition);
        ControlFlow::Continue(())
    });
    found
}

/// Calls `each` with the definitions of a text in their order, until it breaks off: a caller with room for few need not wait for
/// all. Prose has none. `shape` is that of the text.
pub fn for_each_definition(
    path: &str,
    text: &str,
    shape: &TextShape,
    mut each: impl FnMut(Definition) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if is_prose(path) {
        return ControlFlow::Continue(());
    }
    let measured = shape.lines();
    // Definitions that are still open, with their last lines.
    let mut open: Vec<(String, usize)> = Vec::new();
    for (at, line) in measured.iter().enumerate() {
        if line.is_blank {
            continue;
        }
        // Only now: most outlines are full long before the last line.
        let written = shape.slice_lines(text, at + 1, at + 1);
        let Some(signature) = read_signature(written, line.indent == 0) else {
            continue;
        };
        let end = find_end(measured, at);
        open.retain(|(_, last)| *last > at);
        let mut inside: Vec<String> = open.iter().map(|(name, _)| name.clone()).collect();
        inside.extend(signature.owner.map(str::to_owned));
        each(Definition {
            name: signature.name.to_owned(),
            inside,
            line: at + 1,
            first_line: find_start(measured, at) + 1,
            last_line: end,
            extends: signature.extends,
        })?;
        open.push((signature.name.to_owned(), end));
    }
    ControlFlow::Continue(())
}

/// Returns the first of the comments and attributes directly above a line.
fn find_start(lines: &[MeasuredLine], at: usize) -> usize {
    let above = lines.get(..at).unwrap_or_default().iter().rev();
    at - above.take_while(|line| line.leads && !line.is_blank).count()
}

/// Returns the position after the last line of the definition that begins at `at`.
fn find_end(lines: &[MeasuredLine], at: usize) -> usize {
    let indent = lines.get(at).map_or(0, |line| line.indent);
    let rest = lines.iter().enumerate().skip(at + 1);
    // A `}` further left closes a block around this one.
    let ends = |line: &MeasuredLine| {
        !line.is_blank && (line.indent < indent || (line.indent == indent && !line.continues))
    };
    let next = rest
        .clone()
        .find(|(_, line)| ends(line))
        .map_or(lines.len(), |(next, _)| next);
    // Blank lines and comments before the next definition belong to that one.
    let mut end = next;
    while end > at + 1
        && lines
            .get(end - 1)
            .is_some_and(|line| line.is_blank || (line.leads && line.indent <= indent && end < lines.len()))
    {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::list_definitions;

    #[test]
    fn definitions_reach_to_the_next_one_and_know_what_encloses_them() {
        let python = "import os\n\nclass Shop:\n    # Opens.\n    @cached\n    def open(self):\n        return 1\n\n    \
                      def close(self):\n        pass\n\nLIMIT = 3\n";
        let c = "/* Reads. */\nstatic int read_it(int a,\n                   int b)\n{\n    return a;\n}\n\n#define X 1\n";
        let rust = "impl Tree {\n    /// Adds.\n    pub fn add(&mut self) {\n        go();\n    }\n}\n";
        let cases = [
            (
                "shop.py",
                python,
                vec!["Shop 3-10", "Shop.open 4-7", "Shop.close 9-10"],
            ),
            ("read.c", c, vec!["read_it 1-6", "X 8-8"]),
            ("tree.rs", rust, vec!["Tree 1-6", "Tree.add 2-5"]),
            ("shop.md", "class Shop:\n", vec![]),
        ];
        for (path, text, expected) in cases {
            let found: Vec<String> = list_definitions(path, text)
                .iter()
                .map(|found| {
                    let name = [found.inside.as_slice(), std::slice::from_ref(&found.name)].concat();
                    format!("{} {}-{}", name.join("."), found.first_line, found.last_line)
                })
                .collect();
            assert_eq!(found, expected, "{path}");
        }
    }
}
