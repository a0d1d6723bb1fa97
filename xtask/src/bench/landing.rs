//! `cargo xtask bench landing`: the product and its peers land the whole corpus, in one run.
//!
//! Owns: calling the runner. Never: scores a result; the runner compares trees, and `report` counts.

use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::report::{self, LandingReport, ToolRun};
use super::{PeerChoice, peers, store_report};
use crate::{say, timestamp};

const CORPUS: &str = "crates/dev/agentos-testkit/fixtures/landing";

/// Measures, prints the report and stores it.
///
/// # Errors
/// When the runner cannot be run or its output does not have the expected shape.
pub fn run(sh: &Shell, program: &Path, commit: String, peers: PeerChoice, out: &Path) -> Result<()> {
    let found = peers::prepare_peers(sh, peers)?;
    let runs = sh.create_dir(out)?.join("runs.jsonl");
    say(format_args!(
        "running agentos and {} other tools or options over {CORPUS}",
        found.tools.len()
    ));
    // `agentos-explain` is the preview, which is compared with `git apply --check`.
    let tools = ["agentos", "agentos-explain"]
        .into_iter()
        .chain(found.tools.iter().map(String::as_str));
    let tools = tools.collect::<Vec<_>>().join(",");
    let runner = cmd!(
        sh,
        "python3 scripts/landing/run.py --set {CORPUS} --only {tools} --out {runs}"
    );
    runner
        .env("AGENTOS", program)
        .envs(found.environment)
        .quiet()
        .run()?;
    let text = sh.read_file(&runs)?;
    let parsed: Result<Vec<ToolRun>, _> = text.lines().map(serde_json::from_str).collect();
    let parsed = parsed.context("the output of the runner does not have the expected shape")?;
    let report = LandingReport::new(&parsed, commit, timestamp(SystemTime::now()), found.missing);
    store_report(sh, out, &report::render_report(&report), &report)
}
