//! `cargo xtask bench landing`: the landing corpus over the product and its peers, in one run.
//!
//! Owns: building the product, calling the runner, and storing the report. Never: scores; the runner compares
//! trees, and `report` counts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use super::report::{self, Report, Run};
use super::{Options, peers};
use crate::dist;
use crate::metadata::Metadata;
use crate::report::timestamp;
use crate::say;

const CORPUS: &str = "crates/dev/agentos-testkit/fixtures/landing";
const RUNNER: &str = "scripts/landing/run.py";

/// Measures, prints the report, and stores it.
///
/// # Errors
/// When the product does not build or the runner does not run.
pub fn run(root: &Path, options: &Options) -> Result<(), String> {
    let found = peers::prepare(root, options.peers);
    // Before anything is built: the tree may move on while the runs take their time.
    let commit = commit(root);
    let program = build(root)?;
    let out = root.join(&options.out);
    std::fs::create_dir_all(&out).map_err(|error| format!("`{}`: {error}", out.display()))?;
    let runs = out.join("runs.jsonl");
    say(&format!(
        "running agentos and {} other tools or options over {CORPUS}",
        found.tools.len()
    ));
    measure(root, &program, &found, &runs)?;
    let text = std::fs::read_to_string(&runs).map_err(|error| format!("`{}`: {error}", runs.display()))?;
    let parsed: Result<Vec<Run>, _> = text.lines().map(serde_json::from_str).collect();
    let parsed = parsed.map_err(|error| format!("the runner's results are not understood: {error}"))?;
    let report = Report::new(&parsed, commit, timestamp(SystemTime::now()), found.missing);
    let page = report::markdown(&report);
    let json = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
    store(&out.join("report.md"), &page)?;
    store(&out.join("report.json"), &(json + "\n"))?;
    say(&page);
    say(&format!("stored in {}", options.out.display()));
    Ok(())
}

/// Writes a file of the report.
pub fn store(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("`{}`: {error}", file.display()))
}

/// The product as its users have it.
pub fn build(root: &Path) -> Result<PathBuf, String> {
    dist::build(root)?;
    let target = Metadata::load(root)?.target_directory;
    Ok(Path::new(&target).join("dist/agentos"))
}

fn measure(root: &Path, program: &Path, found: &peers::Found, out: &Path) -> Result<(), String> {
    let tools: Vec<&str> = ["agentos", "agentos-explain"]
        .into_iter()
        .chain(found.tools.iter().copied())
        .collect();
    let status = Command::new("python3")
        .arg(RUNNER)
        .args(["--set", CORPUS, "--only", &tools.join(","), "--out"])
        .arg(out)
        .current_dir(root)
        .env("AGENTOS", program)
        .envs(found.environment.iter().map(|(name, value)| (*name, value)))
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("`python3` cannot be run: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{RUNNER}` failed"))
    }
}

/// The commit that is measured, and whether the tree has changes beside it.
pub fn commit(root: &Path) -> String {
    let described = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12"])
        .current_dir(root)
        .stdin(Stdio::null())
        .output();
    match described {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Ok(_) | Err(_) => "unknown".to_owned(),
    }
}
