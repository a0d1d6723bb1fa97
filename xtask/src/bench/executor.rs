//! `cargo xtask bench executor`: landing in git next to `git apply --index && git commit`, in one run.
//!
//! Owns: the measurements, their order, and the report. Each round measures every way of writing once, so that a machine
//! that is busy for some time is busy for all of them. Never: judges a figure.

mod repository;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use xshell::{Shell, cmd};

use super::clock::{CallClock, CallCost, ReportHead, TimeSpread, format_mib};
use super::store_report;
use crate::say;

const SIZES: [usize; 3] = [1_000, 10_000, 90_000];
const CHANGES: [usize; 2] = [1, 200];
const ROUNDS: usize = 5;

/// A way of writing a change into git.
#[derive(Debug)]
struct WriteWay {
    id: &'static str,
    name: &'static str,
    /// Folder of the repository in which it works.
    folder: &'static str,
    /// The commands; `{agentos}` and `{patch}` are replaced by paths.
    commands: &'static str,
}

/// The way with which the others are compared: git with its default settings, which syncs no loose object.
const UNIT: &str = "git";

/// All ways, in the order of measuring. Both ways of `agentos` are durable and leave evidence; only the second writes the
/// working tree.
const WAYS: [WriteWay; 4] = [
    WriteWay {
        id: "branch",
        name: "agentos, branch",
        folder: "agentos",
        commands: "{agentos} apply --quiet --yes --branch side {patch}",
    },
    WriteWay {
        id: "work-tree",
        name: "agentos, work tree",
        folder: "agentos",
        commands: "{agentos} apply --quiet --yes {patch}",
    },
    WriteWay {
        id: UNIT,
        name: "git, defaults",
        folder: "git",
        commands: "git apply --index {patch} -- git commit --quiet --message change",
    },
    WriteWay {
        id: "git-durable",
        name: "git, all synced",
        folder: "git",
        commands: "git -c core.fsync=all -c core.fsyncMethod=fsync apply --index {patch} -- \
                   git -c core.fsync=all -c core.fsyncMethod=fsync commit --quiet --message change",
    },
];

/// Figures of one way, for a repository and a change of some number of files.
#[derive(Debug, Clone, Serialize)]
struct WayRow {
    repository: usize,
    change: usize,
    way: &'static str,
    #[serde(skip)]
    name: &'static str,
    #[serde(flatten)]
    spread: TimeSpread,
    /// The largest resident memory of any process, in KiB.
    peak_kib: u64,
}

#[derive(Debug, Serialize)]
struct ExecutorReport {
    #[serde(flatten)]
    head: ReportHead,
    git: String,
    rows: Vec<WayRow>,
}

/// Measures, prints the report and stores it.
///
/// # Errors
/// When a repository cannot be created, or a measured program fails.
pub fn run(sh: &Shell, program: &Path, commit: String, out: &Path) -> Result<()> {
    let home = sh.current_dir().join("target/bench-executor");
    sh.remove_path(&home)?;
    let clock = CallClock { sh, home: &home };
    let mut rows = Vec::new();
    for size in SIZES {
        say(format_args!("a repository of {size} files"));
        let at = home.join(size.to_string());
        repository::make_repository(sh, &at.join("agentos"), size)?;
        repository::make_repository(sh, &at.join("git"), size)?;
        for change in CHANGES {
            rows.extend(measure_ways(&clock, program, &at, (size, change))?);
        }
    }
    let head = clock.report_head(commit, ROUNDS)?;
    // Only at the end: before ext4 creates a file, it examines the inodes near it that were freed in the last minutes,
    // and whichever way works there would pay for that.
    sh.remove_path(&home)?;
    let git = cmd!(sh, "git --version").quiet().read()?;
    let report = ExecutorReport { head, git, rows };
    store_report(sh, out, &render_page(&report), &report)
}

/// Measures every way for one repository and one change.
fn measure_ways(
    clock: &CallClock<'_>,
    program: &Path,
    at: &Path,
    (repository, change): (usize, usize),
) -> Result<Vec<WayRow>> {
    // The changes of one file and of 200 files share no file, so that both fit the same repository.
    let files = match change {
        1 => 500..501,
        many => 0..many,
    };
    let mut taken: [Vec<CallCost>; WAYS.len()] = Default::default();
    let patch: PathBuf = at.join("change.patch");
    let (agentos, patch_name) = (program.display().to_string(), patch.display().to_string());
    for measured in 0..=ROUNDS {
        for (way, taken) in WAYS.iter().zip(&mut taken) {
            // The two ways of git share a repository, so each needs changes of its own.
            let round = match way.id {
                "git-durable" => repository::MOST_ROUNDS - 1 - measured,
                _ => measured,
            };
            clock
                .sh
                .write_file(&patch, repository::round_patch(files.clone(), round))?;
            let word = |word| match word {
                "{agentos}" => &agentos,
                "{patch}" => &patch_name,
                plain => plain,
            };
            let words: Vec<&str> = way.commands.split_whitespace().map(word).collect();
            // Otherwise a way would pay for the pending writes of the one before: git's index of 90,000 files is 9 MB.
            cmd!(clock.sh, "sync").quiet().run()?;
            let once = clock.measure_call(&at.join(way.folder), &words)?;
            // The first round warms up the caches and does not count.
            if measured > 0 {
                taken.push(once);
            }
        }
    }
    let rows = WAYS.iter().zip(taken).map(|(way, taken)| WayRow {
        repository,
        change,
        way: way.id,
        name: way.name,
        spread: TimeSpread::from_times(taken.iter().map(|taken| taken.ms)),
        peak_kib: taken.iter().map(|taken| taken.kib).max().unwrap_or_default(),
    });
    Ok(rows.collect())
}

/// Renders the report as a page for people.
fn render_page(report: &ExecutorReport) -> String {
    let ExecutorReport { head, git, rows } = report;
    let mut page = format!(
        "# Landing a change next to `git apply --index && git commit`\n\n\
         Made by `cargo xtask bench executor` at {}, commit {}, on {}; {git}.\n\n\
         Wall time of whole processes of the release build: the median of {} rounds after one warm-up round, and the \
         shortest and longest. Before each measurement, pending writes are synced. Both `agentos` ways land completely: \
         policy, second opinion, evidence, and every object, ref, file and record synced. `git, defaults` syncs no loose \
         object and no file of the working tree; `git, all synced` has `core.fsync=all`. Memory is the peak of the \
         largest process; the measuring program itself uses {} MiB, so no figure is below that.\n\n\
         | files in the repository | in the change | way | median ms | range ms | relative to git, defaults | peak MiB |\n\
         |---:|---:|---|---:|---:|---:|---:|\n",
        head.finished_at,
        head.commit,
        head.machine,
        head.rounds,
        format_mib(head.floor_kib),
    );
    for WayRow {
        repository,
        change,
        name,
        spread,
        peak_kib,
        ..
    } in rows
    {
        let is_unit = |row: &&WayRow| (row.repository, row.change, row.way) == (*repository, *change, UNIT);
        let git = rows.iter().find(is_unit).map_or(0.0, |row| row.spread.median_ms);
        let TimeSpread {
            median_ms,
            range_ms: [least, most],
        } = spread;
        let (ratio, peak) = (median_ms / git, format_mib(*peak_kib));
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {repository} | {change} | {name} | {median_ms:.1} | {least:.1} to {most:.1} | {ratio:.2} | {peak} |"
        );
    }
    page
}
