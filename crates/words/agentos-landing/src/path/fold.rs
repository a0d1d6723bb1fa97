//! Names that file systems and readers take for the same.
//!
//! Owns: case, normal form, ignorable characters, and letters that look alike. Never: decides what follows from two
//! names being the same.

use unicode_normalization::UnicodeNormalization;

/// Returns a name or path as the most forgiving file system sees it: without ignorable characters, in one normal form
/// and one case. Two names that some system takes for one fold to one text. The result is for comparing, not for
/// writing.
#[must_use]
pub fn fold_name(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars()
        // HFS+ drops these before it compares, so `.g<ZWNJ>it` opens `.git` (CVE-2014-9390).
        .filter(|character| !is_ignorable(*character))
        .nfkd()
        // Upper case first: `ß` and `SS`, or `ı` and `I`, only become equal on the way through it.
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfc()
        .collect()
}

/// Returns a folded name with look-alike letters replaced by Latin ones. It is equal for names that a reader cannot
/// tell apart.
pub(crate) fn name_skeleton(name: &str) -> String {
    fold_name(name).chars().map(look_alike).collect()
}

/// Returns true for characters that HFS+ and others ignore when they compare names, and for those that nobody can
/// see.
pub(crate) fn is_ignorable(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{e0000}'..='\u{e0fff}')
}

/// Cyrillic, Greek and Armenian small letters, each group in front of the Latin letter that looks like them.
const LOOK_ALIKES: &str =
    "аαa вb сϲc ԁd еҽe ɡցg һнհh іιıӏi јj кκk ⅼl мm ոпn оοօo рρp ԛզq гr ѕs тτt υսu νѵv ԝѡw хχx уγy";

/// Returns the Latin letter that looks like this small letter of another script; any other letter as it is.
fn look_alike(character: char) -> char {
    if character.is_ascii() {
        return character;
    }
    let group = LOOK_ALIKES.split(' ').find(|group| group.contains(character));
    group.and_then(|group| group.chars().last()).unwrap_or(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_system_takes_for_one_fold_to_one() {
        let same = [
            ("README.md", "readme.md"),
            ("caf\u{e9}", "cafe\u{301}"),
            ("stra\u{df}e", "STRASSE"),
            (".g\u{200c}it", ".git"),
            ("\u{212a}elvin", "kelvin"),
            ("\u{fb01}le", "file"),
        ];
        for (a, b) in same {
            assert_eq!(fold_name(a), fold_name(b), "{a:?} {b:?}");
        }
        assert_ne!(fold_name("a.rs"), fold_name("b.rs"));
        assert_eq!(name_skeleton("\u{441}onfig"), name_skeleton("config"));
        assert_ne!(fold_name("\u{441}onfig"), fold_name("config"));
    }
}
