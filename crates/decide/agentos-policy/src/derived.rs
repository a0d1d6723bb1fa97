//! Committed files that a test derives from others.
//!
//! Owns: telling that one is out of date, and writing it anew when asked. Never: part of the program.

use std::io::Write as _;
use std::path::Path;

/// Fails where the file, by its path in this crate, is not what is derived; with `AGENTOS_UPDATE=1` it is rewritten.
pub(crate) fn check(file: &str, is_fresh: bool, derived: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if option_env!("AGENTOS_UPDATE").is_some() {
        let mut new = tempfile::NamedTempFile::new_in(path.parent().unwrap()).unwrap();
        new.write_all(derived.as_bytes()).unwrap();
        new.persist(path).unwrap();
        return;
    }
    assert!(
        is_fresh,
        "{file} is out of date; write it anew: AGENTOS_UPDATE=1 cargo test -p agentos-policy"
    );
}
