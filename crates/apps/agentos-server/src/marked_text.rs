//! Untrusted text in HTML: escaped, with every hidden character shown by its number.
//!
//! Owns: that form. Never: lets a character pass that a browser interprets or does not show.

use std::fmt;

use agentos_api::is_hidden;

/// Untrusted text that displays itself as safe HTML, for an element or a quoted attribute.
#[derive(Debug, Clone, Copy)]
pub struct MarkedText<'a>(pub &'a str);

impl fmt::Display for MarkedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\t' => f.write_str("\t")?,
                '\n' => f.write_str("\n")?,
                // Brackets that no font of code has elsewhere, so that nobody takes the mark for text of the file.
                c if is_hidden(c) => write!(f, "⟦U+{:04X}⟧", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// Returns a text with its hidden characters shown by their numbers, for a reader that interprets no character.
pub fn show_hidden(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' => shown.push(c),
            c if is_hidden(c) => shown.push_str(&format!("⟦U+{:04X}⟧", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// Returns the marked form of a text.
pub fn mark(text: &str) -> String {
    MarkedText(text).to_string()
}

/// Returns true if a text has a character that is shown by its number.
pub fn has_hidden(text: &str) -> bool {
    text.chars().any(|c| is_hidden(c) && !matches!(c, '\t' | '\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_browser_interprets_or_hides_passes() {
        for (raw, shown) in [
            ("plain é 漢字", "plain é 漢字"),
            (
                "<script>alert(1)</script>",
                "&lt;script&gt;alert(1)&lt;/script&gt;",
            ),
            ("\" onload='x' &", "&quot; onload=&#39;x&#39; &amp;"),
            ("abc\u{202e}txt", "abc⟦U+202E⟧txt"),
            ("zero\u{200b}width\r", "zero⟦U+200B⟧width⟦U+000D⟧"),
            ("tag\u{e0041}", "tag⟦U+E0041⟧"),
            ("\0\u{1b}[31m", "⟦U+0000⟧⟦U+001B⟧[31m"),
        ] {
            assert_eq!(mark(raw), shown);
            let plain = show_hidden(raw);
            assert!(!has_hidden(&plain) && mark(&plain) == shown, "{plain}");
        }
    }
}
