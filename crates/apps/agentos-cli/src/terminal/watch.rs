//! A report that is repeated until Ctrl-C.
//!
//! Owns: drawing it in place on a terminal, and one after the other elsewhere. Never: decides when it is repeated.

use std::io;
use std::time::Duration;

use agentos_host::now;

use crate::app::App;

/// Screen of a repeated report.
#[derive(Debug, Default)]
pub struct WatchScreen {
    is_begun: bool,
}

impl WatchScreen {
    /// Draws a report, over the one before if that is on a terminal.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn draw(&mut self, app: &App, text: &str, pause: Duration) -> io::Result<()> {
        const HOME: &str = "\u{1b}[H";
        const CLEAR: &str = "\u{1b}[2J";
        const CLEAR_LINE: &str = "\u{1b}[K";
        const CLEAR_BELOW: &str = "\u{1b}[J";
        if !app.streams.stdout_is_terminal {
            return app.printer.write_report(text);
        }
        let text = format!(
            "{}, every {} s; stop with Ctrl-C\n\n{text}",
            now(),
            pause.as_secs()
        );
        // Text of earlier commands is removed once; after that, the report overwrites itself.
        let begin = match std::mem::replace(&mut self.is_begun, true) {
            true => "",
            false => CLEAR,
        };
        // Each line is overwritten and its rest cleared. Clearing the whole screen every time makes a terminal flicker.
        let lines = text.replace('\n', &format!("{CLEAR_LINE}\n"));
        app.printer
            .write_data(&format!("{begin}{HOME}{lines}{CLEAR_BELOW}"))
    }
}
