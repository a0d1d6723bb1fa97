//! Exports: a copy that verifies says what the evidence says, or leaves it out.
//!
//! Owns: the claims about whole and redacted copies that somebody changed. Never: knows how a record is hashed.

use std::path::Path;
use std::sync::OnceLock;

use agentos_evidence::{EvidenceError, Store, VerifyChecks};
use serde_json::Value;

use crate::bytes::ByteReader;
use crate::mutate::mutate;
use crate::scratch::{self, FileMap};
use crate::tape::{TIME, WORDS, lines_of, open, signing_key, sound_tape};

/// Exports of the sound tape: a whole one and a redacted one.
struct ExportCopies {
    whole: FileMap,
    redacted: FileMap,
}

/// Reads the first byte as the choice of a copy, and the rest as changes to it.
///
/// # Panics
/// If a claim does not hold.
pub fn check_export(data: &[u8]) {
    let copies = copies();
    let mut bytes = ByteReader(data);
    let mut files = match bytes.next() & 1 {
        0 => copies.whole.clone(),
        _ => copies.redacted.clone(),
    };
    mutate(&mut files, &mut bytes, &WORDS);
    let folder = scratch::make_folder();
    scratch::write_files(folder.path(), &files);
    check_copy(folder.path(), &files, copies);
}

fn check_copy(folder: &Path, files: &FileMap, copies: &ExportCopies) {
    let redacted = says_redacted(files);
    let store = open(folder);
    for keys in [Vec::new(), vec![sound_tape().key]] {
        let require = !keys.is_empty();
        let checks = VerifyChecks {
            keys,
            require,
            export: true,
            ..VerifyChecks::default()
        };
        let Ok(report) = store.verify(&checks) else {
            continue;
        };
        assert_eq!(report.ok, report.findings.is_empty());
        assert!(
            // Changes may cancel each other out, and then the copy must be accepted.
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
            // A redacted copy may mix both forms: leaving one body out, or keeping it, changes no statement.
            let is_kept = line == whole || (redacted && line == short);
            assert!(
                is_kept || (redacted && says_the_same(line, whole)),
                "a changed record is accepted:\n{line}in the place of\n{whole}"
            );
        }
    }
}

/// Returns true if the copy claims that content was left out.
fn says_redacted(files: &FileMap) -> bool {
    let claims = files
        .get("export.json")
        .and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    claims.is_some_and(|claims| claims.get("redacted") == Some(&Value::Bool(true)))
}

/// Returns true if a record without its body says what the whole one says. If its hash does not cover the digest of
/// the body, only its place in the chain can be known.
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

fn copies() -> &'static ExportCopies {
    static COPIES: OnceLock<ExportCopies> = OnceLock::new();
    COPIES.get_or_init(|| match make_copies() {
        Ok(copies) => copies,
        Err(error) => panic!("no export: {error}"),
    })
}

fn make_copies() -> Result<ExportCopies, EvidenceError> {
    let folder = scratch::make_folder();
    scratch::write_files(&folder.path().join("tape"), &sound_tape().files);
    let store = Store::open(&folder.path().join("tape"))?;
    let copy = |name: &str, redact: bool| {
        let out = folder.path().join(name);
        store.export(&out, redact)?.seal(TIME, Some(&signing_key()?))?;
        Ok::<_, EvidenceError>(scratch::read_files(&out))
    };
    Ok(ExportCopies {
        whole: copy("whole", false)?,
        redacted: copy("redacted", true)?,
    })
}
