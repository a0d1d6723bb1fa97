//! Untrusted text on its way to a terminal.
//!
//! Owns: what of it may pass. Never: touches text that goes to a file, a pipe's data or the evidence.

/// One line of untrusted text: control characters, line breaks, bidirectional and other invisible characters
/// are shown as escapes.
pub fn line(text: &str) -> String {
    escape(text, false)
}

/// Several lines of untrusted text: as [`line`], but line feeds and tabs pass.
pub fn block(text: &str) -> String {
    escape(text, true)
}

fn escape(text: &str, keep_lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' if keep_lines => out.push(c),
            c if c.is_control() || is_invisible(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Characters that change how their neighbours are shown, or show nothing at all.
fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0x00AD | 0x061C | 0x180E | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB
        | 0xE0000..=0xE007F)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_a_cursor_or_hides_text_passes() {
        let cases = [
            ("plain é 漢字", "plain é 漢字"),
            ("red \u{1b}[31m", "red \\u{1b}[31m"),
            ("c1 \u{9b}31m", "c1 \\u{9b}31m"),
            ("a\rb\nc", "a\\u{d}b\\u{a}c"),
            ("abc\u{202e}txt", "abc\\u{202e}txt"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
        ];
        for (raw, shown) in cases {
            assert_eq!(line(raw), shown);
        }
        assert_eq!(block("a\n\tb\u{7}"), "a\n\tb\\u{7}");
    }
}
