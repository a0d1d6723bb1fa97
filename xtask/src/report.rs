//! The evidence of a gate: its verdict and its tape.
//!
//! Owns: the shape of `gate_results.json` and of the hash-chained tape, and rotating an older tape away. Never:
//! rewrites a line that was written.
//!
//! The gate binaries have a writer of their own for the same files: the automation links of the product only
//! `agentos-chain`, so that it can judge a tree whose product does not build. Names of kept tapes follow one pattern in both.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agentos_chain::ChainWriter;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How a check, or a whole gate, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It held.
    Passed,
    /// It did not hold.
    Failed,
    /// It could not be judged; never counts as passed.
    Skipped,
}

/// One check of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// As in `layers` or `LMS-A`.
    pub id: String,
    /// What is checked, in words.
    pub name: String,
    /// How it ended.
    pub status: Status,
    /// What was seen; the reasons where it did not hold.
    pub details: Vec<String>,
}

/// `reports/gate_results.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResults {
    /// The version of this shape.
    pub version: u32,
    /// The gate's name.
    pub gate: String,
    /// When it began.
    pub started_at: String,
    /// How it was started: `gate`, or `manual` with a person's own settings.
    pub mode: String,
    /// Every check, in order.
    pub checks: Vec<Check>,
    /// The verdict.
    pub status: Status,
    /// How many checks ended how.
    pub counts: Counts,
}

/// How many checks ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Held.
    pub passed: usize,
    /// Did not hold.
    pub failed: usize,
    /// Could not be judged.
    pub skipped: usize,
}

impl Status {
    /// Failed if anything failed, else skipped if anything was skipped, else passed. Nothing judged is skipped.
    #[must_use]
    pub fn of(checks: &[Check]) -> Self {
        let any = |status| checks.iter().any(|check| check.status == status);
        if any(Self::Failed) {
            Self::Failed
        } else if any(Self::Skipped) || checks.is_empty() {
            Self::Skipped
        } else {
            Self::Passed
        }
    }

    /// The word on the screen.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "PASS",
            Self::Failed => "FAIL",
            Self::Skipped => "SKIP",
        }
    }
}

impl GateResults {
    /// The verdict over these checks.
    #[must_use]
    pub fn new(gate: &str, started_at: &str, checks: Vec<Check>) -> Self {
        let count = |status| checks.iter().filter(|check| check.status == status).count();
        Self {
            version: 1,
            gate: gate.to_owned(),
            started_at: started_at.to_owned(),
            mode: "gate".to_owned(),
            status: Status::of(&checks),
            counts: Counts {
                passed: count(Status::Passed),
                failed: count(Status::Failed),
                skipped: count(Status::Skipped),
            },
            checks,
        }
    }

    /// Reads a verdict that a gate binary wrote.
    ///
    /// # Errors
    /// When there is none or it has another shape.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let file = folder.join("reports/gate_results.json");
        let shown = file.display();
        let text = std::fs::read(&file).map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
        serde_json::from_slice(&text).map_err(|error| format!("`{shown}` is not understood: {error}"))
    }

    /// Writes the verdict and a new tape; a tape that is there already is kept under its own time.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let (audit, reports) = (folder.join("audit"), folder.join("reports"));
        for made in [&audit, &reports] {
            std::fs::create_dir_all(made).map_err(|error| said(made, &error))?;
        }
        let file = audit.join("run_tape.jsonl");
        rotate(&file)?;
        std::fs::write(&file, self.tape()?).map_err(|error| said(&file, &error))?;
        let file = reports.join("gate_results.json");
        let text = serde_json::to_string_pretty(self).map_err(|error| said(&file, &error))?;
        std::fs::write(&file, text + "\n").map_err(|error| said(&file, &error))
    }

    /// One record a check and one for the verdict, each with the hash of the one before.
    fn tape(&self) -> Result<String, String> {
        let mut events = vec![("gate-started", json!({"gate": self.gate, "mode": self.mode}))];
        for check in &self.checks {
            events.push((
                "check",
                serde_json::to_value(check).map_err(|error| error.to_string())?,
            ));
        }
        let verdict = json!({"gate": self.gate, "status": self.status, "counts": self.counts});
        events.push(("gate-finished", verdict));
        let mut chain = ChainWriter::new(&self.gate);
        let lines = events.into_iter().map(|(kind, body)| {
            let line = chain.append_record(&self.started_at, kind, body);
            line.map_err(|error| error.to_string())
        });
        lines.collect()
    }
}

fn said(file: &Path, error: &dyn std::error::Error) -> String {
    format!("`{}` cannot be written: {error}", file.display())
}

/// Gives an older tape the time of its first record as part of its name.
fn rotate(tape: &Path) -> Result<(), String> {
    let Ok(text) = std::fs::read_to_string(tape) else {
        return Ok(());
    };
    let first: Option<Value> = text
        .lines()
        .next()
        .and_then(|line| serde_json::from_str(line).ok());
    let began = first.as_ref().and_then(|record| record.get("ts")?.as_str());
    let kept = free_name(tape, began.unwrap_or("unknown"));
    std::fs::rename(tape, &kept).map_err(|error| said(&kept, &error))
}

fn free_name(tape: &Path, began: &str) -> PathBuf {
    let stamp: String = began.chars().filter(char::is_ascii_alphanumeric).collect();
    (0_u32..)
        .map(|again| match again {
            0 => format!("run_tape.{stamp}.jsonl"),
            _ => format!("run_tape.{stamp}.{again}.jsonl"),
        })
        .map(|name| tape.with_file_name(name))
        .find(|path| !path.exists())
        .unwrap_or_else(|| tape.to_path_buf())
}

/// Formats a time as RFC 3339 with milliseconds; one before 1970, on which `humantime` panics, as 1970.
#[must_use]
pub fn timestamp(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at.max(SystemTime::UNIX_EPOCH)).to_string()
}

#[cfg(test)]
mod tests {
    use agentos_chain::LinkForm;

    use super::*;

    fn check(status: Status) -> Check {
        Check {
            id: "x".to_owned(),
            name: "an x".to_owned(),
            status,
            details: Vec::new(),
        }
    }

    #[test]
    fn one_failure_fails_and_one_skip_skips() {
        use Status::{Failed, Passed, Skipped};
        let cases = [
            (&[Passed, Passed][..], Passed),
            (&[Passed, Skipped], Skipped),
            (&[Skipped, Failed], Failed),
            (&[], Skipped),
        ];
        for (given, verdict) in cases {
            let checks: Vec<Check> = given.iter().map(|status| check(*status)).collect();
            assert_eq!(Status::of(&checks), verdict, "{given:?}");
        }
    }

    #[test]
    fn the_tape_is_chained_and_an_older_one_is_kept() {
        let folder = tempfile::TempDir::new().unwrap();
        let results = GateResults::new(
            "boundary",
            "2026-11-21T09:14:00.000Z",
            vec![check(Status::Passed)],
        );
        results.write(folder.path()).unwrap();
        results.write(folder.path()).unwrap();
        results.write(folder.path()).unwrap();
        let mut names: Vec<String> = std::fs::read_dir(folder.path().join("audit"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "run_tape.20261121T091400000Z.1.jsonl",
                "run_tape.20261121T091400000Z.jsonl",
                "run_tape.jsonl"
            ]
        );
        assert_eq!(GateResults::read(folder.path()).unwrap(), results);

        let tape = std::fs::read_to_string(folder.path().join("audit/run_tape.jsonl")).unwrap();
        let mut previous = LinkForm::PlainRecord.genesis().to_owned();
        for line in tape.lines() {
            let record = LinkForm::PlainRecord.verify_link(line.as_bytes(), &previous);
            previous = record.unwrap()["hash"].as_str().unwrap().to_owned();
        }
        assert_eq!(tape.lines().count(), 3);
    }
}
