//! A grammar in GBNF under which an edit can only search for text that is in the task's files.
//!
//! Owns: the grammar and its size. Never: decides if an answer is a good edit; landing checks it like any other.
//! GBNF as llama.cpp's `grammars/README.md` describes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentos_generic_http::ServerSettings;
use agentos_tool::{Constrain, ContextFile, EditFormat, ToolTask};

use crate::completion::DEFAULT_LIMIT;

/// Maximum lines of all files that an edit may search for. Each is a rule, and the server walks the rules for every token.
const MOST_LINES: usize = 1500;
/// Maximum bytes of a line that an edit may search for.
const LONGEST_LINE: usize = 300;
/// Maximum characters of a new line.
const COLUMNS: usize = 160;
/// Maximum new lines: the server refuses longer repetitions.
const MOST_NEW_LINES: usize = 1000;

/// Builds the grammar for a task: one search/replace block, whose searched part begins with a line that occurs in its file only
/// once. No part of it can be longer than the limit of tokens, which therefore never cuts it. `None` if the settings request no
/// grammar.
///
/// # Errors
/// The reason in words if no line can be searched for.
pub(crate) fn build_grammar(
    settings: &ServerSettings,
    task: &ToolTask,
) -> Result<Option<String>, &'static str> {
    if settings.constrain != Constrain::Grammar || task.edit_format != EditFormat::SearchReplace {
        return Ok(None);
    }
    let tokens = task.limits.max_output_tokens.or(settings.max_tokens);
    let bytes = usize::try_from(tokens.unwrap_or(DEFAULT_LIMIT)).unwrap_or(usize::MAX);
    grammar_for_files(&task.context, bytes).map(Some)
}

fn grammar_for_files(files: &[ContextFile], bytes: usize) -> Result<String, &'static str> {
    let mut heads = Vec::new();
    let mut rules = String::new();
    let mut room = MOST_LINES;
    for (number, file) in files.iter().enumerate() {
        let lines: Vec<&str> = file.content.lines().collect();
        // A third of the bytes for the search, the rest for the new text and the marks.
        let starts = line_rules(&mut rules, number, &lines, (room, bytes / 3));
        room = room.saturating_sub(lines.len());
        if !starts.is_empty() && is_plain(&file.path) {
            let head = quote_text(&format!("{}\n<<<<<<< SEARCH\n", file.path));
            heads.push(format!("{head} ({})", starts.join(" | ")));
        }
    }
    if heads.is_empty() {
        return Err("no grammar is sent, because no file of the task has a line that occurs in it only once");
    }
    let paths = files.iter().map(|file| file.path.len()).max().unwrap_or(0);
    let marks = "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n".len() + paths + 1;
    let room = bytes.saturating_sub(marks + bytes / 3).max(2);
    let ascii = files.iter().all(|file| file.content.is_ascii());
    Ok(format!(
        "root ::= ({}) {} new {}\n{}{rules}",
        heads.join(" | "),
        quote_text("=======\n"),
        quote_text(">>>>>>> REPLACE\n"),
        new_rules(room, ascii),
    ))
}

/// Adds a rule for each line that a search may contain: the line, then optionally the next one. A run of lines ends after `most`
/// bytes. Only the first `room` lines get a rule, but all lines count when a line's occurrences are counted. Returns the rules
/// with which a search may begin.
fn line_rules(rules: &mut String, file: usize, lines: &[&str], (room, most): (usize, usize)) -> Vec<String> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for line in lines {
        *count.entry(line.trim()).or_default() += 1;
    }
    // A line that looks like a mark would end the search part of the block too early.
    let fits = |line: &str| is_plain(line) && !is_mark(line) && line.len() < LONGEST_LINE.min(most);
    let mut starts = Vec::new();
    let mut part = 0;
    let ruled = lines.get(..room).unwrap_or(lines);
    for (number, line) in ruled.iter().enumerate() {
        if !fits(line) {
            part = 0;
            continue;
        }
        part += line.len() + 1;
        let next = ruled
            .get(number + 1)
            .filter(|next| fits(next) && part + next.len() < most);
        let more = match next {
            Some(_) => format!(" l{file}-{}?", number + 1),
            None => {
                part = 0;
                String::new()
            }
        };
        let _ = writeln!(
            rules,
            "l{file}-{number} ::= {}{more}",
            quote_text(&format!("{line}\n"))
        );
        if !line.trim().is_empty() && count.get(line.trim()) == Some(&1) {
            starts.push(format!("l{file}-{number}"));
        }
    }
    starts
}

/// Builds the rules of the new text: at most `room` bytes, and no line that looks like a mark of the block.
fn new_rules(room: usize, ascii: bool) -> String {
    // Characters of all scripts, without invisible ones and those that change a line's direction.
    let wide = r"\u00A1-\u00AC\u00AE-\u02FF\u0370-\u061B\u061E-\u17FF\u1810-\u1FFF\u2010-\u2027\u2030-\u205E\u2070-\uD7FF\uF900-\uFAFF\uFF01-\uFFDC\U0001F300-\U0001FAFF";
    let (wide, width) = if ascii { ("", 1) } else { (wide, 4) };
    let columns = COLUMNS.min((room / width).saturating_sub(1)).max(3);
    let lines = (room / (columns * width + 1)).clamp(1, MOST_NEW_LINES);
    format!(
        "new ::= line{{0,{lines}}}\n\
         line ::= ([\\t\\x20-\\x3B\\x3F-\\x7E{wide}] tail | \"<\" ([\\t\\x20-\\x3B\\x3D-\\x7E{wide}] tail)? | \
         \"=\" ([\\t\\x20-\\x3C\\x3E-\\x7E{wide}] tail)? | \">\" ([\\t\\x20-\\x3D\\x3F-\\x7E{wide}] tail)?)? \"\\n\"\n\
         tail ::= [\\t\\x20-\\x7E{wide}]{{0,{}}}\n",
        columns - 2
    )
}

fn is_plain(line: &str) -> bool {
    !line.chars().any(|c| c.is_control() && c != '\t')
}

fn is_mark(line: &str) -> bool {
    ["<<<<<<<", "=======", ">>>>>>>"]
        .iter()
        .any(|mark| line.trim_start().starts_with(mark))
}

/// Quotes a text as a terminal of the grammar.
fn quote_text(text: &str) -> String {
    // File names and lines are untrusted: an unescaped quote could add rules to the grammar.
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '"' | '\\' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> ContextFile {
        ContextFile {
            path: path.to_owned(),
            content: content.to_owned(),
            part: None,
        }
    }

    #[test]
    fn a_search_begins_with_a_line_that_is_there_once() {
        let files = [file(
            "src/lib.rs",
            "fn a() {\n    1\n}\nfn b() {\n    \"\\t\"\n}\n",
        )];
        insta::assert_snapshot!(grammar_for_files(&files, 600).unwrap(), @r#"
        root ::= ("src/lib.rs\n<<<<<<< SEARCH\n" (l0-0 | l0-1 | l0-3 | l0-4)) "=======\n" new ">>>>>>> REPLACE\n"
        new ::= line{0,2}
        line ::= ([\t\x20-\x3B\x3F-\x7E] tail | "<" ([\t\x20-\x3B\x3D-\x7E] tail)? | "=" ([\t\x20-\x3C\x3E-\x7E] tail)? | ">" ([\t\x20-\x3D\x3F-\x7E] tail)?)? "\n"
        tail ::= [\t\x20-\x7E]{0,158}
        l0-0 ::= "fn a() {\n" l0-1?
        l0-1 ::= "    1\n" l0-2?
        l0-2 ::= "}\n" l0-3?
        l0-3 ::= "fn b() {\n" l0-4?
        l0-4 ::= "    \"\\t\"\n" l0-5?
        l0-5 ::= "}\n"
        "#);
    }

    #[test]
    fn what_cannot_be_searched_for_is_left_out() {
        let cases = [
            file("a", ""),
            file("a", "x\nx\n"),
            file("a", "\u{1b}[31m\n"),
            file("a", "=======\n"),
            file("a", &"x".repeat(LONGEST_LINE)),
            file("a\nb", "x\n"),
        ];
        for file in cases {
            assert!(
                grammar_for_files(std::slice::from_ref(&file), 4096).is_err(),
                "{file:?}"
            );
        }
        assert!(grammar_for_files(&[], 4096).is_err());
    }

    #[test]
    fn a_large_file_does_not_make_a_large_grammar() {
        let text: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        let again = format!("line 0\n{text}line 1\n");
        assert!(
            !grammar_for_files(&[file("a", &again)], 4096)
                .unwrap()
                .contains("(l0-0 ")
        );
        let grammar = grammar_for_files(&[file("a", &text), file("b", "one\n")], 4096).unwrap();
        assert!(
            grammar.lines().count() <= MOST_LINES + 5,
            "{}",
            grammar.lines().count()
        );
    }
}
