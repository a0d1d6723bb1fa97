//! The answer arriving on a terminal: its lines as they come, and below them tokens, rate and time.
//!
//! Owns: what is shown of an answer, and when. Never: used where nobody looks, or shows a byte of an answer unescaped.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use agentos_tool::Progress;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::app::App;
use crate::escape;
use crate::printer::{paint, style};

/// How often a line that stays in its place is drawn while nothing arrives.
pub const TICK: Duration = Duration::from_millis(200);
/// Characters of the line that still grows which are shown after the numbers.
const TAIL: usize = 30;
/// A line that is longer is shown without its end.
const LONGEST_LINE: usize = 2000;

/// What a person sees while a tool works.
#[derive(Debug)]
pub enum Display {
    /// The answer as it arrives, on a terminal.
    Terminal(AnswerView),
    /// What is worth noting, as lines of a log.
    Notes,
    /// Nothing.
    Nobody,
}

/// An answer as it arrives: its lines scroll, and one below them has the numbers.
#[derive(Debug)]
pub struct AnswerView {
    /// The line with the numbers; finished, and so not drawn, while no answer is awaited.
    bar: ProgressBar,
    /// Lines of the answer.
    lines: Lines,
}

/// The lines of an answer that arrives in pieces.
#[derive(Debug, Default)]
struct Lines {
    /// The line that still grows.
    open: String,
}

impl Display {
    /// Chooses what a person sees: the answer as it arrives where there is a terminal, else what is worth noting.
    pub fn new(app: &App) -> Self {
        if app.printer.quiet || app.printer.json {
            Self::Nobody
        } else if app.streams.stderr_is_terminal {
            Self::Terminal(AnswerView::new())
        } else {
            Self::Notes
        }
    }

    /// Begins to count the time, and to show it.
    pub fn begin(&self) {
        if let Self::Terminal(view) = self {
            view.bar.set_message("");
            view.bar.reset();
            view.bar.enable_steady_tick(TICK);
        }
    }

    /// Shows a piece of the answer.
    pub fn show(&mut self, progress: Progress) {
        match (self, progress) {
            (Self::Terminal(view), progress) => view.show(progress),
            (Self::Notes, Progress::Note(text)) => print(&format!("note: {}", escape::line(&text))),
            (Self::Notes | Self::Nobody, _) => {}
        }
    }

    /// Takes the line with the numbers off the screen while something else is printed.
    pub fn suspend(&self, print: impl FnOnce()) {
        match self {
            Self::Terminal(view) => view.bar.suspend(print),
            Self::Notes | Self::Nobody => print(),
        }
    }

    /// Ends the display: the rest of the answer, and no numbers.
    pub fn end(&mut self) {
        if let Self::Terminal(view) = self {
            view.bar.finish_and_clear();
            view.bar.disable_steady_tick();
            let rest = std::mem::take(&mut view.lines.open);
            if !rest.is_empty() {
                print(&paint(style::DIM, &escape::block(&rest)));
            }
        }
    }
}

impl AnswerView {
    fn new() -> Self {
        let bar = ProgressBar::no_length().with_style(style_of("{numbers:.dim}  {wide_msg:.dim}"));
        bar.finish_and_clear();
        Self {
            bar,
            lines: Lines::default(),
        }
    }

    fn show(&mut self, progress: Progress) {
        let lines = match progress {
            Progress::Text(text) => {
                self.bar.inc(1);
                if self.bar.position() == 1 {
                    // The rate is that of the answer, without the wait for it.
                    self.bar.reset_eta();
                }
                self.lines.take(&text)
            }
            Progress::Transcript(text) => self.lines.take(&text),
            Progress::Note(text) => vec![text],
        };
        self.bar.set_message(self.lines.tail());
        if lines.is_empty() {
            return;
        }
        self.bar.suspend(|| {
            for line in lines {
                let shown: String = escape::block(&line).chars().take(LONGEST_LINE).collect();
                print(&paint(style::DIM, &shown));
            }
        });
    }
}

impl Lines {
    /// Returns the lines that this piece ends.
    fn take(&mut self, text: &str) -> Vec<String> {
        self.open.push_str(text);
        let mut lines = Vec::new();
        while let Some(at) = self.open.find('\n') {
            let rest = self.open.split_off(at + 1);
            lines.push(self.open.trim_end_matches(['\r', '\n']).to_owned());
            self.open = rest;
        }
        lines
    }

    /// Returns the end of the line that still grows.
    fn tail(&self) -> String {
        let line = escape::line(&self.open);
        let hidden = line.chars().count().saturating_sub(TAIL);
        line.chars().skip(hidden).collect()
    }
}

/// Writes a line to standard error. A terminal that is gone takes no progress; the run goes on.
fn print(line: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// Returns the style of a line that stays in its place; `{numbers}` in its template are tokens, rate and time.
pub fn style_of(template: &str) -> ProgressStyle {
    // A template of ours is understood; one that is not shows as the library's own.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    style.with_key("numbers", |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = out.write_str(&numbers(state.pos(), state.per_sec(), state.elapsed()));
    })
}

/// Words how much has come, how fast, and how long it took.
fn numbers(tokens: u64, rate: f64, passed: Duration) -> String {
    let passed = seconds(passed);
    match tokens {
        0 => format!("waiting for the first token, {passed}"),
        1 => format!("1 token, {passed}"),
        _ => format!("{tokens} tokens, {rate:.0}/s, {passed}"),
    }
}

/// Words a time in seconds and tenths of one.
pub fn seconds(passed: Duration) -> String {
    let ms = passed.as_millis();
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_say_how_much_how_fast_and_how_long() {
        let cases = [
            (0, 0, "waiting for the first token, 0.0 s"),
            (0, 1_250, "waiting for the first token, 1.2 s"),
            (1, 1_300, "1 token, 1.3 s"),
            (2, 61_480, "2 tokens, 10/s, 61.4 s"),
        ];
        for (tokens, ms, expected) in cases {
            assert_eq!(numbers(tokens, 9.6, Duration::from_millis(ms)), expected);
        }
    }

    #[test]
    fn lines_scroll_and_the_end_of_the_one_that_grows_stays() {
        let mut lines = Lines::default();
        let long = "x".repeat(100);
        let pieces = ["--- a/x", "\n+++ b/x\r\n\n@", "@ \u{1b}[31mred", &long, "\n"];
        let seen = pieces.map(|piece| {
            let ended = lines.take(piece);
            format!("{ended:?} {}", lines.tail())
        });
        insta::assert_snapshot!(seen.join("\n"), @r#"
        [] --- a/x
        ["--- a/x", "+++ b/x", ""] @
        [] @@ \u{1b}[31mred
        [] xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        ["@@ \u{1b}[31mredxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]
        "#);
    }
}
