//! `cargo xtask bench evidence`: measures verifying long tapes, and appending in comparison with the disk alone.
//!
//! Owns: the measurements, their order, and the report. Verifying uses one thread and is measured in processor time, which
//! does not depend on other load; appending waits for the disk and is measured in turn with the disk alone. Never: judges
//! a figure; the report states the goals.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use xshell::{Shell, cmd};

use super::clock::{CallClock, CallCost, ReportHead, TimeSpread, format_mib};
use super::store_report;
use crate::metadata::Metadata;
use crate::say;

/// Number of records of one run.
const RECORDS: usize = 7;
/// The measured tapes: kind, name in the report, and number of runs.
const TAPES: [(&str, &str, usize); 5] = [
    ("plain", "runs without signatures", 14_300),
    ("plain", "runs without signatures", 142_900),
    ("signed", "each run signed", 14_300),
    ("signed", "each run signed", 142_900),
    ("blobs", "each run signed, three blobs each", 14_300),
];
/// The measured writes: kind, name in the report, and number of writes in one call. They are measured in turn, so that a
/// disk that is slow for some time is slow for all of them.
const APPENDS: [(&str, &str, usize); 3] = [
    ("disk", "the disk: one line", 300),
    ("append", "one record", 300),
    ("runs", "a run of seven records", 100),
];
const ROUNDS: usize = 3;
/// Largest number of runs of a tape that is verified several times. For a longer tape, memory is the figure of interest.
const LONG: usize = 100_000;

/// Figures of verifying one tape.
#[derive(Debug, Clone, Serialize)]
struct VerifyRow {
    tape: &'static str,
    #[serde(skip)]
    name: &'static str,
    records: usize,
    /// Bytes of the tape, without blobs.
    bytes: u64,
    #[serde(flatten)]
    spread: TimeSpread,
    /// Median processor time in milliseconds.
    cpu_ms: f64,
    /// The largest resident memory, in KiB.
    peak_kib: u64,
}

/// Time of one write.
#[derive(Debug, Clone, Serialize)]
struct AppendRow {
    what: &'static str,
    #[serde(skip)]
    name: &'static str,
    #[serde(flatten)]
    spread: TimeSpread,
}

#[derive(Debug, Serialize)]
struct EvidenceReport {
    #[serde(flatten)]
    head: ReportHead,
    verified: Vec<VerifyRow>,
    appended: Vec<AppendRow>,
}

/// Measures, prints the report and stores it.
///
/// # Errors
/// When the maker of tapes does not build, or a measured program fails.
pub fn run(sh: &Shell, program: &Path, commit: String, out: &Path) -> Result<()> {
    cmd!(
        sh,
        "cargo build --quiet --release --package agentos-evidence --example tape"
    )
    .quiet()
    .run()?;
    let maker = Path::new(&Metadata::load(sh)?.target_directory).join("release/examples/tape");
    let home = sh.current_dir().join("target/bench-evidence");
    sh.remove_path(&home)?;
    sh.create_dir(&home)?;
    let clock = CallClock { sh, home: &home };
    let (program, maker) = (program.display().to_string(), maker.display().to_string());
    let appended = measure_appends(&clock, &maker)?;
    let mut verified = Vec::new();
    for tape in TAPES {
        say(format_args!(
            "a tape, {}, of {} records",
            tape.0,
            tape.2 * RECORDS
        ));
        verified.push(measure_verify(&clock, (&program, &maker), tape)?);
    }
    let head = clock.report_head(commit, ROUNDS)?;
    sh.remove_path(&home)?;
    let report = EvidenceReport {
        head,
        verified,
        appended,
    };
    store_report(sh, out, &render_page(&report), &report)
}

/// Measures each write of [`APPENDS`] in every round.
fn measure_appends(clock: &CallClock<'_>, maker: &str) -> Result<Vec<AppendRow>> {
    let mut taken: [Vec<f64>; APPENDS.len()] = Default::default();
    for round in 0..=ROUNDS {
        for ((what, _, count), taken) in APPENDS.iter().zip(&mut taken) {
            let at = clock.home.join(format!("{what}-{round}")).display().to_string();
            let once = clock.measure_call(clock.home, &[maker, what, &at, &count.to_string()])?;
            // The first round warms up the caches and does not count.
            if round > 0 {
                taken.push(once.ms / *count as f64);
            }
        }
    }
    let rows = APPENDS.iter().zip(taken);
    let row = |((what, name, _), taken): (&(&'static str, &'static str, usize), Vec<f64>)| AppendRow {
        what,
        name,
        spread: TimeSpread::from_times(taken.into_iter()),
    };
    Ok(rows.map(row).collect())
}

/// Writes a tape, measures verifying it, and removes it.
fn measure_verify(
    clock: &CallClock<'_>,
    (program, maker): (&str, &str),
    (tape, name, runs): (&'static str, &'static str, usize),
) -> Result<VerifyRow> {
    let dir = clock.home.join("tape");
    let at = dir.display().to_string();
    clock.measure_call(clock.home, &[maker, "write", &at, &runs.to_string(), tape])?;
    let mut taken: Vec<CallCost> = Vec::new();
    for _ in 0..if runs > LONG { 1 } else { ROUNDS } {
        taken.push(clock.measure_call(clock.home, &[program, "evidence", "verify", "--dir", &at])?);
    }
    let mut bytes = 0;
    for file in clock.sh.read_dir(&dir)? {
        if file.extension().is_some_and(|end| end == "jsonl") {
            bytes += file.metadata()?.len();
        }
    }
    // The tape of a million records takes more than a gigabyte.
    clock.sh.remove_path(&dir)?;
    Ok(VerifyRow {
        tape,
        name,
        records: runs * RECORDS,
        bytes,
        spread: TimeSpread::from_times(taken.iter().map(|taken| taken.ms)),
        cpu_ms: TimeSpread::from_times(taken.iter().map(|taken| taken.cpu_ms)).median_ms,
        peak_kib: taken.iter().map(|taken| taken.kib).max().unwrap_or_default(),
    })
}

/// Renders the report as a page for people.
fn render_page(report: &EvidenceReport) -> String {
    let head = &report.head;
    let mut page = format!(
        "# Evidence: verifying and appending\n\n\
         Made by `cargo xtask bench evidence` at {}, commit {}, on {}.\n\n\
         Whole processes of the release build: the median of {} rounds, and the shortest and longest; one round for a tape \
         of a million records. Each run has seven records, as a landing leaves them. Records per second are per second of \
         processor time; verifying uses one thread. Memory is the peak; the measuring program itself uses {} MiB, so \
         smaller figures are not reliable.\n\n",
        head.finished_at,
        head.commit,
        head.machine,
        head.rounds,
        format_mib(head.floor_kib),
    );
    page.push_str(&verify_section(&report.verified));
    page.push_str(&append_section(&report.appended));
    page
}

/// Renders the figures of verifying.
fn verify_section(rows: &[VerifyRow]) -> String {
    let mut text = "## `agentos evidence verify`\n\n\
         | tape | records | MB | wall ms | range ms | processor ms | records/s of a core | peak MiB |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for VerifyRow {
        name,
        records,
        bytes,
        spread,
        cpu_ms,
        peak_kib,
        ..
    } in rows
    {
        let TimeSpread {
            median_ms,
            range_ms: [least, most],
        } = spread;
        let (megabytes, peak) = (bytes / 1_000_000, format_mib(*peak_kib));
        let rate = *records as f64 * 1000.0 / cpu_ms.max(f64::MIN_POSITIVE);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {records} | {megabytes} | {median_ms:.0} | {least:.0} to {most:.0} | {cpu_ms:.0} | {rate:.0} | {peak} |"
        );
    }
    text.push_str(
        "\nThe goal is 100,000 records/s on one core and memory that does not grow with the tape. A signed run ends in a \
         checkpoint of three envelopes. One Ed25519 signature is verified for it: that of the first envelope, which \
         contains the digests of the others.\n\n",
    );
    text
}

/// Renders the figures of appending. The first row is the disk alone, with which the others are compared.
fn append_section(rows: &[AppendRow]) -> String {
    let mut text = "## Appending\n\n\
         | operation | median ms | range ms | more than the disk alone |\n|---|---:|---:|---:|\n"
        .to_owned();
    let disk = rows.first().map_or(0.0, |disk| disk.spread.median_ms);
    for AppendRow { what, name, spread } in rows {
        let TimeSpread {
            median_ms,
            range_ms: [least, most],
        } = spread;
        let beyond = match *what {
            "disk" => "-".to_owned(),
            _ => format!("{:+.2}", median_ms - disk),
        };
        let _ = writeln!(
            text,
            "| {name} | {median_ms:.2} | {least:.2} to {most:.2} | {beyond} |"
        );
    }
    text.push_str(
        "\nThe disk alone: a line as long as the record, with `write` and `fdatasync`, measured in turn with the others. The \
         goal is at most 2 ms more than that for a record. The records of a run are synced together, at its end or with \
         its intent.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_compares_appending_with_the_disk_alone() {
        let spread = |median_ms| TimeSpread {
            median_ms,
            range_ms: [median_ms, median_ms],
        };
        let rows = [("disk", 1.0), ("append", 2.5)].map(|(what, median_ms)| AppendRow {
            what,
            name: what,
            spread: spread(median_ms),
        });
        let text = append_section(&rows);
        assert!(text.contains("\n| disk | 1.00 | 1.00 to 1.00 | - |\n"), "{text}");
        assert!(
            text.contains("\n| append | 2.50 | 2.50 to 2.50 | +1.50 |\n"),
            "{text}"
        );
        let verified = verify_section(&[VerifyRow {
            tape: "plain",
            name: "short",
            records: 700,
            bytes: 2_000_000,
            spread: spread(10.0),
            cpu_ms: 7.0,
            peak_kib: 1024,
        }]);
        let row = "\n| short | 700 | 2 | 10 | 10 to 10 | 7 | 100000 | 1.0 |\n";
        assert!(verified.contains(row), "{verified}");
    }
}
