//! Escaping of untrusted text for a terminal.
//!
//! Owns: the characters that may pass. Never: changes text for a file, a pipe or the evidence. The JSON of `--json` is
//! escaped wherever it goes, so that it is always the same; its values do not change.

use std::fmt::Write;

use agentos_api::is_hidden;

/// Escapes one line of untrusted text: control characters, line breaks, bidirectional and other invisible characters are
/// shown as escapes.
pub fn line(text: &str) -> String {
    escape_text(text, false)
}

/// Escapes several lines of untrusted text like [`line`], but keeps line feeds and tabs.
pub fn block(text: &str) -> String {
    escape_text(text, true)
}

fn escape_text(text: &str, keep_lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // A carriage return is never kept: it moves the cursor back, so that the rest of the line overwrites what
            // was shown.
            '\n' | '\t' if keep_lines => out.push(c),
            c if is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Escapes every character in finished JSON that a terminal interprets or does not show, as `\uXXXX`.
///
/// `serde_json` escapes only U+0000 to U+001F, which is all that RFC 8259 (section 7) requires. But U+009B begins a control
/// sequence on a terminal like ESC `[`, and bidirectional characters change the displayed order of a diff. In JSON text,
/// such characters can only occur inside strings, where an escape has the same value.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units = [0; 2];
    for c in text.chars() {
        match c {
            // Line feeds between values are white space of the JSON text and must stay.
            '\n' | '\t' | '\r' => out.push(c),
            c if is_hidden(c) => {
                // A JSON escape has four hexadecimal digits, so a character above U+FFFF needs its two UTF-16 units
                // (RFC 8259, section 7).
                for unit in c.encode_utf16(&mut units) {
                    // Writing into a string does not fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out
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

    #[test]
    fn json_shows_what_is_hidden_and_keeps_its_value() {
        let cases = [
            ("plain é 漢字 ✔\u{fe0f}", "plain é 漢字 ✔\u{fe0f}"),
            ("\u{1b}[2J", "\\u001b[2J"),
            ("\u{7f}", "\\u007f"),
            ("\u{9b}2J", "\\u009b2J"),
            ("\u{ad}", "\\u00ad"),
            ("\u{61c}", "\\u061c"),
            ("\u{200b}\u{200d}\u{200f}", "\\u200b\\u200d\\u200f"),
            ("\u{2028}\u{2029}", "\\u2028\\u2029"),
            ("\u{202a}\u{202e}", "\\u202a\\u202e"),
            ("\u{2066}\u{2069}", "\\u2066\\u2069"),
            ("\u{feff}", "\\ufeff"),
            ("\u{3164}", "\\u3164"),
            ("\u{e000}\u{fdd0}\u{ffff}", "\\ue000\\ufdd0\\uffff"),
            ("\u{e0041}", "\\udb40\\udc41"),
            ("\u{10ffff}", "\\udbff\\udfff"),
            ("a\nb\"\\", "a\\nb\\\"\\\\"),
        ];
        for (raw, shown) in cases {
            let document = serde_json::json!({ raw: [raw] });
            let printed = json(&serde_json::to_string_pretty(&document).unwrap());
            assert_eq!(printed, format!("{{\n  \"{shown}\": [\n    \"{shown}\"\n  ]\n}}"));
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&printed).unwrap(),
                document
            );
        }
    }

    #[test]
    fn every_control_and_every_format_character_is_escaped_in_json() {
        for c in ('\u{7f}'..='\u{9f}')
            .chain('\u{202a}'..='\u{202e}')
            .chain('\u{e0000}'..='\u{e007f}')
        {
            let printed = json(&serde_json::to_string(&c).unwrap());
            assert!(printed.is_ascii(), "{printed}");
            assert_eq!(serde_json::from_str::<char>(&printed).unwrap(), c);
        }
    }
}
