//! A change on one screen: its diff if that fits, else the beginning of it and the counts of each file.
//!
//! Owns: what is left out, and that this is said. Never: leaves out the name of a file without a word.

use agentos_host::{FileChangeKind, read_files};

use super::format_diff;
use crate::escape;
use crate::printer::{paint, style};
use crate::render::count_noun;
use crate::render::report::deletion_mark;
use crate::terminal::screen::{ScreenSize, count_rows};

/// Rows of the screen that stay free for what is printed below the diff: the result, or the question with its reasons.
const FREE_ROWS: usize = 8;
/// Fewest rows of the diff that are shown on a low screen.
const FEWEST_ROWS: usize = 5;
/// Most files whose counts are listed.
const MOST_FILES: usize = 20;

/// Returns a diff for a screen.
pub fn format_view(diff: &[u8], size: ScreenSize) -> String {
    let text = format_diff(diff, size.width, None);
    let room = size.height.saturating_sub(FREE_ROWS).max(FEWEST_ROWS);
    if count_rows(&text, size.width) <= room {
        return text;
    }
    let files = read_files(diff);
    let listed = files.len().min(MOST_FILES);
    // One row says how much is left out.
    let room = room.saturating_sub(listed + 1).max(FEWEST_ROWS);
    let (mut rows, mut out, mut shown) = (0, String::new(), 0);
    for line in text.lines() {
        rows += count_rows(line, size.width).max(1);
        if rows > room {
            break;
        }
        out.push_str(line);
        out.push('\n');
        shown += 1;
    }
    let left = text.lines().count() - shown;
    let words = format!("… {} left out; every file:", count_noun(left as u64, "line"));
    out.push_str(&format!("{}\n", paint(style::DIM, &words)));
    for file in files.iter().take(MOST_FILES) {
        let mark = deletion_mark(file.kind == FileChangeKind::Removed);
        let path = escape::line(&file.path);
        out.push_str(&format!("  {path} +{} -{}{mark}\n", file.added, file.removed));
    }
    if files.len() > listed {
        out.push_str(&format!(
            "  and {} more\n",
            count_noun((files.len() - listed) as u64, "file")
        ));
    }
    out
}
