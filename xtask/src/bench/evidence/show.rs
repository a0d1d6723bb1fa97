//! The report as a page.
//!
//! Owns: words and columns. Never: measures.

use std::fmt::Write as _;

use super::Report;

/// The page.
pub fn markdown(report: &Report) -> String {
    let mut page = format!(
        "# Evidence: verifying and appending\n\n\
         Made by `cargo xtask bench evidence` at {}, commit {}, on {}.\n\n\
         Whole processes of the build that is shipped; the median of {} rounds, and the shortest and longest; a tape of a \
         million records once. Each run has seven records as a landing leaves them. Records a second are those of processor time: verifying is one thread. Memory \
         is the peak; what measures it holds {} MiB itself, so that nothing is below.\n\n\
         ## `agentos evidence verify`\n\n\
         | tape | records | MB | wall ms | range ms | processor ms | records/s of a core | peak MiB |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
        report.finished_at,
        report.commit,
        report.machine,
        report.rounds,
        mib(report.floor_kib),
    );
    for row in &report.verified {
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {} | {} | {} | {:.0} | {:.0} to {:.0} | {:.0} | {:.0} | {} |",
            tape(row.tape),
            row.records,
            row.bytes / 1_000_000,
            row.median_ms,
            row.range_ms[0],
            row.range_ms[1],
            row.cpu_ms,
            row.per_second(),
            mib(row.peak_kib),
        );
    }
    page.push_str(
        "\nThe goal is 100,000 records/s on one core and memory that does not grow with the tape. A signed run ends in a \
         checkpoint of three envelopes. One Ed25519 signature is verified for it, that of the first, which names the \
         digests of the others.\n\n## Appending\n\n\
         | what | median ms | range ms | beyond the disk's own |\n|---|---:|---:|---:|\n",
    );
    let disk = report.appended.iter().find(|row| row.what == "disk");
    for row in &report.appended {
        let beyond = disk.filter(|_| row.what != "disk");
        let _ = writeln!(
            page,
            "| {} | {:.2} | {:.2} to {:.2} | {} |",
            what(row.what),
            row.median_ms,
            row.range_ms[0],
            row.range_ms[1],
            beyond.map_or_else(
                || "-".to_owned(),
                |disk| format!("{:+.2}", row.median_ms - disk.median_ms)
            ),
        );
    }
    page.push_str(
        "\nThe disk's own: a line as long as the record, `write` and `fdatasync`, in turn with the others. The goal is at \
         most 2 ms beyond it for a record. A run is brought to the disk at once, at its end or with its intent.\n",
    );
    page
}

fn tape(word: &str) -> &'static str {
    match word {
        "plain" => "runs without signatures",
        "signed" => "each run signed",
        _ => "each run signed, three blobs each",
    }
}

fn what(word: &str) -> &'static str {
    match word {
        "disk" => "the disk: one line",
        "append" => "one record",
        _ => "a run of seven records",
    }
}

fn mib(kib: u64) -> String {
    format!("{:.1}", kib as f64 / 1024.0)
}
