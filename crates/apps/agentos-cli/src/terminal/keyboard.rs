//! Lines that a person types.
//!
//! Owns: reading them, with and without echo, until a signal stops the work. Never: leaves a thread behind that takes the
//! next line, or a terminal without echo.

use std::io;

use super::signals::Signals;

/// Longest line that is read. A person types less; a longer line is cut into several.
#[cfg(unix)]
const LONGEST_LINE: usize = 64 << 10;

/// Result of waiting for a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedLine {
    /// A line without its end.
    Line(String),
    /// The input has ended: the terminal was closed, or the person pressed Ctrl-D.
    End,
    /// A signal stopped the work.
    Stopped,
}

/// Source of typed lines.
pub trait LineSource {
    /// Waits for the next line.
    ///
    /// # Errors
    /// Fails if the input cannot be read.
    fn read_line(&mut self) -> io::Result<TypedLine>;
}

/// Standard input of a person at a terminal.
#[derive(Debug)]
pub struct Keyboard {
    signals: Signals,
    /// Bytes that were read after the end of the last line, as when several lines are pasted.
    #[cfg(unix)]
    rest: Vec<u8>,
}

impl Keyboard {
    /// Creates a reader that a signal stops.
    pub fn new(signals: &Signals) -> Self {
        Self {
            signals: signals.clone(),
            #[cfg(unix)]
            rest: Vec::new(),
        }
    }
}

#[cfg(unix)]
impl LineSource for Keyboard {
    fn read_line(&mut self) -> io::Result<TypedLine> {
        loop {
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.or_else(|| (self.rest.len() >= LONGEST_LINE).then_some(LONGEST_LINE - 1)) {
                let after = self.rest.split_off(end + 1);
                let line = std::mem::replace(&mut self.rest, after);
                return Ok(TypedLine::Line(decode_line(&line)));
            }
            if unix::wait_for_input(&self.signals)? {
                return Ok(TypedLine::Stopped);
            }
            let mut piece = [0; 4096];
            let length = rustix::io::retry_on_intr(|| rustix::io::read(io::stdin(), &mut piece))?;
            match piece.get(..length) {
                None | Some([]) if self.rest.is_empty() => return Ok(TypedLine::End),
                None | Some([]) => return Ok(TypedLine::Line(decode_line(&std::mem::take(&mut self.rest)))),
                Some(read) => self.rest.extend_from_slice(read),
            }
        }
    }
}

#[cfg(unix)]
fn decode_line(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.trim_end_matches(['\r', '\n']).to_owned()
}

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    use super::{Keyboard, LineSource, TypedLine};
    use crate::terminal::last_line;
    use crate::terminal::signals::Signals;

    /// Waits until there is input. Returns true if a signal stopped the work first.
    pub(super) fn wait_for_input(signals: &Signals) -> io::Result<bool> {
        let stdin = io::stdin();
        let mut watched = vec![PollFd::new(&stdin, PollFlags::IN)];
        if let Some(pipe) = signals.stop_pipe() {
            watched.push(PollFd::new(pipe, PollFlags::IN));
        }
        rustix::io::retry_on_intr(|| poll(&mut watched, None))?;
        // The signal first: a terminal that was closed reports the end of its input too.
        Ok(watched.get(1).is_some_and(|pipe| !pipe.revents().is_empty()))
    }

    /// Terminal without echo, until it is dropped.
    struct HiddenEcho(Termios);

    impl HiddenEcho {
        fn begin() -> io::Result<Self> {
            let before = tcgetattr(io::stdin())?;
            let mut hidden = before.clone();
            hidden.local_modes.remove(LocalModes::ECHO);
            hidden.local_modes.insert(LocalModes::ECHONL);
            tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
            Ok(Self(before))
        }
    }

    impl Drop for HiddenEcho {
        fn drop(&mut self) {
            // A terminal that was closed needs no echo.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }

    impl Keyboard {
        /// Asks for a line that is not shown while it is typed.
        ///
        /// # Errors
        /// Fails if the terminal cannot be set or read.
        pub fn read_hidden(&mut self, prompt: &str) -> io::Result<TypedLine> {
            // The program may not end at once: nobody would switch the echo on again.
            let _guard = self.signals.guard_orderly();
            let _echo = HiddenEcho::begin()?;
            last_line::print_prompt(prompt);
            self.read_line()
        }
    }
}

#[cfg(not(unix))]
impl LineSource for Keyboard {
    fn read_line(&mut self) -> io::Result<TypedLine> {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        // Ctrl-C ends a read of the Windows console.
        if self.signals.received().is_some() {
            return Ok(TypedLine::Stopped);
        }
        Ok(match read? {
            0 => TypedLine::End,
            _ => TypedLine::Line(line.trim_end_matches(['\r', '\n']).to_owned()),
        })
    }
}

#[cfg(not(unix))]
impl Keyboard {
    /// Asks for a line that is not shown while it is typed.
    ///
    /// # Errors
    /// Fails if the terminal cannot be read.
    pub fn read_hidden(&mut self, prompt: &str) -> io::Result<TypedLine> {
        let _guard = self.signals.guard_orderly();
        rpassword::prompt_password(prompt).map(TypedLine::Line)
    }
}

/// Lines of a text, for tests.
#[cfg(test)]
pub struct TextLines<'a>(pub std::str::Lines<'a>);

#[cfg(test)]
impl LineSource for TextLines<'_> {
    fn read_line(&mut self) -> io::Result<TypedLine> {
        Ok(self
            .0
            .next()
            .map_or(TypedLine::End, |line| TypedLine::Line(line.to_owned())))
    }
}
