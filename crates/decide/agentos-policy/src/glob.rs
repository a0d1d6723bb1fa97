//! Globs and names, folded so that case never decides.
//!
//! Owns: how a path and a pattern are compared. Never: touches a disk.

use globset::{Glob, GlobBuilder};

/// Characters with a meaning in a glob.
const META_CHARACTERS: &[char] = &['*', '?', '[', ']', '{', '}', ',', '!', '\\'];

/// Folds a path, name or pattern as the most tolerant file systems do: two names that some file system takes for the
/// same file fold to the same text. A character that folds to a slash stays part of its name, because it separates no
/// folders.
pub(crate) fn fold_name(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.split('/')
        .map(|part| agentos_landing::fold_name(part).replace('/', "\u{2215}"))
        .collect::<Vec<_>>()
        .join("/")
}

/// Returns true if folding turns an ordinary character of the pattern into one with a meaning in globs.
pub(crate) fn hides_meta_character(pattern: &str) -> bool {
    let signs = |text: &str| text.matches(META_CHARACTERS).count();
    signs(&fold_name(pattern)) != signs(pattern)
}

/// Compiles a glob over folded paths into one or more that together match the same. The pattern is folded here,
/// because the library's own switch for ignoring case turns off its fast matching of plain names; writing out the
/// alternatives of a plain name keeps that fast matching too.
pub(crate) fn compile_glob(pattern: &str) -> Result<Vec<Glob>, globset::Error> {
    let folded = fold_name(pattern);
    let written_out = if is_plain(&folded) {
        expand_alternatives(&folded, 64)
    } else {
        None
    };
    written_out
        .unwrap_or_else(|| vec![folded])
        .iter()
        .map(|pattern| {
            GlobBuilder::new(pattern)
                // `src/*` must not allow `src/a/b`: a rule that seems to cover one folder would cover all below it.
                .literal_separator(true)
                // Paths have no backslash here. As an escape, `a\*` would silently match the name `a*` only.
                .backslash_escape(false)
                .empty_alternates(true)
                .build()
        })
        .collect()
}

/// Returns true if the pattern without its alternatives is a name, a file ending or a folder, which the library
/// matches without a regular expression.
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

/// Writes out alternatives: `a{b,c}` becomes `ab` and `ac`. `None` if there are more than `most`, if one is nested in
/// another, or if braces do not match.
pub(crate) fn expand_alternatives(pattern: &str, most: usize) -> Option<Vec<String>> {
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
        // Each pair of braces multiplies the number of names: without a bound, a short pattern could fill the memory.
        if inside.contains('{') || open.len() + done.len() > most {
            return None;
        }
        open.extend(inside.split(',').map(|choice| format!("{before}{choice}{after}")));
    }
    Some(done)
}

/// Returns what is wrong with a pattern for a path, before it is compiled. `None` if nothing is.
pub(crate) fn find_objection(pattern: &str) -> Option<&'static str> {
    if fold_name(pattern).is_empty() {
        Some("is empty")
    } else if hides_meta_character(pattern) {
        Some("has a full-width form of a glob character; write `?` for that character")
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
            assert_eq!(fold_name(name), ".github/workflows", "{name}");
        }
        assert_eq!(fold_name("a\u{ff0f}b/c").split('/').count(), 2);
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
            assert_eq!(compile_glob(pattern).unwrap().len(), count, "{pattern}");
        }
        assert!(compile_glob("a{b").is_err());
        assert!(compile_glob("a{b,{c,d}}").is_ok());
    }
}
