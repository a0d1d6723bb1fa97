//! That long work is going on: a line that stays in its place on a terminal, a plain line now and then in a log.
//!
//! Owns: when it is drawn and taken away again. Never: drawn for a program or a quiet user, or for work that is short.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::time::Instant;

use crate::app::App;
use crate::printer::{paint, style};
use crate::terminal::progress::{elapsed_ms, fitting};
use crate::terminal::screen;

/// Work that ends sooner is not told of.
const SHORT: Duration = Duration::from_millis(400);
/// How often the line on a terminal is drawn.
const TICK: Duration = Duration::from_millis(200);
/// How often a log is told.
const LOGGED: Duration = Duration::from_secs(10);

/// Work that goes on until this is dropped.
pub struct Working {
    done: Arc<AtomicU64>,
    drawn: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Working {
    /// Begins to tell of some work, as in `checking the evidence`; `of` is how many steps it has, where that is known.
    pub fn on(app: &App, what: &'static str, of: Option<u64>) -> Self {
        let done = Arc::new(AtomicU64::new(0));
        if app.printer.quiet || app.printer.json {
            return Self { done, drawn: None };
        }
        let (stop, stopped) = channel::<()>();
        let count = Arc::clone(&done);
        let is_terminal = app.streams.stderr_is_terminal;
        let width = screen::size(app.host.environment()).width;
        let thread = std::thread::spawn(move || {
            let since = Instant::now();
            let mut line = Drawn::default();
            let (mut wait, every) = match is_terminal {
                true => (SHORT, TICK),
                false => (LOGGED, LOGGED),
            };
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(wait) {
                let text = words(what, count.load(Ordering::Relaxed), of, elapsed_ms(since));
                write(&if is_terminal {
                    line.again(&text, width)
                } else {
                    format!("{text}\n")
                });
                wait = every;
            }
            write(&line.clear());
        });
        Self {
            done,
            drawn: Some((stop, thread)),
        }
    }

    /// One step is done.
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.drawn.take() {
            drop(stop);
            // A thread that could not draw has nothing to take away.
            let _ = thread.join();
        }
    }
}

/// A terminal that is gone takes nothing; the work goes on.
fn write(text: &str) {
    if !text.is_empty() {
        let mut out = anstream::stderr().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// What is said of the work.
fn words(what: &str, done: u64, of: Option<u64>, ms: u64) -> String {
    let seconds = format!("{}.{} s", ms / 1000, ms % 1000 / 100);
    match (done, of) {
        (done, Some(of)) => format!("{what}: {done} of {of}, {seconds}"),
        (0, None) => format!("{what}, {seconds}"),
        (done, None) => format!("{what}: {done}, {seconds}"),
    }
}

/// The line on the terminal.
#[derive(Debug, Default)]
struct Drawn {
    columns: usize,
}

impl Drawn {
    /// The line in the place of the one before.
    fn again(&mut self, text: &str, width: usize) -> String {
        let clear = self.clear();
        let (text, columns) = fitting(text, width);
        self.columns = columns;
        format!("{clear}{}", paint(style::DIM, &text))
    }

    /// Takes it away. With blanks, which every terminal knows.
    fn clear(&mut self) -> String {
        match std::mem::take(&mut self.columns) {
            0 => String::new(),
            columns => format!("\r{}\r", " ".repeat(columns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_how_far_and_how_long() {
        let cases = [
            ((0, None, 1_250), "replaying, 1.2 s"),
            ((7, None, 61_000), "replaying: 7, 61.0 s"),
            ((7, Some(20), 450), "replaying: 7 of 20, 0.4 s"),
        ];
        for ((done, of, ms), line) in cases {
            assert_eq!(words("replaying", done, of, ms), line);
        }
        let mut drawn = Drawn::default();
        assert_eq!(drawn.clear(), "");
        assert_eq!(drawn.again("abc", 80), paint(style::DIM, "abc"));
        assert_eq!(drawn.again("d", 80), format!("\r   \r{}", paint(style::DIM, "d")));
        assert_eq!(drawn.clear(), "\r \r");
    }
}
