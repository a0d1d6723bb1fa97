//! Display of a run: the lines of an arriving answer, and below them the work that is waited for.
//!
//! Owns: the displayed part of an answer. Never: shows a byte of an answer unescaped.

use agentos_tool::Progress;

use super::last_line;
use super::working::{LongWork, WorkDisplay};
use crate::app::App;
use crate::escape;
use crate::printer::{paint, style};

/// Maximum number of characters of the unfinished line that are shown after the numbers.
const TAIL: usize = 30;
/// Maximum number of characters of a line. The rest of a longer line is not shown.
const LONGEST_LINE: usize = 2000;

/// Kind of display while a tool works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DisplayKind {
    /// Lines of the arriving answer above a status line, on a terminal.
    Answer,
    /// Notes as lines of a log, without a terminal.
    Notes,
    /// Nothing but the state of long work, for a program.
    WorkOnly,
}

/// Display of a run: the arriving answer, and the work that is waited for.
pub struct RunDisplay {
    app: App,
    kind: DisplayKind,
    /// Work that is shown. `None` while nothing is waited for.
    work: Option<WorkDisplay>,
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
        let kind = if app.printer.quiet || app.printer.json {
            DisplayKind::WorkOnly
        } else if app.streams.stderr_is_terminal {
            DisplayKind::Answer
        } else {
            DisplayKind::Notes
        };
        Self {
            app: app.clone(),
            kind,
            work: None,
            lines: LineSplitter::default(),
        }
    }

    /// Shows work from its start on.
    pub fn start_work(&mut self, work: LongWork) {
        self.print_rest();
        match &self.work {
            Some(display) => display.change_work(work),
            None => self.work = Some(WorkDisplay::start_run(&self.app, work)),
        }
    }

    /// Shows a piece of the answer.
    pub fn show_progress(&mut self, progress: Progress) {
        let lines = match (self.kind, progress) {
            (DisplayKind::WorkOnly, Progress::Text(_)) | (DisplayKind::Notes, Progress::Text(_)) => {
                self.count_token();
                return;
            }
            (DisplayKind::Answer, Progress::Text(text)) => {
                self.count_token();
                self.lines.take_lines(&text)
            }
            (DisplayKind::Answer, Progress::Transcript(text)) => self.lines.take_lines(&text),
            (DisplayKind::Answer, Progress::Note(text)) => vec![text],
            (DisplayKind::Notes, Progress::Note(text)) => {
                last_line::print(&format!("note: {}", escape::line(&text)));
                return;
            }
            // The transcript has the call.
            (DisplayKind::Answer, Progress::Read(_) | Progress::Called(_) | Progress::Viewed(_))
            | (DisplayKind::Notes | DisplayKind::WorkOnly, _) => {
                return;
            }
        };
        if let Some(work) = &self.work {
            work.set_tail(self.lines.unfinished_tail());
        }
        for line in lines {
            let shown: String = escape::block(&line).chars().take(LONGEST_LINE).collect();
            last_line::print(&paint(style::DIM, &shown));
        }
    }

    fn count_token(&self) {
        if let Some(work) = &self.work {
            work.count_step();
        }
    }

    /// Ends the display: shows the rest of the answer and removes the status line.
    pub fn finish_work(&mut self) {
        self.work = None;
        self.print_rest();
    }

    /// Prints the line of the answer that has no end yet.
    fn print_rest(&mut self) {
        let rest = std::mem::take(&mut self.lines.open);
        if !rest.is_empty() {
            last_line::print(&paint(style::DIM, &escape::block(&rest)));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

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
