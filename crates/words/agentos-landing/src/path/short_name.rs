//! Short names (8.3) that NTFS gives to long names, and that open the same file.
//!
//! Owns: whether a name may be the short form of another. Never: decides what follows.
//!
//! NTFS makes a short name of up to six characters of the long one, `~` and a number, and the first three characters
//! of the extension: `GITHUB~1` for `.github`, `PACKAG~1.JSO` for `package-lock.json`. Leading dots, blanks and all
//! dots but the last are left out. From the fifth name with the same beginning on (and for names of one or two
//! characters) it takes two characters and four digits of a checksum: `GI7EBA~1` for `.gitmodules`. Git guards its
//! own names in this way (`path.c`, `is_ntfs_dot_generic`) with the checksums written out; the formula here gives all
//! four of them.

use super::fold::fold_name;
use super::rules::without_stream;

/// Maximum length of a short name without its extension.
const MAX_STEM: usize = 8;

/// Name in the form of a short name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortName<'n> {
    /// Text before `~`, folded.
    stem: &'n str,
    /// Number of digits after `~`.
    digits: usize,
    /// Text after the dot; empty if there is none.
    extension: &'n str,
}

impl<'n> ShortName<'n> {
    /// Parses a folded name. Returns `None` if it does not have the form of a short name.
    #[must_use]
    pub fn parse(name: &'n str) -> Option<Self> {
        let name = without_stream(name);
        let (base, extension) = name.split_once('.').unwrap_or((name, ""));
        let (stem, number) = base.rsplit_once('~')?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let fits = !stem.is_empty()
            && stem.len() <= 6
            && base.len() <= MAX_STEM
            && extension.len() <= 3
            && !stem.contains(['~', ' ', '.'])
            && !extension.contains(['.', '~', ' ']);
        // NTFS counts from 1, so `NAME~0` and `NAME~01` are ordinary names.
        let is_counted = is_number && !number.is_empty() && !number.starts_with('0');
        (fits && is_counted).then_some(Self {
            stem,
            digits: number.len(),
            extension,
        })
    }

    /// Returns true if NTFS may have made this short name of a long one, in whatever case that is written.
    #[must_use]
    pub fn may_stand_for(&self, long: &str) -> bool {
        let lower = fold_name(long);
        let Some((base, extension)) = short_name_parts(&lower) else {
            return false;
        };
        if !self.has_extension(&extension) {
            return false;
        }
        if self.stem == first_chars(&base, self.stem_room()) {
            return true;
        }
        // The checksum depends on upper and lower case, which the caller may not know: the usual spellings are tried.
        let mut capitalised = lower.clone();
        if let Some(first) = capitalised.get_mut(0..1) {
            first.make_ascii_uppercase();
        }
        let upper = lower.to_ascii_uppercase();
        [long, &lower, &capitalised, &upper].into_iter().any(|spelled| {
            let stem = format!("{}{:04x}", first_chars(&base, 2), name_checksum(spelled));
            self.stem == first_chars(&stem, self.stem_room())
        })
    }

    /// Returns true if NTFS may have made this short name of a name that matches a pattern with `*`. The text before
    /// the first star must agree with the short name, in at least three characters.
    #[must_use]
    pub fn may_stand_for_pattern(&self, pattern: &str) -> bool {
        let (Some((before, _)), Some((_, behind))) = (pattern.split_once('*'), pattern.rsplit_once('*'))
        else {
            return self.may_stand_for(pattern);
        };
        let base: String = before.chars().filter(|c| !matches!(c, '.' | ' ')).collect();
        let known = base.len().min(self.stem.len());
        let extension_fits = match behind.rsplit_once('.') {
            Some((_, extension)) => self.has_extension(extension),
            None => true,
        };
        known >= 3
            && (known == base.len() || known == self.stem_room())
            && first_chars(&base, known) == first_chars(self.stem, known)
            && extension_fits
    }

    /// Returns how many characters the number leaves for the stem.
    fn stem_room(&self) -> usize {
        (MAX_STEM - 1).saturating_sub(self.digits).min(6)
    }

    fn has_extension(&self, long: &str) -> bool {
        self.extension == first_chars(long, 3)
    }
}

/// Returns the characters of a name and of its extension from which its short form is made. Returns `None` if the
/// name is short enough itself: it has no other short name then.
fn short_name_parts(lower: &str) -> Option<(String, String)> {
    /// Characters that a short name cannot have.
    const ODD: [char; 6] = ['+', ',', ';', '=', '[', ']'];
    let bare = lower.trim_start_matches(['.', ' ']);
    let (base, extension) = bare.rsplit_once('.').unwrap_or((bare, ""));
    // A name that fits 8.3 as it is keeps it and gets no second one.
    let is_short = bare.len() == lower.len()
        && base.len() <= MAX_STEM
        && extension.len() <= 3
        && !base.contains(['.', ' '])
        && !lower.contains(ODD);
    let kept = |text: &str| -> String {
        let kept = text.chars().filter(|c| !matches!(c, '.' | ' '));
        let written = |c| if ODD.contains(&c) { '_' } else { c };
        kept.map(written).collect()
    };
    (!is_short).then(|| (kept(base), kept(extension)))
}

/// Returns the first characters of a text.
fn first_chars(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// Returns the four digits that NTFS puts into a short name, the lowest first.
fn name_checksum(name: &str) -> u16 {
    let sum = name
        .encode_utf16()
        .fold(0_u16, |sum, unit| sum.wrapping_mul(0x25).wrapping_add(unit));
    let spread = i32::from_ne_bytes(u32::from(sum).wrapping_mul(314_159_269).to_ne_bytes());
    let spread = u64::from(spread.unsigned_abs());
    let quotient = spread.wrapping_mul(1_152_921_497) >> 60;
    let rest = spread.wrapping_sub(quotient.wrapping_mul(1_000_000_007));
    let low = u16::try_from(rest & 0xffff).unwrap_or_default();
    (low >> 12) | ((low & 0x0f00) >> 4) | ((low & 0x00f0) << 4) | (low << 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(short: &str, long: &str) -> bool {
        ShortName::parse(&fold_name(short)).is_some_and(|short| short.may_stand_for(long))
    }

    #[test]
    fn the_checksums_are_those_that_git_has_written_out() {
        for (name, expected) in [
            (".gitmodules", 0x7eba),
            (".gitignore", 0x250a),
            (".gitattributes", 0x7d29),
            (".mailmap", 0xba30),
        ] {
            assert_eq!(name_checksum(name), expected, "{name}");
        }
    }

    #[test]
    fn short_names_and_the_names_they_are_made_of() {
        for (short, long) in [
            ("GITHUB~1", ".github"),
            ("github~4", ".GitHub"),
            ("VSCODE~2", ".vscode"),
            ("AGENTO~1", ".agentos"),
            ("AGENTO~1", ".agentosignore"),
            ("GITATT~1", ".gitattributes"),
            ("GI7D29~1", ".gitattributes"),
            ("GI7EBA~9", ".gitmodules"),
            ("GI250A~3", ".gitignore"),
            ("GI250~12", ".gitignore"),
            ("PACKAG~1.JSO", "package-lock.json"),
            ("GITLAB~1.YML", ".gitlab-ci.yml"),
            ("PRE-CO~1.YAM", ".pre-commit-config.yaml"),
            ("ENV~1", ".env"),
            ("VITECO~1.JS", "vite.config.js"),
            ("GITHUB~1.", ".github"),
            ("GITHUB~1::$INDEX_ALLOCATION", ".github"),
        ] {
            assert!(stands(short, long), "{short} {long}");
        }
        for (short, long) in [
            // What fits has no short form.
            ("MAKEFI~1", "makefile"),
            ("AGENTS~1.MD", "agents.md"),
            ("GITHUB~0", ".github"),
            ("GITHUB~", ".github"),
            ("GITHUB~x", ".github"),
            ("GITHUB", ".github"),
            ("GITHUBS~1", ".github"),
            ("GITHU~1", ".github"),
            ("GITHUB~1.YML", ".github"),
            ("PACKAG~1.TXT", "package-lock.json"),
            ("GI1234~1", ".gitignore"),
            ("BACKUP~1", ".github"),
            ("x.GITHUB~1", ".github"),
        ] {
            assert!(!stands(short, long), "{short} {long}");
        }
    }

    #[test]
    fn a_pattern_stands_for_what_it_says_before_its_star() {
        let cases = [
            ("requir~1.txt", "requirements*.txt", true),
            ("requir~1.md", "requirements*.txt", false),
            ("env~1.loc", ".env.*", true),
            ("docker~1", "dockerfile*", true),
            ("backup~1.txt", "*_test.*", false),
            ("ab~1.txt", "id_*", false),
        ];
        for (short, pattern, expected) in cases {
            let found = ShortName::parse(short).unwrap().may_stand_for_pattern(pattern);
            assert_eq!(found, expected, "{short} {pattern}");
        }
    }
}
