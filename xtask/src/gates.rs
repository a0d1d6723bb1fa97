//! `cargo xtask gates`: every gate, one line each.
//!
//! Owns: which gates there are, building what they judge, and reading their verdict. Never: judges the product
//! itself; the gate binaries do.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime};

use crate::metadata::Metadata;
use crate::report::{Check, GateResults, Status, timestamp};
use crate::{boundary, llama, say};

const BOUNDARY: &str = "boundary";
const LMSTUDIO: &str = "tl_r2_lmstudio";
const LLAMACPP: &str = "tl_r2_llamacpp";
const ROGUE: &str = "rogue";
/// The program that holds every gate but the first; it is told which.
const PROGRAM: &str = "gate";
const IN_KERNEL: &[&str] = &[
    "tl_r1_end_to_end",
    "tl_r1_negative_diffs",
    "tl_r1_power_boundary",
    "okind_n1",
    "cap_sanity",
    "no_selection",
    "type_robustness",
    "policy_not_widened",
    "hostile_inputs",
    "evidence_tampering",
    "secrets_canary",
    "kill_points",
];
const IN_CONNECT: &[&str] = &[
    "tl_r2_ollama",
    "tl_r2_vllm",
    "tl_r2_litellm",
    "tl_r2_openai",
    "tl_r2_anthropic",
    "tl_r2_gemini",
    "tl_r2_openrouter",
];

/// Every gate, in the order they are run.
fn all() -> impl Iterator<Item = &'static str> {
    let own = [BOUNDARY, ROGUE, LMSTUDIO, LLAMACPP];
    own.into_iter()
        .chain(IN_KERNEL.iter().copied())
        .chain(IN_CONNECT.iter().copied())
}

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Which gates; none means all.
    pub names: Vec<String>,
    /// A skipped gate fails.
    pub require_live: bool,
    /// Only name the gates.
    pub list: bool,
    /// The binaries are built already.
    pub built: bool,
    /// Print one JSON document instead of lines.
    pub json: bool,
}

impl Options {
    /// Reads the arguments after `gates`.
    ///
    /// # Errors
    /// What is not understood.
    pub fn parse(args: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        for arg in args {
            match *arg {
                "--require-live" => options.require_live = true,
                "--list" => options.list = true,
                "--json" => options.json = true,
                name if all().any(|gate| gate == name) => options.names.push(name.to_owned()),
                other => {
                    let known: Vec<&str> = all().collect();
                    return Err(format!(
                        "`{other}` is no gate; there are `{}`",
                        known.join("`, `")
                    ));
                }
            }
        }
        Ok(options)
    }

    fn wants_live(&self) -> bool {
        all().any(|gate| gate != BOUNDARY && self.wants(gate))
    }

    fn wants(&self, gate: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == gate)
    }
}

/// Runs them. True when none failed, and with `--require-live` none was skipped.
///
/// A gate that cannot judge has failed, and the others still run.
pub fn run(root: &Path, options: &Options) -> bool {
    if options.list {
        all().for_each(say);
        return true;
    }
    let binaries = options.wants_live().then(|| build(root, options.built));
    let mut verdicts = Vec::new();
    for gate in all().filter(|gate| options.wants(gate)) {
        let started = Instant::now();
        let results = match &binaries {
            Some(Err(problem)) if gate != BOUNDARY => Err(problem.clone()),
            Some(Ok(binaries)) if gate != BOUNDARY => judge(root, binaries, gate),
            Some(_) | None => judge_tree(root),
        };
        let results = results.unwrap_or_else(|problem| broken(gate, problem));
        if !options.json {
            show(&results, started);
        }
        verdicts.push(results);
    }
    if options.json {
        summary(&verdicts);
    }
    let accepted = |results: &GateResults| match results.status {
        Status::Passed => true,
        Status::Failed => false,
        Status::Skipped => !options.require_live,
    };
    verdicts.iter().all(accepted)
}

fn judge_tree(root: &Path) -> Result<GateResults, String> {
    let began = timestamp(SystemTime::now());
    let results = GateResults::new(BOUNDARY, &began, boundary::run(root)?);
    results.write(&evidence(root, BOUNDARY))?;
    Ok(results)
}

/// A gate that could not judge has failed; the others still run.
fn broken(gate: &str, problem: String) -> GateResults {
    let check = Check {
        id: "gate".to_owned(),
        name: "the gate can judge".to_owned(),
        status: Status::Failed,
        details: vec![problem],
    };
    GateResults::new(gate, &timestamp(SystemTime::now()), vec![check])
}

/// The folder with the product and the gate binaries; they are built first unless they are.
fn build(root: &Path, built: bool) -> Result<PathBuf, String> {
    if !built {
        build_product(root)?;
    }
    Ok(Path::new(&Metadata::load(root)?.target_directory).join("debug"))
}

/// Builds the product and the gate binaries.
///
/// # Errors
/// When they do not build.
pub fn build_product(root: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--package",
            "agentos",
            "--package",
            "agentos-gates",
            "--bins",
        ])
        .current_dir(root)
        .status()
        .map_err(|error| format!("`cargo build` cannot be run: {error}"))?;
    if !status.success() {
        return Err("the product or the gates do not build".to_owned());
    }
    Ok(())
}

/// Runs one gate binary, with a server of our own where that is possible, and reads its verdict.
fn judge(root: &Path, binaries: &Path, gate: &'static str) -> Result<GateResults, String> {
    let folder = evidence(root, gate);
    let mut command = Command::new(binaries.join(PROGRAM));
    command
        .arg(gate)
        .arg("--agentos")
        .arg(binaries.join("agentos"))
        .arg("--out")
        .arg(&folder)
        .current_dir(root);
    command.env("AGENTOS_GATE_MODE", "1");
    let scratch = std::env::temp_dir().join(format!("agentos-gate-{}", std::process::id()));
    let own_address = std::env::var_os("AGENTOS_LLAMACPP_BASE_URL").is_some();
    let server = match llama::python(root).filter(|_| gate == LLAMACPP && !own_address) {
        Some(python) => Some(llama::start(root, &python, &scratch)?),
        None => None,
    };
    if let Some(server) = &server {
        command.args(["--base-url", server.url()]);
    }
    let before = SystemTime::now();
    let output = command
        .output()
        .map_err(|error| format!("the gate `{gate}` cannot be run: {error}"));
    drop(server);
    // Scratch may be absent when no server was needed.
    std::fs::remove_dir_all(&scratch).ok();
    let output = output?;
    match output.status.code() {
        Some(0 | 1) => {
            let results = GateResults::read(&folder)?;
            fresh(&results, before)
                .then_some(results)
                .ok_or(format!("the gate `{gate}` left an old verdict"))
        }
        _ => Err(format!(
            "the gate `{gate}` broke: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}

/// A verdict from before this run would say nothing about it.
fn fresh(results: &GateResults, before: SystemTime) -> bool {
    results.started_at >= timestamp(before)
}

fn evidence(root: &Path, gate: &str) -> PathBuf {
    root.join("outputs/gates").join(gate)
}

/// Every verdict as one document.
fn summary(verdicts: &[GateResults]) {
    let gates: Vec<_> = verdicts
        .iter()
        .map(|results| {
            serde_json::json!({"gate": results.gate, "status": results.status, "counts": results.counts})
        })
        .collect();
    say(&serde_json::json!({"version": 1, "gates": gates}).to_string());
}

/// One line for the gate, and one for each reason.
fn show(results: &GateResults, started: Instant) {
    let counts = results.counts;
    let total = results.checks.len();
    let seconds = started.elapsed().as_secs_f64();
    say(&format!(
        "{}  {:<20} {} of {total} checks passed, {} failed, {} skipped ({seconds:.1} s)",
        results.status.word(),
        results.gate,
        counts.passed,
        counts.failed,
        counts.skipped
    ));
    reasons(&results.checks).iter().for_each(|line| say(line));
}

/// Why checks did not pass; checks that follow each other with the same reason share a line.
fn reasons(checks: &[Check]) -> Vec<String> {
    let mut grouped: Vec<(String, Status, &str)> = Vec::new();
    for check in checks.iter().filter(|check| check.status != Status::Passed) {
        for reason in &check.details {
            match grouped.last_mut() {
                Some((ids, status, last)) if *status == check.status && *last == reason.as_str() => {
                    ids.push_str(&format!(", {}", check.id));
                }
                Some(_) | None => grouped.push((check.id.clone(), check.status, reason)),
            }
        }
    }
    let line =
        |(ids, status, reason): (String, Status, &str)| format!("      {} {ids}: {reason}", status.word());
    grouped.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_gates_and_switches() {
        let options = Options::parse(&["boundary", "--require-live"]).unwrap();
        assert!(options.wants(BOUNDARY) && !options.wants(LMSTUDIO) && options.require_live);
        assert!(all().all(|gate| Options::default().wants(gate)));
        assert!(
            Options::parse(&["nothing"])
                .unwrap_err()
                .contains("`nothing` is no gate")
        );
    }

    #[test]
    fn an_old_verdict_does_not_count() {
        let results = GateResults::new(LMSTUDIO, "2020-01-01T00:00:00.000Z", Vec::new());
        assert!(!fresh(
            &results,
            SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)
        ));
        assert!(fresh(&results, SystemTime::UNIX_EPOCH));
    }

    #[test]
    fn checks_with_the_same_reason_share_a_line() {
        let check = |id: &str, status, reason: &str| Check {
            id: id.to_owned(),
            name: String::new(),
            status,
            details: vec![reason.to_owned()],
        };
        let checks = [
            check("A", Status::Skipped, "nobody there"),
            check("B", Status::Skipped, "A did not pass"),
            check("C", Status::Skipped, "A did not pass"),
            check("D", Status::Failed, "A did not pass"),
            check("E", Status::Passed, "fine"),
        ];
        let expected = [
            "      SKIP A: nobody there",
            "      SKIP B, C: A did not pass",
            "      FAIL D: A did not pass",
        ];
        assert_eq!(reasons(&checks), expected);
    }
}
