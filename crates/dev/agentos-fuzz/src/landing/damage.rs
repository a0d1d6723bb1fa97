//! Damages a diff so that the one right result can still be found, or so that several remain and it must be refused.
//!
//! Owns: the kinds of damage. Never: does damage after which another result would be right.

use agentos_landing::Change;

/// Damages the canonical diff as the bits say. `None` if that would remove what the change is.
pub fn damage(change: &Change, bits: u8) -> Option<Vec<u8>> {
    let has = |bit: u32| bits >> bit & 1 == 1;
    let mut lines = split(change.canonical_diff());
    // Models often leave out the numbers of a hunk header.
    if has(0) {
        bare_headers(&mut lines);
    }
    // Models often count the lines of a hunk wrongly.
    if has(1) {
        wrong_counts(&mut lines);
    }
    if has(2) {
        // A rename, and a file without a line, are expressed by git's own header lines alone.
        let told_by_hunks = change.files().iter().all(|file| {
            let empty = |state: &Option<_>| matches!(state, Some(state) if is_empty(state));
            !empty(&file.old) && !empty(&file.new)
        });
        let renamed = lines.iter().any(|line| line.starts_with(b"rename "));
        if renamed || !told_by_hunks {
            return None;
        }
        lines.retain(|line| !is_git_header(line));
    }
    // Editors and chat formats remove blanks at line ends, so that an empty context line loses its mark.
    if has(3) {
        for line in &mut lines {
            if line == b" " {
                line.clear();
            }
        }
    }
    let mut text = lines.join(&b'\n');
    text.push(b'\n');
    // An answer that passed through a Windows tool has CR LF at every line end.
    if has(4) {
        // If line ends are changed, or are mixed, the answer's own line ends are part of the change.
        if change.canonical_diff().contains(&b'\r') {
            return None;
        }
        let creates = change.files().iter().any(|file| file.old.is_none());
        if creates {
            return None;
        }
        text = split(&text).join(&b"\r\n"[..]);
        text.extend(b"\r\n");
    }
    // Models wrap a diff in prose and a code fence.
    if has(5) {
        text = [
            b"Here it is:\n\n````diff\n",
            text.as_slice(),
            b"````\n\nThat is all.\n",
        ]
        .concat();
    }
    // A chat reply often ends without a line feed.
    if has(6) && text.last() == Some(&b'\n') {
        text.pop();
    }
    Some(text)
}

fn is_empty(state: &agentos_landing::FileState) -> bool {
    state.content.is_empty()
}

fn split(text: &[u8]) -> Vec<Vec<u8>> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Returns true for a line of git's own headers, which are distinguished from lines of a file by being outside of
/// hunks.
fn is_git_header(line: &[u8]) -> bool {
    [
        &b"diff --git "[..],
        b"index ",
        b"new file mode ",
        b"deleted file mode ",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// Removes from every hunk its position and length.
fn bare_headers(lines: &mut [Vec<u8>]) {
    for line in lines.iter_mut().filter(|line| line.starts_with(b"@@ -")) {
        *line = b"@@ @@".to_vec();
    }
}

/// Keeps the positions, and makes the counts wrong.
fn wrong_counts(lines: &mut [Vec<u8>]) {
    for line in lines.iter_mut().filter(|line| line.starts_with(b"@@ -")) {
        let text = String::from_utf8_lossy(line).into_owned();
        let mut words = text.split(' ').skip(1);
        let start = |word: Option<&str>| word.and_then(|word| Some(word.split(',').next()?.to_owned()));
        if let (Some(old), Some(new)) = (start(words.next()), start(words.next())) {
            *line = format!("@@ {old},9 {new},4 @@").into_bytes();
        }
    }
}
