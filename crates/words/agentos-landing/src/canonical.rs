//! Canonical git diff of a change: one text for one pair of base and result.
//!
//! Owns: the text and the line counts. Never: depends on how an answer was written. Renames are shown as a deletion
//! and a creation, so that no header carries meaning.

mod name;
mod rename;

pub use name::quote_name;

use std::ops::Range;

use sha1::{Digest, Sha1};

use crate::compare::{LineEdit, line_edits};
use crate::file_change::{PathState, PathStates};
use crate::{FileChange, FileState, LineStats, binary};

/// Number of context lines around an edit, as in git.
const CONTEXT: usize = 3;

/// Renders sorted states. Returns the files of the change, and the diff.
pub(crate) fn render_diff(states: PathStates) -> (Vec<FileChange>, Vec<u8>) {
    let renames = rename::find_renames(&states);
    let mut files = Vec::with_capacity(states.len());
    let mut out = Vec::new();
    for (state, renamed_from) in states.into_iter().zip(renames) {
        let stats = render_file(&mut out, &state);
        let (path, old, new) = state;
        files.push(FileChange {
            path,
            old,
            new,
            stats,
            renamed_from,
        });
    }
    (files, out)
}

fn push_line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

fn render_file(out: &mut Vec<u8>, (path, old, new): &PathState) -> LineStats {
    let (old, new) = (old.as_ref(), new.as_ref());
    let [a, b] = ["a/", "b/"].map(|prefix| name::quote_name(prefix, path.as_str()));
    push_line(out, &format!("diff --git {a} {b}"));
    match (old.map(|old| old.mode), new.map(|new| new.mode)) {
        (None, Some(mode)) => push_line(out, &format!("new file mode {}", mode.as_git())),
        (Some(mode), None) => push_line(out, &format!("deleted file mode {}", mode.as_git())),
        (Some(before), Some(after)) if before != after => {
            push_line(out, &format!("old mode {}", before.as_git()));
            push_line(out, &format!("new mode {}", after.as_git()));
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
    // Git prints no `index` line and no names for a change of the mode alone.
    if old.zip(new).is_some_and(|(old, new)| old.content == new.content) {
        return LineStats::default();
    }
    push_line(out, &index_line(old, new));
    let [before, after] = [old, new].map(|state| state.map_or(&[][..], |state| &state.content));
    if [old, new].into_iter().flatten().any(FileState::is_binary) {
        binary::render_binary(out, before, after);
        return LineStats::default();
    }
    for (mark, state, name) in [("---", old, &a), ("+++", new, &b)] {
        push_line(out, &format!("{mark} {}", state.map_or("/dev/null", |_| name)));
    }
    render_hunks(out, &ShownLines::of(before, after, CONTEXT))
}

/// Returns the line `index old..new`, with the mode if it stays: some readers set the mode from it.
fn index_line(old: Option<&FileState>, new: Option<&FileState>) -> String {
    // Full ids, not abbreviated ones: an abbreviation would depend on the other objects of the repository.
    let id =
        |state: Option<&FileState>| state.map_or_else(|| "0".repeat(40), |state| blob_id(&state.content));
    let kept = old.zip(new).filter(|(old, new)| old.mode == new.mode);
    let mode = kept.map(|(old, _)| format!(" {}", old.mode.as_git()));
    let mode = mode.unwrap_or_default();
    format!("index {}..{}{mode}", id(old), id(new))
}

/// Returns git's id of a blob.
pub(crate) fn blob_id(content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    to_hex(&hash.finalize())
}

/// Minimum length of a blob id that is compared. A shorter prefix may match by chance.
pub(crate) const MIN_ID: usize = 7;

/// Returns true if the content has this id, which may be abbreviated.
pub(crate) fn has_id(content: &[u8], id: &str) -> bool {
    id.len() >= MIN_ID && blob_id(content).starts_with(id)
}

/// Writes bytes as lower-case hexadecimal.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lines of two texts, without those at both ends that are equal and too far from a difference to be shown. A list of all
/// lines of a large file would take as much memory as the file.
pub(crate) struct ShownLines<'t> {
    pub before: Vec<&'t [u8]>,
    pub after: Vec<&'t [u8]>,
    /// Number of lines above these, in both texts.
    above: usize,
}

impl<'t> ShownLines<'t> {
    /// Returns the lines of two texts that differ, with this number of equal lines around them.
    pub(crate) fn of(before: &'t [u8], after: &'t [u8], context: usize) -> Self {
        let lines = |text: &'t [u8]| text.split_inclusive(|byte| *byte == b'\n');
        let (old, new) = (lines(before).count(), lines(after).count());
        let same = |(a, b): &(&[u8], &[u8])| a == b;
        let head = lines(before).zip(lines(after)).take_while(same).count();
        let ends = lines(before).rev().zip(lines(after).rev());
        let tail = ends.take_while(same).count();
        let below = tail.min(old.min(new) - head).saturating_sub(context);
        let above = head.saturating_sub(context);
        let shown =
            |text: &'t [u8], count: usize| lines(text).skip(above).take(count - below - above).collect();
        Self {
            before: shown(before, old),
            after: shown(after, new),
            above,
        }
    }
}

fn render_hunks(out: &mut Vec<u8>, lines: &ShownLines<'_>) -> LineStats {
    let edits = line_edits(&lines.before, &lines.after);
    let stats = LineStats {
        added: edits.iter().map(|edit| edit.new.len() as u64).sum(),
        removed: edits.iter().map(|edit| edit.old.len() as u64).sum(),
    };
    // Edits whose context would touch or overlap share one hunk, as git prints them.
    for group in edits.chunk_by(|a, b| b.old.start - a.old.end <= 2 * CONTEXT) {
        render_hunk(out, group, lines);
    }
    stats
}

/// Renders one hunk of edits that are close together.
fn render_hunk(out: &mut Vec<u8>, edits: &[LineEdit], lines: &ShownLines<'_>) {
    let (before, after) = (&lines.before, &lines.after);
    let (Some(first), Some(last)) = (edits.first(), edits.last()) else {
        return;
    };
    let lead = first.old.start.min(CONTEXT);
    let trail = (before.len() - last.old.end).min(CONTEXT);
    // Both sides begin the same number of lines above the first edit, since the lines there are equal.
    let old = first.old.start - lead..last.old.end + trail;
    let new = first.new.start - lead..last.new.end + trail;
    let [minus, plus] = [&old, &new].map(|range| format_range(range, lines.above));
    push_line(out, &format!("@@ -{minus} +{plus} @@"));
    let mut at = old.start;
    for edit in edits {
        push_marked(out, b' ', before.get(at..edit.old.start));
        push_marked(out, b'-', before.get(edit.old.clone()));
        push_marked(out, b'+', after.get(edit.new.clone()));
        at = edit.old.end;
    }
    push_marked(out, b' ', before.get(at..old.end));
}

fn push_marked(out: &mut Vec<u8>, mark: u8, lines: Option<&[&[u8]]>) {
    for line in lines.unwrap_or_default() {
        out.push(mark);
        out.extend_from_slice(line);
        // Only the last line of a file can lack its newline. Without this marker, a diff that adds or removes just
        // the newline would show two equal lines.
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

fn format_range(range: &Range<usize>, above: usize) -> String {
    // As in git: an empty range names the line before it.
    let start = above + range.start + usize::from(!range.is_empty());
    if range.len() == 1 {
        start.to_string()
    } else {
        format!("{start},{}", range.len())
    }
}
