//! Characters that change how a line is shown, or are not shown at all.
//!
//! Owns: the list of them. Writing systems and emoji keep what they need. Never: looks at paths; `path` does.

/// Hidden characters of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HiddenMarks {
    /// Kind of direction-changing or tag character. `None` if there is none.
    pub bidi: Option<&'static str>,
    /// Kind of character of no width. `None` if there is none.
    pub invisible: Option<&'static str>,
}

/// Scans one line. The first line of a file may begin with a byte order mark.
pub(super) fn scan_line(text: &[u8], first_line: bool) -> HiddenMarks {
    let mut seen = HiddenMarks::default();
    if text.is_ascii() {
        return seen;
    }
    let mut in_flag = false;
    let mut at_start = first_line;
    for character in text.utf8_chunks().flat_map(|chunk| chunk.valid().chars()) {
        match character {
            '\u{1f3f4}' => in_flag = true,
            // The flag of a region is a black flag, tag letters and a closing tag, so these are no hidden text.
            '\u{e0020}'..='\u{e007e}' if in_flag => {}
            '\u{e007f}' if in_flag => in_flag = false,
            '\u{e0000}'..='\u{e007f}' => seen.bidi = Some("tag-character"),
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                seen.bidi = Some("bidi-control");
            }
            '\u{feff}' if at_start => {}
            '\u{200b}'
            | '\u{2060}'..='\u{2064}'
            | '\u{206a}'..='\u{206f}'
            | '\u{feff}'
            | '\u{180e}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{3164}'
            | '\u{ffa0}'
            | '\u{e0100}'..='\u{e01ef}' => {
                seen.invisible = Some("invisible-character");
            }
            _ => in_flag = false,
        }
        at_start = false;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_found_and_what_writing_needs_is_not() {
        let cases = [
            (
                "/*\u{202e} } \u{2066}if admin\u{2069} */",
                Some("bidi-control"),
                None,
            ),
            ("a\u{e0041}b", Some("tag-character"), None),
            ("zero\u{200b}width", None, Some("invisible-character")),
            (
                "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
                None,
                None,
            ),
            ("\u{5e9}\u{5dc}\u{5d5}\u{5dd}", None, None),
            ("\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}", None, None),
            ("\u{1f469}\u{200d}\u{1f4bb} \u{2764}\u{fe0f}", None, None),
        ];
        for (text, bidi, invisible) in cases {
            assert_eq!(
                scan_line(text.as_bytes(), false),
                HiddenMarks { bidi, invisible },
                "{text:?}"
            );
        }
        assert_eq!(scan_line("\u{feff}x".as_bytes(), true), HiddenMarks::default());
    }
}
