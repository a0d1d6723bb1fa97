//! `list_files` and `read_file`.
//!
//! Owns: pages and line numbers. Never: decides what may be shown.

use std::fmt::Write as _;

use agentos_engine::context::{Context, RequestedFile, gather_files};
use agentos_engine::ports::EffectError;

use super::base_reader::{ShownText, with_base};
use super::{CallArguments, ToolContext};
use agentos_ground::error::usage_error;

/// Files of a page, if the model names no number, and at most.
const PAGE: (u64, u64) = (200, 1_000);
/// Most lines of one call.
const MOST_LINES: u64 = 1_000;

/// Lists files of the base.
pub(super) fn list_files(
    context: &ToolContext,
    arguments: &CallArguments<'_>,
) -> Result<String, EffectError> {
    let limit = arguments.number("limit").unwrap_or(PAGE.0).clamp(1, PAGE.1);
    let offset = arguments.number("offset").unwrap_or(0);
    with_base(context, |reader| {
        let paths = reader.list_paths(arguments.text("pattern"))?;
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        let taken = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut shown = String::new();
        let mut count = 0_u64;
        for (path, _) in paths.iter().skip(skipped).take(taken) {
            let mark = if reader.allows_name(path) {
                ""
            } else {
                " (withheld by policy)"
            };
            // Writing to a string cannot fail.
            let _ = writeln!(shown, "{path}{mark}");
            count += 1;
        }
        let end = offset.saturating_add(count);
        let total = u64::try_from(paths.len()).unwrap_or(u64::MAX);
        let _ = match end < total {
            true => write!(
                shown,
                "[{count} of {total} files; the next page begins at offset {end}]"
            ),
            false => write!(shown, "[{count} of {total} files]"),
        };
        Ok(shown)
    })
}

/// Reads lines of a file of the base.
pub(super) fn read_file(context: &ToolContext, arguments: &CallArguments<'_>) -> Result<String, EffectError> {
    let path = arguments.text("path").unwrap_or_default();
    let first = arguments.number("first_line").unwrap_or(1).max(1);
    let most = first.saturating_add(MOST_LINES - 1);
    let last = arguments.number("last_line").unwrap_or(most).min(most);
    if last < first {
        return Err(usage_error(format!("line {last} is before line {first}")));
    }
    with_base(context, |reader| {
        let path = reader.path_from_root(path);
        let request = RequestedFile {
            path: path.to_owned(),
            lines: vec![(first, last)],
        };
        // The same text for each of them, if policy lets all of them see it.
        let mut found = Context::default();
        for facts in reader.list_facts() {
            found = gather_files(std::slice::from_ref(&request), reader.base, reader.policy, &facts)?;
            if let Some(withheld) = found.withheld.first() {
                return Err(usage_error(format!(
                    "policy withholds `{}` from `{}`: {}",
                    withheld.path, facts.provider, withheld.why
                )));
            }
        }
        let Some(file) = found.files.first() else {
            return Ok(format!("[`{path}` is empty]"));
        };
        let Some(part) = &file.part else {
            // The whole file comes back if it has none of the lines.
            let lines = file.content.lines().count();
            return match lines {
                0 => Ok(format!("[`{path}` is empty]")),
                _ => Err(usage_error(format!("`{path}` has {lines} lines"))),
            };
        };
        let text = ShownText {
            by: "read_file",
            path,
            lines: vec![(part.first_line, part.last_line)],
            commit: None,
            blobs: reader.find_blob(path)?,
            text: file.content.as_bytes(),
        };
        if !reader.admit_text(text) {
            return Err(usage_error(format!(
                "policy withholds these lines of `{path}` from this provider"
            )));
        }
        let mut shown = String::new();
        for (number, line) in (part.first_line..).zip(file.content.lines()) {
            let _ = writeln!(shown, "{number:>6}\t{line}");
        }
        let _ = write!(
            shown,
            "[lines {} to {} of {} of `{path}`]",
            part.first_line, part.last_line, part.total_lines
        );
        Ok(shown)
    })
}
