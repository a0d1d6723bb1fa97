//! The clock of the benchmarks: commands run from outside, and what the kernel says they took.
//!
//! Owns: one measurement, and the words about the machine. Never: repeats or judges one.

use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use xshell::{Shell, cmd};

use crate::timestamp;

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

/// What several calls of one kind took.
#[derive(Debug, Clone, Serialize)]
pub struct Spread {
    pub median_ms: f64,
    /// The shortest and the longest.
    pub range_ms: [f64; 2],
}

impl Spread {
    /// Returns the spread of some figures.
    pub fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        Self {
            median_ms: at(sorted.len() / 2),
            range_ms: [at(0), at(sorted.len().saturating_sub(1))],
        }
    }
}

/// What every report of the clock begins with.
#[derive(Debug, Serialize)]
pub struct Head {
    version: u32,
    pub commit: String,
    pub finished_at: String,
    pub machine: String,
    pub rounds: usize,
    /// What the measuring program holds itself: no figure is below.
    pub floor_kib: u64,
}

/// Runs commands and measures them; they find their settings in `home`, where there are none.
pub struct Clock<'a> {
    pub sh: &'a Shell,
    pub home: &'a Path,
}

impl Clock<'_> {
    /// Runs commands, separated by `--`, one after the other in a folder.
    ///
    /// # Errors
    /// When one cannot be run or does not end with 0.
    pub fn take(&self, at: &Path, words: &[&str]) -> Result<Taken> {
        let Self { sh, home } = self;
        // Neither the machine's policy for agentos nor the user's settings for git.
        let measure = cmd!(sh, "python3 -I -S {MEASURE} {at} {words...}").env("HOME", home);
        let measure = measure
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let output = measure.quiet().ignore_status().output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let taken: Taken = serde_json::from_slice(&output.stdout).with_context(|| said.trim().to_owned())?;
        ensure!(
            taken.code == 0,
            "`{}` ended with {}: {}",
            words.join(" "),
            taken.code,
            said.trim()
        );
        Ok(taken)
    }

    /// Returns the head of the report when all is measured.
    ///
    /// # Errors
    /// When nothing can be measured.
    pub fn head(&self, commit: String, rounds: usize) -> Result<Head> {
        Ok(Head {
            version: 1,
            commit,
            finished_at: timestamp(SystemTime::now()),
            machine: machine(self.sh),
            rounds,
            floor_kib: self.take(self.home, &["true"])?.kib,
        })
    }
}

/// Writes KiB as MiB.
pub fn mib(kib: u64) -> String {
    format!("{:.1}", kib as f64 / 1024.0)
}

/// Returns processor, cores, memory and system.
fn machine(sh: &Shell) -> String {
    let read = |file: &str| sh.read_file(file).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let names = cpus
        .lines()
        .filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let names: Vec<&str> = names.map(|(_, name)| name.trim()).collect();
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
