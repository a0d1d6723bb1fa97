//! Passing over the lines in which a scan finds nothing.
//!
//! Owns: conditions that every such finding fulfils, tested in one look at a line. Never: finds anything, or passes over a line
//! that the full scan has a finding for.
//!
//! # Why a line may be passed over
//!
//! Most lines of source text have no long word. A *run* is a sequence of the bytes that tokens and random values consist of.
//!
//! | finding | needs |
//! |---|---|
//! | token with the beginning of its vendor | a run of 20 bytes; with a digit, or with one of the few beginnings after which few characters are enough |
//! | token with a mark of its vendor elsewhere | a run of 30 bytes |
//! | random value with the name of a secret | a run of 20 bytes with digits |
//! | value that looks random | a run of 20 bytes with a digit |
//! | password in an address | `://` and `@` |
//! | private key | `-----BEGIN ` |
//! | hidden character | a byte beyond ASCII |
//! | NUL byte | one |
//!
//! Tests compare the whole table of tokens, generated lines and real files with the scan of every line.

use super::secrets::{is_short_start, is_word_byte};
use crate::text::contains;

/// Minimum length of a run with a finding. Tests of `shapes`, `secrets` and `entropy` have the same number.
const LEAST_RUN: usize = 20;
/// Length from which a run needs no digit: some tokens with a mark of their vendor may have none.
const LONG_RUN: usize = 30;

/// Returns false if a scan of the line finds nothing.
pub(super) fn is_suspect(line: &[u8]) -> bool {
    let is_in_run = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.=/+~".contains(byte);
    let mut runs = line.split(|byte| !is_in_run(byte));
    runs.any(is_suspect_run)
        || (line.contains(&b'@') && contains(line, b"://"))
        || contains(line, b"-----BEGIN ")
        || !line.is_ascii()
        || line.contains(&0)
}

/// Returns true for a run that is long enough for a finding and has a digit, or needs none.
fn is_suspect_run(run: &[u8]) -> bool {
    let is_enough = || run.len() >= LONG_RUN || run.iter().any(u8::is_ascii_digit) || has_short_start(run);
    run.len() >= LEAST_RUN && is_enough()
}

/// Returns true if a word of the run begins as those tokens do that few characters follow.
fn has_short_start(run: &[u8]) -> bool {
    let mut before = None;
    run.iter().enumerate().any(|(at, byte)| {
        let begins = !before.replace(*byte).is_some_and(is_word_byte);
        begins && run.get(at..).is_some_and(is_short_start)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::super::secrets::{list_starts, secret_kinds};
    use super::super::{Findings, entropy, scan_every_line, scan_file};
    use super::is_suspect;
    use crate::RepoPath;

    fn has_finding(line: &str) -> bool {
        !secret_kinds(line.as_bytes(), &["MIIEow".repeat(9).as_bytes()]).is_empty()
            || entropy::looks_random(line.as_bytes())
    }

    /// Returns texts of which secrets and what resembles them consist.
    fn pieces() -> impl Strategy<Value = String> {
        let starts: Vec<String> = list_starts().map(str::to_owned).collect();
        let fixed = [
            "sk-",
            "T3BlbkFJ",
            "SK",
            "-us12",
            "-us",
            "sha256=",
            "sha1:",
            "://",
            "@",
            "user:",
            ".com",
            "password",
            "token",
            "-----BEGIN ",
            "RSA PRIVATE KEY-----",
            "PGP PRIVATE KEY BLOCK-----",
            "secret = ",
            "api_key: \"",
            "\"",
            " ",
            "",
            "=",
            "/",
            ".",
            ":",
            "-",
            "_",
            "+",
            "~",
            "\u{e9}",
            "MTIzNDU2Nzg5MDEyMzQ1Njc4",
            "MTExMTExMTExMTExMTExMTEx",
        ];
        prop_oneof![
            2 => proptest::sample::select(starts),
            3 => proptest::sample::select(fixed.map(str::to_owned).to_vec()),
            3 => "[A-Za-z0-9]{1,50}",
            1 => "[A-Z]{1,30}",
            1 => "[a-z]{30,36}",
            1 => "[0-9a-f]{30,42}",
            1 => "[a-z_-]{20,64}",
            1 => "[A-Za-z0-9+/=_.-]{1,120}",
            1 => "[0-9]{8,10}:[a-zA-Z_-]{35}",
            1 => "\\PC{0,12}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn a_line_with_a_finding_is_never_passed_over(parts in proptest::collection::vec(pieces(), 1..6)) {
            let line = parts.concat();
            prop_assert!(!has_finding(&line) || is_suspect(line.as_bytes()), "{line}");
        }

        #[test]
        fn a_file_has_the_findings_of_a_scan_of_every_line(
            lines in proptest::collection::vec(proptest::collection::vec(pieces(), 0..6), 0..12),
        ) {
            let lines: Vec<String> = lines.iter().map(|parts| parts.concat()).collect();
            let text = lines.join("\n");
            let (fast, full) = scan_twice(text.as_bytes());
            prop_assert_eq!(fast, full);
        }

        #[test]
        fn any_bytes_have_the_findings_of_a_scan_of_every_line(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let (fast, full) = scan_twice(&bytes);
            prop_assert_eq!(fast, full);
        }
    }

    /// Returns the findings of a scan, and those of a scan of every line. `None` would mean that the path is unsafe.
    fn scan_twice(content: &[u8]) -> (Option<Findings>, Option<Findings>) {
        let path = RepoPath::new("some/file.txt").ok();
        let fast = path.as_ref().map(|path| scan_file(path, content));
        (fast, path.map(|path| scan_every_line(&path, content)))
    }

    #[test]
    fn every_beginning_with_its_shortest_value_is_looked_at() {
        // Without a digit wherever the form allows it, and without anything around.
        for letters in [
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "abcdefghijklmnopqrstuvwxyz",
            "0a1b2c3d4e5f",
            "AB0C1D2E3F",
        ] {
            for start in list_starts() {
                for length in [12, 16, 17, 20, 32, 40, 64, 110, 260] {
                    let value: String = letters.chars().cycle().take(length).collect();
                    for line in [format!("{start}{value}"), format!("x = \"{start}{value}\"")] {
                        assert!(!has_finding(&line) || is_suspect(line.as_bytes()), "{line}");
                    }
                }
            }
        }
    }

    #[test]
    fn ordinary_lines_are_passed_over() {
        let lines = [
            "",
            "    let total: u64 = items.iter().map(|item| item.price).sum();",
            "use std::collections::HashMap;",
            "// See https://example.org/guide for the reason.",
            "mail: dana@example.org",
            "fn a_name_of_more_than_twenty(",
            "--------",
            "ABCDEFGHIJKLMNOPQRSTUVWX",
        ];
        for line in lines {
            assert!(!is_suspect(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn real_files_have_the_findings_of_a_scan_of_every_line() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let mut folders = vec![root.join("crates/words/agentos-landing/src")];
        let (mut files, mut all) = (vec![root.join("Cargo.lock")], Findings::default());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(entry.path()),
                    false => files.push(entry.path()),
                }
            }
        }
        assert!(files.len() > 50, "{}", files.len());
        for file in files {
            let content = std::fs::read(&file).unwrap();
            let (fast, full) = scan_twice(&content);
            assert_eq!(fast, full, "{}", file.display());
            all.maybe_secrets.extend(fast.unwrap().maybe_secrets);
        }
        assert!(
            all.maybe_secrets.len() > 100,
            "the lock has a digest for each package"
        );
    }
}
