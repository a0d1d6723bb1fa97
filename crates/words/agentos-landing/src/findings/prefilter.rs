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

use std::collections::BTreeSet;

use super::secrets::{is_short_start, is_word_byte};
use crate::text::{contains, split_run};

/// Minimum length of a run with a finding. Tests of `shapes`, `secrets` and `entropy` have the same number.
const LEAST_RUN: usize = 20;
/// Length from which a run needs no digit: some tokens with a mark of their vendor may have none.
const LONG_RUN: usize = 30;

/// Returns false if a scan of the line finds nothing.
pub(super) fn is_suspect(line: &[u8]) -> bool {
    find_suspect_run(line, 0).is_some()
        || has_address_with_user(line)
        || has_key_header(line)
        || !line.is_ascii()
        || line.contains(&0)
}

/// Returns the beginnings of the lines of a file in which a scan may find something, in their order. Each condition is tested in
/// one look at the whole file: splitting it into lines alone would cost more than all of them.
pub(super) fn list_suspect_lines(content: &[u8]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut from = 0;
    // A line end is no part of a run, so that no run reaches into another line.
    while let Some(at) = find_suspect_run(content, from) {
        found.insert(line_start(content, at));
        from = line_end(content, at);
    }
    let has_user = |(_, line): &(usize, &[u8])| has_address_with_user(line);
    let addresses = lines_with(content, |byte| byte == b'@').filter(has_user);
    found.extend(addresses.map(|(start, _)| start));
    found.extend(key_headers(content).map(|at| line_start(content, at)));
    if content.contains(&0) || !content.is_ascii() {
        let hidden = lines_with(content, |byte| byte == 0 || !byte.is_ascii());
        found.extend(hidden.map(|(start, _)| start));
    }
    found
}

/// Returns every line that has such a byte, with its position.
fn lines_with(content: &[u8], is_wanted: impl Fn(u8) -> bool) -> impl Iterator<Item = (usize, &[u8])> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let mut rest = content.get(from..)?.iter();
        let at = from + rest.position(|byte| is_wanted(*byte))?;
        let (start, end) = (line_start(content, at), line_end(content, at));
        from = end;
        Some((start, content.get(start..end)?))
    })
}

/// Returns the position at which the line of a byte begins.
fn line_start(content: &[u8], at: usize) -> usize {
    let above = content.get(..at).unwrap_or_default();
    above
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1)
}

/// Returns the position after the line of a byte.
fn line_end(content: &[u8], at: usize) -> usize {
    let rest = content.get(at..).unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == b'\n');
    end.map_or(content.len(), |end| at + end + 1)
}

/// Returns true for a byte of which tokens and random values consist.
fn is_in_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.=/+~".contains(&byte)
}

/// Finds a run that is long enough for a finding and has a digit, or needs none. `None` if there is none from here on.
fn find_suspect_run(line: &[u8], from: usize) -> Option<usize> {
    let mut from = from;
    // A run of 20 bytes that begins here or later has one of them 19 bytes on: so most bytes need no look.
    while let Some(ahead) = line.get(from..from + LEAST_RUN) {
        let (last, before) = ahead.split_last()?;
        if !is_in_run(*last) {
            from += LEAST_RUN;
            continue;
        }
        if let Some(at) = before.iter().rposition(|byte| !is_in_run(*byte)) {
            from += at + 1;
            continue;
        }
        let rest = line.get(from..).unwrap_or_default();
        let (run, _) = split_run(rest, is_in_run);
        if run.len() >= LONG_RUN || run.iter().any(u8::is_ascii_digit) || has_short_start(run) {
            return Some(from);
        }
        from += run.len() + 1;
    }
    None
}

/// Returns true if a word of the run begins as those tokens do that few characters follow.
fn has_short_start(run: &[u8]) -> bool {
    let mut before = None;
    run.iter().enumerate().any(|(at, byte)| {
        let begins = !before.replace(*byte).is_some_and(is_word_byte);
        begins && run.get(at..).is_some_and(is_short_start)
    })
}

/// Returns true for a line with `://` and `@`.
fn has_address_with_user(line: &[u8]) -> bool {
    line.contains(&b'@') && contains(line, b"://")
}

/// Returns true for a line with the beginning of a PEM header.
pub(super) fn has_key_header(line: &[u8]) -> bool {
    key_headers(line).next().is_some()
}

/// Returns the positions of the beginnings of PEM headers.
fn key_headers(text: &[u8]) -> impl Iterator<Item = usize> {
    const HEADER: &[u8] = b"-----BEGIN ";
    /// Number of dashes: one of so many bytes is one, wherever the header begins.
    const DASHES: usize = 5;
    let looks = text.iter().enumerate().skip(DASHES - 1).step_by(DASHES);
    looks.filter(|(_, byte)| **byte == b'-').filter_map(|(at, _)| {
        let mut near = at + 1 - DASHES..=at;
        near.find(|start| text.get(*start..).is_some_and(|rest| rest.starts_with(HEADER)))
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
