//! What holds for every base and every edit: the canonical diff lands as itself and back, damage never makes
//! another result of it, and no bytes whatever make landing panic.
//!
//! Owns: the generators. Never: draws a case that has two right results.

use std::sync::Arc;

use agentos_landing::{Change, FileMode, FileState, LandError, LandOptions, RepoPath, land};
use proptest::prelude::*;

use crate::memory::Memory;

/// Few different lines, so that they repeat; endings of both kinds; with and without a final newline.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => "[a-c]{1,2}",
        1 => Just(String::new()),
        1 => Just("-- a/x".to_owned()),
        1 => Just("++ b/x".to_owned()),
        1 => Just("@@ -1 +1 @@".to_owned()),
        1 => Just("```".to_owned()),
        1 => Just("\tif x {  ".to_owned()),
        1 => Just("\u{201c}q\u{201d}\u{a0}\u{fe0f}".to_owned()),
        1 => Just("diff --git a/x b/x".to_owned()),
    ];
    let ending = prop_oneof![5 => Just("\n"), 1 => Just("\r\n")];
    (
        prop::collection::vec((line, ending), 0..30),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(lines, cut, latin)| {
            let mut out: Vec<u8> = lines
                .iter()
                .flat_map(|(line, ending)| [line.as_bytes(), ending.as_bytes()].concat())
                .collect();
            if latin {
                out.splice(0..0, *b"caf\xe9\n");
            }
            if cut && out.last() == Some(&b'\n') {
                out.pop();
            }
            out
        })
}

fn state() -> impl Strategy<Value = Option<FileState>> {
    let mode = prop_oneof![4 => Just(FileMode::Regular), 1 => Just(FileMode::Executable)];
    prop::option::weighted(
        0.8,
        (mode, content()).prop_map(|(mode, content)| FileState {
            mode,
            content: Arc::from(content),
        }),
    )
}

fn change() -> impl Strategy<Value = Change> {
    let names = prop::sample::subsequence(vec!["a.rs", "b c.txt", "d/\u{e9}.md", "d/q'.md", "e"], 1..=3);
    (names, prop::collection::vec((state(), state()), 3))
        .prop_map(|(names, states)| {
            let states = names
                .into_iter()
                .zip(states)
                .filter(|(_, (old, new))| old.is_some() || new.is_some());
            let states = states
                .map(|(name, (old, new))| (RepoPath::new(name).expect("a path"), old, new))
                .collect();
            Change::new(states).expect("a change")
        })
        .prop_filter("it changes something", |change| !change.is_empty())
}

fn base_of(change: &Change) -> Memory {
    let mut base = Memory::default();
    for file in change.files() {
        if let Some(old) = &file.old {
            base.put(file.path.as_str(), old.mode.as_git(), &old.content);
        }
    }
    base
}

fn text_of(change: &Change) -> String {
    String::from_utf8_lossy(change.canonical_diff()).into_owned()
}

/// Bare headers: nothing says where, or how many lines.
fn without_numbers(diff: &str) -> String {
    let bare = |line: &str| {
        if line.starts_with("@@ -") {
            "@@ @@".to_owned()
        } else {
            line.to_owned()
        }
    };
    diff.split('\n').map(bare).collect::<Vec<_>>().join("\n")
}

fn without_git_lines(diff: &str) -> String {
    let git = |line: &&str| !line.starts_with("diff --git ") && !line.starts_with("index ");
    diff.split('\n').filter(git).collect::<Vec<_>>().join("\n")
}

fn in_a_fence(diff: &str) -> String {
    format!("Here it is:\n\n````diff\n{diff}````\n\nThat is all.\n")
}

/// A mark in front of each line is lost on blank context.
fn without_blanks(diff: &str) -> String {
    diff.split('\n')
        .map(|line| if line == " " { "" } else { line })
        .collect::<Vec<_>>()
        .join("\n")
}

/// The change of one file in the dialects that give the old and new text as they are.
fn in_other_dialects(path: &str, old: &str, new: &str) -> [String; 4] {
    let marked = |mark: char, text: &str| {
        text.lines()
            .map(|line| format!("{mark}{line}\n"))
            .collect::<String>()
    };
    let json = serde_json::json!({"edits": [{"path": path, "search": old, "replace": new}]});
    [
        format!("`{path}`\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n"),
        format!(
            "*** Begin Patch\n*** Update File: {path}\n@@\n{}{}*** End Patch\n",
            marked('-', old),
            marked('+', new)
        ),
        format!("`{path}`\n`````\n{new}`````\n"),
        json.to_string(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_canonical_diff_lands_as_the_change_it_was_made_of(change in change()) {
        let base = base_of(&change);
        match land(change.canonical_diff(), &base, &LandOptions::default()) {
            Ok(landed) => prop_assert_eq!(landed.change, change),
            Err(error) => prop_assert!(false, "{error}\n{}", text_of(&change)),
        }
    }

    #[test]
    fn the_inverse_lands_on_the_result_and_restores_the_base(change in change()) {
        let inverse = change.inverse().expect("an inverse");
        let result = base_of(&inverse);
        match land(inverse.canonical_diff(), &result, &LandOptions::default()) {
            Ok(landed) => prop_assert_eq!(result.after(&landed.change), base_of(&change).tree),
            Err(error) => prop_assert!(false, "{error}\n{}", text_of(&inverse)),
        }
    }

    #[test]
    fn damage_never_makes_another_result(change in change()) {
        let base = base_of(&change);
        let diff = text_of(&change);
        if diff.as_bytes() != change.canonical_diff() {
            // Damage is done to text; a diff that is not UTF-8 has none.
            return Ok(());
        }
        for damaged in [
            without_numbers(&diff),
            without_git_lines(&diff),
            in_a_fence(&diff),
            without_blanks(&diff),
            in_a_fence(&without_numbers(&diff)),
        ] {
            if let Ok(landed) = land(damaged.as_bytes(), &base, &LandOptions::default()) {
                prop_assert_eq!(text_of(&landed.change), diff.clone(), "from\n{}", damaged);
            }
        }
    }

    #[test]
    fn every_dialect_comes_to_the_same_change(change in change()) {
        let base = base_of(&change);
        let ([file], Ok(diff)) = (change.files(), std::str::from_utf8(change.canonical_diff())) else {
            return Ok(());
        };
        let (Some(old), Some(new)) = (&file.old, &file.new) else {
            return Ok(());
        };
        let text = |state: &FileState| String::from_utf8(state.content.to_vec());
        let (Ok(old_text), Ok(new_text)) = (text(old), text(new)) else {
            return Ok(());
        };
        let plain = |text: &str| text.ends_with('\n') && !text.contains('\r');
        if old.mode != new.mode || !plain(&old_text) || !plain(&new_text) {
            return Ok(());
        }
        for answer in in_other_dialects(file.path.as_str(), &old_text, &new_text) {
            if let Ok(landed) = land(answer.as_bytes(), &base, &LandOptions::default()) {
                prop_assert_eq!(text_of(&landed.change), diff, "from\n{}", answer);
            }
        }
    }

    #[test]
    fn no_bytes_make_landing_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let base = Memory::of(&[("a.rs", b"a\nb\n")]);
        let _ = land(&bytes, &base, &LandOptions::default());
    }

    #[test]
    fn no_shuffled_answer_makes_landing_panic(
        change in change(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let base = base_of(&change);
        let diff = text_of(&change);
        let mut lines: Vec<&str> = diff.split('\n').collect();
        for word in ["<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "*** Begin Patch", "*** Update File: e", "@@ a", "*** End Patch"] {
            lines.push(word);
        }
        for (from, to) in cuts {
            let line = lines.remove(from.index(lines.len()));
            lines.insert(to.index(lines.len() + 1), line);
        }
        match land(lines.join("\n").as_bytes(), &base, &LandOptions::default()) {
            Ok(landed) => prop_assert!(!landed.change.is_empty()),
            Err(LandError::Refused(report)) => prop_assert!(!report.feedback().is_empty()),
            Err(LandError::Base(error)) => prop_assert!(false, "{error}"),
        }
    }
}
