//! Files whose new text has a part of an answer in it: a diff in the place of the file, or a control mark of a chat.
//!
//! Owns: recognising such a text by its first lines, and control marks at an end of a line. Never: looks for a diff further
//! down; documents quote them.
//!
//! An agent that reads a model's diff as the new text of a file replaces the file by it. Every line of that landing is
//! exact, so only the text itself shows the mistake.

use crate::text::{split_lines, trim};

/// Returns true if the new text of this path begins as a diff does, and the old text does not. Patch files are diffs
/// on purpose.
pub(super) fn becomes_diff(path: &str, old: &[u8], new: &[u8]) -> bool {
    !holds_patches(path) && begins_as_diff(new) && !begins_as_diff(old)
}

/// Returns true for a line that begins or ends with a control mark of a chat template.
pub(super) fn has_control_mark(line: &[u8]) -> bool {
    /// Marks of the templates of OpenAI and Qwen, Llama 3, gpt-oss, Mistral, Gemma and DeepSeek.
    const MARKS: &str = "<|im_start|>,<|im_end|>,<|endoftext|>,<|eot_id|>,<|start_header_id|>,<|begin_of_text|>,<|start|>,<|return|>,\
        [INST],[/INST],<start_of_turn>,<end_of_turn>,<｜end▁of▁sentence｜>";
    let line = trim(line);
    let may_have = matches!(line.first(), Some(b'<' | b'[')) || matches!(line.last(), Some(b'>' | b']'));
    let mut marks = MARKS.split(',').map(str::as_bytes);
    may_have && marks.any(|mark| line.starts_with(mark) || line.ends_with(mark))
}

/// Returns true for a file that has control marks on purpose: its base has such lines, or its path names what they are for.
pub(super) fn holds_control_marks(path: &str, old: &[u8]) -> bool {
    const PURPOSES: [&str; 7] = ["chat", "llm", "prompt", "special", "template", "token", "vocab"];
    let lower = path.to_lowercase();
    PURPOSES.iter().any(|word| lower.contains(word))
        || split_lines(old).iter().any(|line| has_control_mark(line.text))
}

/// Returns true for names of patch files, and for files in a folder of patches.
fn holds_patches(path: &str) -> bool {
    const ENDINGS: [&str; 5] = ["patch", "diff", "rej", "mbox", "eml"];
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let is = |word: &str, ending: &str| word.eq_ignore_ascii_case(ending);
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| is(ending, known)))
        || parts.any(|folder| is(folder, "patches"))
}

/// Returns true if the first lines with text are the header of a diff, or the first line of an edit block.
fn begins_as_diff(content: &[u8]) -> bool {
    /// Maximum number of lines that are read. The header of a diff has fewer.
    const READ: usize = 16;
    let lines = split_lines(content.get(..content.len().min(16 * 1024)).unwrap_or_default());
    let mut lines = lines
        .iter()
        .map(|line| trim(line.text))
        .filter(|line| !line.is_empty())
        // A fence may be left around the diff.
        .skip_while(|line| line.starts_with(b"```"))
        .take(READ);
    let Some(first) = lines.next() else {
        return false;
    };
    let mut rest = lines.peekable();
    if first == b"*** Begin Patch" || first == b"<<<<<<< SEARCH" {
        return true;
    }
    // `---` alone begins a YAML document, and `+++` alone a page of some site generators.
    let names = first.starts_with(b"--- ") && rest.peek().is_some_and(|line| line.starts_with(b"+++ "));
    let hunk = |line: &[u8]| line.starts_with(b"@@ ") || line == b"@@";
    (names || first.starts_with(b"diff --git ") || first.starts_with(b"Index: ")) && rest.any(hunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_mark_at_an_end_of_a_line_is_no_text_of_a_file() {
        let cases = [
            ("<|im_end|>", true),
            ("fn a() {}<|eot_id|>", true),
            ("let mark = \"<|im_end|>\";", false),
            ("a[1]", false),
        ];
        for (line, expected) in cases {
            assert_eq!(has_control_mark(line.as_bytes()), expected, "{line}");
        }
        assert!(holds_control_marks("tok/chat_template.jinja", b""));
        assert!(holds_control_marks("src/db.rs", b"<|im_end|>\n"));
        assert!(!holds_control_marks("src/db.rs", b"x\n"));
    }

    #[test]
    fn a_diff_in_a_file_that_was_none_is_recognised() {
        let unified = "--- a/src/db.rs\n+++ b/src/db.rs\n@@ -1 +1 @@\n-a\n+b\n";
        let git = format!("\ndiff --git a/src/db.rs b/src/db.rs\nindex 1..2 100644\n{unified}");
        let fenced = format!("```diff\n{unified}```\n");
        let block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
        let page = format!("# How to\n\n{fenced}");
        let cases = [
            ("src/db.rs", "fn a() {}\n", unified, true),
            ("src/db.rs", "", &git, true),
            ("src/db.rs", "fn a() {}\n", &fenced, true),
            ("src/db.rs", "fn a() {}\n", block, true),
            (
                "src/db.rs",
                "fn a() {}\n",
                "*** Begin Patch\n*** End Patch\n",
                true,
            ),
            // Patches on purpose.
            ("fix.patch", "", unified, false),
            ("debian/patches/01-fix", "", unified, false),
            ("tests/cases/one", unified, &git, false),
            // Texts that only look like one.
            ("a.yml", "", "--- \nkey: 1\n", false),
            ("a.md", "", "---\ntitle: x\n---\n", false),
            ("a.md", "", "+++\ntitle = 1\n+++\n", false),
            ("a.md", "", &page, false),
            ("a.txt", "", "diff --git a/x b/x\nis a line of git\n", false),
        ];
        for (path, old, new, expected) in cases {
            assert_eq!(
                becomes_diff(path, old.as_bytes(), new.as_bytes()),
                expected,
                "{path}\n{new}"
            );
        }
    }
}
