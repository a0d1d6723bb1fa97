//! What the runs say: totals of each tool, and the table by class.
//!
//! Owns: counting and the look of the report. Never: runs anything, or leaves out a class or a tool.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::peers::Missing;

/// The tool that all others are held against.
const PRODUCT: &str = "agentos";
/// The tool whose time is the unit.
const UNIT: &str = "git-apply";
/// The look whose time is the unit of looks.
const LOOK_UNIT: &str = "git-apply-check";
/// Tools that are libraries, called inside a process that runs already: their times hold no start of a process.
const IN_PROCESS: &[&str] = &["aider", "jsdiff", "purepatch"];
/// The damage, from none to the inputs that must be refused.
const GROUPS: &str = "clean numbers counts headers paths wrapping context whitespace line-ends characters order formats \
                      mixes ambiguous stale safety";

/// What is right for an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// One result is right and the text is enough to find it.
    Land,
    /// A right result is known, but refusing is sound too.
    Either,
    /// Every change is wrong.
    Refuse,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Success, and the tree is the right one.
    Exact,
    /// Failure, and nothing was touched.
    Refused,
    /// Success, and any other tree.
    Wrong,
    /// Failure, and something was changed.
    Partial,
    /// It was only asked what it would do.
    Look,
}

/// One line of the runner: a tool on an input.
#[derive(Debug, Clone, Deserialize)]
pub struct Run {
    #[serde(rename = "i")]
    pub input: String,
    /// The class of damage, and its group.
    #[serde(rename = "c")]
    pub class: String,
    #[serde(rename = "g")]
    pub group: String,
    #[serde(rename = "e")]
    pub expect: Expect,
    #[serde(rename = "t")]
    pub tool: String,
    #[serde(rename = "r")]
    pub outcome: Outcome,
    /// Milliseconds of wall time.
    pub ms: f64,
}

/// How many runs ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub cases: u32,
    pub exact: u32,
    pub refused: u32,
    pub wrong: u32,
    pub partial: u32,
}

impl Counts {
    fn of<'a>(runs: impl Iterator<Item = &'a Run>) -> Self {
        let mut counts = Self::default();
        for run in runs {
            counts.cases += 1;
            match run.outcome {
                Outcome::Exact => counts.exact += 1,
                Outcome::Refused => counts.refused += 1,
                Outcome::Wrong => counts.wrong += 1,
                Outcome::Partial => counts.partial += 1,
                Outcome::Look => {}
            }
        }
        counts
    }

    /// Writes a share of the cases; a dash where there are none.
    fn share(&self, part: u32) -> String {
        match self.cases {
            0 => "–".to_owned(),
            cases => format!("{part} of {cases}"),
        }
    }
}

/// One tool of `scripts/landing/tools.json` over all inputs whose dialect it reads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Totals {
    pub tool: String,
    /// Undamaged diffs.
    pub clean: Counts,
    /// Damaged ones that have one right result.
    pub damaged: Counts,
    /// Those for which refusing is sound too.
    pub either: Counts,
    /// Those that fit several places, or another state of the file: to be refused.
    pub ambiguous_or_stale: Counts,
    /// Everything else to be refused: invented lines, paths that lead outside.
    pub other_refusals: Counts,
    pub all: Counts,
    /// Median milliseconds for one input.
    pub median_ms: f64,
    pub slowest_ms: f64,
    /// Median over that of `git apply`, on the inputs that both were given.
    pub times_git_apply: Option<f64>,
    /// The time is that of a call, without the start of a process.
    pub in_process: bool,
}

/// One class of damage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Class {
    pub group: String,
    pub class: String,
    pub expect: BTreeSet<Expect>,
    /// How many inputs it has.
    pub cases: usize,
    /// Tool by tool; those that do not read the dialect are not there.
    pub tools: BTreeMap<String, Counts>,
}

/// What it takes to be told what would happen, without that it happens.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Look {
    /// The tool and its option, as in `scripts/landing/tools.json`.
    pub tool: String,
    pub median_ms: f64,
    pub times_git_apply_check: Option<f64>,
}

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    pub version: u32,
    pub commit: String,
    pub finished_at: String,
    /// How many inputs there were.
    pub inputs: usize,
    /// Tool by tool, the product first.
    pub tools: Vec<Totals>,
    /// Those that were only asked what they would do.
    pub looks: Vec<Look>,
    pub classes: Vec<Class>,
    /// Peers that were not measured.
    pub missing: Vec<Missing>,
}

impl Report {
    /// Counts the runs.
    pub fn new(runs: &[Run], commit: String, finished_at: String, missing: Vec<Missing>) -> Self {
        let (looks, runs): (Vec<Run>, Vec<Run>) =
            runs.iter().cloned().partition(|run| run.outcome == Outcome::Look);
        let names: BTreeSet<&str> = runs.iter().map(|run| run.tool.as_str()).collect();
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_by_key(|name| (*name != PRODUCT, *name != UNIT));
        let inputs: BTreeSet<&str> = runs.iter().map(|run| run.input.as_str()).collect();
        Self {
            version: 1,
            commit,
            finished_at,
            inputs: inputs.len(),
            tools: names.iter().map(|name| totals(&runs, name)).collect(),
            looks: self::looks(&looks),
            classes: classes(&runs),
            missing,
        }
    }
}

fn totals(runs: &[Run], tool: &str) -> Totals {
    let own = || runs.iter().filter(|run| run.tool == tool);
    let vague = |run: &Run| run.group == "ambiguous" || run.group == "stale";
    let pick = |wanted: &dyn Fn(&Run) -> bool| Counts::of(own().filter(|run| wanted(run)));
    let common: BTreeSet<&str> = runs
        .iter()
        .filter(|run| run.tool == UNIT)
        .map(|run| run.input.as_str())
        .filter(|input| own().any(|run| run.input == *input))
        .collect();
    let shared = |name: &str| {
        let times = runs.iter().filter(|run| run.tool == name);
        median(times.filter(|run| common.contains(run.input.as_str())))
    };
    Totals {
        tool: tool.to_owned(),
        clean: pick(&|run| run.expect == Expect::Land && run.group == "clean"),
        damaged: pick(&|run| run.expect == Expect::Land && run.group != "clean"),
        either: pick(&|run| run.expect == Expect::Either),
        ambiguous_or_stale: pick(&|run| run.expect == Expect::Refuse && vague(run)),
        other_refusals: pick(&|run| run.expect == Expect::Refuse && !vague(run)),
        all: pick(&|_| true),
        median_ms: median(own()).unwrap_or_default(),
        slowest_ms: own().map(|run| run.ms).fold(0.0, f64::max),
        times_git_apply: shared(tool).zip(shared(UNIT)).map(|(own, unit)| own / unit),
        in_process: IN_PROCESS.contains(&tool),
    }
}

fn looks(runs: &[Run]) -> Vec<Look> {
    let names: BTreeSet<&str> = runs.iter().map(|run| run.tool.as_str()).collect();
    let time = |tool: &str| median(runs.iter().filter(|run| run.tool == tool));
    let look = |tool: &&str| {
        let own = time(tool)?;
        Some(Look {
            tool: (*tool).to_owned(),
            median_ms: own,
            times_git_apply_check: time(LOOK_UNIT).map(|unit| own / unit),
        })
    };
    names.iter().filter_map(look).collect()
}

/// The middle one of the times.
fn median<'a>(runs: impl Iterator<Item = &'a Run>) -> Option<f64> {
    let mut times: Vec<f64> = runs.map(|run| run.ms).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

fn classes(runs: &[Run]) -> Vec<Class> {
    let mut names: BTreeSet<(usize, &str, &str)> = BTreeSet::new();
    for run in runs {
        let rank = GROUPS.split(' ').position(|group| group == run.group);
        names.insert((rank.unwrap_or(usize::MAX), &run.group, &run.class));
    }
    let class = |(_, group, class): (usize, &str, &str)| {
        let own = || runs.iter().filter(|run| run.class == class);
        let tools: BTreeSet<&str> = own().map(|run| run.tool.as_str()).collect();
        let inputs: BTreeSet<&str> = own().map(|run| run.input.as_str()).collect();
        Class {
            group: group.to_owned(),
            class: class.to_owned(),
            expect: own().map(|run| run.expect).collect(),
            cases: inputs.len(),
            tools: tools
                .into_iter()
                .map(|tool| (tool.to_owned(), Counts::of(own().filter(|run| run.tool == tool))))
                .collect(),
        }
    };
    names.into_iter().map(class).collect()
}

/// Returns the report as a page for people.
pub fn markdown(report: &Report) -> String {
    let Report {
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
            "\n## To be told what would happen\n\nNothing is changed; over the inputs that are diffs.\n"
                .to_owned(),
        );
        page.push("| tool | median ms | × git apply --check |\n|---|--:|--:|".to_owned());
        page.extend(report.looks.iter().map(|look| {
            let ratio = ratio(look.times_git_apply_check);
            format!("| {} | {:.1} | {ratio} |", look.tool, look.median_ms)
        }));
    }
    page.extend(class_table(report));
    if !report.missing.is_empty() {
        page.push("\n## Not measured\n".to_owned());
    }
    page.extend(report.missing.iter().map(
        |Missing {
             tools,
             install,
             problem,
         }| {
            let problem = problem
                .as_ref()
                .map_or(String::new(), |problem| format!(" It was tried: {problem}"));
            format!(
                "- {}: install with `{}`.{problem}",
                tools.join(", "),
                install.join("` and `")
            )
        },
    ));
    page.join("\n") + "\n"
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"))
}

fn totals_table(tools: &[Totals]) -> Vec<String> {
    let mut lines = vec![
        "\n## Totals\n\nEach over the inputs whose dialect the tool reads. `exact` is the right tree, `wrong` success with any other, \
         `partial` failure with something changed.\n"
            .to_owned(),
        "| tool | clean: exact | damaged, one right result: exact | refusing is sound too: exact | ambiguous or stale: refused \
         | other to refuse: refused | wrong | partial | median ms | slowest ms | × git apply |"
            .to_owned(),
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|".to_owned(),
    ];
    for tool in tools {
        let cells = [
            format!("{}{}", tool.tool, if tool.in_process { " ¹" } else { "" }),
            tool.clean.share(tool.clean.exact),
            tool.damaged.share(tool.damaged.exact),
            tool.either.share(tool.either.exact),
            tool.ambiguous_or_stale.share(tool.ambiguous_or_stale.refused),
            tool.other_refusals.share(tool.other_refusals.refused),
            tool.all.wrong.to_string(),
            tool.all.partial.to_string(),
            format!("{:.1}", tool.median_ms),
            format!("{:.0}", tool.slowest_ms),
            ratio(tool.times_git_apply),
        ];
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    if tools.iter().any(|tool| tool.in_process) {
        lines.push(
            "\n¹ A library called in a process that runs already: no start of a process in its time."
                .to_owned(),
        );
    }
    lines
}

fn class_table(report: &Report) -> Vec<String> {
    let names = report.tools.iter().map(|tool| tool.tool.as_str());
    let heads: Vec<&str> = ["class", "expected", "cases"].into_iter().chain(names).collect();
    let mut lines = vec![
        "\n## By class\n\nagentos: exact · refused · wrong · partial. Peers: exact / wrong, where wrong counts partial too; `–` does not \
         read the dialect.\n"
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
