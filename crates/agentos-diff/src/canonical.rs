//! The canonical git diff of a change: one text for one pair of base and result.
//!
//! Owns: the text and the line counts. Never: depends on how an answer was written. Renames are shown as a
//! deletion and a creation, so that no header carries meaning.

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices};

use crate::change::ChangeError;
use crate::{FileChange, FileState, LineStats, RepoPath};

type States = Vec<(RepoPath, Option<FileState>, Option<FileState>)>;

/// Renders sorted states.
pub(crate) fn render(states: States) -> Result<(Vec<FileChange>, Vec<u8>), ChangeError> {
    let mut files = Vec::with_capacity(states.len());
    let mut out = Vec::new();
    for (path, old, new) in states {
        let stats = file(&mut out, &path, old.as_ref(), new.as_ref());
        files.push(FileChange {
            path,
            old,
            new,
            stats,
            renamed_from: None,
        });
    }
    Ok((files, out))
}

fn file(out: &mut Vec<u8>, path: &RepoPath, old: Option<&FileState>, new: Option<&FileState>) -> LineStats {
    let name = path.as_str();
    out.extend_from_slice(format!("diff --git a/{name} b/{name}\n").as_bytes());
    match (old, new) {
        (None, Some(new)) => {
            out.extend_from_slice(format!("new file mode {}\n", new.mode.as_git()).as_bytes())
        }
        (Some(old), None) => {
            out.extend_from_slice(format!("deleted file mode {}\n", old.mode.as_git()).as_bytes())
        }
        (Some(old), Some(new)) if old.mode != new.mode => out.extend_from_slice(
            format!("old mode {}\nnew mode {}\n", old.mode.as_git(), new.mode.as_git()).as_bytes(),
        ),
        (Some(_), Some(_)) | (None, None) => {}
    }
    let before = lines(old);
    let after = lines(new);
    if before == after {
        return LineStats::default();
    }
    let from = if old.is_some() {
        format!("a/{name}")
    } else {
        "/dev/null".to_owned()
    };
    let to = if new.is_some() {
        format!("b/{name}")
    } else {
        "/dev/null".to_owned()
    };
    out.extend_from_slice(format!("--- {from}\n+++ {to}\n").as_bytes());
    let ops = capture_diff_slices(Algorithm::Myers, &before, &after);
    let mut stats = LineStats::default();
    for group in similar::group_diff_ops(ops, 3) {
        hunk(out, &group, &before, &after, &mut stats);
    }
    stats
}

fn hunk(out: &mut Vec<u8>, ops: &[DiffOp], before: &[&[u8]], after: &[&[u8]], stats: &mut LineStats) {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else {
        return;
    };
    let old = first.old_range().start..last.old_range().end;
    let new = first.new_range().start..last.new_range().end;
    out.extend_from_slice(format!("@@ -{} +{} @@\n", span(&old), span(&new)).as_bytes());
    for change in ops.iter().flat_map(|op| op.iter_changes(before, after)) {
        let mark = match change.tag() {
            ChangeTag::Equal => b' ',
            ChangeTag::Delete => {
                stats.removed += 1;
                b'-'
            }
            ChangeTag::Insert => {
                stats.added += 1;
                b'+'
            }
        };
        let line: &[u8] = change.value();
        out.push(mark);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

fn span(range: &std::ops::Range<usize>) -> String {
    let start = if range.is_empty() {
        range.start
    } else {
        range.start + 1
    };
    if range.len() == 1 {
        start.to_string()
    } else {
        format!("{start},{}", range.len())
    }
}

fn lines(state: Option<&FileState>) -> Vec<&[u8]> {
    state.map_or_else(Vec::new, |state| {
        state.content.split_inclusive(|byte| *byte == b'\n').collect()
    })
}
