//! `.agentosignore`: the patterns mean what a slow and simple reading of them says.
//!
//! Owns: the claims, and that second reading. Never: reads a file.

use agentos_context::IgnorePatterns;

use crate::bytes::{read_text, split_parts};

/// Largest input for the slow reading. More makes it slow and finds nothing new.
const MOST_BYTES: usize = 512;

/// Reads the parts between NUL bytes as a path and the text of the file.
///
/// # Panics
/// If a claim does not hold.
pub fn check_ignore(data: &[u8]) {
    let parts = split_parts(data);
    let path = read_text(parts.first());
    let text = read_text(parts.get(1));
    let ignore = IgnorePatterns::parse(&text);
    let left_out = ignore.leaves_out(&path);
    // Comments and blank lines must not change the meaning of the lines around them. `#!*` would take everything back
    // if it were read as a pattern.
    let commented = format!("# a comment\n\n{text}\n\n#!*\n");
    assert_eq!(
        IgnorePatterns::parse(&commented).leaves_out(&path),
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

/// Returns true if the last line that matches leaves out the path, or a folder above it.
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
    // As in gitignore(5): a pattern without a slash matches at every depth.
    if !pattern.contains('/') {
        parts.insert(0, "**");
    }
    let names_fit = |part: &&str, name: &&str| {
        let (part, name): (Vec<char>, Vec<char>) = (part.chars().collect(), name.chars().collect());
        fits(&part, &name, &|c| *c == '*', &|c, other| *c == '?' || c == other)
    };
    (is_folder || !folder_only) && fits(&parts, path, &|part| *part == "**", &names_fit)
}

/// Matches with a table of all beginnings: `row[t]` is true if the pattern so far matches the first `t` parts of the
/// text. This takes the same time for every pattern, where backtracking could take forever.
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
