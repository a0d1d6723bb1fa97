//! `cargo xtask bench executor`: landing in git beside `git apply --index && git commit`, in one run.
//!
//! Owns: what is measured, in which order, and the report. Each round measures every way once, so that a machine that
//! is busy for a while is busy for all. Never: judges; goals stand in the design.

mod repository;
mod show;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::landing::{build, commit, store};
use crate::report::timestamp;
use crate::say;

const SIZES: [usize; 3] = [1_000, 10_000, 90_000];
const CHANGES: [usize; 2] = [1, 200];
const ROUNDS: usize = 5;
const MEASURE: &str = "scripts/executor/measure.py";

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

/// What one call took.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Taken {
    ms: f64,
    kib: u64,
    code: i32,
}

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
        script: root.join(MEASURE),
        home: home.clone(),
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
        std::fs::remove_dir_all(&at).map_err(|error| format!("`{}`: {error}", at.display()))?;
    }
    let floor = bench.take(&home, &["true"])?;
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
    script: PathBuf,
    home: PathBuf,
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
        self.take(&at.join(folder), &words)
    }

    fn take(&self, at: &Path, words: &[&str]) -> Result<Taken, String> {
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

fn row(repository: usize, change: usize, way: Way, taken: Vec<Taken>) -> Row {
    let mut times: Vec<f64> = taken.iter().map(|taken| taken.ms).collect();
    times.sort_by(f64::total_cmp);
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    Row {
        repository,
        change,
        way,
        median_ms: at(times.len() / 2),
        range_ms: [at(0), at(times.len().saturating_sub(1))],
        peak_kib: taken.iter().map(|taken| taken.kib).max().unwrap_or_default(),
    }
}

/// Processor, cores, memory and system.
fn machine() -> String {
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

fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
