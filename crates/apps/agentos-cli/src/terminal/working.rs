//! That long work is going on: a line that stays in its place on a terminal, a plain line now and then in a log.
//!
//! Owns: when it is drawn and taken away again. Never: drawn for a program or a quiet user, or for work that is short.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::app::App;
use crate::terminal::progress::{TICK, seconds, style_of};

/// Work that ends sooner is not shown.
const SHORT: Duration = Duration::from_millis(400);
/// How often a log gets a line.
const LOGGED: Duration = Duration::from_secs(10);

/// Work that goes on until this is dropped.
pub struct Working {
    bar: ProgressBar,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Working {
    /// Begins to show some work, as in `checking the evidence`.
    pub fn on(app: &App, what: &'static str) -> Self {
        let bar = ProgressBar::hidden();
        if app.printer.quiet || app.printer.json {
            return Self { bar, shown: None };
        }
        let (stop, stopped) = channel::<()>();
        let (printer, line) = (app.printer, bar.clone());
        let thread = std::thread::spawn(move || {
            let goes_on = |wait| matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
            let text = || words(what, line.position(), line.elapsed());
            let terminal = ProgressDrawTarget::stderr();
            if terminal.is_hidden() {
                while goes_on(LOGGED) {
                    printer.note(&text());
                }
            } else if goes_on(SHORT) {
                line.set_draw_target(terminal);
                line.set_style(style_of("{wide_msg:.dim}"));
                line.set_message(text());
                while goes_on(TICK) {
                    line.set_message(text());
                }
                line.finish_and_clear();
            }
        });
        Self {
            bar,
            shown: Some((stop, thread)),
        }
    }

    /// One step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.shown.take() {
            drop(stop);
            // A thread that could not draw has nothing to take away.
            let _ = thread.join();
        }
    }
}

/// Words how far the work is.
fn words(what: &str, done: u64, passed: Duration) -> String {
    let passed = seconds(passed);
    match done {
        0 => format!("{what}, {passed}"),
        done => format!("{what}: {done}, {passed}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_how_far_and_how_long() {
        let cases = [
            ((0, 1_250), "replaying, 1.2 s"),
            ((7, 61_000), "replaying: 7, 61.0 s"),
        ];
        for ((done, ms), line) in cases {
            assert_eq!(words("replaying", done, Duration::from_millis(ms)), line);
        }
    }
}
