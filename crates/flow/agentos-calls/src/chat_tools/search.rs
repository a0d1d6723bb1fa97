//! `search`: lines of the base's files that match a text.
//!
//! Owns: its limits. Never: reads a file whose name policy withholds.

use std::fmt::Write as _;

use agentos_engine::ports::EffectError;
use regex::{Regex, RegexBuilder};

use super::base_reader::{BaseReader, ShownText, with_base};
use super::{CallArguments, StopSlot, ToolContext, is_stopped};
use agentos_ground::error::usage_error;

/// Lines of a result, if the model names no number, and at most.
const LINES: (u64, u64) = (50, 200);
/// Largest file that is searched.
const LARGEST_FILE: u64 = 1 << 20;
/// Most bytes that one call reads, so that it ends within its time in a repository of any size.
const MOST_BYTES: usize = 64 << 20;
/// Most characters of a line that are shown.
const LONGEST_LINE: usize = 240;
/// Most bytes of a line that are searched. A stopped call ends after the line that it is at.
const LONGEST_SEARCHED: usize = 16 << 10;
/// Largest compiled expression. The time for a line grows with both, and a class such as `\w` alone takes a fifth of this.
const LARGEST_PROGRAM: usize = 1 << 18;
/// Largest cache of a search.
const LARGEST_CACHE: usize = 1 << 20;

/// Result of a search, as it grows.
#[derive(Default)]
struct SearchResult {
    shown: String,
    lines: u64,
    withheld: usize,
    is_cut: bool,
    /// Lines of which only the beginning was searched.
    long_lines: u64,
    /// True if not all files were read.
    is_partial: bool,
}

/// Searches the files of the base.
pub(super) fn search_files(
    context: &ToolContext,
    arguments: &CallArguments<'_>,
    stop: &StopSlot,
) -> Result<String, EffectError> {
    let expression = parse_expression(arguments)?;
    let limit = arguments.number("limit").unwrap_or(LINES.0).clamp(1, LINES.1);
    with_base(context, |reader| {
        let mut result = SearchResult::default();
        let mut read = 0;
        for (path, id) in reader.list_paths(arguments.text("pattern"))? {
            // Nobody waits for the result any more, but the blocking thread does not end by itself.
            if read > MOST_BYTES || is_stopped(stop) {
                result.is_partial = true;
                break;
            }
            if result.lines >= limit {
                result.is_cut = true;
                break;
            }
            if !reader.allows_name(&path) {
                result.withheld += 1;
                continue;
            }
            let Some(text) = reader.read_text(&id, LARGEST_FILE)? else {
                continue;
            };
            read += text.len();
            search_text(
                reader,
                (&expression, stop),
                (&path, &id, &text),
                limit,
                &mut result,
            );
        }
        Ok(describe_result(result))
    })
}

fn parse_expression(arguments: &CallArguments<'_>) -> Result<Regex, EffectError> {
    let text = arguments.text("text").unwrap_or_default();
    let pattern = match arguments.flag("regex") {
        true => text.to_owned(),
        false => regex::escape(text),
    };
    RegexBuilder::new(&pattern)
        .case_insensitive(arguments.flag("ignore_case"))
        .size_limit(LARGEST_PROGRAM)
        .dfa_size_limit(LARGEST_CACHE)
        .build()
        .map_err(|error| usage_error(format!("the regular expression cannot be used: {error}")))
}

fn search_text(
    reader: &BaseReader<'_>,
    (expression, stop): (&Regex, &StopSlot),
    (path, id, text): (&str, &str, &str),
    limit: u64,
    result: &mut SearchResult,
) {
    let mut found = String::new();
    let mut numbers: Vec<(u64, u64)> = Vec::new();
    let (mut lines, mut long_lines, mut is_cut) = (0, 0, false);
    for (number, line) in (1_u64..).zip(text.lines()) {
        if is_stopped(stop) {
            break;
        }
        let searched = cut_line(line);
        long_lines += u64::from(searched.len() < line.len());
        if !expression.is_match(searched) {
            continue;
        }
        if result.lines + lines >= limit {
            is_cut = true;
            break;
        }
        let shown: String = line.trim_end().chars().take(LONGEST_LINE).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(found, "{path}:{number}: {shown}");
        numbers.push((number, number));
        lines += 1;
    }
    // The whole text is judged although only lines are shown: a line alone may not look like a secret. A file that is withheld for
    // its text is not counted either, and changes nothing else of the result: a model could otherwise find the text by searching for one
    // guess after the other.
    if (lines == 0 && long_lines == 0) || !reader.allows_text(path, text.as_bytes()) {
        return;
    }
    result.long_lines += long_lines;
    if lines == 0 {
        return;
    }
    let shown = ShownText {
        by: "search",
        path,
        lines: numbers,
        commit: None,
        blobs: vec![id.to_owned()],
        text: found.as_bytes(),
    };
    if reader.admit_text(shown) {
        result.shown.push_str(&found);
        result.lines += lines;
        result.is_cut |= is_cut;
    } else {
        result.withheld += 1;
    }
}

/// Returns the part of a line that is searched.
fn cut_line(line: &str) -> &str {
    // A character has at most 4 bytes, so one of these is its end.
    let ends = (0..4).map(|back| LONGEST_SEARCHED - back);
    match line.len() > LONGEST_SEARCHED {
        true => ends
            .into_iter()
            .find_map(|end| line.get(..end))
            .unwrap_or_default(),
        false => line,
    }
}

fn describe_result(result: SearchResult) -> String {
    let mut shown = result.shown;
    let end = match (result.is_cut, result.is_partial) {
        (true, _) => "; there are more, so narrow the search",
        (false, true) => "; the repository is too large to be searched as a whole, so name a pattern",
        (false, false) => "",
    };
    let _ = write!(shown, "[{} lines{end}]", result.lines);
    if result.long_lines > 0 {
        let _ = write!(
            shown,
            "\n[{} lines are longer than {} KiB; only their beginning was searched]",
            result.long_lines,
            LONGEST_SEARCHED >> 10
        );
    }
    if result.withheld > 0 {
        let _ = write!(
            shown,
            "\n[policy withholds {} files from this provider]",
            result.withheld
        );
    }
    shown
}
