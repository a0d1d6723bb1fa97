//! Display of long work: a status line on a terminal, a line from time to time in a log.
//!
//! Owns: the times when it is drawn and removed. Never: draws for a program, with `--quiet`, or for short work.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::app::App;
use crate::terminal::progress::{TICK, format_seconds, style_of};

/// Minimum duration of work that is shown.
const SHORT: Duration = Duration::from_millis(400);
/// Time between two lines of a log.
const LOGGED: Duration = Duration::from_secs(10);

/// Display of work, until it is dropped.
pub struct WorkDisplay {
    bar: ProgressBar,
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl WorkDisplay {
    /// Starts to show work, as in `verifying the evidence`.
    pub fn start_on(app: &App, what: &'static str) -> Self {
        let bar = ProgressBar::hidden();
        if app.printer.quiet || app.printer.json {
            return Self { bar, shown: None };
        }
        let (stop, stopped) = channel::<()>();
        let (printer, line) = (app.printer, bar.clone());
        let thread = std::thread::spawn(move || {
            let goes_on = |wait| matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
            let text = || format_work(what, line.position(), line.elapsed());
            let terminal = ProgressDrawTarget::stderr();
            if terminal.is_hidden() {
                // Without a terminal, lines cannot be redrawn, and a CI log needs only a sign that the work goes on.
                while goes_on(LOGGED) {
                    printer.show_note(&text());
                }
            // Work that ends sooner draws nothing: a line that appears and vanishes at once only flickers.
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

    /// Counts one completed step.
    pub fn count_step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for WorkDisplay {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.shown.take() {
            // The thread waits on the channel, so dropping the sender wakes it at once instead of after the next tick.
            drop(stop);
            // If the drawing thread panicked, there is nothing to remove.
            let _ = thread.join();
        }
    }
}

/// Formats the state of the work.
fn format_work(what: &str, done: u64, passed: Duration) -> String {
    let passed = format_seconds(passed);
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
            assert_eq!(format_work("replaying", done, Duration::from_millis(ms)), line);
        }
    }
}
