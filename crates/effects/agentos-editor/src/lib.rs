//! Lets a person edit a text in the editor that they chose.
//!
//! Owns: the choice of the program, the temporary file, and starting the editor on it. Never: takes a program from a
//! repository's configuration, looks one up by another rule than that of `agentos-lookup`, runs a shell, or reads back more
//! than a limit. Start at [`EditorProgram::find_chosen`].
//!
//! # Which editor
//!
//! | first that is set | why |
//! |---|---|
//! | `VISUAL` | the editor for a full screen, by the convention of environ(7) |
//! | `EDITOR` | the editor for any terminal |
//! | `core.editor` of the user's own git configuration | people who set only this expect it |
//! | `vi`, at a terminal only | POSIX; git uses it too |
//!
//! A line is split at blanks outside of quotes, so that `code --wait` works. An empty value counts as not set.
//!
//! # The file
//!
//! The text may be a task or a change that nobody else may read. The file is in a new folder with mode 0700, has mode 0600,
//! and is removed with the folder afterwards, together with backup and swap files that an editor leaves next to it.

mod edited_file;
mod error;

use std::path::{Path, PathBuf};
use std::process::Command;

use agentos_lookup::{ProgramSearch, split_words};

use edited_file::EditedFile;
pub use error::EditorError;

/// Editor that is started if the user has chosen none.
const DEFAULT_EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Parts of the user's surroundings that select the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditorEnvironment<'a> {
    /// Value of `VISUAL`. `None` if it is not set.
    pub visual: Option<&'a str>,
    /// Value of `EDITOR`. `None` if it is not set.
    pub editor: Option<&'a str>,
    /// Value of `core.editor` in the user's own git configuration, never in the repository's. `None` if it is not set.
    pub git_editor: Option<&'a str>,
    /// True if a person sees a terminal. Without one, only an editor that the user chose is started.
    pub has_terminal: bool,
    /// Value of `PATH`.
    pub path: &'a str,
    /// The user's home folder, for `~/`. `None` if it is not known.
    pub home: Option<&'a Path>,
    /// Folder of the repository's working tree, whose programs are not started. `None` if there is no repository.
    pub repository: Option<&'a Path>,
}

/// Text to edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextToEdit<'a> {
    /// Name of the file. Editors choose the highlighting by its ending.
    pub file_name: &'a str,
    /// Text at the beginning.
    pub text: &'a str,
    /// Most bytes that the edited text may have.
    pub limit: usize,
}

/// Program in which a person edits a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorProgram {
    program: PathBuf,
    args: Vec<String>,
}

impl EditorProgram {
    /// Finds the editor that the user chose, else `vi`.
    ///
    /// # Errors
    /// When the chosen editor does not exist or its command line cannot be parsed, and when none is chosen and there is no
    /// `vi` or no terminal.
    pub fn find_chosen(around: &EditorEnvironment<'_>) -> Result<Self, EditorError> {
        let search = ProgramSearch::in_variable(around.path)
            .with_home(around.home)
            .outside_repository(around.repository);
        let chosen = [around.visual, around.editor, around.git_editor]
            .into_iter()
            .flatten()
            .find(|line| !line.trim().is_empty());
        let Some(line) = chosen else {
            // A script that opens `vi` would wait for keys that nobody presses.
            let usual = around
                .has_terminal
                .then(|| search.find_program(DEFAULT_EDITOR).ok())
                .flatten();
            return Ok(Self {
                program: usual.ok_or(EditorError::NotChosen)?,
                args: Vec::new(),
            });
        };
        // No shell splits the line: a shell would also expand variables and run further commands in it.
        let words = split_words(line).ok_or_else(|| EditorError::Quotes(line.to_owned()))?;
        let (name, args) = words.split_first().ok_or(EditorError::NotChosen)?;
        Ok(Self {
            program: search.find_program(name).map_err(EditorError::Program)?,
            args: args.to_vec(),
        })
    }

    /// Lets the user edit the text, waits until the editor ends, and returns the text that was saved. `temp` is the folder
    /// for temporary files.
    ///
    /// # Errors
    /// When the file cannot be written or read, the editor cannot be started or ends with a failure, or the saved text is
    /// longer than the limit or not UTF-8.
    pub fn edit_text(&self, temp: &Path, text: TextToEdit<'_>) -> Result<String, EditorError> {
        let file = EditedFile::create_below(temp, text.file_name, text.text)?;
        let status = Command::new(&self.program)
            .args(&self.args)
            .arg(file.path())
            .status()
            .map_err(|source| EditorError::Start {
                program: self.program.clone(),
                source,
            })?;
        // A person ends an editor with a failure, as by `:cq` in vi, to say that the text must not be used.
        if !status.success() {
            return Err(EditorError::Ended {
                program: self.program.clone(),
                status,
            });
        }
        file.read_back(text.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose_editor(set: [Option<&str>; 3], has_terminal: bool, path: &str) -> String {
        let [visual, editor, git_editor] = set;
        let found = EditorProgram::find_chosen(&EditorEnvironment {
            visual,
            editor,
            git_editor,
            has_terminal,
            path,
            home: Some(Path::new("/bin/..")),
            repository: Some(Path::new("/usr/repo")),
        });
        match found {
            Ok(editor) => format!("{} {:?}", editor.program.display(), editor.args),
            Err(error) => error.to_string(),
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_first_that_is_set_decides() {
        let none = "no editor is chosen";
        let cases = [
            (
                [Some("sh -w"), Some("cat"), Some("ls")],
                "/bin",
                "/bin/sh [\"-w\"]",
            ),
            ([None, Some("sh 'a b'"), Some("ls")], "/bin", "/bin/sh [\"a b\"]"),
            ([Some(" "), Some(""), Some("~/bin/sh")], "", "/bin/../bin/sh []"),
            ([None, None, None], "/nowhere", none),
            ([None, None, None], "bin:.", none),
            (
                [Some("no-such-editor"), Some("sh"), None],
                "/bin",
                "the editor `no-such-editor` was not found",
            ),
            (
                [None, Some("./sh"), None],
                "/bin",
                "the editor `./sh` is a relative path",
            ),
            (
                [None, Some("sh 'a"), None],
                "/bin",
                "the editor's command line `sh 'a` has a quote that is not closed",
            ),
            ([Some("''"), None, None], "/bin", "the editor `` was not found"),
        ];
        for (set, path, expected) in cases {
            assert_eq!(choose_editor(set, true, path), expected, "{set:?} {path}");
        }
    }
}
