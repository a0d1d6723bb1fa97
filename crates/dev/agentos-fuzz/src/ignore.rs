//! `.agentosignore`: the patterns mean what a slow and simple reading of them means.
//!
//! Owns: the claims, and that second reading. Never: reads a file.

use agentos_context::Ignore;

use crate::bytes::{read_text, split_parts};

/// More than this makes the slow reading slow, and finds nothing else.
const MOST_BYTES: usize = 512;

/// Reads the parts between NUL bytes as a path and the text of the file.
///
/// # Panics
/// When a claim does not hold.
pub fn check_ignore(data: &[u8]) {
    let parts = split_parts(data);
    let path = read_text(parts.first());
    let text = read_text(parts.get(1));
    let ignore = Ignore::parse(&text);
    let left_out = ignore.leaves_out(&path);
    let commented = format!("# a comment\n\n{text}\n\n#!*\n");
    assert_eq!(
        Ignore::parse(&commented).leaves_out(&path),
        left_out,
        "a comment or a blank line means something"
    );
    if text.len() + path.len() <= MOST_BYTES {
        assert_eq!(
            left_out,
            is_left_out(&text, &path),
            "the pattern language says otherwise"
        );
    }
}

/// Is the path, or a folder above it, left out by the last line that matches it?
fn is_left_out(text: &str, path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    (1..=parts.len()).any(|depth| {
        let above = parts.get(..depth).unwrap_or_default();
        let last = text.lines().rev().find_map(|line| {
            let line = line.trim_end();
            let is_taken_back = line.starts_with('!');
            let pattern = line.strip_prefix(['!', '\\']).unwrap_or(line);
            let is_pattern = !line.starts_with('#') && pattern.split('/').any(|part| !part.is_empty());
            let fits = is_pattern && fits_path(pattern, above, depth < parts.len());
            fits.then_some(!is_taken_back)
        });
        last.unwrap_or(false)
    })
}

fn fits_path(pattern: &str, path: &[&str], is_folder: bool) -> bool {
    let (pattern, folder_only) = match pattern.strip_suffix('/') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return false;
    }
    if !pattern.contains('/') {
        parts.insert(0, "**");
    }
    let names_fit = |part: &&str, name: &&str| {
        let (part, name): (Vec<char>, Vec<char>) = (part.chars().collect(), name.chars().collect());
        fits(&part, &name, &|c| *c == '*', &|c, other| *c == '?' || c == other)
    };
    (is_folder || !folder_only) && fits(&parts, path, &|part| *part == "**", &names_fit)
}

/// Matches by a table of all beginnings: `row[t]` is whether the pattern so far fits the first `t` parts of the text.
fn fits<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: &dyn Fn(&P) -> bool,
    same: &dyn Fn(&P, &T) -> bool,
) -> bool {
    let mut row: Vec<bool> = std::iter::once(true).chain(text.iter().map(|_| false)).collect();
    for part in pattern {
        let mut next = Vec::with_capacity(row.len());
        for at in 0..row.len() {
            let before = at.checked_sub(1);
            let shorter = before
                .and_then(|before| row.get(before))
                .copied()
                .unwrap_or(false);
            let fits = if is_star(part) {
                let extended = before
                    .and_then(|before| next.get(before))
                    .copied()
                    .unwrap_or(false);
                row.get(at).copied().unwrap_or(false) || extended
            } else {
                shorter
                    && before
                        .and_then(|before| text.get(before))
                        .is_some_and(|here| same(part, here))
            };
            next.push(fits);
        }
        row = next;
    }
    row.last().copied().unwrap_or(false)
}
