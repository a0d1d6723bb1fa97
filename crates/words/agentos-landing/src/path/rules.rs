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
use crate::refusal::about_path;
use crate::{Refusal, RefusalCode};

/// Maximum length of one part in bytes. No file system allows longer ones.
const MAX_PART: usize = 255;
/// Maximum length of a path in bytes. Not all tools can open longer ones.
const MAX_PATH: usize = 4_096;

/// Reason for which a path is refused that names no file of the repository on any system.
const NOT_PLAIN: &str = "is not a plain path inside the repository";

/// Checks a path. Fails with a rule that it breaks.
pub(super) fn check_path(path: &str) -> Result<(), Refusal> {
    check_base_path(path)?;
    check_names(path)
}

/// Checks that no part of a path has a name that another system reserves.
fn check_names(path: &str) -> Result<(), Refusal> {
    match path.split('/').find_map(reserved_reason) {
        Some(why) => refuse(path, RefusalCode::ReservedName, why),
        None => Ok(()),
    }
}

/// Checks a path of the base that a change may have: all rules except the one about names that other systems reserve.
pub(super) fn check_base_path(path: &str) -> Result<(), Refusal> {
    check_plain_path(path)?;
    if path.split('/').any(is_git_modules) {
        return refuse(path, RefusalCode::Submodule, "is git's list of submodules");
    }
    Ok(())
}

/// Checks a path of the base whose text policy may show. It can be a list of submodules or have a name that another system reserves, but not
/// a name that another system takes for another file: a rule about that file would not be found.
pub(super) fn check_shown_path(path: &str) -> Result<(), Refusal> {
    check_plain_path(path)?;
    let has_other_name = |part: &str| portable_name(part) != fold_name(part);
    if path.split('/').any(has_other_name) {
        return refuse(path, RefusalCode::ReservedName, "is another file on Windows");
    }
    Ok(())
}

/// Checks that a path is inside the repository, is not of git's own files, and shows all of its characters.
fn check_plain_path(path: &str) -> Result<(), Refusal> {
    check_characters(path)?;
    let escapes = |what| refuse(path, RefusalCode::PathEscape, what);
    // Both separators count: `a\..\b` is one name here, and leads to another folder on Windows.
    let parts = || path.split(['/', '\\']);
    if path.is_empty() || path.starts_with('/') || parts().any(is_dots) {
        return escapes(NOT_PLAIN);
    }
    if matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic()) {
        return escapes("names a drive");
    }
    // Checked before the backslash rule, so that `a\.git\x` is reported as what it reaches.
    if parts().any(is_git_dir) {
        return refuse(path, RefusalCode::GitDir, "reaches git's own files");
    }
    if path.contains('\\') {
        return escapes("has a backslash, which is a separator on other systems");
    }
    if path.split('/').any(str::is_empty) {
        return escapes(NOT_PLAIN);
    }
    if path.split('/').any(has_invisible) {
        return refuse(path, RefusalCode::Encoding, "has invisible characters");
    }
    Ok(())
}

fn refuse(path: &str, code: RefusalCode, what: &str) -> Result<(), Refusal> {
    Err(about_path(code, path, what))
}

/// Checks a path of the base that a copy of the base shows to a program in a sandbox. A program may see more names than a change may
/// have, such as `.gitmodules` and `aux.c`: what it does to them is no change that lands.
///
/// # Errors
/// Fails if the path leads out of the copy, reaches git's own files, or cannot be written on this system.
pub fn check_view_path(path: &str) -> Result<(), Refusal> {
    // A copy is not written to the repository, so the rules for reviewers, for other systems and for lists of submodules do not
    // count. What is left keeps the path inside the copy, and git's own files out of it.
    if cfg!(windows) {
        check_shown_path(path)?;
        return check_names(path);
    }
    check_characters(path)?;
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    if !path.split('/').all(is_plain) {
        return refuse(path, RefusalCode::PathEscape, NOT_PLAIN);
    }
    // As git does, which checks out no name that another system takes for its folder.
    if path.split(['/', '\\']).any(is_git_dir) {
        return refuse(path, RefusalCode::GitDir, "reaches git's own files");
    }
    Ok(())
}

/// Checks the length of a path, and that it is one line.
fn check_characters(path: &str) -> Result<(), Refusal> {
    if path.len() > MAX_PATH {
        let message = "a path is longer than any system can open";
        return Err(Refusal::new(RefusalCode::ReservedName, message).at(path));
    }
    let is_control = |character: char| character.is_control() && character != '\t';
    if path.chars().any(is_control) {
        let refusal = Refusal::new(RefusalCode::Encoding, "a path has control characters in it");
        return Err(refusal.at(path).hint("name the file without them"));
    }
    Ok(())
}

/// Returns true for `.`, `..` and the names that Windows shortens to them, such as `.. ` or `...`.
fn is_dots(part: &str) -> bool {
    let bare = part.trim_end_matches(' ');
    matches!(bare, "." | "..") || (bare.len() > 2 && bare.chars().all(|character| character == '.'))
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
    let mut above = '\0';
    part.chars().any(|character| {
        let before = std::mem::replace(&mut above, character);
        // After ASCII a joiner or a variation selector has no effect that a reader could see.
        let joins = matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
        let is_hidden = is_ignorable(character) && (!joins || before.is_ascii());
        is_hidden || matches!(character, '\u{2028}' | '\u{2029}')
    })
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

    #[cfg(not(windows))]
    #[test]
    fn a_view_shows_every_name_that_stays_in_it_and_is_not_gits_own() {
        let shown = |path: &&&str| check_view_path(path).is_ok();
        let apart: Vec<_> = [GIT_DIRS, UNREADABLE, ESCAPES].concat();
        let found: Vec<_> = apart
            .iter()
            .filter(|path| check_view_path(path).is_ok())
            .collect();
        // Names on this system: the backslash is a letter, and so is what Windows drops.
        let plain = [
            "a\u{202e}b",
            "a\u{200b}b",
            "a\u{200d}b",
            "a\u{2028}b",
            "\u{e0041}x",
            "C:/x",
            "c:x",
            "..\\x",
            "a\\b",
            ".../x",
            ".. /x",
            "\\\\host\\x",
            "d/ ../..  /x",
        ];
        assert_eq!(found, plain.iter().collect::<Vec<_>>());
        assert_eq!(RESERVED.iter().filter(shown).count(), RESERVED.len());
        assert_eq!(MODULES.iter().filter(shown).count(), MODULES.len());
        assert!(check_view_path(&format!("{}../x", "a/".repeat(MAX_PATH))).is_err());
    }

    #[test]
    fn a_text_is_shown_under_names_that_only_other_systems_reserve() {
        let shown = |path: &&&str| check_shown_path(path).is_ok();
        let hidden = [ESCAPES, GIT_DIRS, UNREADABLE].concat();
        assert_eq!(hidden.iter().filter(shown).count(), 0);
        let listed = [MODULES, RESERVED].concat();
        let apart: Vec<&str> = listed.iter().filter(|path| !shown(path)).copied().collect();
        assert_eq!(apart, [".gitmodules:x", ".gitmodules ", "a.", "a ", "ab:c"]);
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
