//! New names that a file system may open as others.

use agentos_landing::{LandError, LandOptions, land};

use crate::memory::Memory;

/// The refusal of a diff that makes these files, or nothing if it lands.
fn refusal(base: &Memory, made: &[&str]) -> Option<String> {
    let diff: String = made
        .iter()
        .map(|path| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"))
        .collect();
    match land(diff.as_bytes(), base, &LandOptions::default()) {
        Ok(_) => None,
        Err(LandError::Refused(report)) => Some(report.refusal.unwrap().code.as_str().to_owned()),
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

#[test]
fn a_short_name_of_what_stands_in_the_same_folder_is_refused() {
    let base = Memory::of(&[
        ("documents/HEAD", b"x\n"),
        ("vite.config.js", b"x\n"),
        ("a.txt", b"x\n"),
    ]);
    let cases: [(&[&str], bool); 9] = [
        (&["DOCUME~1/objects/x"], true),
        (&["docume~2/refs/x"], true),
        (&["VITECO~1.JS"], true),
        (&["Longer name.txt", "LONGER~1.TXT"], true),
        (&["sub/VITECO~1.JS"], false),
        (&["DOCUMX~1/objects/x"], false),
        (&["VITECO~1.TS"], false),
        (&["A~1.TXT"], false),
        (&["backup~1.txt", "notes~2.md"], false),
    ];
    for (made, is_refused) in cases {
        let refusal = refusal(&base, made);
        assert_eq!(
            refusal.as_deref(),
            is_refused.then_some("case-collision"),
            "{made:?}"
        );
    }
}
