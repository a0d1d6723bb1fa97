//! Any bytes as an answer.
//!
//! Owns: the claims about an answer of which nothing is known. Never: says what it should mean.

use std::sync::Arc;

use agentos_landing::{LandError, LandOptions, MemoryBase, RepoPath, land};

/// Largest feedback that a person or a model can read.
const FEEDBACK_BYTES: usize = 1 << 20;

/// Reads `path NUL content NUL … answer`, and lands the answer on those files. Without any NUL everything is the
/// answer, and the base is a small fixed one.
///
/// # Panics
/// If landing breaks a claim.
pub fn check_land(data: &[u8]) {
    let (base, answer) = case(data);
    match land(answer, &base, &LandOptions::default()) {
        Ok(landed) => {
            assert!(!landed.change.is_empty(), "what landed changes something");
            // Evidence keeps the canonical diff, and a replay lands it again: it must mean the same change.
            let canonical = landed.change.canonical_diff();
            match land(canonical, &base, &LandOptions::default()) {
                Ok(again) => assert_eq!(again.change, landed.change, "its own diff means the same"),
                Err(error) => panic!(
                    "its own diff does not land: {error}\n{}",
                    canonical.escape_ascii()
                ),
            }
        }
        Err(LandError::Refused(report)) => {
            assert!(report.refusal.is_some(), "a refusal has a reason");
            let feedback = report.feedback();
            assert!(!feedback.is_empty(), "a refusal has feedback");
            assert!(feedback.len() <= FEEDBACK_BYTES, "in {} bytes", feedback.len());
        }
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

fn case(data: &[u8]) -> (MemoryBase, &[u8]) {
    let mut base = MemoryBase::default();
    let parts: Vec<&[u8]> = data.split(|byte| *byte == 0).collect();
    let (answer, files) = parts.split_last().unwrap_or((&data, &[]));
    for file in files.chunks_exact(2) {
        let [path, content] = file else { continue };
        // An invented repository still has only names that git would keep apart.
        let path = std::str::from_utf8(path)
            .ok()
            .and_then(|path| RepoPath::new(path).ok());
        if let Some(path) = path {
            base.put(path.as_str(), Arc::from(*content));
        }
    }
    if files.is_empty() {
        base.put(
            "a.rs",
            Arc::from(&b"fn a() {\n    1\n}\n\nfn b() {\n    2\n}\n"[..]),
        );
        base.put("src/lib.rs", Arc::from(&b"one\r\ntwo\r\nthree"[..]));
        base.put("empty", Arc::from(&b""[..]));
    }
    (base, answer)
}
