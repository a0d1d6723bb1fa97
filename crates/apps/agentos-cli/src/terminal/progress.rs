//! The answer arriving on a terminal: its lines as they come, and below them tokens, rate and time.
//!
//! Owns: what is drawn and when. Never: used where nobody looks, or shows a byte of an answer unescaped.

use std::future::Future;
use std::io::Write;
use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

use agentos_tool::{NoProgress, Progress, ProgressSink};
use tokio::time::Instant;

use crate::app::App;
use crate::escape;
use crate::printer::{paint, style};
use crate::terminal::screen::size;

/// How often the line with the numbers is drawn while nothing arrives.
const TICK: Duration = Duration::from_millis(200);
/// Characters of the line that still grows which are shown beside the numbers.
const TAIL: usize = 30;
/// A line that is longer is shown without its end.
const LONGEST_LINE: usize = 2000;

/// Writes to standard error.
#[derive(Debug)]
pub struct TerminalProgress {
    screen: Mutex<Screen>,
    since: Instant,
}

impl TerminalProgress {
    /// Begins to count the time. The line with the numbers never takes more than `width` columns, or it could not be taken
    /// away again.
    pub fn new(width: usize) -> Self {
        Self {
            screen: Mutex::new(Screen {
                width,
                ..Screen::default()
            }),
            since: Instant::now(),
        }
    }

    fn draw(&self, with: impl FnOnce(&mut Screen, u64) -> String) {
        // A thread that panicked while drawing has left a screen that is good enough to draw on.
        let mut screen = self
            .screen
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let text = with(&mut screen, elapsed_ms(self.since));
        let mut out = anstream::stderr().lock();
        // A terminal that is gone takes no progress; the run goes on.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

impl ProgressSink for TerminalProgress {
    fn progress(&self, progress: Progress) {
        self.draw(|screen, now| screen.take(progress, now));
    }
}

/// Notes as lines, for logs and pipes.
#[derive(Debug, Clone, Copy)]
pub struct NotesOnly;

impl ProgressSink for NotesOnly {
    fn progress(&self, progress: Progress) {
        if let Progress::Note(text) = progress {
            let mut out = anstream::stderr().lock();
            let _ = writeln!(out, "note: {}", escape::line(&text));
        }
    }
}

/// Where progress goes.
#[derive(Debug)]
pub enum Display {
    /// To a person who looks.
    Terminal(TerminalProgress),
    /// To a log.
    Notes(NotesOnly),
    /// Nowhere.
    Nobody(NoProgress),
}

impl Display {
    /// The sink for a call.
    pub fn sink(&self) -> &dyn ProgressSink {
        match self {
            Self::Terminal(sink) => sink,
            Self::Notes(sink) => sink,
            Self::Nobody(sink) => sink,
        }
    }

    /// Begins to count the time, and to show it.
    pub fn begin(&self) {
        if let Self::Terminal(terminal) = self {
            terminal.draw(|screen, now| {
                screen.began = Some(now);
                screen.status(now)
            });
        }
    }

    /// Waits for the work, and keeps the time on the screen going meanwhile.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let Self::Terminal(terminal) = self else {
            return work.await;
        };
        let mut work = pin!(work);
        loop {
            match tokio::time::timeout(TICK, work.as_mut()).await {
                Ok(done) => return done,
                Err(_) => terminal.draw(|screen, now| match screen.began {
                    Some(_) => screen.status(now),
                    None => String::new(),
                }),
            }
        }
    }

    /// Takes the time off the screen, so that something else can be shown; the next piece brings it back.
    pub fn pause(&self) {
        if let Self::Terminal(terminal) = self {
            terminal.draw(|screen, _| screen.clear());
        }
    }

    /// Ends the display. Nothing of it is left.
    pub fn end(&self) {
        if let Self::Terminal(terminal) = self {
            terminal.draw(|screen, _| {
                screen.began = None;
                screen.end()
            });
        }
    }
}

/// Chooses what a person sees while a tool works: the answer as it arrives where there is a terminal, else what is worth noting.
pub fn display(app: &App) -> Display {
    if app.printer.quiet || app.printer.json {
        Display::Nobody(NoProgress)
    } else if app.streams.stderr_is_terminal {
        Display::Terminal(TerminalProgress::new(size(app.host.environment()).width))
    } else {
        Display::Notes(NotesOnly)
    }
}

/// What has been drawn.
#[derive(Debug, Default)]
struct Screen {
    /// When the tool was given its task, in milliseconds. `None` while nothing is awaited.
    began: Option<u64>,
    /// Pieces of the answer; servers send one for each token, or for a few.
    pieces: u64,
    /// When the first piece came.
    first: Option<u64>,
    /// The line that still grows.
    open: String,
    /// Columns of the line with the numbers.
    drawn: usize,
    /// Columns that it may take.
    width: usize,
}

/// Returns the time that has passed, in milliseconds.
pub fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// As much of a line as leaves the last column free, and how many columns that is. A character of another script takes up
/// to two.
pub fn fitting(line: &str, width: usize) -> (String, usize) {
    let mut columns = 0;
    let mut kept = String::new();
    for c in line.chars() {
        let more = if c.is_ascii() { 1 } else { 2 };
        if columns + more >= width {
            break;
        }
        columns += more;
        kept.push(c);
    }
    (kept, columns)
}

impl Screen {
    /// What is written for a piece that came so many milliseconds after the beginning.
    fn take(&mut self, progress: Progress, now: u64) -> String {
        let lines = match progress {
            Progress::Text(text) => {
                self.pieces += 1;
                self.first.get_or_insert(now);
                self.whole_lines(&text)
            }
            Progress::Transcript(text) => self.whole_lines(&text),
            Progress::Note(text) => vec![text],
        };
        let mut out = self.clear();
        for line in lines {
            let shown: String = escape::block(&line).chars().take(LONGEST_LINE).collect();
            out.push_str(&paint(style::DIM, &shown));
            out.push('\n');
        }
        out + &self.status(now)
    }

    /// The lines that this piece ends.
    fn whole_lines(&mut self, text: &str) -> Vec<String> {
        self.open.push_str(text);
        let mut lines = Vec::new();
        while let Some(at) = self.open.find('\n') {
            let rest = self.open.split_off(at + 1);
            lines.push(self.open.trim_end_matches(['\r', '\n']).to_owned());
            self.open = rest;
        }
        lines
    }

    /// The line below: how much, how fast, how long, and the end of what still grows.
    fn status(&mut self, now: u64) -> String {
        let clear = self.clear();
        let seconds = |ms: u64| format!("{}.{} s", ms / 1000, ms % 1000 / 100);
        let line = match self.first {
            None => format!("waiting for the first token, {}", seconds(now)),
            Some(first) => {
                let passed = now.saturating_sub(first);
                let rate = (self.pieces.saturating_sub(1) * 1000).checked_div(passed);
                let rate = rate.filter(|_| self.pieces > 1).map(|rate| format!(", {rate}/s"));
                let word = if self.pieces == 1 { "token" } else { "tokens" };
                let tail: Vec<char> = escape::line(&self.open).chars().rev().take(TAIL).collect();
                let tail: String = tail.into_iter().rev().collect();
                format!(
                    "{} {word}{}, {}  {tail}",
                    self.pieces,
                    rate.unwrap_or_default(),
                    seconds(now)
                )
            }
        };
        let (line, columns) = fitting(line.trim_end(), self.width);
        self.drawn = columns;
        format!("{clear}{}", paint(style::DIM, &line))
    }

    /// Takes the line with the numbers away. With blanks, which every terminal knows.
    fn clear(&mut self) -> String {
        let columns = std::mem::take(&mut self.drawn);
        if columns == 0 {
            return String::new();
        }
        format!("\r{}\r", " ".repeat(columns))
    }

    /// The rest of the answer, and no numbers.
    fn end(&mut self) -> String {
        let clear = self.clear();
        let rest = std::mem::take(&mut self.open);
        if rest.is_empty() {
            return clear;
        }
        format!("{clear}{}\n", paint(style::DIM, &escape::block(&rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_is_taken_away_again_stays_on_one_row() {
        let cases = [
            ("abc", 80, "abc", 3),
            ("abcdef", 4, "abc", 3),
            ("漢字漢字", 6, "漢字", 4),
            ("abc", 0, "", 0),
        ];
        for (line, width, kept, columns) in cases {
            assert_eq!(fitting(line, width), (kept.to_owned(), columns), "{line} {width}");
        }
    }

    #[test]
    fn lines_scroll_and_the_numbers_stay_below() {
        let mut screen = Screen {
            width: 80,
            ..Screen::default()
        };
        let text = |text: &str| Progress::Text(text.to_owned());
        let drawn = [
            screen.status(0),
            screen.status(1_250),
            screen.take(text("--- a/x"), 1_300),
            screen.take(text("\n+++ b/x\n@"), 1_400),
            screen.take(text("@ \u{1b}[31mred"), 1_800),
            screen.take(Progress::Note("asked again: it is busy".to_owned()), 1_900),
            screen.take(text(&"x".repeat(100)), 2_300),
            screen.end(),
            screen.end(),
        ];
        let plain = drawn.map(|text| {
            let text = text
                .replace(style::DIM, "")
                .replace(style::RESET, "")
                .replace('\n', "<newline>");
            // What is cleared is as wide as what was drawn.
            let mut parts = text.split('\r');
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |all, part| {
                let blank = !part.is_empty() && part.chars().all(|c| c == ' ');
                all + &if blank {
                    format!("<{} blanks>", part.len())
                } else {
                    part.to_owned()
                }
            })
        });
        insta::assert_snapshot!(plain.join("\n"), @r"
        waiting for the first token, 0.0 s
        <34 blanks>waiting for the first token, 1.2 s
        <34 blanks>1 token, 1.3 s  --- a/x
        <23 blanks>--- a/x<newline>+++ b/x<newline>2 tokens, 10/s, 1.4 s  @
        <24 blanks>3 tokens, 4/s, 1.8 s  @@ \u{1b}[31mred
        <38 blanks>asked again: it is busy<newline>3 tokens, 3/s, 1.9 s  @@ \u{1b}[31mred
        <38 blanks>4 tokens, 3/s, 2.3 s  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        <52 blanks>@@ \u{1b}[31mredxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx<newline>
        ");
    }
}
