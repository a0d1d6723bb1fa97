//! Two trees and the diff between them.

use std::path::PathBuf;

use agentos_testkit::repo::{make_dir, make_link, remove_file, write_file};

use super::*;

mod hostile;

pub(super) struct Trees(tempfile::TempDir);

impl Trees {
    pub(super) fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap())
    }

    /// Makes trees for very many folders, in memory if possible: ext4 takes milliseconds for the removal of each.
    pub(super) fn roomy() -> Self {
        Self::in_folder(tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap()))
    }

    fn in_folder(folder: tempfile::TempDir) -> Self {
        let trees = Self(folder);
        for name in ["lower", "upper"] {
            make_dir(&trees.at(name));
        }
        trees
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) -> &Self {
        write_file(&self.at(path), text);
        self
    }

    pub(super) fn remove_file(&self, path: &str) -> &Self {
        remove_file(&self.at(path));
        self
    }

    /// Removes trees that the standard library could not.
    pub(super) fn remove(self) {
        let top = OpenFolder::open_root(self.0.path()).unwrap();
        for name in ["lower", "upper"] {
            top.remove_tree(name.as_ref()).unwrap();
        }
    }

    pub(super) fn compare(&self) -> CopyDifference {
        self.seen(CopyView::Overlaid)
    }

    fn seen(&self, shown: CopyView) -> CopyDifference {
        self.read(shown).unwrap()
    }

    pub(super) fn read(&self, shown: CopyView) -> Result<CopyDifference, AgentError> {
        let ignored = |path: &str| path.starts_with("target/") || path.ends_with(".log");
        compare_trees(&self.at("lower"), &self.at("upper"), shown, &ignored)
    }
}

#[test]
fn nothing_written_or_the_same_written_again_is_no_change() {
    let trees = Trees::new();
    assert_eq!(trees.compare(), CopyDifference::default());
    trees.write("lower/a", "one\n").write("upper/a", "one\n");
    assert_eq!(trees.compare(), CopyDifference::default());
}

#[test]
fn changed_and_new_files_are_a_diff_and_ignored_ones_are_not() {
    let trees = Trees::new();
    trees
        .write("lower/a", "one\n")
        .write("upper/a", "two\n")
        .write("upper/src/new", "new\n")
        .write("upper/target/debug/x", "built\n")
        .write("upper/run.log", "noise\n")
        .write("lower/kept.log", "tracked\n")
        .write("upper/kept.log", "tracked, though a rule names it\n")
        .write("upper/.git/HEAD", "whatever the program did here\n");
    let found = trees.compare();
    let touched: Vec<&str> = found
        .text
        .lines()
        .filter(|line| line.starts_with("diff "))
        .collect();
    assert_eq!(
        touched,
        [
            "diff --git a/a b/a",
            "diff --git a/kept.log b/kept.log",
            "diff --git a/src/new b/src/new"
        ]
    );
    assert_eq!(
        found.notes,
        ["2 new files or folders were left out because the repository ignores them"]
    );
}

#[test]
fn a_file_where_a_folder_was_takes_the_folder_s_files_away() {
    let trees = Trees::new();
    trees
        .write("lower/d/x", "x\n")
        .write("lower/d/e/y", "y\n")
        .write("upper/d", "now a file\n");
    let text = trees.compare().text;
    for line in ["+++ b/d", "--- a/d/x", "--- a/d/e/y"] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn what_a_diff_cannot_say_is_said_so_that_landing_refuses_it() {
    let trees = Trees::new();
    trees
        .write("lower/text", "text\n")
        .write("lower/turns", "text\n")
        .write("upper/sub/.git/config", "[core]\n");
    write_file(&trees.0.path().join("upper/text"), b"latin \xe9\n");
    make_link(&trees.0.path().join("upper/turns"), "text");
    let text = trees.compare().text;
    assert!(text.contains("Binary files a/text and b/text differ\n"), "{text}");
    assert!(
        text.contains("new file mode 120000\n--- a/turns\n+++ b/turns\n"),
        "{text}"
    );
    assert!(
        text.contains("diff --git a/sub/.git/config b/sub/.git/config\n"),
        "{text}"
    );
}

#[test]
fn binary_files_and_links_are_in_the_answer_as_git_writes_them() {
    let trees = Trees::new();
    trees.write("lower/logo", "\0old").write("upper/logo", "\0new");
    make_link(&trees.0.path().join("upper/link"), "logo");
    make_link(&trees.0.path().join("upper/out"), "/etc/passwd");
    let text = trees.compare().text;
    for part in [
        "GIT binary patch\nliteral 4\n",
        "+++ b/link\n@@ -0,0 +1 @@\n+logo\n\\ No newline at end of file\n",
        // Landing refuses it by its target.
        "+++ b/out\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_folder_in_the_place_of_a_link_shows_nothing_of_what_the_link_led_to() {
    let trees = Trees::new();
    trees
        .write("outside/secret", "secret\n")
        .write("upper/link/secret", "mine\n");
    make_link(&trees.0.path().join("lower/link"), "../outside");
    let text = trees.compare().text;
    assert!(text.contains("+mine"), "{text}");
    assert!(!text.contains("-secret"), "{text}");
}

#[test]
fn in_a_whole_copy_what_is_missing_is_gone_and_what_is_the_same_is_no_change() {
    let trees = Trees::new();
    trees
        .write("lower/same/file", "same\n")
        .write("lower/changed", "one\n")
        .write("lower/gone", "gone\n")
        .write("lower/folder/gone", "gone too\n")
        .write("lower/becomes/a/file", "x\n")
        .write("lower/file", "y\n")
        .write("lower/led", "z\n")
        .write("upper/same/file", "same\n")
        .write("upper/changed", "two\n")
        .write("upper/becomes", "a file\n")
        .write("upper/file/becomes", "a folder\n")
        .write("upper/run.log", "noise\n")
        .write("elsewhere/led", "never shown\n");
    make_link(&trees.0.path().join("upper/folder"), "../elsewhere");
    let found = trees.seen(CopyView::Copied);
    let touched: Vec<&str> = found
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("diff --git a/"))
        .filter_map(|names| names.split(' ').next())
        .collect();
    assert_eq!(
        touched,
        [
            "becomes",
            "becomes/a/file",
            "changed",
            "file",
            "file/becomes",
            "folder",
            "folder/gone",
            "gone",
            "led"
        ]
    );
    assert!(
        !found.text.contains("never shown") && !found.text.contains("same"),
        "{}",
        found.text
    );
}
