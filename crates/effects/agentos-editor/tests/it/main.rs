//! The editor from outside: real programs that save, replace, refuse or overfill the file.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "tests: a panic is the failure"
)]
#![cfg(unix)]

use std::path::Path;

use agentos_editor::{EditorEnvironment, EditorError, EditorProgram, TextToEdit};

const TEXT: TextToEdit<'_> = TextToEdit {
    file_name: "change.diff",
    text: "one\n",
    limit: 10,
};

fn edit_with(temp: &Path, line: &str) -> Result<String, EditorError> {
    let around = EditorEnvironment {
        visual: None,
        editor: Some(line),
        git_editor: None,
        has_terminal: false,
        path: "/usr/bin:/bin",
        home: None,
        repository: None,
    };
    EditorProgram::find_chosen(&around)?.edit_text(temp, TEXT)
}

/// Runs a script as the editor. `$1` is the file.
fn edit_by_script(temp: &Path, script: &str) -> String {
    match edit_with(temp, &format!("sh -c '{script}' sh")) {
        Ok(text) => text,
        Err(error) => {
            let place = temp.display().to_string();
            let error = error.to_string().replace(&place, "TEMP");
            error.replace(&std::process::id().to_string(), "PID")
        }
    }
}

#[test]
fn the_saved_text_comes_back_and_nothing_stays() {
    let cases = [
        ("true", "one\n"),
        ("echo two >> \"$1\"", "one\ntwo\n"),
        // As editors save: a new file that replaces the old one, and a backup next to it.
        (
            "echo new > \"$1.new\"; cp \"$1\" \"$1~\"; mv \"$1.new\" \"$1\"",
            "new\n",
        ),
        (
            "basename \"$1\" > \"$1.x\"; head -c 9 \"$1.x\" > \"$1\"",
            "change.di",
        ),
        // Nobody else may read the text.
        ("stat -c %a \"$1\" > \"$1\"", "600\n"),
        ("stat -c %a \"$(dirname \"$1\")\" > \"$1\"", "700\n"),
        ("printf 0123456789 > \"$1\"", "0123456789"),
        (
            "printf 0123456789x > \"$1\"",
            "the edited text has more than 10 bytes",
        ),
        ("printf \"\\377\" > \"$1\"", "the edited text is not UTF-8"),
        (
            "exit 3",
            "the editor `/usr/bin/sh` ended with a failure (exit status: 3); its text is not used",
        ),
        (
            "rm \"$1\"",
            "cannot read the file for the editor, `TEMP/agentos-edit-PID-0/change.diff`: \
             No such file or directory (os error 2)",
        ),
    ];
    for (script, expected) in cases {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(edit_by_script(temp.path(), script), expected, "{script}");
        let left: Vec<_> = std::fs::read_dir(temp.path()).unwrap().collect();
        assert!(left.is_empty(), "{script}: {left:?}");
    }
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    let planted = temp.path().join(format!("agentos-edit-{}-0", std::process::id()));
    agentos_testkit::repo::make_dir(&planted);
    assert_eq!(edit_by_script(temp.path(), "true"), "one\n");
    assert!(planted.is_dir());
    let missing = temp.path().join("missing");
    let error = edit_with(&missing, "true").unwrap_err();
    assert!(matches!(error, EditorError::TempFile { .. }), "{error}");
    assert!(error.hint().contains("TMPDIR"));
}

#[test]
fn without_a_terminal_only_a_chosen_editor_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let vi = folder.path().join("vi");
    agentos_testkit::repo::write_file(&vi, "#!/bin/sh\necho typed > \"$1\"\n");
    agentos_testkit::repo::set_mode(&vi, 0o755);
    let path = folder.path().display().to_string();
    let cases = [
        (None, true, Some("typed\n")),
        (None, false, None),
        (Some("vi"), false, Some("typed\n")),
    ];
    for (editor, has_terminal, expected) in cases {
        let around = EditorEnvironment {
            visual: None,
            editor,
            git_editor: None,
            has_terminal,
            path: &path,
            home: None,
            repository: None,
        };
        let edited = EditorProgram::find_chosen(&around)
            .and_then(|editor| editor.edit_text(folder.path(), TEXT))
            .ok();
        assert_eq!(edited.as_deref(), expected, "{editor:?} {has_terminal}");
    }
}
