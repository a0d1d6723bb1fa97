//! Mode of the terminal while a line editor changes it.
//!
//! Owns: the mode from before, and its return when a signal ends the program. Never: changes the mode otherwise.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// Ends the marks that a terminal puts around a paste (`DECRST 2004`).
const PASTE_MARKS_OFF: &[u8] = b"\x1b[?2004l\n";

static SAVED: Mutex<Option<Termios>> = Mutex::new(None);

/// Mode that returns if a signal ends the program, until this is dropped.
#[derive(Debug)]
pub struct SavedMode(());

impl SavedMode {
    /// Saves the mode of the terminal on standard input.
    pub fn save() -> Self {
        // A terminal that cannot be asked cannot be changed by the editor either.
        *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = tcgetattr(io::stdin()).ok();
        Self(())
    }
}

impl Drop for SavedMode {
    fn drop(&mut self) {
        *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Sets the terminal back to the saved mode, if there is one: the program ends.
pub fn restore_saved() {
    if let Some(mode) = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // A terminal that was closed needs no mode.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &mode);
        let _ = io::stdout().write_all(PASTE_MARKS_OFF);
        let _ = io::stdout().flush();
    }
}
