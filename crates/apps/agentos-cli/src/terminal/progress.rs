//! Display of an arriving answer: its lines, and below them tokens, rate and time.
//!
//! Owns: the displayed part of an answer, and the timing. Never: draws without a terminal, or shows a byte of an answer
//! unescaped.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use agentos_tool::Progress;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::app::App;
use crate::escape;
use crate::printer::{paint, style};

/// Time between two redraws of the status line while nothing arrives.
pub const TICK: Duration = Duration::from_millis(200);
/// Maximum number of characters of the unfinished line that are shown after the numbers.
const TAIL: usize = 30;
/// Maximum number of characters of a line. The rest of a longer line is not shown.
const LONGEST_LINE: usize = 2000;

/// Display while a tool works.
#[derive(Debug)]
pub enum RunDisplay {
    /// Arriving answer, on a terminal.
    Terminal(AnswerView),
    /// Notes as lines of a log, without a terminal.
    Notes,
    /// No display.
    Nobody,
}

/// Display of an arriving answer: its lines scroll above a status line with the numbers.
#[derive(Debug)]
pub struct AnswerView {
    /// Status line with the numbers. Finished, and therefore not drawn, while no answer is expected.
    bar: ProgressBar,
    /// Splitter of the answer into lines.
    lines: LineSplitter,
}

/// Splitter of an answer that arrives in pieces into lines.
#[derive(Debug, Default)]
struct LineSplitter {
    /// Unfinished last line.
    open: String,
}

impl RunDisplay {
    /// Creates the display: the arriving answer on a terminal, otherwise notes.
    pub fn new(app: &App) -> Self {
        if app.printer.quiet || app.printer.json {
            Self::Nobody
        } else if app.streams.stderr_is_terminal {
            Self::Terminal(AnswerView::new())
        } else {
            Self::Notes
        }
    }

    /// Starts the clock and the status line.
    pub fn start_answer(&self) {
        if let Self::Terminal(view) = self {
            view.bar.set_message("");
            view.bar.reset();
            view.bar.enable_steady_tick(TICK);
        }
    }

    /// Shows a piece of the answer.
    pub fn show_progress(&mut self, progress: Progress) {
        match (self, progress) {
            (Self::Terminal(view), progress) => view.show_piece(progress),
            (Self::Notes, Progress::Note(text)) => print_line(&format!("note: {}", escape::line(&text))),
            (Self::Notes | Self::Nobody, _) => {}
        }
    }

    /// Hides the status line while `print` prints something else.
    pub fn print_above(&self, print: impl FnOnce()) {
        match self {
            Self::Terminal(view) => view.bar.suspend(print),
            Self::Notes | Self::Nobody => print(),
        }
    }

    /// Ends the display: shows the rest of the answer and removes the status line.
    pub fn finish_answer(&mut self) {
        if let Self::Terminal(view) = self {
            // A bar that is not finished is drawn by `suspend`, even if no answer is expected.
            view.bar.finish_and_clear();
            view.bar.disable_steady_tick();
            let rest = std::mem::take(&mut view.lines.open);
            if !rest.is_empty() {
                print_line(&paint(style::DIM, &escape::block(&rest)));
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
            lines: LineSplitter::default(),
        }
    }

    fn show_piece(&mut self, progress: Progress) {
        let lines = match progress {
            Progress::Text(text) => {
                self.bar.inc(1);
                if self.bar.position() == 1 {
                    // The rate excludes the wait for the first token.
                    self.bar.reset_eta();
                }
                self.lines.take_lines(&text)
            }
            Progress::Transcript(text) => self.lines.take_lines(&text),
            Progress::Note(text) => vec![text],
        };
        self.bar.set_message(self.lines.unfinished_tail());
        if lines.is_empty() {
            return;
        }
        // `suspend` clears the status line, prints, and draws it again. Printing without it would leave pieces of the
        // line between the lines of the answer.
        self.bar.suspend(|| {
            for line in lines {
                let shown: String = escape::block(&line).chars().take(LONGEST_LINE).collect();
                print_line(&paint(style::DIM, &shown));
            }
        });
    }
}

impl LineSplitter {
    /// Adds a piece and returns the lines that it completes.
    fn take_lines(&mut self, text: &str) -> Vec<String> {
        self.open.push_str(text);
        let mut lines = Vec::new();
        while let Some(at) = self.open.find('\n') {
            let rest = self.open.split_off(at + 1);
            lines.push(self.open.trim_end_matches(['\r', '\n']).to_owned());
            self.open = rest;
        }
        lines
    }

    /// Returns the end of the unfinished line.
    fn unfinished_tail(&self) -> String {
        // Escaping first keeps the limit true on the screen, because an escape is longer than its character.
        let line = escape::line(&self.open);
        let hidden = line.chars().count().saturating_sub(TAIL);
        line.chars().skip(hidden).collect()
    }
}

/// Writes a line to standard error. Ignores failures, because a closed terminal must not end the run.
fn print_line(line: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// Returns the style of a status line. `{numbers}` in the template is replaced by tokens, rate and time.
pub fn style_of(template: &str) -> ProgressStyle {
    // All templates are constants of this program. An invalid one would show the library's default style.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    style.with_key("numbers", |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = out.write_str(&format_numbers(state.pos(), state.per_sec(), state.elapsed()));
    })
}

/// Formats the number of tokens, their rate and the elapsed time.
fn format_numbers(tokens: u64, rate: f64, passed: Duration) -> String {
    let passed = format_seconds(passed);
    match tokens {
        0 => format!("waiting for the first token, {passed}"),
        1 => format!("1 token, {passed}"),
        _ => format!("{tokens} tokens, {rate:.0}/s, {passed}"),
    }
}

/// Formats a duration in seconds with one decimal.
pub fn format_seconds(passed: Duration) -> String {
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
            assert_eq!(format_numbers(tokens, 9.6, Duration::from_millis(ms)), expected);
        }
    }

    #[test]
    fn lines_scroll_and_the_end_of_the_one_that_grows_stays() {
        let mut lines = LineSplitter::default();
        let long = "x".repeat(100);
        let pieces = ["--- a/x", "\n+++ b/x\r\n\n@", "@ \u{1b}[31mred", &long, "\n"];
        let seen = pieces.map(|piece| {
            let ended = lines.take_lines(piece);
            format!("{ended:?} {}", lines.unfinished_tail())
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
