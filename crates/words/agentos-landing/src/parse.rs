//! Parses the bytes of an answer into files with hunks, in whatever dialect it was written.
//!
//! Owns: detection of the dialect. Never: looks at the base.
//!
//! # The problem
//!
//! An answer is prose, fences and edits in an unknown dialect, or in several. The text of an edit can itself contain
//! an edit: a README that documents a diff, a test with a search/replace block, a here-document with a patch. A
//! reader that searches the answer for `@@` or `<<<<<<< SEARCH` would apply such an example.
//!
//! # The steps
//!
//! 1. Transport. A byte order mark and the model's thoughts are removed.
//! 2. Owners ([`owners`]). Each line belongs to the outermost part that begins above it. Lines of whole files and of
//!    commit messages are hidden from the readers that look for marks.
//! 3. Dialects, strictest first. Each reader blanks the lines that it took, so no text is read twice:
//!
//!    | order | reader | recognised by |
//!    |---|---|---|
//!    | 1 | [`calls`], [`tags`] | the arguments of an agent's edit tool, in JSON or in tags |
//!    | 2 | [`json`] | an object with `"edits"` |
//!    | 3 | [`envelope`] | `*** Begin Patch` |
//!    | 4 | [`blocks`] | `<<<<<<< SEARCH` |
//!    | 5 | [`unified`] | `diff --git`, `---` and `+++`, `@@` |
//!    | 6 | [`whole`] | a fence below a path; only if no other dialect was found |
//!    | 7 | [`heredoc`] | a shell script that writes files, `cat > path <<'EOF'`; only if nothing else was found |
//!
//! 4. Leftovers. A fence below a path next to edits of another dialect is a file that would be lost, or an example:
//!    the first is refused, the second noted.
//!
//! # What goes wrong without a step
//!
//! Without owners, an example inside a file lands as an edit (`tests/it/outermost.rs`). Without the blanking, the
//! text of one edit could be read again in another dialect. Without the leftovers, half of an answer in two dialects
//! lands and nobody notices the rest.

mod binary;
mod blocks;
mod calls;
mod cursor;
mod envelope;
mod extended;
mod heredoc;
mod hunk;
mod json;
mod model;
mod name;
mod owner;
mod owners;
mod pair;
mod tags;
mod thoughts;
mod title;
mod unified;
mod whole;

pub(crate) use cursor::{CodeFence, closes_fence, parse_fence};
pub(crate) use hunk::parse_header as hunk_header;
pub use json::{JsonEdit, JsonEdits};
pub(crate) use model::{
    BinaryPart, EditBody, FileEdit, HeaderName, Hunk, HunkLine, LineMark, ParsedAnswer, PartNumber,
    SkippedPathPlace, StatedLines, TextReplacement, new_repair,
};
pub(crate) use name::{git_pairs, same_file, without_prefix};
pub(crate) use pair::pair_lines;

use crate::budget::WorkBudget;
use crate::refusal::malformed;
use crate::text::{BOM, LineEnding, split_lines};
use crate::{LandLimits, Refusal, RefusalCode};

/// Maximum number of lines of an answer.
const MAX_LINES: usize = 2_000_000;

/// Parses an answer.
///
/// # Errors
/// Fails with `no-diff` if no edit is found, with `too-large` above a limit, and with another code if an edit cannot
/// be read in exactly one way.
pub(crate) fn parse<'a>(answer: &'a [u8], limits: &LandLimits) -> Result<ParsedAnswer<'a>, Refusal> {
    check_size(answer, limits)?;
    let mut lines = split_lines(answer.strip_prefix(BOM).unwrap_or(answer));
    // An answer that ends in a carriage return was cut between it and its line feed.
    if let Some(last) = lines.last_mut()
        && last.eol == LineEnding::Missing
        && let Some(text) = last.text.strip_suffix(b"\r")
    {
        last.text = text;
        last.eol = LineEnding::CrLf;
    }
    // An edit in the thoughts is a draft that the answer may have dropped.
    thoughts::leave_out(&mut lines);
    let mut parsed = ParsedAnswer::default();
    let texts: Vec<&[u8]> = lines.iter().map(|line| line.text).collect();
    let mut budget = WorkBudget::for_bytes(answer.len());
    let owners = owners::find_owners(&lines, &mut budget)?;
    let hidden = owners::hide_lines(&mut lines, &owners);
    calls::parse(&mut lines, &owners, &mut parsed)?;
    json::parse(&mut lines, &owners, &mut parsed)?;
    envelope::parse(&mut lines, &owners, &mut parsed)?;
    blocks::parse(&mut lines, &owners, &mut parsed)?;
    unified::parse(&lines, &mut parsed)?;
    envelope::check_margins(&parsed)?;
    owners::restore_lines(&mut lines, hidden);
    if parsed.files.is_empty() {
        whole::parse(&lines, &mut parsed)?;
    } else {
        let taken: Vec<bool> = lines
            .iter()
            .zip(&texts)
            .map(|(line, text)| line.text != *text)
            .collect();
        whole::check_next_to_edits(&lines, &taken, &owners, &mut parsed)?;
    }
    let mut scripts = heredoc::read_scripts(&lines);
    let has_edits = !parsed.files.is_empty();
    let writes = !scripts.files.is_empty();
    if (has_edits && (writes || scripts.is_unread)) || (writes && scripts.is_unread) {
        // The script may be an explanation, or a part of the change that would be lost.
        let message = "the answer has edits in one dialect and a shell command that writes a file";
        return Err(malformed(message).hint("give all of the change in one dialect"));
    }
    parsed.files.append(&mut scripts.files);
    check_parsed(&parsed, limits)?;
    number_parts(&mut parsed);
    Ok(parsed)
}

/// Writes into each hunk the number of its part. Hunks of different parts may edit the same file, and only the order
/// within one part is evidence.
fn number_parts(parsed: &mut ParsedAnswer<'_>) {
    for (at, edit) in parsed.files.iter_mut().enumerate() {
        if let EditBody::Hunks(hunks) = &mut edit.body {
            hunks.iter_mut().for_each(|hunk| hunk.part = PartNumber(at));
        }
    }
}

fn check_size(answer: &[u8], limits: &LandLimits) -> Result<(), Refusal> {
    let too_large = |what: &str| Err(Refusal::new(RefusalCode::TooLarge, what));
    if answer.iter().all(u8::is_ascii_whitespace) {
        return Err(Refusal::new(RefusalCode::Empty, "the answer is empty"));
    }
    if answer.len() > limits.answer_bytes {
        return too_large("the answer is larger than the limit");
    }
    let mut count = 0;
    for line in answer.split(|byte| *byte == b'\n') {
        count += 1;
        if line.len() > limits.line_bytes {
            return too_large("a line of the answer is longer than the limit");
        }
    }
    if count > MAX_LINES {
        return too_large("the answer has more lines than the limit");
    }
    Ok(())
}

fn check_parsed(parsed: &ParsedAnswer<'_>, limits: &LandLimits) -> Result<(), Refusal> {
    if parsed.files.is_empty() {
        return Err(
            Refusal::new(RefusalCode::NoDiff, "no edit was found in the answer")
                .hint("answer with a unified diff, or with search/replace blocks under the file's path"),
        );
    }
    let hunks: usize = parsed.files.iter().map(|file| file.hunks().len()).sum();
    if parsed.files.len() > limits.files || hunks > limits.hunks {
        return Err(Refusal::new(
            RefusalCode::TooLarge,
            "the answer touches more files or has more hunks than the limit",
        ));
    }
    Ok(())
}
