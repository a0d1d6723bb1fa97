//! Editor of the person at the terminal.
//!
//! Owns: handing the terminal to the editor. Never: chooses an editor by a repository's configuration, or judges the text.

use agentos_editor::{EditorEnvironment, EditorError, EditorProgram, TextToEdit};
use agentos_host::{Cause, EffectError};

use crate::app::App;
use crate::terminal::last_line;

/// Lets the person edit a text, and returns the text that was saved. The last line of the screen is given up, so a status
/// line must be begun again.
///
/// # Errors
/// Fails if no editor can be started, if it ends with a failure, or if its text is longer than the limit or not UTF-8.
pub fn edit_text(app: &App, text: TextToEdit<'_>) -> Result<String, EffectError> {
    let vars = app.host.environment().vars();
    let (home, here) = (app.host.environment().home_dir(), app.host.repository_dir());
    let set = |name: &str| vars.get(name).map(String::as_str);
    let git_editor = app.host.git_editor();
    let program = EditorProgram::find_chosen(&EditorEnvironment {
        visual: set("VISUAL"),
        editor: set("EDITOR"),
        git_editor: git_editor.as_deref(),
        has_terminal: app.streams.can_ask && app.streams.stdout_is_terminal,
        path: set("PATH").unwrap_or_default(),
        home: home.as_deref(),
        // Folders of `PATH` inside the repository are skipped, because a package could plant a `vi` there (see
        // `agentos-lookup`).
        repository: Some(&here),
    })
    .map_err(|error| editor_failed(&error))?;
    last_line::end_status();
    // The editor has the terminal: Ctrl-C belongs to it, as it does to a pager.
    let _guard = app.signals.guard_pager();
    let temp = app.host.environment().temp_dir();
    program
        .edit_text(&temp, text)
        .map_err(|error| editor_failed(&error))
}

fn editor_failed(error: &EditorError) -> EffectError {
    EffectError::from_source(Cause::Usage, "editor", error.to_string(), error).hint(error.hint())
}
