//! Committed files that a test derives from other files.
//!
//! Owns: detecting that such a file is out of date, and rewriting it on request. Never: part of the program.

use std::io::Write as _;
use std::path::Path;

/// Fails if the file (its path is relative to this crate) differs from what is derived. With `AGENTOS_UPDATE=1` the
/// file is rewritten instead.
pub(crate) fn check_derived(file: &str, is_fresh: bool, derived: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if option_env!("AGENTOS_UPDATE").is_some() {
        let mut new = tempfile::NamedTempFile::new_in(path.parent().unwrap()).unwrap();
        new.write_all(derived.as_bytes()).unwrap();
        new.persist(path).unwrap();
        return;
    }
    assert!(
        is_fresh,
        "{file} is out of date; rewrite it with: AGENTOS_UPDATE=1 cargo test -p agentos-policy"
    );
}
