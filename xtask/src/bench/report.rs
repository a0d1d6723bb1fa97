//! The report of the landing runs: totals for each tool, and a table by class of damage.
//!
//! Owns: counting, and the layout of the report. Never: runs anything, or leaves out a class or a tool.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::peers::MissingPeer;

/// The product, which the report names first.
const PRODUCT: &str = "agentos";
/// The tool with whose time the others are compared.
const UNIT: &str = "git-apply";
/// The preview with whose time the others are compared.
const LOOK_UNIT: &str = "git-apply-check";
/// Tools that are libraries. The runner calls them inside a process that is already running, so that their times do not
/// include the start of a process.
const IN_PROCESS: &[&str] = &["aider", "jsdiff", "purepatch"];
/// Groups of damage in the order of the report, from undamaged inputs to those that must be refused.
const GROUPS: &str = "clean numbers counts headers paths wrapping context whitespace line-ends characters order formats \
                      mixes ambiguous stale safety";

/// The right outcome for an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedOutcome {
    /// There is one right result, and the text is sufficient to find it.
    Land,
    /// There is a right result, but refusing is correct too.
    Either,
    /// Every change is wrong.
    Refuse,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunOutcome {
    /// The tool reported success, and the tree is right.
    Exact,
    /// The tool reported failure and changed nothing.
    Refused,
    /// The tool reported success, and the tree is wrong.
    Wrong,
    /// The tool reported failure and changed something.
    Partial,
    /// The tool was called for a preview: it reports what it would do and changes nothing.
    Look,
}

/// A line of the runner's output: one tool on one input.
#[derive(Debug, Clone, Deserialize)]
pub struct ToolRun {
    #[serde(rename = "i")]
    pub input: String,
    /// The class of damage, and its group.
    #[serde(rename = "c")]
    pub class: String,
    #[serde(rename = "g")]
    pub group: String,
    #[serde(rename = "e")]
    pub expect: ExpectedOutcome,
    #[serde(rename = "t")]
    pub tool: String,
    #[serde(rename = "r")]
    pub outcome: RunOutcome,
    /// Milliseconds of wall time.
    pub ms: f64,
}

/// The number of runs for each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutcomeCounts {
    pub cases: u32,
    pub exact: u32,
    pub refused: u32,
    pub wrong: u32,
    pub partial: u32,
}

impl OutcomeCounts {
    fn count_runs<'a>(runs: impl Iterator<Item = &'a ToolRun>) -> Self {
        let mut counts = Self::default();
        for run in runs {
            counts.cases += 1;
            match run.outcome {
                RunOutcome::Exact => counts.exact += 1,
                RunOutcome::Refused => counts.refused += 1,
                RunOutcome::Wrong => counts.wrong += 1,
                RunOutcome::Partial => counts.partial += 1,
                RunOutcome::Look => {}
            }
        }
        counts
    }

    /// Formats a part of the cases, or a dash if there are no cases.
    fn format_share(&self, part: u32) -> String {
        match self.cases {
            0 => "–".to_owned(),
            cases => format!("{part} of {cases}"),
        }
    }
}

/// Figures of a tool of `scripts/landing/tools.json`, over all inputs whose dialect it can read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolTotals {
    pub tool: String,
    /// Undamaged diffs.
    pub clean: OutcomeCounts,
    /// Damaged diffs that have one right result.
    pub damaged: OutcomeCounts,
    /// Inputs for which refusing is correct too.
    pub either: OutcomeCounts,
    /// Inputs that must be refused because they fit several places, or a different state of the file.
    pub ambiguous_or_stale: OutcomeCounts,
    /// Other inputs that must be refused: invented lines, paths that lead outside.
    pub other_refusals: OutcomeCounts,
    pub all: OutcomeCounts,
    /// Median milliseconds for one input.
    pub median_ms: f64,
    pub slowest_ms: f64,
    /// Median divided by that of `git apply`, on the inputs that both were given; `None` if there are none.
    pub times_git_apply: Option<f64>,
    /// True if the time does not include the start of a process.
    pub in_process: bool,
}

/// A class of damage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DamageClass {
    pub group: String,
    pub class: String,
    pub expect: BTreeSet<ExpectedOutcome>,
    /// The number of inputs in the class.
    pub cases: usize,
    /// Counts of each tool that can read the dialect.
    pub tools: BTreeMap<String, OutcomeCounts>,
}

/// Time of a preview: a call that reports what would happen and changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreviewTime {
    /// The tool and its option, as in `scripts/landing/tools.json`.
    pub tool: String,
    pub median_ms: f64,
    pub times_git_apply_check: Option<f64>,
}

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LandingReport {
    pub version: u32,
    pub commit: String,
    pub finished_at: String,
    /// The number of inputs.
    pub inputs: usize,
    /// Figures of each tool, the product first.
    pub tools: Vec<ToolTotals>,
    /// Times of the previews.
    pub looks: Vec<PreviewTime>,
    pub classes: Vec<DamageClass>,
    /// Peers that were not measured.
    pub missing: Vec<MissingPeer>,
}

impl LandingReport {
    /// Counts the runs.
    pub fn new(runs: &[ToolRun], commit: String, finished_at: String, missing: Vec<MissingPeer>) -> Self {
        let (looks, runs): (Vec<ToolRun>, Vec<ToolRun>) = runs
            .iter()
            .cloned()
            .partition(|run| run.outcome == RunOutcome::Look);
        let names: BTreeSet<&str> = runs.iter().map(|run| run.tool.as_str()).collect();
        let mut names: Vec<&str> = names.into_iter().collect();
        // The product and the unit of comparison first; `false` sorts before `true`, and the rest keeps its
        // alphabetical order.
        names.sort_by_key(|name| (*name != PRODUCT, *name != UNIT));
        let inputs: BTreeSet<&str> = runs.iter().map(|run| run.input.as_str()).collect();
        Self {
            version: 1,
            commit,
            finished_at,
            inputs: inputs.len(),
            tools: names.iter().map(|name| tool_totals(&runs, name)).collect(),
            looks: self::preview_times(&looks),
            classes: count_classes(&runs),
            missing,
        }
    }
}

/// Computes the figures of one tool.
fn tool_totals(runs: &[ToolRun], tool: &str) -> ToolTotals {
    let own = || runs.iter().filter(|run| run.tool == tool);
    let vague = |run: &ToolRun| run.group == "ambiguous" || run.group == "stale";
    let pick = |wanted: &dyn Fn(&ToolRun) -> bool| OutcomeCounts::count_runs(own().filter(|run| wanted(run)));
    // A tool that reads other dialects has inputs that git never saw; comparing over those would be unfair to either.
    let common: BTreeSet<&str> = runs
        .iter()
        .filter(|run| run.tool == UNIT)
        .map(|run| run.input.as_str())
        .filter(|input| own().any(|run| run.input == *input))
        .collect();
    let shared = |name: &str| {
        let times = runs.iter().filter(|run| run.tool == name);
        median_time(times.filter(|run| common.contains(run.input.as_str())))
    };
    ToolTotals {
        tool: tool.to_owned(),
        clean: pick(&|run| run.expect == ExpectedOutcome::Land && run.group == "clean"),
        damaged: pick(&|run| run.expect == ExpectedOutcome::Land && run.group != "clean"),
        either: pick(&|run| run.expect == ExpectedOutcome::Either),
        ambiguous_or_stale: pick(&|run| run.expect == ExpectedOutcome::Refuse && vague(run)),
        other_refusals: pick(&|run| run.expect == ExpectedOutcome::Refuse && !vague(run)),
        all: pick(&|_| true),
        median_ms: median_time(own()).unwrap_or_default(),
        slowest_ms: own().map(|run| run.ms).fold(0.0, f64::max),
        times_git_apply: shared(tool).zip(shared(UNIT)).map(|(own, unit)| own / unit),
        in_process: IN_PROCESS.contains(&tool),
    }
}

fn preview_times(runs: &[ToolRun]) -> Vec<PreviewTime> {
    let names: BTreeSet<&str> = runs.iter().map(|run| run.tool.as_str()).collect();
    let time = |tool: &str| median_time(runs.iter().filter(|run| run.tool == tool));
    let look = |tool: &&str| {
        let own = time(tool)?;
        Some(PreviewTime {
            tool: (*tool).to_owned(),
            median_ms: own,
            times_git_apply_check: time(LOOK_UNIT).map(|unit| own / unit),
        })
    };
    names.iter().filter_map(look).collect()
}

/// Returns the median of the runs' times, or `None` if there are no runs.
fn median_time<'a>(runs: impl Iterator<Item = &'a ToolRun>) -> Option<f64> {
    let mut times: Vec<f64> = runs.map(|run| run.ms).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

/// Counts the outcomes by class, in the order of [`GROUPS`].
fn count_classes(runs: &[ToolRun]) -> Vec<DamageClass> {
    let mut names: BTreeSet<(usize, &str, &str)> = BTreeSet::new();
    for run in runs {
        let rank = GROUPS.split(' ').position(|group| group == run.group);
        names.insert((rank.unwrap_or(usize::MAX), &run.group, &run.class));
    }
    let class = |(_, group, class): (usize, &str, &str)| {
        let own = || runs.iter().filter(|run| run.class == class);
        let tools: BTreeSet<&str> = own().map(|run| run.tool.as_str()).collect();
        let inputs: BTreeSet<&str> = own().map(|run| run.input.as_str()).collect();
        DamageClass {
            group: group.to_owned(),
            class: class.to_owned(),
            expect: own().map(|run| run.expect).collect(),
            cases: inputs.len(),
            tools: tools
                .into_iter()
                .map(|tool| {
                    (
                        tool.to_owned(),
                        OutcomeCounts::count_runs(own().filter(|run| run.tool == tool)),
                    )
                })
                .collect(),
        }
    };
    names.into_iter().map(class).collect()
}

/// Renders the report as a page for people.
pub fn render_report(report: &LandingReport) -> String {
    let LandingReport {
        inputs,
        tools,
        commit,
        finished_at,
        ..
    } = report;
    let mut page = vec![format!(
        "# Landing\n\n{inputs} inputs, {} tools, commit {commit}, {finished_at}.",
        tools.len()
    )];
    page.extend(totals_table(tools));
    if !report.looks.is_empty() {
        page.push(
            "\n## Previews\n\nThe tool reports what would happen and changes nothing. Over the inputs that are diffs.\n"
                .to_owned(),
        );
        page.push("| tool | median ms | × git apply --check |\n|---|--:|--:|".to_owned());
        page.extend(report.looks.iter().map(|look| {
            let ratio = format_ratio(look.times_git_apply_check);
            format!("| {} | {:.1} | {ratio} |", look.tool, look.median_ms)
        }));
    }
    page.extend(class_table(report));
    if !report.missing.is_empty() {
        page.push("\n## Not measured\n".to_owned());
    }
    page.extend(report.missing.iter().map(
        |MissingPeer {
             tools,
             install,
             problem,
         }| {
            let problem = problem.as_ref().map_or(String::new(), |problem| {
                format!(" Installing it failed: {problem}")
            });
            format!(
                "- {}: install with `{}`.{problem}",
                tools.join(", "),
                install.join("` and `")
            )
        },
    ));
    page.join("\n") + "\n"
}

fn format_ratio(ratio: Option<f64>) -> String {
    ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"))
}

fn totals_table(tools: &[ToolTotals]) -> Vec<String> {
    let mut lines = vec![
        "\n## Totals\n\nEach tool is given the inputs whose dialect it can read. `exact`: success with the right tree; `wrong`: success \
         with any other tree; `partial`: failure with something changed.\n"
            .to_owned(),
        "| tool | clean: exact | damaged, one right result: exact | refusing is correct too: exact | ambiguous or stale: refused \
         | others to refuse: refused | wrong | partial | median ms | slowest ms | × git apply |"
            .to_owned(),
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|".to_owned(),
    ];
    for tool in tools {
        let cells = [
            format!("{}{}", tool.tool, if tool.in_process { " ¹" } else { "" }),
            tool.clean.format_share(tool.clean.exact),
            tool.damaged.format_share(tool.damaged.exact),
            tool.either.format_share(tool.either.exact),
            tool.ambiguous_or_stale
                .format_share(tool.ambiguous_or_stale.refused),
            tool.other_refusals.format_share(tool.other_refusals.refused),
            tool.all.wrong.to_string(),
            tool.all.partial.to_string(),
            format!("{:.1}", tool.median_ms),
            format!("{:.0}", tool.slowest_ms),
            format_ratio(tool.times_git_apply),
        ];
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    if tools.iter().any(|tool| tool.in_process) {
        lines.push(
            "\n¹ A library, called in a process that is already running: the time does not include the start of a process."
                .to_owned(),
        );
    }
    lines
}

fn class_table(report: &LandingReport) -> Vec<String> {
    let names = report.tools.iter().map(|tool| tool.tool.as_str());
    let heads: Vec<&str> = ["class", "expected", "cases"].into_iter().chain(names).collect();
    let mut lines = vec![
        "\n## By class\n\nagentos: exact · refused · wrong · partial. Peers: exact / wrong, where wrong includes partial; `–`: the tool \
         cannot read the dialect.\n"
            .to_owned(),
        format!("| {} |", heads.join(" | ")),
        format!("|---|---|{}", "--:|".repeat(heads.len() - 2)),
    ];
    for class in &report.classes {
        let expect: Vec<String> = class
            .expect
            .iter()
            .map(|expect| format!("{expect:?}").to_lowercase())
            .collect();
        let mut cells = vec![class.class.clone(), expect.join(" or "), class.cases.to_string()];
        cells.extend(report.tools.iter().map(|tool| match class.tools.get(&tool.tool) {
            None => "–".to_owned(),
            Some(n) if tool.tool == PRODUCT => {
                format!("{} · {} · {} · {}", n.exact, n.refused, n.wrong, n.partial)
            }
            Some(n) => format!("{} / {}", n.exact, n.wrong + n.partial),
        }));
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    lines
}

#[cfg(test)]
mod tests;
