//! Whole files: a fence below a path, or on a fence with a path.
//!
//! Owns: which of these blocks are files, next to the other edits. Never: looks at the base; whether a title is enough for a file that the base
//! has is decided with both texts (`crate::whole`).
//!
//! | above the block, or on its fence | other edits in the answer | meaning |
//! |---|---|---|
//! | the path alone, a label, or a sentence that does nothing but state the file | no | the file |
//! | a label, or such a sentence | yes | the file |
//! | the path alone | yes | refused: one dialect, please |
//! | the path of a file that is edited | yes | an excerpt of the result: noted |
//! | a sentence with the path | no | refused: the file, or an example |
//! | a sentence with the path | yes | an example: noted, unless the path is new |
//! | a comment with the path in the first line | no | the file, if the base has it and it keeps most lines |

use std::collections::HashSet;

use super::cursor::{closes_fence, parse_fence};
use super::cut::Cut;
use super::model::{FileClaim, FileEdit, HeaderName, HunkLine, ParsedAnswer};
use super::segment::SegmentKind;
use super::title::PathTitle;
use crate::refusal::{ambiguous, malformed};
use crate::text::{TextLine, is_in, shown_name};
use crate::{Refusal, RepoPath};

/// Reads the files of an answer after its edits in other dialects.
///
/// # Errors
/// Fails if a block may be an example, or if its end is uncertain.
pub(super) fn read_files(cut: &Cut<'_>, parsed: &mut ParsedAnswer) -> Result<(), Refusal> {
    let names = edit_names(parsed);
    let has_edits = !parsed.files.is_empty();
    let is_new = |title: &PathTitle| !(cut.is_tracked)(&title.path) && is_valid(&title.path);
    for segment in &cut.segments {
        let lines = cut.lines.get(segment.lines.clone()).unwrap_or_default();
        let read = match &segment.kind {
            SegmentKind::File { title, claim, flaw } => {
                let is_edited = names.contains(&title.path);
                if title.only_mentioned {
                    check_mentioned(title, is_edited, &names, is_new)?;
                } else if is_edited {
                    // A file in marks of an unknown name may still be a draft.
                    parsed.heads.push(segment.head);
                } else {
                    // A fence in reasoning is none of the file.
                    let flaw = flaw.as_ref().filter(|(_, line)| !cut.is_reasoning(*line));
                    check_titled(title, flaw.map(|(flaw, _)| flaw), &names)?;
                }
                if title.only_mentioned || is_edited {
                    let path = shown_name(&title.path);
                    let note = format!("a block below `{path}` was skipped next to the edits");
                    parsed.notes.push(note);
                    continue;
                }
                Some((title, *claim))
            }
            SegmentKind::Commented { title } if !has_edits && is_valid(&title.path) => {
                Some((title, FileClaim::Comment))
            }
            SegmentKind::Commented { title } if is_valid(&title.path) && !names.contains(&title.path) => {
                return Err(may_be_file(&title.path));
            }
            SegmentKind::Quotation { name, has_end } => {
                // The file above may have contained a fence, which closed its block too early.
                if !has_end && !has_edits && !parsed.files.is_empty() {
                    let message = "a fence below a file's block has no end: where the file ends can be read in two ways";
                    return Err(malformed(message).hint("use a longer fence around the file"));
                }
                if let Some(name) = name {
                    let name = shown_name(name);
                    let message =
                        format!("a block below `{name}` could be a new file of that name, or an example");
                    let hint = "write the name of a new file as `name`, or give a diff";
                    return Err(ambiguous(message).hint(hint));
                }
                parsed.notes.push("a block without a path was skipped".to_owned());
                None
            }
            _ => None,
        };
        if let Some((title, claim)) = read {
            let body = HunkLine::added(block_body(lines));
            let edit = FileEdit::of_whole_file(body, &title.path, claim);
            parsed.files.push(edit);
            parsed.heads.push(segment.head);
        }
    }
    Ok(())
}

/// Refuses a block below a sentence with a path, unless it is certainly no file. `names` are those of the edits.
fn check_mentioned(
    title: &PathTitle,
    is_edited: bool,
    names: &HashSet<Vec<u8>>,
    is_new: impl Fn(&PathTitle) -> bool,
) -> Result<(), Refusal> {
    if names.is_empty() {
        // "Look at `a.rs`:" above a block may introduce an excerpt, so the block is not taken for the file.
        let path = shown_name(&title.path);
        let message = format!("a block below a sentence about `{path}` could be that file, or an example");
        return Err(ambiguous(message)
            .hint("write the path alone above each file, and give diffs for parts of files"));
    }
    // A path in a sentence is most often an explanation, so it counts only for a new file.
    if !is_edited && is_new(title) && looks_like_file(&title.path, names) {
        return Err(may_be_file(&title.path));
    }
    Ok(())
}

/// Refuses a block below a title next to edits, unless it is stated to be the file, and one without a certain end.
fn check_titled(title: &PathTitle, flaw: Option<&Refusal>, names: &HashSet<Vec<u8>>) -> Result<(), Refusal> {
    // The file is not among the edited ones, so it would be lost.
    if !names.is_empty() && !title.is_stated {
        let path = shown_name(&title.path);
        let message = format!("the answer has edits in one dialect and the file `{path}` in another");
        return Err(malformed(message).hint("give all of the change in one dialect"));
    }
    flaw.map_or(Ok(()), |flaw| Err(flaw.clone()))
}

/// Returns the refusal of a block next to edits that may be a new file: to land the rest would leave it out in silence.
fn may_be_file(path: &[u8]) -> Refusal {
    let path = shown_name(path);
    ambiguous(format!(
        "a block next to `{path}` could be that file, or an example"
    ))
    .at(path)
    .hint("give all of the change in one dialect, each file below its path")
}

/// Returns true if a name from a sentence is a file. Sentences contain names with dots that are not files, as `node.js`: a
/// file has a folder, a common extension, or the extension of a file that the answer edits.
fn looks_like_file(path: &[u8], names: &HashSet<Vec<u8>>) -> bool {
    const COMMON: &str = "toml,json,yaml,yml,md,txt,cfg,ini,sh,lock";
    fn ending(name: &[u8]) -> &[u8] {
        name.rsplit(|byte| *byte == b'.').next().unwrap_or_default()
    }
    let this = ending(path);
    path.contains(&b'/') || names.iter().any(|name| ending(name) == this) || is_in(COMMON, this)
}

/// Returns the lines between the two fences of a block.
fn block_body<'l, 'a>(lines: &'l [TextLine<'a>]) -> &'l [TextLine<'a>] {
    match lines {
        [open, body @ .., last]
            if parse_fence(open.text).is_some_and(|open| closes_fence(&open, last.text)) =>
        {
            body
        }
        [_, body @ ..] => body,
        [] => &[],
    }
}

fn is_valid(path: &[u8]) -> bool {
    std::str::from_utf8(path).is_ok_and(|path| RepoPath::new(path).is_ok())
}

/// Returns the names of all edits that were read, with and without their prefixes.
fn edit_names(parsed: &ParsedAnswer) -> HashSet<Vec<u8>> {
    let mut found = HashSet::new();
    let names = parsed.files.iter().flat_map(|edit| [&edit.old, &edit.new]);
    for name in names.filter_map(HeaderName::written) {
        found.extend([name, super::bare_name(name)].map(<[u8]>::to_vec));
    }
    found
}
