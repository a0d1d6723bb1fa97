//! The measurements of the benchmarks: whole processes, with the time and memory that the kernel reports.
//!
//! Owns: one measurement, and the description of the machine. Never: repeats or judges a measurement.

use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use xshell::{Shell, cmd};

use crate::timestamp;

const MEASURE: &str = "scripts/executor/measure.py";

/// Time and memory of one call.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct CallCost {
    /// Milliseconds from start to end.
    pub ms: f64,
    /// Milliseconds of processor time, in the program and in the kernel on its behalf.
    pub cpu_ms: f64,
    /// The largest resident memory of any process.
    pub kib: u64,
    code: i32,
}

/// Times of several calls of one kind.
#[derive(Debug, Clone, Serialize)]
pub struct TimeSpread {
    pub median_ms: f64,
    /// The shortest and the longest time.
    pub range_ms: [f64; 2],
}

impl TimeSpread {
    /// Computes the median and the range of some times.
    pub fn from_times(figures: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        Self {
            median_ms: at(sorted.len() / 2),
            range_ms: [at(0), at(sorted.len().saturating_sub(1))],
        }
    }
}

/// The first fields of every report of measurements.
#[derive(Debug, Serialize)]
pub struct ReportHead {
    version: u32,
    pub commit: String,
    pub finished_at: String,
    pub machine: String,
    pub rounds: usize,
    /// Memory of the measuring program itself; no measured figure is below that.
    pub floor_kib: u64,
}

/// Runs and measures commands. Their home is the empty folder `home`, so that no settings apply.
pub struct CallClock<'a> {
    pub sh: &'a Shell,
    pub home: &'a Path,
}

impl CallClock<'_> {
    /// Runs commands, separated by `--`, one after the other in a folder, and measures them together.
    ///
    /// # Errors
    /// When a command cannot be run or does not exit with 0.
    pub fn measure_call(&self, at: &Path, words: &[&str]) -> Result<CallCost> {
        let Self { sh, home } = self;
        // The user's settings for git and the machine's policy for agentos would change what is measured.
        // `-I -S`: no module of the machine is imported, which would add to the memory of the measuring
        // program.
        let measure = cmd!(sh, "python3 -I -S {MEASURE} {at} {words...}").env("HOME", home);
        let measure = measure
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let output = measure.quiet().ignore_status().output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let taken: CallCost =
            serde_json::from_slice(&output.stdout).with_context(|| said.trim().to_owned())?;
        // A call that failed early would look fast.
        ensure!(
            taken.code == 0,
            "`{}` ended with {}: {}",
            words.join(" "),
            taken.code,
            said.trim()
        );
        Ok(taken)
    }

    /// Creates the first fields of a report, with the time at which the measurements ended.
    ///
    /// # Errors
    /// When the memory of the measuring program cannot be measured.
    pub fn report_head(&self, commit: String, rounds: usize) -> Result<ReportHead> {
        Ok(ReportHead {
            version: 1,
            commit,
            finished_at: timestamp(SystemTime::now()),
            machine: describe_machine(self.sh),
            rounds,
            // `true` does next to nothing, so its figure is the measuring program's own.
            floor_kib: self.measure_call(self.home, &["true"])?.kib,
        })
    }
}

/// Formats KiB as MiB.
pub fn format_mib(kib: u64) -> String {
    format!("{:.1}", kib as f64 / 1024.0)
}

/// Describes the machine: processor, cores, memory, system and load.
fn describe_machine(sh: &Shell) -> String {
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
