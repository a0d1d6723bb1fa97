//! What an answer adds lands as its author wrote it, or not at all; repeated hunks are never left out in silence.
//!
//! Owns: one table for each class of wrong results. Never: judges the words of a report.

use agentos_landing::{LandError, LandOptions, land};

use crate::memory::{Memory, blob_id};

/// The content of `f` after the landing, or the code of the refusal.
fn result(answer: &str, file: &str) -> String {
    let base = Memory::of(&[("f", file.as_bytes())]);
    match land(answer.as_bytes(), &base, &LandOptions::default()) {
        Ok(landed) => {
            let after = base.after(&landed.change);
            let content = after.get("f").map(|(_, content)| content.to_vec());
            String::from_utf8_lossy(&content.unwrap_or_default()).into_owned()
        }
        Err(LandError::Refused(report)) => report
            .refusal
            .map(|refusal| refusal.code.as_str().to_owned())
            .unwrap_or_default(),
        Err(LandError::Base(error)) => error.to_string(),
    }
}

#[test]
fn an_added_line_does_not_take_the_spelling_of_a_context_line() {
    let file = "say \u{201c}a\u{201d}\nold\nend\n";
    let again = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n say \"a\"\n-old\n+new\n+say \"a\"\n end\n";
    assert_eq!(
        result(again, file),
        "say \u{201c}a\u{201d}\nnew\nsay \"a\"\nend\n"
    );
    // A line that is removed and added again is the same line, so it keeps its bytes.
    let kept = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n-say \"a\"\n-old\n+new\n+say \"a\"\n+more\n end\n";
    assert_eq!(result(kept, file), "new\nsay \u{201c}a\u{201d}\nmore\nend\n");
}

