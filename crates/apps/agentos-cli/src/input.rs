//! Tasks and answers that are read from standard input, a file or an editor.
//!
//! Owns: the choice between them. Never: reads without a size limit.

use std::io::IsTerminal;
use std::path::Path;

use agentos_editor::TextToEdit;
use agentos_host::{EffectError, LARGEST_ANSWER, read_bounded, read_file, usage_error};

use crate::app::App;
use crate::terminal::editor::edit_text;

/// Largest task that is read from standard input, in bytes. Longer than any context window that a task should fill.
const LARGEST_TASK: u64 = 1 << 20;

/// Returns the task: the words of the command line, or standard input for `-`.
///
/// # Errors
/// Fails if standard input is a terminal, is no UTF-8 text, or cannot be read or is too large.
pub fn read_task(words: Option<&str>) -> Result<Option<String>, EffectError> {
    if words != Some("-") {
        return Ok(words.map(str::to_owned));
    }
    if std::io::stdin().is_terminal() {
        return Err(
            usage_error("`-` reads the task from standard input, which is a terminal")
                .hint("try: echo \"fix the typo\" | agentos run -p NAME -"),
        );
    }
    let bytes = read_bounded(std::io::stdin().lock(), "standard input", LARGEST_TASK)?;
    let text =
        String::from_utf8(bytes).map_err(|_| usage_error("the task on standard input is not UTF-8 text"))?;
    Ok(Some(text.trim().to_owned()))
}

/// Lets the user write the task in an editor, and returns it. `words` are the text at the beginning.
///
/// # Errors
/// Fails if the text is empty or unchanged, which is how the user says no, and if no editor can be started.
pub fn edit_task(app: &App, words: Option<&str>, files: &[String]) -> Result<String, EffectError> {
    let template = task_template(words.unwrap_or_default(), files);
    let text = TextToEdit {
        file_name: "TASK.md",
        text: &template,
        limit: usize::try_from(LARGEST_TASK).unwrap_or(usize::MAX),
    };
    let edited = edit_text(app, text)?;
    let task = strip_comments(&edited);
    if task.is_empty() || edited == template {
        let message = "no task was written in the editor, so nothing was sent";
        return Err(usage_error(message).hint("write it above the comments, and save the file"));
    }
    Ok(task)
}

/// Returns the text at the beginning, with comments as `git commit` writes them.
fn task_template(words: &str, files: &[String]) -> String {
    let mut template = format!(
        "{words}\n\n# Write the task above. Lines that begin with `#` are left out, and an empty or unchanged text\n\
         # ends the run. The first line becomes the subject of the commit.\n"
    );
    for file in files {
        // A name with a line feed would end the comment.
        template.push_str(&format!("#\tfile: {}\n", file.replace(char::is_control, " ")));
    }
    template
}

/// Returns a text without comment lines and without blank lines around it.
fn strip_comments(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Reads a file, or standard input for `-`.
///
/// # Errors
/// Fails if standard input is a terminal, or if the input cannot be read or is too large.
pub fn read_answer(app: &App, path: &Path) -> Result<Vec<u8>, EffectError> {
    if path == Path::new("-") {
        // Reading would wait for the keyboard without a prompt, which looks like a program that hangs.
        if std::io::stdin().is_terminal() {
            return Err(usage_error("no file is named and standard input is a terminal")
                .hint("try: agentos apply fix.patch"));
        }
        // The input is untrusted and may be endless, such as a pipe from a program that never stops.
        return read_bounded(std::io::stdin().lock(), "standard input", LARGEST_ANSWER);
    }
    read_file(app.host.environment(), path, LARGEST_ANSWER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_part_of_a_task() {
        for (text, expected) in [
            (task_template("", &["src/a.rs".to_owned()]), ""),
            (task_template("fix it", &["a\nb".to_owned()]), "fix it"),
            (
                "\n\nfix it\n\nlike # this\n# not this\n".to_owned(),
                "fix it\n\nlike # this",
            ),
        ] {
            assert_eq!(strip_comments(&text), expected, "{text}");
        }
    }
}
