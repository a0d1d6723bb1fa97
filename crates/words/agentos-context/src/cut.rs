//! Texts cut into parts along their structure.
//!
//! Owns: where a part begins and ends, and which lines enclose it. Never: knows the grammar of a language.
//!
//! The structure is read from indentation: a line that is followed by deeper lines is the header of a block, and lines such
//! as `}` or `else` continue the block above them. Indentation finds functions and types in every language that people indent,
//! also in files that do not parse, and adds nothing to the build.
//!
//! Grammars of tree-sitter were measured instead (`tree-sitter` 0.25 with those of C, C++, Go, Java, JavaScript, Python, Rust and
//! TypeScript; release build, processor time). They add 42 s to a build, 10 MB to the program and eight parsers in C that read
//! text from strangers. A search cuts up to a megabyte of candidates: the grammars parse 16 MB a second of Rust and 9 MB of
//! Python, so that this step alone would take 60 to 110 ms, more than a whole search of 10,000 files may (50 ms).

use crate::lines::{MeasuredLine, SectionMark, TextShape};

/// Part of a text: whole lines. The parts of a text follow each other without gaps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextPart {
    /// Number of the first line, counted from 1.
    pub first_line: usize,
    /// Number of the last line.
    pub last_line: usize,
    /// Numbers of the lines above the part that enclose it, the outermost first.
    pub headers: Vec<usize>,
}

/// Maximum size of a block in bytes; a larger one is cut along the blocks inside it. The size of a function that fits a screen.
const MOST_BYTES: usize = 1600;
/// Size in bytes up to which neighbouring blocks form one part. Smaller parts cost more for their headings than they save.
const USUAL_BYTES: usize = 500;
/// Maximum depth of blocks. Deeper ones, which only data has, are cut by their size.
const DEEPEST: usize = 24;
/// Cuts a text into parts. `path` decides by its ending if the text is prose, which has no indentation to follow.
#[must_use]
pub fn cut_text(path: &str, text: &str) -> Vec<TextPart> {
    cut_lines(path, &TextShape::measure(text))
}

/// Cuts a text of this shape into parts, as [`cut_text`] does.
pub(crate) fn cut_lines(path: &str, shape: &TextShape) -> Vec<TextPart> {
    let mut cutter = TextCutter {
        lines: shape.lines(),
        parts: Vec::new(),
    };
    if is_prose(path) {
        cutter.cut_prose();
    } else {
        let all = Span {
            start: 0,
            end: cutter.lines.len(),
        };
        match is_component(path) {
            true => cutter.cut_sections(all),
            false => cutter.cut_block(all, &[], 0, 0),
        }
    }
    cutter.parts
}

/// Returns true for files of sections in several languages, whose lines are usually not deeper than the tags around them.
fn is_component(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default();
    matches!(ending, "vue" | "svelte")
}

/// Returns true for files of paragraphs instead of blocks.
pub(crate) fn is_prose(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default();
    matches!(ending, "md" | "rst" | "txt" | "adoc" | "tex")
}

/// Lines from `start` up to, not including, `end`; counted from 0.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

/// Parts found so far.
struct TextCutter<'s> {
    lines: &'s [MeasuredLine],
    parts: Vec<TextPart>,
}

impl TextCutter<'_> {
    fn line(&self, at: usize) -> MeasuredLine {
        self.lines.get(at).copied().unwrap_or_default()
    }

    fn count_bytes(&self, span: Span) -> usize {
        (span.start..span.end).map(|at| self.line(at).bytes).sum()
    }

    /// Returns the smallest indentation of a span. `None` if all its lines are blank.
    fn find_level(&self, span: Span) -> Option<usize> {
        let lines = (span.start..span.end).map(|at| self.line(at));
        lines.filter(|line| !line.is_blank).map(|line| line.indent).min()
    }

    /// Cuts prose at blank lines.
    fn cut_prose(&mut self) {
        let (mut start, mut size) = (0, 0);
        for at in 0..self.lines.len() {
            let line = self.line(at);
            size += line.bytes;
            let is_end = at + 1 == self.lines.len();
            if is_end || (line.is_blank && size >= USUAL_BYTES) || size > MOST_BYTES {
                self.add_part(Span { start, end: at + 1 }, &[]);
                (start, size) = (at + 1, 0);
            }
        }
    }

    /// Cuts a component into its sections, and these into blocks. The tag of a section encloses all its parts.
    fn cut_sections(&mut self, all: Span) {
        let mut start = all.start;
        while start < all.end {
            // Templates contain other templates, but those are deeper than the left edge.
            let opens = self.line(start).section == SectionMark::Opens;
            let is_last = |at: &usize| match self.line(*at).section {
                SectionMark::Closes => opens,
                SectionMark::Opens => *at > start,
                SectionMark::None => false,
            };
            let end = match (start..all.end).find(is_last) {
                Some(at) if self.line(at).section == SectionMark::Closes => at + 1,
                Some(at) => at,
                None => all.end,
            };
            match opens && start + 1 < end {
                true => {
                    let inside = Span {
                        start: start + 1,
                        end,
                    };
                    self.cut_block(inside, &[start + 1], 1, 1);
                }
                false => self.cut_block(Span { start, end }, &[], 0, 0),
            }
            start = end;
        }
    }

    /// Cuts a block into parts. The `lead` lines above its first one are its header, and belong to its first part.
    fn cut_block(&mut self, block: Span, headers: &[usize], lead: usize, depth: usize) {
        let Some(level) = self.find_level(block) else {
            let start = block.start.saturating_sub(lead);
            return self.add_part(Span { start, ..block }, headers);
        };
        let mut open = Span {
            start: block.start.saturating_sub(lead),
            end: block.start,
        };
        let mut size = self.count_bytes(open);
        for item in self.list_items(block, level) {
            let bytes = self.count_bytes(item);
            if bytes > MOST_BYTES && depth < DEEPEST {
                self.add_part(open, headers);
                self.cut_large(item, level, headers, depth);
                open = Span {
                    start: item.end,
                    end: item.end,
                };
                size = 0;
                continue;
            }
            // The header stays with the first item, whose size it hardly changes.
            if open.end > block.start && size + bytes > USUAL_BYTES {
                self.add_part(open, headers);
                open.start = item.start;
                size = 0;
            }
            open.end = item.end;
            size += bytes;
        }
        self.add_part(open, headers);
    }

    /// Returns the items of a block: each begins with a line at the block's own level.
    fn list_items(&self, block: Span, level: usize) -> Vec<Span> {
        let mut items: Vec<Span> = Vec::new();
        let mut is_led = false;
        for at in block.start..block.end {
            let line = self.line(at);
            let begins = !line.is_blank && line.indent <= level && !line.continues;
            match items.last_mut() {
                Some(item) if !begins || is_led => item.end = at + 1,
                Some(_) | None => items.push(Span {
                    start: at,
                    end: at + 1,
                }),
            }
            is_led = begins && line.leads;
        }
        items
    }

    /// Cuts an item that is too large for one part: along the blocks inside it, else by its size.
    fn cut_large(&mut self, item: Span, level: usize, headers: &[usize], depth: usize) {
        let is_inner = |at: &usize| !self.line(*at).is_blank && self.line(*at).indent > level;
        let Some(body) = (item.start..item.end).find(is_inner) else {
            return self.cut_by_size(item, headers);
        };
        let is_header = |at: &usize| {
            let line = self.line(*at);
            !line.is_blank && !line.leads && !line.continues
        };
        let header = (item.start..body).rev().find(is_header).unwrap_or(item.start);
        let mut enclosing = headers.to_vec();
        enclosing.push(header + 1);
        let is_outer = |at: usize| self.line(at).is_blank || self.line(at).indent <= level;
        let mut end = item.end;
        while end > body && is_outer(end - 1) {
            end -= 1;
        }
        // `} else {` stands at the level of the block that it continues: each branch is a block of its own.
        let mut start = item.start;
        let mut at = body;
        while at < end {
            let outer = (at..end).find(|at| !self.line(*at).is_blank && self.line(*at).indent <= level);
            let stop = outer.unwrap_or(end);
            let inner = Span { start: at, end: stop };
            self.cut_block(inner, &enclosing, at - start, depth + 1);
            start = stop;
            at = (stop..end)
                .find(|at| !is_blank_or_outer(self.line(*at), level))
                .unwrap_or(end);
        }
        // The closing lines belong to the last block.
        if let Some(last) = self.parts.last_mut() {
            last.last_line = item.end;
        }
    }

    fn cut_by_size(&mut self, span: Span, headers: &[usize]) {
        let (mut start, mut size) = (span.start, 0);
        for at in span.start..span.end {
            size += self.line(at).bytes;
            if size > USUAL_BYTES {
                self.add_part(Span { start, end: at + 1 }, headers);
                (start, size) = (at + 1, 0);
            }
        }
        self.add_part(Span { start, end: span.end }, headers);
    }

    fn add_part(&mut self, span: Span, headers: &[usize]) {
        if span.start >= span.end {
            return;
        }
        // The first part inside a block contains the header itself.
        let above = headers.iter().copied().filter(|line| *line <= span.start);
        self.parts.push(TextPart {
            first_line: span.start + 1,
            last_line: span.end,
            headers: above.collect(),
        });
    }
}

fn is_blank_or_outer(line: MeasuredLine, level: usize) -> bool {
    line.is_blank || line.indent <= level
}

#[cfg(test)]
mod tests {
    use super::cut_text;

    /// Returns each part as `first-last`, with the lines that enclose it.
    fn cut(path: &str, text: &str) -> Vec<String> {
        let parts = cut_text(path, text);
        let lines = parts.iter().map(|part| {
            let headers: Vec<String> = part.headers.iter().map(ToString::to_string).collect();
            format!(
                "{}-{} in [{}]",
                part.first_line,
                part.last_line,
                headers.join(" ")
            )
        });
        lines.collect()
    }

    /// A body of so many lines at a depth.
    fn body(depth: usize, lines: usize) -> String {
        format!(
            "{}some_value = compute_it(with, several, words)\n",
            "    ".repeat(depth)
        )
        .repeat(lines)
    }

    #[test]
    fn a_class_is_cut_into_its_methods_and_each_names_the_class() {
        let method = |name: &str| {
            format!(
                "    # About {name}.\n    @cached\n    def {name}(self):\n{}\n",
                body(2, 20)
            )
        };
        let text = format!(
            "import os\n\n\nclass Shop:\n{}{}",
            method("open"),
            method("close")
        );
        assert_eq!(cut("shop.py", &text), ["1-3 in []", "4-28 in []", "29-52 in [4]"]);
    }

    #[test]
    fn labels_preprocessor_lines_and_branches_do_not_end_a_function() {
        let text = format!(
            "static int\nread_it(int a)\n{{\n{}#ifdef X\n{}out:\n    if (a) {{\n{}    }} else {{\n{}    }}\n    return a;\n}}\n\nint b;\n",
            body(1, 8),
            body(1, 4),
            body(2, 18),
            body(2, 18)
        );
        let expected = [
            "1-1 in []",
            "2-13 in []",
            "14-17 in [2]",
            "18-27 in [2]",
            "28-36 in [2 18]",
            "37-46 in [2 18]",
            "47-56 in [2 18]",
            "57-59 in [2]",
            "60-60 in []",
        ];
        assert_eq!(cut("read.c", &text), expected);
    }

    #[test]
    fn a_component_is_cut_into_its_sections_and_each_part_names_its_tag() {
        let function = |name: &str| format!("function {name}() {{\n{}}}\n", body(1, 10));
        let text = format!(
            "<!-- A shop. -->\n<script setup lang=\"ts\">\nimport a from 'a'\n{}{}</script>\n\n<template>\n{}</template>\n<style src=\"a.css\"></style>\n",
            function("open"),
            function("close"),
            body(1, 4)
        );
        let expected = [
            "1-1 in []",
            "2-3 in []",
            "4-15 in [2]",
            "16-28 in [2]",
            "29-29 in []",
            "30-35 in []",
            "36-36 in []",
        ];
        assert_eq!(cut("Shop.vue", &text), expected);
        assert_eq!(cut("a.svelte", "</script>\n<p>\n"), ["1-2 in []"]);
    }

    #[test]
    fn prose_is_cut_at_blank_lines() {
        let paragraph = format!("{}\n", "Some words of a longer text about something.\n".repeat(9));
        assert_eq!(
            cut("guide.md", &paragraph.repeat(3)),
            ["1-20 in []", "21-30 in []"]
        );
    }
}
