//! The report as a page and as a plot.
//!
//! Owns: words, columns and lines. Never: measures.

use std::fmt::Write as _;

use super::{CHANGES, Report, Row, SIZES, WAYS, Way};

/// The plot's panels, in its own units.
const WIDTH: f64 = 330.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 64.0;

const STYLE: &str = "\
text{font:12px sans-serif;fill:#333}.title{font-weight:bold}.axis{stroke:#999}.grid{stroke:#ddd}\
polyline{fill:none;stroke-width:2}\
.branch{stroke:#0a7d33;fill:#0a7d33}.work-tree{stroke:#1f5fbf;fill:#1f5fbf}\
.git{stroke:#b8620a;fill:#b8620a}.git-durable{stroke:#a3248f;fill:#a3248f}\
@media(prefers-color-scheme:dark){text{fill:#ccc}.grid{stroke:#444}.branch{stroke:#4cc477;fill:#4cc477}\
.work-tree{stroke:#7aa8f0;fill:#7aa8f0}.git{stroke:#f0a04c;fill:#f0a04c}.git-durable{stroke:#e07ad0;fill:#e07ad0}}\
polyline.branch,polyline.work-tree,polyline.git,polyline.git-durable{fill:none}";

fn name(way: Way) -> &'static str {
    match way {
        Way::Branch => "agentos, branch",
        Way::WorkTree => "agentos, work tree",
        Way::Git => "git, defaults",
        Way::GitDurable => "git, all synced",
    }
}

fn class(way: Way) -> &'static str {
    match way {
        Way::Branch => "branch",
        Way::WorkTree => "work-tree",
        Way::Git => "git",
        Way::GitDurable => "git-durable",
    }
}

fn find(report: &Report, repository: usize, change: usize, way: Way) -> Option<&Row> {
    let mut rows = report.rows.iter();
    rows.find(|row| row.repository == repository && row.change == change && row.way == way)
}

/// The page.
pub fn markdown(report: &Report) -> String {
    let mut page = format!(
        "# Landing a change beside `git apply --index && git commit`\n\n\
         Made by `cargo xtask bench executor` at {}, commit {}, on {}; {}.\n\n\
         Whole processes of the build that is shipped, wall time: the median of {} rounds after one that warms up, and \
         the shortest and longest. Before each, what others left to be written is brought to the disk. Both `agentos` \
         ways land in full: policy, second opinion, evidence, and every object, ref, file and record synced to the \
         disk. `git, defaults` syncs no loose object and no file of the work tree; `git, all synced` has \
         `core.fsync=all`. Memory is the largest process's peak; what measures it holds {} MiB itself, so \
         that nothing is below.\n\n\
         | files in the repository | in the change | way | median ms | range ms | beside git, defaults | peak MiB |\n\
         |---:|---:|---|---:|---:|---:|---:|\n",
        report.finished_at,
        report.commit,
        report.machine,
        report.git,
        report.rounds,
        mib(report.floor_kib),
    );
    for repository in SIZES {
        for change in CHANGES {
            let git = find(report, repository, change, Way::Git).map_or(0.0, |row| row.median_ms);
            for row in WAYS
                .iter()
                .filter_map(|way| find(report, repository, change, *way))
            {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    page,
                    "| {repository} | {change} | {} | {:.1} | {:.1} to {:.1} | {:.2} | {} |",
                    name(row.way),
                    row.median_ms,
                    row.range_ms[0],
                    row.range_ms[1],
                    row.median_ms / git,
                    mib(row.peak_kib),
                );
            }
        }
    }
    page.push_str("\n![the same as a plot](plot.svg)\n");
    page
}

fn mib(kib: u64) -> String {
    format!("{:.1}", kib as f64 / 1024.0)
}

/// The plot: one panel for each size of change; both axes logarithmic.
pub fn plot(report: &Report) -> String {
    let wide = 2.0 * (WIDTH + LEFT) + 30.0;
    let high = HEIGHT + TOP + 60.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" role=\"img\" \
         aria-label=\"Time to land a change, by size of the repository\">\n<style>{STYLE}</style>\n"
    );
    for (at, way) in WAYS.iter().enumerate() {
        let x = LEFT + 165.0 * at as f64;
        let (class, name) = (class(*way), name(*way));
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{x}\" y=\"12\" width=\"18\" height=\"4\"/><text x=\"{}\" y=\"18\">{name}</text>",
            x + 24.0
        );
    }
    for (at, change) in CHANGES.iter().enumerate() {
        panel(&mut svg, report, *change, LEFT + at as f64 * (WIDTH + LEFT));
    }
    let when = report.finished_at.get(..10).unwrap_or_default();
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\">{when}, {}; {}</text>\n</svg>",
        high - 8.0,
        report.machine,
        report.git
    );
    svg
}

fn panel(svg: &mut String, report: &Report, change: usize, left: f64) {
    let rows = || report.rows.iter().filter(|row| row.change == change);
    let least = rows().map(|row| row.median_ms).fold(f64::MAX, f64::min);
    let most = rows().map(|row| row.median_ms).fold(1.0, f64::max);
    let (low, top) = (
        least.log10().floor(),
        most.log10().ceil().max(least.log10().floor() + 1.0),
    );
    let y = |ms: f64| TOP + HEIGHT * (1.0 - (ms.log10() - low) / (top - low));
    let [first, .., last] = SIZES.map(|size| (size as f64).log10());
    let x = |files: usize| left + 20.0 + (WIDTH - 60.0) * ((files as f64).log10() - first) / (last - first);
    let files = if change == 1 { "1 file" } else { "200 files" };
    let _ = writeln!(
        svg,
        "<text class=\"title\" x=\"{left}\" y=\"{}\">a change of {files}: median ms</text>",
        TOP - 16.0
    );
    let mut power = low;
    while power <= top {
        let (value, at) = (10f64.powf(power), y(10f64.powf(power)));
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            left + WIDTH - 20.0,
            left - 4.0,
            at + 4.0
        );
        power += 1.0;
    }
    for size in SIZES {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{} files</text>",
            x(size),
            TOP + HEIGHT + 18.0,
            size
        );
    }
    for way in WAYS {
        let mut points = String::new();
        let class = class(way);
        for row in rows().filter(|row| row.way == way) {
            let (x, y) = (x(row.repository), y(row.median_ms));
            let _ = write!(points, "{x:.1},{y:.1} ");
            let _ = writeln!(
                svg,
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"
            );
        }
        let _ = writeln!(
            svg,
            "<polyline class=\"{class}\" points=\"{}\"/>",
            points.trim_end()
        );
    }
}
