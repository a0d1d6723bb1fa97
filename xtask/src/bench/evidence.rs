//! `cargo xtask bench evidence`: verifying long tapes, and appending beside what the disk itself takes.
//!
//! Owns: what is measured, in which order, and the report. Processor time counts for verifying, which is one thread
//! and must hold on a machine that is busy; what waits for a disk is measured in turn with the disk. Never: judges;
//! goals stand in the design.

mod show;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use serde::Serialize;

use super::clock::{Clock, Taken, machine, spread};
use super::landing::{build, commit, store};
use crate::metadata::Metadata;
use crate::report::timestamp;
use crate::say;

/// A run of the tapes has so many records.
const RECORDS: usize = 7;
/// What a tape holds, and how many runs.
const TAPES: [(&str, usize); 5] = [
    ("plain", 14_300),
    ("plain", 142_900),
    ("signed", 14_300),
    ("signed", 142_900),
    ("blobs", 14_300),
];
/// What is appended, and how many at a time: in turn, so that a disk that is slow for a while is slow for all.
const APPENDS: [(&str, usize); 3] = [("disk", 300), ("append", 300), ("runs", 100)];
const ROUNDS: usize = 3;
/// A tape with more runs than this is verified once: what is of interest then is memory.
const LONG: usize = 100_000;

/// What verifying one tape took.
#[derive(Debug, Clone, Serialize)]
pub struct Verified {
    /// `plain`, `signed` or `blobs`.
    pub tape: &'static str,
    /// Its records.
    pub records: usize,
    /// Its bytes, without blobs.
    pub bytes: u64,
    /// Median wall time in milliseconds.
    pub median_ms: f64,
    /// The shortest and the longest.
    pub range_ms: [f64; 2],
    /// Median processor time in milliseconds.
    pub cpu_ms: f64,
    /// The largest resident memory, in KiB.
    pub peak_kib: u64,
}

impl Verified {
    /// Records for each second of one core.
    pub fn per_second(&self) -> f64 {
        self.records as f64 * 1000.0 / self.cpu_ms.max(f64::MIN_POSITIVE)
    }
}

/// What appending one took.
#[derive(Debug, Clone, Serialize)]
pub struct Appended {
    /// `disk`, `append` or `runs`.
    pub what: &'static str,
    /// Median wall time of one, in milliseconds.
    pub median_ms: f64,
    /// The shortest and the longest of the rounds.
    pub range_ms: [f64; 2],
}

/// The report.
#[derive(Debug, Serialize)]
pub struct Report {
    version: u32,
    commit: String,
    finished_at: String,
    machine: String,
    rounds: usize,
    floor_kib: u64,
    verified: Vec<Verified>,
    appended: Vec<Appended>,
}

/// Measures, prints the report, and stores it.
///
/// # Errors
/// When something cannot be built, made or run.
pub fn run(root: &Path, out: &Path) -> Result<(), String> {
    let commit = commit(root);
    let program = build(root)?;
    let maker = maker(root)?;
    let folder = Path::new("target/bench-evidence");
    let home = root.join(folder);
    cleared(&home)?;
    std::fs::create_dir_all(&home).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    let bench = Bench {
        program: program.display().to_string(),
        maker: maker.display().to_string(),
        clock: Clock::new(root, &home),
        home: home.clone(),
    };
    let appended = bench.appends()?;
    let mut verified = Vec::new();
    for (tape, runs) in TAPES {
        say(&format!("a tape, {tape}, of {} records", runs * RECORDS));
        verified.push(bench.verify(tape, runs)?);
    }
    let floor = bench.clock.take(&home, &["true"])?;
    cleared(&home)?;
    let report = Report {
        version: 1,
        commit,
        finished_at: timestamp(SystemTime::now()),
        machine: machine(),
        rounds: ROUNDS,
        floor_kib: floor.kib,
        verified,
        appended,
    };
    let page = show::markdown(&report);
    let json = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
    let folder = root.join(out);
    std::fs::create_dir_all(&folder).map_err(|error| format!("`{}`: {error}", out.display()))?;
    store(&folder.join("report.md"), &page)?;
    store(&folder.join("report.json"), &(json + "\n"))?;
    say(&page);
    say(&format!("stored in {}", out.display()));
    Ok(())
}

struct Bench {
    program: String,
    maker: String,
    clock: Clock,
    home: PathBuf,
}

impl Bench {
    fn appends(&self) -> Result<Vec<Appended>, String> {
        let mut taken = vec![Vec::new(); APPENDS.len()];
        for round in 0..=ROUNDS {
            for ((what, count), taken) in APPENDS.iter().zip(&mut taken) {
                let at = self.home.join(format!("{what}-{round}")).display().to_string();
                let once = self
                    .clock
                    .take(&self.home, &[&self.maker, what, &at, &count.to_string()])?;
                // The first of each warms caches up.
                if round > 0 {
                    taken.push(once.ms / *count as f64);
                }
            }
        }
        let rows = APPENDS.iter().zip(taken);
        Ok(rows
            .map(|((what, _), taken)| {
                let (median_ms, range_ms) = spread(taken.into_iter());
                Appended {
                    what,
                    median_ms,
                    range_ms,
                }
            })
            .collect())
    }

    fn verify(&self, tape: &'static str, runs: usize) -> Result<Verified, String> {
        let dir = self.home.join("tape");
        let at = dir.display().to_string();
        self.clock
            .take(&self.home, &[&self.maker, "write", &at, &runs.to_string(), tape])?;
        let mut taken: Vec<Taken> = Vec::new();
        let rounds = if runs > LONG { 1 } else { ROUNDS };
        for _ in 0..rounds {
            let verify = [&self.program, "evidence", "verify", "--dir", &at];
            taken.push(self.clock.take(&self.home, &verify)?);
        }
        let (median_ms, range_ms) = spread(taken.iter().map(|taken| taken.ms));
        let (cpu_ms, _) = spread(taken.iter().map(|taken| taken.cpu_ms));
        let row = Verified {
            tape,
            records: runs * RECORDS,
            bytes: bytes(&dir)?,
            median_ms,
            range_ms,
            cpu_ms,
            peak_kib: taken.iter().map(|taken| taken.kib).max().unwrap_or_default(),
        };
        cleared(&dir)?;
        Ok(row)
    }
}

/// The program that makes tapes.
fn maker(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["build", "--quiet", "--release", "--package", "agentos-evidence"];
    let status = Command::new(cargo)
        .args(words)
        .args(["--example", "tape"])
        .current_dir(root)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("`cargo` cannot be run: {error}"))?;
    if !status.success() {
        return Err("the maker of tapes does not build".to_owned());
    }
    let target = Metadata::load(root)?.target_directory;
    Ok(Path::new(&target).join("release/examples/tape"))
}

fn cleared(folder: &Path) -> Result<(), String> {
    match folder.exists() {
        true => std::fs::remove_dir_all(folder).map_err(|error| format!("`{}`: {error}", folder.display())),
        false => Ok(()),
    }
}

/// Bytes of the tape's files.
fn bytes(dir: &Path) -> Result<u64, String> {
    let failed = |error: std::io::Error| format!("`{}`: {error}", dir.display());
    let mut sum = 0;
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().extension().is_some_and(|end| end == "jsonl") {
            sum += entry.metadata().map_err(failed)?.len();
        }
    }
    Ok(sum)
}
