//! Rules for one path, part by part.
//!
//! Owns: escape, git's own files, reserved names, invisible characters. Never: knows the base.
//!
//! | rule | refused | reason |
//! |---|---|---|
//! | escape | `..`, `/x`, `C:/x`, `a\b` | the path leaves the work tree, on this system or on Windows |
//! | git's files | `.git` in any case, `git~1`, `.git.`, `.git::$INDEX_ALLOCATION`, `.g\u{200c}it` | its hooks and settings start programs |
//! | submodules | `.gitmodules` and its short names | it names addresses from which git fetches |
//! | invisible | control characters, direction marks, joiners after ASCII | a reviewer sees another name |
//! | reserved | `aux`, `a.`, `a?b`, parts above 255 bytes | a checkout on Windows fails or writes another file |

use super::fold::{fold_name, is_ignorable};
use crate::{Refusal, RefusalCode};

/// Maximum length of one part in bytes. No file system allows longer ones.
const MAX_PART: usize = 255;
/// Maximum length of a path in bytes. Not all tools can open longer ones.
const MAX_PATH: usize = 4_096;

/// Checks a path. Fails with the first rule that it breaks.
pub(super) fn check_path(path: &str) -> Result<(), Refusal> {
    let refuse = |code, what: &str| Err(Refusal::new(code, format!("`{path}` {what}")));
    if path.len() > MAX_PATH {
        return Err(Refusal::new(
            RefusalCode::ReservedName,
            "a path is longer than any system can open",
        ));
    }
    if path
        .chars()
        .any(|character| character.is_control() && character != '\t')
    {
        return Err(
            Refusal::new(RefusalCode::Encoding, "a path has control characters in it")
                .hint("name the file without them"),
        );
    }
    // Both separators count: `a\..\b` is one name here, and leads to another folder on Windows.
    let parts = || path.split(['/', '\\']);
    if path.is_empty() || path.starts_with('/') || parts().any(is_dots) {
        return refuse(
            RefusalCode::PathEscape,
            "is not a plain path inside the repository",
        );
    }
    if is_drive(path) {
        return refuse(RefusalCode::PathEscape, "names a drive");
    }
    // Checked before the backslash rule, so that `a\.git\x` is reported as what it reaches.
    if parts().any(is_git_dir) {
        return refuse(RefusalCode::GitDir, "reaches git's own files");
    }
    if parts().any(is_git_modules) {
        return refuse(RefusalCode::Submodule, "is git's list of submodules");
    }
    if path.contains('\\') {
        return refuse(
            RefusalCode::PathEscape,
            "has a backslash, which is a separator on other systems",
        );
    }
    if path.split('/').any(str::is_empty) {
        return refuse(
            RefusalCode::PathEscape,
            "is not a plain path inside the repository",
        );
    }
    if path.split('/').any(has_invisible) {
        return refuse(RefusalCode::Encoding, "has invisible characters");
    }
    path.split('/').try_for_each(|part| match reserved_reason(part) {
        Some(why) => refuse(RefusalCode::ReservedName, why),
        None => Ok(()),
    })
}

/// Returns true for `.`, `..` and the names that Windows shortens to them, such as `.. ` or `...`.
fn is_dots(part: &str) -> bool {
    let bare = part.trim_end_matches(' ');
    matches!(bare, "." | "..") || (bare.len() > 2 && bare.chars().all(|character| character == '.'))
}

fn is_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Returns a part as the most forgiving file system compares it: folded, without the NTFS stream behind a colon, and
/// without dots and blanks at the end.
pub(crate) fn portable_name(part: &str) -> String {
    without_stream(&fold_name(part)).to_owned()
}

/// Returns a name without the NTFS stream behind a colon, and without dots and blanks at the end.
pub(super) fn without_stream(name: &str) -> &str {
    let name = name.split(':').next().unwrap_or_default();
    name.trim_end_matches(['.', ' '])
}

fn is_git_dir(part: &str) -> bool {
    let seen = portable_name(part);
    seen == ".git" || is_short_name(&seen, "git")
}

/// Returns true for `.gitmodules` and the short names that NTFS may give it.
fn is_git_modules(part: &str) -> bool {
    let seen = portable_name(part);
    seen == ".gitmodules" || is_short_name(&seen, "gitmod") || is_short_name(&seen, "gi7eba")
}

/// Returns true for `stem~1`, as in `GIT~1`.
fn is_short_name(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem)
        .and_then(|rest| rest.strip_prefix('~'))
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if the part has invisible characters. Joiners and variation selectors belong to writing systems and
/// emoji, and may follow any character that is not ASCII.
fn has_invisible(part: &str) -> bool {
    let mut before = '\0';
    for character in part.chars() {
        // After ASCII a joiner or a variation selector has no effect that a reader could see.
        let joins = matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
        if is_ignorable(character) && (!joins || before.is_ascii()) {
            return true;
        }
        if matches!(character, '\u{2028}' | '\u{2029}') {
            return true;
        }
        before = character;
    }
    false
}

/// Returns the reason why a part cannot exist on every system. Returns `None` if it can.
fn reserved_reason(part: &str) -> Option<&'static str> {
    if part.len() > MAX_PART {
        return Some("has a part that is longer than any system allows");
    }
    if part.ends_with(['.', ' ']) || part.starts_with(' ') {
        return Some("begins or ends with a blank or a dot, which Windows removes");
    }
    if part.contains(['<', '>', ':', '"', '|', '?', '*']) {
        return Some("has a character that cannot be in a name on Windows");
    }
    let folded = fold_name(part);
    let stem = folded.split('.').next().unwrap_or_default().trim_end_matches(' ');
    is_device(stem).then_some("is the name of a device on Windows")
}

fn is_device(stem: &str) -> bool {
    if matches!(stem, "con" | "prn" | "aux" | "nul" | "conin$" | "conout$") {
        return true;
    }
    let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    // Windows treats superscript digits as plain ones, and so does folding.
    port.is_some_and(|rest| matches!(rest.as_bytes(), [b'0'..=b'9']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(path: &str) -> Option<RefusalCode> {
        check_path(path).err().map(|refusal| refusal.code)
    }

    const ESCAPES: &[&str] = &[
        "",
        "/etc/x",
        "../x",
        "a/../x",
        "a//b",
        "./x",
        "a/.",
        "x/",
        "C:/x",
        "c:x",
        "..\\x",
        "a\\b",
        ".../x",
        ".. /x",
        "\\\\host\\x",
        "d/ ../..  /x",
    ];
    const GIT_DIRS: &[&str] = &[
        ".git",
        ".git/config",
        "a/.GIT/hooks/x",
        "git~1/x",
        "GIT~2",
        ".git./x",
        ".git /x",
        ".git::$INDEX_ALLOCATION/x",
        ".g\u{200c}it/x",
        "\u{feff}.git/x",
        "a\\.git\\x",
        ".\u{ff27}it/x",
        ".g\u{131}t/x",
        ".GIT.. /x",
    ];
    const MODULES: &[&str] = &[
        ".gitmodules",
        ".GitModules",
        "gitmod~1",
        "GI7EBA~1",
        ".gitmodules:x",
        ".gitmodules ",
    ];
    const UNREADABLE: &[&str] = &[
        "a\nb",
        "a\u{1b}[2Jb",
        "a\u{7f}",
        "a\u{202e}b",
        "a\u{200b}b",
        "a\u{200d}b",
        "a\u{2028}b",
        "\u{e0041}x",
        "a\u{85}b",
    ];
    const RESERVED: &[&str] = &[
        "aux.md",
        "a/NUL",
        "con .txt",
        "COM1",
        "lpt9.x.y",
        "com\u{b9}",
        "a.",
        "a ",
        "a?b",
        "ab:c",
        "a|b",
        "x/ y",
        "conin$",
    ];

    #[test]
    fn names_that_are_unsafe_somewhere_are_refused_everywhere() {
        let cases = [
            (RefusalCode::PathEscape, ESCAPES),
            (RefusalCode::GitDir, GIT_DIRS),
            (RefusalCode::Submodule, MODULES),
            (RefusalCode::Encoding, UNREADABLE),
            (RefusalCode::ReservedName, RESERVED),
        ];
        for (wanted, paths) in cases {
            for path in paths {
                assert_eq!(code(path), Some(wanted), "{path:?}");
            }
        }
    }

    #[test]
    fn names_that_only_look_unsafe_are_fine() {
        let paths = [
            "a..b/c...d",
            "..foo",
            "--- a",
            "git/hooks/x",
            ".gitkeep",
            "x.git/y",
            ".git-blame-ignore-revs",
            ".gitignore",
            ".gitattributes",
            "docs/console.md",
            "com10.rs",
            "auxiliary.rs",
            "with\ttab",
            "a b/c d",
            "日本語 naïve.md",
            "\u{2764}\u{fe0f}.md",
            "\u{645}\u{6cc}\u{200c}\u{62e}.md",
            "git~x",
            "legit~1",
            "com.rs",
            "nullable.rs",
            ".github/workflows/ci.yml",
            "'q'",
            "a~1",
        ];
        for path in paths {
            assert_eq!(code(path), None, "{path:?}");
        }
    }
}
