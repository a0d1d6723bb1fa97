//! Display of long work: a status line on a terminal, a line from time to time elsewhere.
//!
//! Owns: its words, and the times when it is drawn and removed. Never: draws with `--quiet` or for short work, or writes to
//! standard output.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::time::Instant;

use crate::app::App;
use crate::escape;
use crate::terminal::last_line::{self, StatusLine};

/// Time between two redraws of the status line.
const TICK: Duration = Duration::from_millis(200);
/// Work that ends sooner draws nothing: a line that appears and vanishes at once only flickers.
const SHORT: Duration = Duration::from_millis(400);
/// Time between two lines where no line can be redrawn, such as a CI log.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Shortest stream whose rate is shown. A server that sends a whole answer at once would otherwise seem to write thousands
/// of tokens per second.
const RATED: Duration = Duration::from_secs(1);

/// Work that may take long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LongWork {
    /// A model answers.
    Model,
    /// A program or an agent works on its copy.
    Program,
    /// The user's check runs, with its command.
    Check(String),
    /// Other work in a few words, as in `verifying the evidence`.
    Other(&'static str),
}

/// State of long work. All times are measured from the start of the display.
#[derive(Debug)]
struct WorkState {
    work: LongWork,
    began: Duration,
    /// Completed steps, or tokens of a model.
    steps: u64,
    /// Time of the first step. `None` before it.
    first_step: Option<Duration>,
    /// End of the unfinished line of the answer, escaped.
    tail: String,
}

impl WorkState {
    fn new(work: LongWork, began: Duration) -> Self {
        Self {
            work,
            began,
            steps: 0,
            first_step: None,
            tail: String::new(),
        }
    }

    fn count_step(&mut self, now: Duration) {
        self.steps += 1;
        self.first_step.get_or_insert(now);
    }

    /// Describes the work: its name, how far it is, and how long it takes.
    fn describe(&self, now: Duration) -> String {
        let passed = format_seconds(now.saturating_sub(self.began));
        match (&self.work, self.steps) {
            (LongWork::Model, 0) => format!("waiting for the first token, {passed}"),
            (LongWork::Model, 1) => format!("1 token, {passed}"),
            (LongWork::Model, tokens) => match self.rate(now) {
                Some(rate) => format!("{tokens} tokens, {rate}/s, {passed}"),
                None => format!("{tokens} tokens, {passed}"),
            },
            (LongWork::Program, _) => format!("the program works, {passed}"),
            (LongWork::Check(command), _) => format!("check: {}, {passed}", escape::line(command)),
            (LongWork::Other(what), 0) => format!("{what}, {passed}"),
            (LongWork::Other(what), done) => format!("{what}: {done}, {passed}"),
        }
    }

    /// Returns the steps per second since the first one. `None` while the stream is too short for a rate.
    fn rate(&self, now: Duration) -> Option<u64> {
        let streamed = now.saturating_sub(self.first_step?);
        let milliseconds = u64::try_from(streamed.as_millis()).ok()?;
        let steps = self.steps.saturating_sub(1);
        (streamed >= RATED).then(|| steps.saturating_mul(1000).div_ceil(milliseconds.max(1)))
    }
}

/// Formats a duration in whole seconds, and in minutes from the first one on.
fn format_seconds(passed: Duration) -> String {
    match passed.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// Passing time, for the thread that draws.
trait Pulse {
    /// Waits. `None` if the work has ended, otherwise the time since the start of the display.
    fn wait(&mut self, time: Duration) -> Option<Duration>;
}

struct ClockPulse {
    began: Instant,
    stopped: Receiver<()>,
}

impl Pulse for ClockPulse {
    fn wait(&mut self, time: Duration) -> Option<Duration> {
        match self.stopped.recv_timeout(time) {
            Err(RecvTimeoutError::Timeout) => Some(self.began.elapsed()),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => None,
        }
    }
}

/// Screen of a display.
enum WorkScreen {
    /// A terminal, whose last line is redrawn.
    Terminal(StatusLine),
    /// A log, which gets a line from time to time.
    Log,
}

/// Draws until the work has ended. `after` is the time before the first drawing on a terminal.
fn draw_work(pulse: &mut dyn Pulse, after: Duration, is_log: bool, draw: &mut dyn FnMut(Duration)) {
    let (first, next) = if is_log {
        (HEARTBEAT, HEARTBEAT)
    } else {
        (after, TICK)
    };
    let mut wait = first;
    while let Some(now) = pulse.wait(wait) {
        draw(now);
        wait = next;
    }
}

/// Display of work, until it is dropped.
pub struct WorkDisplay {
    began: Instant,
    state: Arc<Mutex<WorkState>>,
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl WorkDisplay {
    /// Starts to show work, as in `verifying the evidence`.
    pub fn start_on(app: &App, what: &'static str) -> Self {
        Self::start(app, LongWork::Other(what), SHORT)
    }

    /// Starts to show the work of a run, which is drawn at once.
    pub fn start_run(app: &App, work: LongWork) -> Self {
        Self::start(app, work, Duration::ZERO)
    }

    fn start(app: &App, work: LongWork, after: Duration) -> Self {
        let began = Instant::now();
        let state = Arc::new(Mutex::new(WorkState::new(work, Duration::ZERO)));
        let mut display = Self {
            began,
            state,
            drawing: None,
        };
        if app.printer.quiet {
            return display;
        }
        let screen = if app.can_redraw() && !app.printer.json {
            WorkScreen::Terminal(StatusLine::begin())
        } else {
            WorkScreen::Log
        };
        let is_log = matches!(screen, WorkScreen::Log);
        let (stop, stopped) = channel();
        let shared = Arc::clone(&display.state);
        let mut draw = move |now| {
            let state = lock(&shared);
            let words = state.describe(now);
            match &screen {
                WorkScreen::Terminal(line) => line.draw(&format!("{words}  {}", state.tail)),
                WorkScreen::Log => last_line::print(&words),
            }
        };
        if !is_log && after.is_zero() {
            draw(Duration::ZERO);
        }
        let mut pulse = ClockPulse { began, stopped };
        let wait = after.max(TICK);
        let thread =
            std::thread::Builder::new().spawn(move || draw_work(&mut pulse, wait, is_log, &mut draw));
        // Without a thread nothing is drawn, and the work goes on.
        display.drawing = thread.ok().map(|thread| (stop, thread));
        display
    }

    /// Shows other work from now on.
    pub fn change_work(&self, work: LongWork) {
        *lock(&self.state) = WorkState::new(work, self.began.elapsed());
    }

    /// Counts one completed step, or a token.
    pub fn count_step(&self) {
        lock(&self.state).count_step(self.began.elapsed());
    }

    /// Shows the end of an unfinished line behind the numbers. The caller must have escaped it.
    pub fn set_tail(&self, tail: String) {
        lock(&self.state).tail = tail;
    }
}

impl Drop for WorkDisplay {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.drawing.take() {
            // The thread waits on the channel, so dropping the sender wakes it at once instead of after the next tick.
            drop(stop);
            // If the drawing thread panicked, there is nothing to remove.
            let _ = thread.join();
        }
    }
}

fn lock(state: &Mutex<WorkState>) -> MutexGuard<'_, WorkState> {
    // A state is replaced or counted up in one step, so a panic leaves none half changed.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_line_says_what_how_far_and_how_long() {
        let check = || LongWork::Check("cargo test\u{1b}[2J".to_owned());
        let cases = [
            (LongWork::Model, 0, 12_900, "waiting for the first token, 12 s"),
            (LongWork::Model, 1, 1_300, "1 token, 1 s"),
            // The first token came after one second.
            (LongWork::Model, 56, 1_000, "56 tokens, 1 s"),
            (LongWork::Model, 56, 1_999, "56 tokens, 1 s"),
            (LongWork::Model, 56, 2_000, "56 tokens, 55/s, 2 s"),
            (LongWork::Model, 56, 61_400, "56 tokens, 1/s, 1 min 1 s"),
            (LongWork::Program, 9, 12_000, "the program works, 12 s"),
            (check(), 9, 12_000, "check: cargo test\\u{1b}[2J, 12 s"),
            (LongWork::Other("replaying runs"), 0, 900, "replaying runs, 0 s"),
            (
                LongWork::Other("replaying runs"),
                7,
                61_000,
                "replaying runs: 7, 1 min 1 s",
            ),
        ];
        for (work, steps, now, expected) in cases {
            let mut state = WorkState::new(work, Duration::ZERO);
            for _ in 0..steps {
                state.count_step(ms(1_000));
            }
            assert_eq!(state.describe(ms(now)), expected);
        }
    }

    #[test]
    fn other_work_has_a_time_of_its_own() {
        let state = WorkState::new(LongWork::Check("make".to_owned()), ms(30_000));
        assert_eq!(state.describe(ms(42_000)), "check: make, 12 s");
    }

    /// Time that passes as fast as it is waited for.
    struct FakePulse {
        now: Duration,
        end: Duration,
    }

    impl Pulse for FakePulse {
        fn wait(&mut self, time: Duration) -> Option<Duration> {
            self.now += time;
            (self.now < self.end).then_some(self.now)
        }
    }

    #[test]
    fn a_log_gets_a_line_every_thirty_seconds_and_a_terminal_five_a_second() {
        for (is_log, seconds, expected) in [
            (true, 29, vec![]),
            (true, 100, vec![30_000, 60_000, 90_000]),
            (false, 1, vec![400, 600, 800]),
        ] {
            let mut pulse = FakePulse {
                now: Duration::ZERO,
                end: Duration::from_secs(seconds),
            };
            let mut drawn = Vec::new();
            draw_work(&mut pulse, SHORT, is_log, &mut |now| drawn.push(now));
            let expected: Vec<Duration> = expected.into_iter().map(ms).collect();
            assert_eq!(drawn, expected, "{is_log} {seconds}");
        }
    }
}
