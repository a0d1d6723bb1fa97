//! Screen of the terminal: its size, and the pager for longer text.
//!
//! Owns: the decision to start a pager. Never: starts one without a terminal, for text that fits, or for a program; uses a
//! pager that a repository names.

use std::io;

use agentos_host::{Environment, Host};
use agentos_pager::{PagerEnvironment, PagerError, PagerProgram};
use anstream::{AutoStream, ColorChoice};

use crate::app::App;
use crate::escape;
use crate::render::next_step::word_hint;
use crate::terminal::last_line;
use crate::terminal::signals::Signals;

/// Size that is assumed if the terminal does not report one.
const USUAL: ScreenSize = ScreenSize {
    height: 40,
    width: 80,
};

/// Size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenSize {
    /// Number of lines.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
}

/// Returns the size of the terminal. `LINES` and `COLUMNS` take precedence over the terminal's own report.
pub fn screen_size(environment: &Environment) -> ScreenSize {
    let set_size = |name: &str| {
        let number = environment.get(name)?.parse().ok()?;
        (number > 0).then_some(number)
    };
    let own = terminal_size::terminal_size();
    let (width, height) = own.map_or((USUAL.width, USUAL.height), |(width, height)| {
        (usize::from(width.0), usize::from(height.0))
    });
    ScreenSize {
        // A size of 0 is possible in a report of the terminal, and `count_rows` divides by the width.
        height: set_size("LINES").unwrap_or(height).max(2),
        width: set_size("COLUMNS").unwrap_or(width).max(1),
    }
}

/// Sets whether output has color, where the environment says nothing about it.
pub fn choose_color(host: &Host) {
    // These variables are a decision for this call or this terminal (no-color.org), and the settings are for all.
    let decided = ["NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR"];
    let environment = host.environment();
    if environment.get("FORCE_COLOR").is_some_and(|value| value != "0")
        && environment.get("NO_COLOR").is_none()
    {
        ColorChoice::Always.write_global();
    }
    if decided.iter().any(|name| environment.get(name).is_some()) {
        return;
    }
    let settings = host.providers().read_settings().unwrap_or_default();
    match settings.text("color") {
        Some("always") => ColorChoice::Always.write_global(),
        Some("never") => ColorChoice::Never.write_global(),
        Some(_) | None => {}
    }
}

/// Returns the columns for text on standard output. Output for a program always has the default width, so that it does not
/// depend on the terminal.
pub fn output_width(app: &App) -> usize {
    if app.streams.stdout_is_terminal {
        screen_size(app.host.environment()).width
    } else {
        USUAL.width
    }
}

/// Columns of text on standard error that is not a terminal, so that a report does not depend on one.
pub const USUAL_WIDTH: usize = 100;

/// Returns the columns for text on standard error.
pub fn error_width(app: &App) -> usize {
    app.printer.err_width.unwrap_or(USUAL_WIDTH)
}

/// Returns the number of screen lines that a text needs, without counting color codes.
pub fn count_rows(text: &str, width: usize) -> usize {
    let plain = anstream::adapter::strip_str(text).to_string();
    let of_line = |line: &str| line.chars().count().div_ceil(width).max(1);
    plain.lines().map(of_line).sum()
}

/// Returns the user's pager. `None` if there is none or standard output is not a terminal.
///
/// # Errors
/// Fails if the pager that the user named does not exist.
pub fn find_pager(app: &App) -> Result<Option<PagerProgram>, PagerError> {
    // A mistake in the settings is reported by the verbs that need them, and must not keep a text from being shown.
    let settings = app.host.providers().read_settings().unwrap_or_default();
    let vars = app.host.environment().vars();
    let own = settings
        .text("pager")
        .or_else(|| vars.get("AGENTOS_PAGER").map(String::as_str));
    find_program(app, own)
}

/// Returns `man`, which formats a page and shows it. `None` if it is not installed or nothing waits for a key.
pub fn find_manual_viewer(app: &App) -> Option<PagerProgram> {
    find_program(app, Some("man -l -")).ok().flatten()
}

/// Returns a program that shows text, the user's usual one if none is named.
fn find_program(app: &App, named: Option<&str>) -> Result<Option<PagerProgram>, PagerError> {
    // A pager waits for a key. A program, a script or `--quiet` has nobody to press it.
    if app.common.no_pager || app.printer.json || app.printer.quiet || !app.streams.stdout_is_terminal {
        return Ok(None);
    }
    let vars = app.host.environment().vars();
    let (home, here) = (app.host.environment().home_dir(), app.host.repository_dir());
    let set = |name: &str| vars.get(name).map(String::as_str);
    PagerProgram::find_chosen(&PagerEnvironment {
        agentos_pager: named,
        pager: set("PAGER"),
        less: set("LESS"),
        path: set("PATH").unwrap_or_default(),
        home: home.as_deref(),
        // Folders of `PATH` inside the repository are skipped, because a package could plant a `less` there (see
        // `agentos-lookup`).
        repository: Some(&here),
    })
}

/// Shows text in a pager, in color if standard output supports it.
///
/// # Errors
/// Fails if the pager cannot be started.
pub fn show_in_pager(signals: &Signals, pager: &PagerProgram, text: &str) -> Result<(), PagerError> {
    last_line::end_status();
    let _guard = signals.guard_pager();
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => pager.show_text(anstream::adapter::strip_str(text).to_string().as_bytes()),
        ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => pager.show_text(text.as_bytes()),
    }
}

impl App {
    /// Prints a report, in a pager if standard output is a terminal and the report is longer than the screen. Its lines fit
    /// the terminal.
    ///
    /// # Errors
    /// Fails if standard output cannot be written.
    pub fn print_paged(&self, text: &str) -> io::Result<()> {
        self.print_exact(&self.printer.fit_report(text))
    }

    /// Prints a text whose lines must stay as they are, such as a diff, in a pager if it is longer than the screen.
    ///
    /// # Errors
    /// Fails if standard output cannot be written.
    pub fn print_exact(&self, text: &str) -> io::Result<()> {
        let screen = screen_size(self.host.environment());
        if count_rows(text, screen.width) < screen.height {
            return self.printer.write_data(text);
        }
        let shown = find_pager(self).and_then(|pager| match pager {
            Some(pager) => show_in_pager(&self.signals, &pager, text).map(|()| true),
            None => Ok(false),
        });
        match shown {
            Ok(true) => Ok(()),
            Ok(false) => self.printer.write_data(text),
            Err(error) => {
                // The text is printed before the note, because the text was requested and the note must not scroll away
                // above it.
                let done = self.printer.write_data(text);
                let error_text = escape::line(&error.to_string());
                let hint = word_hint(Some(error.hint()), &error.next_steps()).unwrap_or_default();
                self.printer
                    .show_note(&format!("note: {error_text}\n  next: {}", escape::line(&hint)));
                done
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_as_many_rows_as_it_needs() {
        let cases = [
            ("", 10, 0),
            ("a\n", 10, 1),
            ("a\n\nb\n", 10, 3),
            ("0123456789", 10, 1),
            ("0123456789x", 10, 2),
            ("\u{1b}[31m0123456789\u{1b}[0m", 10, 1),
        ];
        for (text, width, expected) in cases {
            assert_eq!(count_rows(text, width), expected, "{text:?}");
        }
    }
}
