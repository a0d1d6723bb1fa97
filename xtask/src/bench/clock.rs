//! The clock of the benchmarks: commands run from outside, and what the kernel says they took.
//!
//! Owns: one measurement, and the words about the machine. Never: repeats or judges one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

const MEASURE: &str = "scripts/executor/measure.py";

/// What one call took.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Taken {
    /// Milliseconds from start to end.
    pub ms: f64,
    /// Milliseconds of processor time, the system's on its behalf included.
    pub cpu_ms: f64,
    /// The largest resident memory of any process.
    pub kib: u64,
    code: i32,
}

/// Runs commands and measures them.
pub struct Clock {
    script: PathBuf,
    home: PathBuf,
}

impl Clock {
    /// One whose commands find their settings in `home`, where there are none.
    pub fn new(root: &Path, home: &Path) -> Self {
        Self {
            script: root.join(MEASURE),
            home: home.to_owned(),
        }
    }

    /// Runs commands, separated by `--`, one after the other in a folder.
    ///
    /// # Errors
    /// When one cannot be run or does not end with 0.
    pub fn take(&self, at: &Path, words: &[&str]) -> Result<Taken, String> {
        let output = Command::new("python3")
            .args(["-I", "-S"])
            .arg(&self.script)
            .arg(at)
            .args(words)
            // Neither the machine's policy for agentos nor the user's settings for git.
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.home.join("config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("`python3` cannot be run: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let taken: Taken = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("`{MEASURE}`: {error}: {}", said.trim()))?;
        match taken.code {
            0 => Ok(taken),
            code => Err(format!(
                "`{}` ended with {code}: {}",
                words.join(" "),
                said.trim()
            )),
        }
    }
}

/// The median of some figures, and the least and the most.
pub fn spread(figures: impl Iterator<Item = f64>) -> (f64, [f64; 2]) {
    let mut sorted: Vec<f64> = figures.collect();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    (at(sorted.len() / 2), [at(0), at(sorted.len().saturating_sub(1))])
}

/// Processor, cores, memory and system.
pub fn machine() -> String {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let names: Vec<&str> = cpus
        .lines()
        .filter_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map(|(_, name)| name.trim())
        .collect();
    let memory = read("/proc/meminfo");
    let kib = memory
        .split_whitespace()
        .nth(1)
        .and_then(|text| text.parse::<u64>().ok());
    format!(
        "{} x {}, {} GiB, Linux {}, load {}",
        names.len(),
        names.first().unwrap_or(&"an unknown processor"),
        kib.unwrap_or_default() >> 20,
        read("/proc/sys/kernel/osrelease").trim(),
        read("/proc/loadavg").split(' ').next().unwrap_or_default(),
    )
}

/// What a program prints, in one line.
pub fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
