//! One redactor for snapshots: what differs from run to run becomes a fixed word.
//!
//! Owns: the patterns of run ids, times, hashes, durations, ports and temporary folders. Never: hides a word
//! that a person chose.

use std::path::Path;

use regex::{Error, Regex};

/// Patterns in the order they are applied: the longer and more exact ones first.
const PATTERNS: &[(&str, &str)] = &[
    (r"\b\d{8}T\d{6}Z-[0-9a-f]{8}\b", "[RUN]"),
    (
        r"\b(runs?|approve|deny|undo|show) (`?)[0-9a-f]{8}\b",
        "${1} ${2}[RUN]",
    ),
    (
        r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d|\b)",
        "[TIME]",
    ),
    (r"\b[0-9a-f]{64}\b", "[SHA256]"),
    (r"\b[0-9a-f]{40}\b", "[OID]"),
    (r"\b[0-9a-f]{7,39}\b", "[ID]"),
    (r#"("[a-z_]*_ms": ?)\d+"#, r#"${1}"[MS]""#),
    (r"\b\d+(?:\.\d+)? ?(?:ns|µs|ms|s)\b", "[DURATION]"),
    (r"(127\.0\.0\.1|localhost|\[::1\]):\d{1,5}\b", "${1}:[PORT]"),
    (r#"(?:/[^\s/"'`:]+)*/\.tmp[A-Za-z0-9]{6}\b"#, "[TMP]"),
];

/// Replaces what differs from run to run.
#[derive(Debug, Clone)]
pub struct Redactor {
    words: Vec<(String, String)>,
    patterns: Vec<(Regex, &'static str)>,
}

impl Redactor {
    /// The redactor with the built-in patterns.
    ///
    /// # Errors
    /// When a built-in pattern does not compile, which the tests rule out.
    pub fn new() -> Result<Self, Error> {
        let patterns = PATTERNS
            .iter()
            .map(|(pattern, word)| Regex::new(pattern).map(|regex| (regex, *word)))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            words: Vec::new(),
            patterns,
        })
    }

    /// Adds an exact text to replace, before any pattern; the longest such text goes first.
    #[must_use]
    pub fn word(mut self, text: impl Into<String>, replacement: &str) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.words.push((text, replacement.to_owned()));
            self.words.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        }
        self
    }

    /// Adds a folder to replace, before any pattern.
    #[must_use]
    pub fn path(self, path: &Path, replacement: &str) -> Self {
        self.word(path.display().to_string(), replacement)
    }

    /// The text with everything replaced.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (word, replacement) in &self.words {
            text = text.replace(word, replacement);
        }
        for (regex, replacement) in &self.patterns {
            text = regex.replace_all(&text, *replacement).into_owned();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_replaced() {
        let redactor = Redactor::new()
            .unwrap()
            .path(Path::new("/tmp/.tmpAbCd12/repo"), "[REPO]");
        let cases = [
            ("run 20261121T091400Z-1a2b3c4d done", "run [RUN] done"),
            ("`agentos approve 1a2b3c4d`", "`agentos approve [RUN]`"),
            ("run `1a2b3c4d` landed", "run `[RUN]` landed"),
            ("at 2026-11-21T09:14:00.123Z.", "at [TIME]."),
            ("commit 0123456789abcdef0123456789abcdef01234567", "commit [OID]"),
            ("landed as 1a2b3c4 on main", "landed as [ID] on main"),
            (
                "in 12 ms, 3.4s or 17µs",
                "in [DURATION], [DURATION] or [DURATION]",
            ),
            (r#"{"latency_ms": 12}"#, r#"{"latency_ms": "[MS]"}"#),
            ("http://127.0.0.1:45123/v1", "http://127.0.0.1:[PORT]/v1"),
            ("see /tmp/.tmpAbCd12/repo/a.rs", "see [REPO]/a.rs"),
            ("see /var/tmp/.tmpXyZ123/b.rs", "see [TMP]/b.rs"),
        ];
        for (text, expected) in cases {
            assert_eq!(redactor.redact(text), expected);
        }
    }

    #[test]
    fn words_that_a_person_chose_stay() {
        let redactor = Redactor::new().unwrap();
        for text in [
            "src/a.rs:12",
            "3 files, 12 lines",
            "exit: 0",
            "feed facade",
            "v1.2.3",
            "port 8080",
        ] {
            assert_eq!(redactor.redact(text), text);
        }
    }
}
