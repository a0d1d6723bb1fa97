//! Exports: a copy that verifies says what the evidence says, or leaves it out.
//!
//! Owns: the claims about whole and redacted copies that somebody changed. Never: knows how a record is hashed.

use std::path::Path;
use std::sync::OnceLock;

use agentos_evidence::{Checks, EvidenceError, Store};
use serde_json::Value;

use crate::bytes::Bytes;
use crate::mutate::mutate;
use crate::scratch::{self, Files};
use crate::tape::{TIME, WORDS, lines_of, open, signing_key, sound_tape};

/// Both copies of the sound tape: whole and redacted.
struct Copies {
    whole: Files,
    redacted: Files,
}

/// Reads the first byte as which copy, and the rest as changes to it.
///
/// # Panics
/// When a claim does not hold.
pub fn check_export(data: &[u8]) {
    let copies = copies();
    let mut bytes = Bytes(data);
    let mut files = match bytes.next() & 1 {
        0 => copies.whole.clone(),
        _ => copies.redacted.clone(),
    };
    mutate(&mut files, &mut bytes, &WORDS);
    let folder = scratch::make_folder();
    scratch::write_files(folder.path(), &files);
    check_copy(folder.path(), &files, copies);
}

fn check_copy(folder: &Path, files: &Files, copies: &Copies) {
    let redacted = says_redacted(files);
    let store = open(folder);
    for keys in [Vec::new(), vec![sound_tape().key]] {
        let require = !keys.is_empty();
        let checks = Checks {
            keys,
            require,
            export: true,
            ..Checks::default()
        };
        let Ok(report) = store.verify(&checks) else {
            continue;
        };
        assert_eq!(report.ok, report.findings.is_empty());
        assert!(
            report.ok || (*files != copies.whole && *files != copies.redacted),
            "an untouched copy is refused: {:?}",
            report.findings
        );
        if !report.ok {
            continue;
        }
        let (whole, short) = (lines_of(&copies.whole), lines_of(&copies.redacted));
        let found = lines_of(files);
        assert!(found.len() <= whole.len(), "a longer copy is accepted");
        for (line, (whole, short)) in found.iter().zip(whole.iter().zip(&short)) {
            let is_kept = line == whole || (redacted && line == short);
            assert!(
                is_kept || (redacted && says_the_same(line, whole)),
                "a changed record is accepted:\n{line}in the place of\n{whole}"
            );
        }
    }
}

/// Returns true if the copy claims that content was left out.
fn says_redacted(files: &Files) -> bool {
    let claims = files
        .get("export.json")
        .and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    claims.is_some_and(|claims| claims.get("redacted") == Some(&Value::Bool(true)))
}

/// Does a record without its body say what the whole one says? Where its hash does not cover the digest of the body, its
/// place in the chain is all that can be known of it.
fn says_the_same(line: &str, whole: &str) -> bool {
    let (Ok(line), Ok(whole)) = (
        serde_json::from_str::<Value>(line),
        serde_json::from_str::<Value>(whole),
    ) else {
        return false;
    };
    let is_digested = whole.get("body_sha256").is_some();
    let names: &[&str] = match is_digested {
        true => &["v", "seq", "ts", "run", "kind", "body_sha256", "prev", "hash"],
        false => &["seq", "prev", "hash"],
    };
    line.get("body").is_none() && names.iter().all(|name| line.get(name) == whole.get(name))
}

fn copies() -> &'static Copies {
    static COPIES: OnceLock<Copies> = OnceLock::new();
    COPIES.get_or_init(|| match make_copies() {
        Ok(copies) => copies,
        Err(error) => panic!("no export: {error}"),
    })
}

fn make_copies() -> Result<Copies, EvidenceError> {
    let folder = scratch::make_folder();
    scratch::write_files(&folder.path().join("tape"), &sound_tape().files);
    let store = Store::open(&folder.path().join("tape"))?;
    let copy = |name: &str, redact: bool| {
        let out = folder.path().join(name);
        store.export(&out, redact)?.seal(TIME, Some(&signing_key()?))?;
        Ok::<_, EvidenceError>(scratch::read_files(&out))
    };
    Ok(Copies {
        whole: copy("whole", false)?,
        redacted: copy("redacted", true)?,
    })
}
