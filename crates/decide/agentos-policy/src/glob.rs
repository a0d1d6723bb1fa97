//! Globs and names, folded so that case never decides.
//!
//! Owns: how a path and a pattern are compared. Never: touches a disk.

use globset::{Glob, GlobBuilder};

/// Signs that mean something in a glob.
const SIGNS: &[char] = &['*', '?', '[', ']', '{', '}', ',', '!', '\\'];

/// A path, name or pattern as the most forgiving file systems see it. A character that folds to a slash stays part of
/// its name: it separates no folders.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.split('/')
        .map(|part| agentos_landing::folded(part).replace('/', "\u{2215}"))
        .collect::<Vec<_>>()
        .join("/")
}

/// Whether folding a pattern makes a glob sign of a character that is none.
pub(crate) fn hides_sign(pattern: &str) -> bool {
    let signs = |text: &str| text.matches(SIGNS).count();
    signs(&fold(pattern)) != signs(pattern)
}

/// A glob over folded paths, as one or more that match the same together. Folding the pattern keeps the library's
/// fast ways of matching plain names, which its own case switch turns off; so does writing out the alternatives of
/// a plain name.
pub(crate) fn compile(pattern: &str) -> Result<Vec<Glob>, globset::Error> {
    let folded = fold(pattern);
    let written_out = if is_plain(&folded) {
        write_out(&folded, 64)
    } else {
        None
    };
    written_out
        .unwrap_or_else(|| vec![folded])
        .iter()
        .map(|pattern| {
            GlobBuilder::new(pattern)
                .literal_separator(true)
                .backslash_escape(false)
                .empty_alternates(true)
                .build()
        })
        .collect()
}

/// Whether the pattern without its alternatives is a name, an ending or a folder that the library looks up.
fn is_plain(pattern: &str) -> bool {
    let rest = match (pattern.strip_prefix("**/"), pattern.strip_suffix("/**")) {
        (Some(_), Some(_)) => return false,
        (Some(name), None) => name
            .strip_prefix('*')
            .filter(|ending| ending.starts_with('.'))
            .unwrap_or(name),
        (None, Some(folder)) => folder,
        (None, None) => pattern,
    };
    !rest.contains(['*', '?', '['])
}

/// `a{b,c}` as `ab` and `ac`. None where there are more than `most`, one within another, or braces that do not match.
pub(crate) fn write_out(pattern: &str, most: usize) -> Option<Vec<String>> {
    let mut open = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(next) = open.pop() {
        let Some((before, rest)) = next.split_once('{') else {
            if next.contains('}') {
                return None;
            }
            done.push(next);
            continue;
        };
        let (inside, after) = rest.split_once('}')?;
        if inside.contains('{') || open.len() + done.len() > most {
            return None;
        }
        open.extend(inside.split(',').map(|choice| format!("{before}{choice}{after}")));
    }
    Some(done)
}

/// What is wrong with a pattern for a path, before it is compiled.
pub(crate) fn objection(pattern: &str) -> Option<&'static str> {
    if fold(pattern).is_empty() {
        Some("is empty")
    } else if hides_sign(pattern) {
        Some("has a wide form of a glob sign; write `?` for that character")
    } else if pattern.contains('\\') {
        Some("has a backslash; write `/` between folders")
    } else if pattern.starts_with('/') || pattern.starts_with("./") {
        Some("must begin at the repository's root without `/` or `./`")
    } else if pattern.ends_with('/') {
        Some("ends with `/`; write `/**` for everything in a folder")
    } else if pattern.split('/').any(|part| part == "..") {
        Some("has a part `..`, which no path has")
    } else if pattern.starts_with('!') {
        Some("begins with `!`; write it into `except_paths`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_file_system_takes_for_one_fold_to_one() {
        for name in [
            ".GitHub/Workflows",
            ".github/workflow\u{17f}",
            ".g\u{131}thub/wor\u{212a}flows",
            ".git\u{200d}hub/workflows",
            ".github/\u{ff57}orkflows",
        ] {
            assert_eq!(fold(name), ".github/workflows", "{name}");
        }
        assert_eq!(fold("a\u{ff0f}b/c").split('/').count(), 2);
    }

    #[test]
    fn alternatives_of_plain_names_are_written_out() {
        let cases = [
            ("**/cargo.{toml,lock}", 2),
            ("**/{a,b}.{c,d}", 4),
            ("{,.github/}codeowners", 2),
            ("**/*.{pem,key}", 2),
            (".{gitea,forgejo}/workflows/**", 2),
            ("**/.{a,b}/**", 1),
            ("**/{a,b}*.txt", 1),
            ("plain", 1),
        ];
        for (pattern, count) in cases {
            assert_eq!(compile(pattern).unwrap().len(), count, "{pattern}");
        }
        assert!(compile("a{b").is_err());
        assert!(compile("a{b,{c,d}}").is_ok());
    }
}
