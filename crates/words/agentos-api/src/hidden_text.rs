//! Characters that a reader does not see, or that change how others are shown.
//!
//! Owns: the list of them. Never: decides how a front end marks one.

/// Returns true if a character is not shown, or if a screen shows its neighbors differently because of it.
///
/// A front end that shows untrusted text marks these characters: otherwise a person approves other lines than the ones that land
/// (CVE-2021-42574, "Trojan Source").
///
/// ```
/// assert!(agentos_api::is_hidden('\u{202e}'));
/// assert!(!agentos_api::is_hidden('漢'));
/// ```
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control() || is_invisible(c) || is_not_assigned_for_all(c)
}

/// Returns true for the categories Cf, Zl and Zp of Unicode 16 (`DerivedGeneralCategory.txt`), and for letters without a
/// visible form.
fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0x00AD | 0x034F | 0x0600..=0x0605 | 0x061C | 0x06DD | 0x070F | 0x0890..=0x0891 | 0x08E2
        // Fillers and inherent vowels (`Default_Ignorable_Code_Point`), and the empty Braille pattern.
        | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x2800 | 0x3164 | 0xFFA0
        | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xFFF0..=0xFFFB
        | 0x110BD | 0x110CD | 0x13430..=0x1343F | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A
        // Tag characters and variation selectors.
        | 0xE0000..=0xE0FFF)
}

/// Returns true for private-use characters and noncharacters, whose display differs between machines.
fn is_not_assigned_for_all(c: char) -> bool {
    let point = u32::from(c);
    matches!(point, 0xE000..=0xF8FF | 0xFDD0..=0xFDEF | 0xF0000..=0x0010_FFFF) || point & 0xFFFE == 0xFFFE
}
