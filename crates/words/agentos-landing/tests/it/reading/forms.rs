//! One edit with a known result, written in every dialect.
//!
//! Owns: the forms of good answers. Never: writes anything around them.

use serde_json::{Value, json};

use super::files::Source;

/// An edit of one file.
#[derive(Clone)]
pub struct Edit {
    pub path: &'static str,
    /// Text of the file afterwards.
    pub after: String,
    /// First line of the region, counted from 1.
    line: usize,
    /// The changed line, with up to two lines on each side.
    above: String,
    old: String,
    new: String,
    below: String,
}

impl Edit {
    /// Edit number `which` of a file, with `number` in place of the 42.
    pub fn of(source: &Source, which: usize, number: usize) -> Self {
        let (old, new) = source.swaps[which % source.swaps.len()];
        let new = new.replace("42", &number.to_string());
        let lines: Vec<&str> = source.text.lines().collect();
        let at = lines
            .iter()
            .position(|line| *line == old)
            .expect("the file has the line");
        let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let (first, end) = (at.saturating_sub(2), lines.len().min(at + 3));
        Self {
            path: source.path,
            after: text(&lines[..at]) + &new + "\n" + &text(&lines[at + 1..]),
            line: first + 1,
            above: text(&lines[first..at]),
            old: format!("{old}\n"),
            new: format!("{new}\n"),
            below: text(&lines[at + 1..end]),
        }
    }

    pub fn search(&self) -> String {
        format!("{}{}{}", self.above, self.old, self.below)
    }

    pub fn replace(&self) -> String {
        format!("{}{}{}", self.above, self.new, self.below)
    }

    fn body(&self) -> String {
        let marked = |mark: &str, text: &str| -> String {
            text.lines().map(|line| format!("{mark}{line}\n")).collect()
        };
        marked(" ", &self.above)
            + &marked("-", &self.old)
            + &marked("+", &self.new)
            + &marked(" ", &self.below)
    }

    /// The unified diff.
    pub fn diff(&self) -> String {
        let Self { path, line, .. } = self;
        let (old, new) = (self.search().lines().count(), self.replace().lines().count());
        format!(
            "--- a/{path}\n+++ b/{path}\n@@ -{line},{old} +{line},{new} @@\n{}",
            self.body()
        )
    }

    pub fn blocks(&self) -> String {
        format!(
            "<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n",
            self.search(),
            self.replace()
        )
    }

    fn envelope(&self) -> String {
        format!(
            "*** Begin Patch\n*** Update File: {}\n@@\n{}*** End Patch\n",
            self.path,
            self.body()
        )
    }

    fn edits(&self) -> Value {
        json!({"edits": [{"path": self.path, "search": self.search(), "replace": self.replace()}]})
    }

    fn call(&self) -> Value {
        json!({"name": "Edit", "input": {"file_path": self.path, "old_string": self.search(), "new_string": self.replace()}})
    }

    fn write(&self) -> Value {
        json!({"name": "Write", "input": {"file_path": self.path, "content": self.after}})
    }

    fn whole(&self) -> String {
        format!("```\n{}```\n", self.after)
    }
}

/// A form of an answer: its name, and the edit in it.
pub type Form = (&'static str, fn(&Edit) -> String);

pub const FORMS: &[Form] = &[
    ("diff", Edit::diff),
    ("diff of git", |edit| {
        format!("diff --git a/{0} b/{0}\n{1}", edit.path, edit.diff())
    }),
    ("diff in a fence", |edit| format!("```diff\n{}```\n", edit.diff())),
    ("blocks", |edit| format!("{}\n{}", edit.path, edit.blocks())),
    ("blocks in a fence", |edit| {
        format!("{}\n```\n{}```\n", edit.path, edit.blocks())
    }),
    ("blocks with the path in the fence", |edit| {
        format!("```\n{}\n{}```\n", edit.path, edit.blocks())
    }),
    ("envelope", Edit::envelope),
    ("envelope in a fence", |edit| {
        format!("```\n{}```\n", edit.envelope())
    }),
    ("file below a code span", |edit| {
        format!("`{}`\n\n{}", edit.path, edit.whole())
    }),
    ("file below a heading", |edit| {
        format!("### {}\n\n{}", edit.path, edit.whole())
    }),
    ("file below a label", |edit| {
        format!("**File: {}**\n\n{}", edit.path, edit.whole())
    }),
    ("edits in a fence", |edit| {
        format!("```json\n{:#}\n```\n", edit.edits())
    }),
    ("edits", |edit| format!("{}\n", edit.edits())),
    ("call", |edit| format!("{}\n", edit.call())),
    ("call in a fence", |edit| {
        format!("```json\n{:#}\n```\n", edit.call())
    }),
    ("write call", |edit| format!("{}\n", edit.write())),
    ("call in tags", |edit| {
        format!("<tool_call>\n{}\n</tool_call>\n", edit.call())
    }),
    ("write_to_file", |edit| {
        format!(
            "<write_to_file>\n<path>{}</path>\n<content>\n{}</content>\n</write_to_file>\n",
            edit.path, edit.after
        )
    }),
    ("replace_in_file", |edit| {
        format!(
            "<replace_in_file>\n<path>{}</path>\n<diff>\n{}</diff>\n</replace_in_file>\n",
            edit.path,
            edit.blocks()
        )
    }),
    ("str_replace_editor", |edit| {
        format!(
            "<function=str_replace_editor>\n<parameter=command>str_replace</parameter>\n<parameter=path>{}</parameter>\n\
             <parameter=old_str>{}</parameter>\n<parameter=new_str>{}</parameter>\n</function>\n",
            edit.path,
            edit.search().trim_end_matches('\n'),
            edit.replace().trim_end_matches('\n')
        )
    }),
];
