//! Globs and names, folded so that case never decides.
//!
//! Owns: how a path and a pattern are compared. Never: touches a disk.

use globset::{Glob, GlobBuilder};

/// A path or name without case, as the most forgiving file systems see it: upper case first, so that letters
/// which only meet there (`ſ` and `s`) are equal, then lower case.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

/// A glob over folded paths. Folding the pattern keeps the library's fast ways of matching plain names, which its
/// own case switch turns off.
pub(crate) fn compile(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(&fold(pattern))
        .literal_separator(true)
        .backslash_escape(false)
        .empty_alternates(true)
        .build()
}

/// What is wrong with a pattern for a path, before it is compiled.
pub(crate) fn objection(pattern: &str) -> Option<&'static str> {
    if pattern.is_empty() {
        Some("is empty")
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
