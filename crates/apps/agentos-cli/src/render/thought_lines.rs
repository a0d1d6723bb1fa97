//! Lines of a model's thinking, while it arrives.
//!
//! Owns: when a line is shown. Never: drops a word, or holds more than one line of bounded length.

/// Longest line without an end that is kept, in bytes. A longer one is shown in parts.
const LONGEST_LINE: usize = 4 << 10;

/// The line that has no end yet.
#[derive(Debug, Default)]
pub struct ThoughtLines {
    held: String,
}

impl ThoughtLines {
    /// Takes a piece of the thinking, and returns the lines that can be shown now.
    pub fn push(&mut self, piece: &str) -> Vec<String> {
        let mut lines = Vec::new();
        // Only the new piece is searched, so that the time is linear in the text.
        for part in piece.split_inclusive('\n') {
            self.held.push_str(part);
            if part.ends_with('\n') {
                lines.push(self.held.trim_end().to_owned());
                self.held.clear();
            } else if self.held.len() >= LONGEST_LINE {
                lines.push(self.cut_line());
            }
        }
        lines
    }

    /// Cuts the held text behind its last blank, or at its end if it has none.
    fn cut_line(&mut self) -> String {
        let end = self.held.rfind(' ').map_or(self.held.len(), |blank| blank + 1);
        let rest = self.held.split_off(end);
        let line = std::mem::replace(&mut self.held, rest);
        line.trim_end().to_owned()
    }

    /// Ends the thinking, and returns its last line. `None` if every line was returned.
    pub fn finish(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.held);
        (!rest.is_empty()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_when_it_ends() {
        let mut lines = ThoughtLines::default();
        for (piece, shown) in [
            ("one", &[][..]),
            (" two\n\nthr", &["one two", ""]),
            ("ee \r\n", &["three"]),
            ("four", &[]),
        ] {
            assert_eq!(lines.push(piece), shown, "{piece}");
        }
        assert_eq!(lines.finish().as_deref(), Some("four"));
        assert_eq!(lines.finish(), None);
    }

    #[test]
    fn a_line_without_end_is_shown_in_parts() {
        for piece in ["word ", "letters"] {
            let mut lines = ThoughtLines::default();
            let mut shown: Vec<String> = Vec::new();
            for _ in 0..10_000 {
                shown.extend(lines.push(piece));
                assert!(lines.held.len() < LONGEST_LINE, "{piece}: {}", lines.held.len());
            }
            shown.extend(lines.finish());
            assert!(shown.len() > 5, "{piece}: {}", shown.len());
            let letters = |text: &str| text.replace(' ', "");
            assert_eq!(letters(&shown.concat()), letters(&piece.repeat(10_000)));
        }
    }
}
