//! `cargo xtask bench executor`: landing in git beside `git apply --index && git commit`, in one run.
//!
//! Owns: what is measured, in which order, and the report. Each round measures every way once, so that a machine that
//! is busy for a while is busy for all. Never: judges; goals stand in the design.

mod repository;
mod show;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde::Serialize;

use super::clock::{Clock, Taken, machine, said, spread};
use super::landing::{build, commit, store};
use crate::report::timestamp;
use crate::say;

const SIZES: [usize; 3] = [1_000, 10_000, 90_000];
const CHANGES: [usize; 2] = [1, 200];
const ROUNDS: usize = 5;

/// Who writes, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// `agentos apply --branch side`: durable, with evidence; no work tree.
    Branch,
    /// `agentos apply`: durable, with evidence, index and work tree.
    WorkTree,
    /// `git apply --index && git commit` as it is installed: objects are not synced.
    Git,
    /// The same with everything synced that git can sync.
    GitDurable,
}

/// Every way, in the order of measuring.
pub const WAYS: [Way; 4] = [Way::Branch, Way::WorkTree, Way::Git, Way::GitDurable];

/// What one way took for one size of repository and change.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Files of the repository.
    pub repository: usize,
    /// Files of the change.
    pub change: usize,
    /// Who.
    pub way: Way,
    /// Median time in milliseconds.
    pub median_ms: f64,
    /// The shortest and the longest.
    pub range_ms: [f64; 2],
    /// The largest resident memory of any process, in KiB.
    pub peak_kib: u64,
}

/// The report.
#[derive(Debug, Serialize)]
pub struct Report {
    version: u32,
    commit: String,
    finished_at: String,
    machine: String,
    git: String,
    rounds: usize,
    floor_kib: u64,
    rows: Vec<Row>,
}

/// Measures, prints the report, and stores it.
///
/// # Errors
/// When something cannot be built, made or run.
pub fn run(root: &Path, out: &Path) -> Result<(), String> {
    let commit = commit(root);
    let program = build(root)?;
    let folder = Path::new("target/bench-executor");
    let home = root.join(folder);
    if home.exists() {
        std::fs::remove_dir_all(&home).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    }
    let bench = Bench {
        program,
        clock: Clock::new(root, &home),
    };
    let mut rows = Vec::new();
    for size in SIZES {
        say(&format!("a repository of {size} files"));
        let at = home.join(size.to_string());
        repository::make(&at.join("agentos"), size)?;
        repository::make(&at.join("git"), size)?;
        for change in CHANGES {
            rows.extend(bench.measure(&at, size, change)?);
        }
    }
    let floor = bench.clock.take(&home, &["true"])?;
    // Not before the end: ext4 looks at every file that was removed in the last minutes before it makes a new one near
    // by, and whose repository lies there pays for that.
    std::fs::remove_dir_all(&home).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    let report = Report {
        version: 1,
        commit,
        finished_at: timestamp(SystemTime::now()),
        machine: machine(),
        git: said("git", &["--version"]),
        rounds: ROUNDS,
        floor_kib: floor.kib,
        rows,
    };
    let page = show::markdown(&report);
    let json = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
    let folder = root.join(out);
    std::fs::create_dir_all(&folder).map_err(|error| format!("`{}`: {error}", out.display()))?;
    store(&folder.join("report.md"), &page)?;
    store(&folder.join("report.json"), &(json + "\n"))?;
    store(&folder.join("plot.svg"), &show::plot(&report))?;
    say(&page);
    say(&format!("stored in {}", out.display()));
    Ok(())
}

struct Bench {
    program: PathBuf,
    clock: Clock,
}

impl Bench {
    fn measure(&self, at: &Path, size: usize, change: usize) -> Result<Vec<Row>, String> {
        // The two changes have no file in common.
        let files = match change {
            1 => 500..501,
            many => 0..many,
        };
        let mut taken = vec![Vec::new(); WAYS.len()];
        for measured in 0..=ROUNDS {
            for (way, taken) in WAYS.iter().zip(&mut taken) {
                // The two that are git's share a repository, so each needs a change of its own.
                let round = match way {
                    Way::GitDurable => repository::MOST_ROUNDS - 1 - measured,
                    Way::Branch | Way::WorkTree | Way::Git => measured,
                };
                let patch = at.join("change.patch");
                store(&patch, &repository::patch(files.clone(), round))?;
                let once = self.one(*way, at, &patch)?;
                // The first of each warms caches up.
                if measured > 0 {
                    taken.push(once);
                }
            }
        }
        let rows = WAYS.iter().zip(taken);
        Ok(rows.map(|(way, taken)| row(size, change, *way, taken)).collect())
    }

    fn one(&self, way: Way, at: &Path, patch: &Path) -> Result<Taken, String> {
        let program = self.program.display().to_string();
        let patch = patch.display().to_string();
        let all = ["-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync"];
        let apply = ["apply", "--index", &patch];
        let commit = ["commit", "--quiet", "--message", "change"];
        let ours = [&program, "apply", "--quiet", "--yes"];
        let words: Vec<&str> = match way {
            Way::Branch => [&ours[..], &["--branch", "side", &patch]].concat(),
            Way::WorkTree => [&ours[..], &[&patch]].concat(),
            Way::Git => [&["git"][..], &apply, &["--", "git"], &commit].concat(),
            Way::GitDurable => [&["git"][..], &all, &apply, &["--", "git"], &all, &commit].concat(),
        };
        let folder = match way {
            Way::Branch | Way::WorkTree => "agentos",
            Way::Git | Way::GitDurable => "git",
        };
        bring_to_rest()?;
        self.clock.take(&at.join(folder), &words)
    }
}

/// Nobody shall pay for what those before left to be written: git's index of 90,000 files is 9 MB.
fn bring_to_rest() -> Result<(), String> {
    let status = Command::new("sync").status();
    match status
        .map_err(|error| format!("`sync` cannot be run: {error}"))?
        .success()
    {
        true => Ok(()),
        false => Err("`sync` failed".to_owned()),
    }
}

fn row(repository: usize, change: usize, way: Way, taken: Vec<Taken>) -> Row {
    let (median_ms, range_ms) = spread(taken.iter().map(|taken| taken.ms));
    Row {
        repository,
        change,
        way,
        median_ms,
        range_ms,
        peak_kib: taken.iter().map(|taken| taken.kib).max().unwrap_or_default(),
    }
}
