//! A child process that is followed while it runs.
//!
//! Owns: counting the lines that mark progress, and one line on the screen every half minute. Never: judges the output.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::say;

/// Time between two lines about a step that goes on. Somebody who sees nothing for longer takes it for hung.
const PULSE: Duration = Duration::from_secs(30);

/// A child process that has ended.
pub struct LiveRun {
    /// Standard output and error output without the lines that only mark progress.
    pub output: String,
    /// True if it ended with exit code 0.
    pub well: bool,
}

/// Meaning of a line of output for the progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Another unit is done.
    Unit,
    /// There are this many units.
    Total(u64),
    /// Something else, which is kept.
    Other,
}

/// Progress of a step in its own unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    done: u64,
    total: Option<u64>,
}

impl Progress {
    /// Counts a line. Returns true if it only marks progress.
    pub fn count_line(&mut self, kind: LineKind) -> bool {
        match kind {
            LineKind::Unit => self.done += 1,
            LineKind::Total(total) => self.total = Some(total),
            LineKind::Other => {}
        }
        kind == LineKind::Unit
    }

    /// Words the progress. Empty if nothing was counted.
    pub fn describe(self, unit: &str) -> String {
        match (self.done, self.total) {
            (0, None) => String::new(),
            (done, None) => format!(", {done} {unit}"),
            (done, Some(total)) => format!(", {done} of {total} {unit}"),
        }
    }
}

/// Runs a child process to its end, and says every half minute how far it is.
pub fn run_live(mut command: Command, step: &str, unit: &str, kind_of: fn(&str) -> LineKind) -> LiveRun {
    let started = Instant::now();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            return LiveRun {
                output: error.to_string(),
                well: false,
            };
        }
    };
    let (lines, received) = mpsc::channel();
    // Both streams: nextest writes its summary to standard error, cargo's runner to standard output.
    let readers = [
        child
            .stdout
            .take()
            .map(|stream| read_lines(stream, lines.clone())),
        child.stderr.take().map(|stream| read_lines(stream, lines)),
    ];
    let (mut progress, mut output) = (Progress::default(), String::new());
    let mut next_pulse = started + PULSE;
    loop {
        match received.recv_timeout(next_pulse.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if !progress.count_line(kind_of(&line)) {
                    output.push_str(&line);
                    output.push('\n');
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let seconds = started.elapsed().as_secs();
                say(format_args!(
                    "{step:<10} works   {seconds} s{}",
                    progress.describe(unit)
                ));
                next_pulse += PULSE;
            }
        }
    }
    for reader in readers.into_iter().flatten() {
        // A reader ends with its stream. A panic in it would only lose lines.
        let _ = reader.join();
    }
    let ended = child.wait();
    LiveRun {
        output,
        well: ended.is_ok_and(|status| status.success()),
    }
}

fn read_lines(stream: impl Read + Send + 'static, lines: Sender<String>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { break };
            // Programs under test may print any bytes.
            if lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    })
}

/// Reads a line of `cargo build`, `check` or `clippy`.
pub fn kind_of_build_line(line: &str) -> LineKind {
    let first = line.split_whitespace().next();
    match first {
        Some("Compiling" | "Checking" | "Fresh" | "Downloaded" | "Downloading") => LineKind::Unit,
        Some(_) | None => LineKind::Other,
    }
}

/// Reads a line of nextest, or of cargo's own runner.
pub fn kind_of_test_line(line: &str) -> LineKind {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["PASS", ..] | ["test", .., "...", "ok"] => LineKind::Unit,
        ["Starting", total, "tests", ..] => total.parse().map_or(LineKind::Other, LineKind::Total),
        _ => kind_of_build_line(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_runner_are_counted() {
        let cases = [
            ("   Compiling agentos v0.1.0 (/x)", LineKind::Unit),
            ("    Checking serde v1.0.0", LineKind::Unit),
            (
                "    Starting 1491 tests across 40 binaries (2 tests skipped)",
                LineKind::Total(1491),
            ),
            (
                "        PASS [   0.112s] (1/6) agentos::it limits::a",
                LineKind::Unit,
            ),
            (
                "        FAIL [   0.112s] (1/6) agentos::it limits::a",
                LineKind::Other,
            ),
            ("test tests::a ... ok", LineKind::Unit),
            ("test tests::a ... FAILED", LineKind::Other),
            ("error[E0425]: cannot find value", LineKind::Other),
            ("", LineKind::Other),
        ];
        for (line, expected) in cases {
            assert_eq!(kind_of_test_line(line), expected, "{line}");
        }
        let mut progress = Progress::default();
        assert_eq!(progress.describe("tests"), "");
        for (line, _) in cases {
            progress.count_line(kind_of_test_line(line));
        }
        assert_eq!(progress.describe("tests"), ", 4 of 1491 tests");
    }

    #[test]
    fn output_is_kept_without_the_marks_of_progress() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo '   Compiling x v1'; echo kept; echo also >&2; exit 3"]);
        let run = run_live(command, "test", "packages", kind_of_build_line);
        let mut lines: Vec<&str> = run.output.lines().collect();
        lines.sort_unstable();
        assert_eq!((lines, run.well), (vec!["also", "kept"], false));
        let missing = run_live(Command::new("/no/such/program"), "test", "x", kind_of_build_line);
        assert!(!missing.well && !missing.output.is_empty());
    }
}
