//! `cargo xtask bench executor`: landing in git next to `git apply --index && git commit`, in one run.
//!
//! Owns: what is measured, in which order, and the report. Each round measures every way once, so that a machine that
//! is busy for a while is busy for all. Never: judges; goals stand in the design.

mod repository;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use xshell::{Shell, cmd};

use super::clock::{Clock, Head, Spread, Taken, mib};
use super::store;
use crate::say;

const SIZES: [usize; 3] = [1_000, 10_000, 90_000];
const CHANGES: [usize; 2] = [1, 200];
const ROUNDS: usize = 5;

/// Who writes, and how much of it.
#[derive(Debug)]
struct Way {
    id: &'static str,
    name: &'static str,
    /// The repository it works in.
    folder: &'static str,
    /// The commands, with the program and the patch in braces.
    commands: &'static str,
}

/// The way that the others are compared with: git as it is installed, which syncs no object.
const UNIT: &str = "git";

/// Every way, in the order of measuring. The two of `agentos` are durable, with evidence; only the second has a work tree.
const WAYS: [Way; 4] = [
    Way {
        id: "branch",
        name: "agentos, branch",
        folder: "agentos",
        commands: "{agentos} apply --quiet --yes --branch side {patch}",
    },
    Way {
        id: "work-tree",
        name: "agentos, work tree",
        folder: "agentos",
        commands: "{agentos} apply --quiet --yes {patch}",
    },
    Way {
        id: UNIT,
        name: "git, defaults",
        folder: "git",
        commands: "git apply --index {patch} -- git commit --quiet --message change",
    },
    Way {
        id: "git-durable",
        name: "git, all synced",
        folder: "git",
        commands: "git -c core.fsync=all -c core.fsyncMethod=fsync apply --index {patch} -- \
                   git -c core.fsync=all -c core.fsyncMethod=fsync commit --quiet --message change",
    },
];

/// What one way took for one size of repository and change, both in files.
#[derive(Debug, Clone, Serialize)]
struct Row {
    repository: usize,
    change: usize,
    way: &'static str,
    #[serde(skip)]
    name: &'static str,
    #[serde(flatten)]
    spread: Spread,
    /// The largest resident memory of any process, in KiB.
    peak_kib: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    head: Head,
    git: String,
    rows: Vec<Row>,
}

/// Measures, prints the report, and stores it.
///
/// # Errors
/// When something cannot be made or run.
pub fn run(sh: &Shell, program: &Path, commit: String, out: &Path) -> Result<()> {
    let home = sh.current_dir().join("target/bench-executor");
    sh.remove_path(&home)?;
    let clock = Clock { sh, home: &home };
    let mut rows = Vec::new();
    for size in SIZES {
        say(format_args!("a repository of {size} files"));
        let at = home.join(size.to_string());
        repository::make(sh, &at.join("agentos"), size)?;
        repository::make(sh, &at.join("git"), size)?;
        for change in CHANGES {
            rows.extend(measure(&clock, program, &at, (size, change))?);
        }
    }
    let head = clock.head(commit, ROUNDS)?;
    // Not before the end: ext4 looks at every file that was removed in the last minutes before it makes a new one near
    // by, and whose repository lies there pays for that.
    sh.remove_path(&home)?;
    let git = cmd!(sh, "git --version").quiet().read()?;
    let report = Report { head, git, rows };
    store(sh, out, &page(&report), &report)
}

fn measure(
    clock: &Clock<'_>,
    program: &Path,
    at: &Path,
    (repository, change): (usize, usize),
) -> Result<Vec<Row>> {
    // The two changes have no file in common.
    let files = match change {
        1 => 500..501,
        many => 0..many,
    };
    let mut taken: [Vec<Taken>; WAYS.len()] = Default::default();
    let patch: PathBuf = at.join("change.patch");
    let (agentos, patch_name) = (program.display().to_string(), patch.display().to_string());
    for measured in 0..=ROUNDS {
        for (way, taken) in WAYS.iter().zip(&mut taken) {
            // The two that are git's share a repository, so each needs a change of its own.
            let round = match way.id {
                "git-durable" => repository::MOST_ROUNDS - 1 - measured,
                _ => measured,
            };
            clock
                .sh
                .write_file(&patch, repository::patch(files.clone(), round))?;
            let word = |word| match word {
                "{agentos}" => &agentos,
                "{patch}" => &patch_name,
                plain => plain,
            };
            let words: Vec<&str> = way.commands.split_whitespace().map(word).collect();
            // Nobody shall pay for what those before left to be written: git's index of 90,000 files is 9 MB.
            cmd!(clock.sh, "sync").quiet().run()?;
            let once = clock.take(&at.join(way.folder), &words)?;
            // The first of each warms caches up.
            if measured > 0 {
                taken.push(once);
            }
        }
    }
    let rows = WAYS.iter().zip(taken).map(|(way, taken)| Row {
        repository,
        change,
        way: way.id,
        name: way.name,
        spread: Spread::of(taken.iter().map(|taken| taken.ms)),
        peak_kib: taken.iter().map(|taken| taken.kib).max().unwrap_or_default(),
    });
    Ok(rows.collect())
}

fn page(report: &Report) -> String {
    let Report { head, git, rows } = report;
    let mut page = format!(
        "# Landing a change next to `git apply --index && git commit`\n\n\
         Made by `cargo xtask bench executor` at {}, commit {}, on {}; {git}.\n\n\
         Whole processes of the build that is shipped, wall time: the median of {} rounds after one that warms up, and \
         the shortest and longest. Before each, what others left to be written is brought to the disk. Both `agentos` \
         ways land in full: policy, second opinion, evidence, and every object, ref, file and record synced to the \
         disk. `git, defaults` syncs no loose object and no file of the work tree; `git, all synced` has \
         `core.fsync=all`. Memory is the largest process's peak; what measures it holds {} MiB itself, so \
         that nothing is below.\n\n\
         | files in the repository | in the change | way | median ms | range ms | relative to git, defaults | peak MiB |\n\
         |---:|---:|---|---:|---:|---:|---:|\n",
        head.finished_at,
        head.commit,
        head.machine,
        head.rounds,
        mib(head.floor_kib),
    );
    for Row {
        repository,
        change,
        name,
        spread,
        peak_kib,
        ..
    } in rows
    {
        let is_unit = |row: &&Row| (row.repository, row.change, row.way) == (*repository, *change, UNIT);
        let git = rows.iter().find(is_unit).map_or(0.0, |row| row.spread.median_ms);
        let Spread {
            median_ms,
            range_ms: [least, most],
        } = spread;
        let (ratio, peak) = (median_ms / git, mib(*peak_kib));
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {repository} | {change} | {name} | {median_ms:.1} | {least:.1} to {most:.1} | {ratio:.2} | {peak} |"
        );
    }
    page
}
