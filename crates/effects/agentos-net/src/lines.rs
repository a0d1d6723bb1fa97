//! JSON lines: splits bytes that arrive in any portions into whole lines.
//!
//! Owns: the limit on one line. Never: waits, or reads what a line says.

use crate::SseError;

/// Collects bytes until a line ends. Blank lines are skipped.
#[derive(Debug)]
pub struct LineParser {
    limit: usize,
    line: Vec<u8>,
}

impl LineParser {
    /// Creates a parser that refuses lines of more than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
        }
    }

    /// Takes the next portion and passes each finished line to `each`.
    ///
    /// # Errors
    /// If a line is too large or not UTF-8. The stream cannot be read further then.
    pub fn push_bytes(&mut self, bytes: &[u8], mut each: impl FnMut(String)) -> Result<(), SseError> {
        for &byte in bytes {
            if byte == b'\n' {
                if let Some(line) = self.finish_line()? {
                    each(line);
                }
            } else if self.line.len() >= self.limit {
                return Err(SseError::TooLarge { limit: self.limit });
            } else {
                self.line.push(byte);
            }
        }
        Ok(())
    }

    /// Returns the text after the last line end; the last line of a stream need not have one. `None` if it is blank.
    ///
    /// # Errors
    /// If it is not UTF-8.
    pub fn finish_line(&mut self) -> Result<Option<String>, SseError> {
        let line = String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| SseError::NotUtf8)?;
        Ok(Some(line).filter(|line| !line.trim().is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(portions: &[&[u8]]) -> Result<Vec<String>, SseError> {
        let mut parser = LineParser::new(8);
        let mut lines = Vec::new();
        for portion in portions {
            parser.push_bytes(portion, |line| lines.push(line))?;
        }
        lines.extend(parser.finish_line()?);
        Ok(lines)
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        let cases: [(&[&[u8]], &[&str]); 5] = [
            (&[b"{}\n[]\n"], &["{}", "[]"]),
            (&[b"{", b"}\n\n", b"[]"], &["{}", "[]"]),
            (&[b"\"\xc3", b"\xa9\"\n"], &["\"é\""]),
            (&[b"12345678\n"], &["12345678"]),
            (&[b""], &[]),
        ];
        for (portions, wanted) in cases {
            assert_eq!(lines(portions).unwrap(), wanted);
        }
        assert_eq!(lines(&[b"123456789"]), Err(SseError::TooLarge { limit: 8 }));
        assert_eq!(lines(&[b"\xff\n"]), Err(SseError::NotUtf8));
    }
}
