//! `cargo xtask gates`: every gate, one line each.
//!
//! Owns: building the product, running each gate of `gates.toml`, reading its verdict, and the page that lists the gates.
//! Never: judges the product itself; the program `gate` does.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime};

use agentos_verdict::{
    Check, CheckStatus, GateResults, GateSpec, GateTape, Mode, ProviderSpec, find_gate, load_gates,
};
use anyhow::{Context, Error, Result, bail, ensure};
use clap::Args;
use xshell::{Shell, cmd};

use crate::metadata::Metadata;
use crate::python::{LLAMA, ModelServer};
use crate::{boundary, say, timestamp};

/// The gate that judges the source tree, and so needs no build.
const BOUNDARY: &str = "boundary";
/// The gate for which this program can start a server.
const LLAMACPP: &str = "tl_r2_llamacpp";
/// Folder of the gates' evidence; each gate has a folder of its name in it.
const EVIDENCE: &str = "outputs/gates";
/// The page that explains this evidence.
pub const PAGE: &str = "outputs/gates/README.md";

/// Parses the name of a gate on the command line.
fn parse_name(name: &str) -> Result<String, String> {
    find_gate(name).map(|gate| gate.name)
}

/// Arguments of `cargo xtask gates`.
#[derive(Debug, Clone, Default, Args)]
pub struct GateOptions {
    /// Gates to run; all of them if none is named.
    #[arg(value_name = "NAME", value_parser = parse_name)]
    pub names: Vec<String>,
    /// Fails if a gate is skipped, for example because no server answers.
    #[arg(long)]
    pub require_live: bool,
    /// Only lists the gates.
    #[arg(long)]
    pub list: bool,
    /// True if the caller has built the product and the gates already.
    #[arg(skip)]
    pub built: bool,
}

/// Runs the gates. Returns true if none failed and, with `--require-live`, none was skipped.
///
/// A gate that cannot judge has failed; the other gates still run.
///
/// # Errors
/// When the list of gates cannot be read.
pub fn run(sh: &Shell, options: &GateOptions) -> Result<bool> {
    let wanted = |gate: &GateSpec| options.names.is_empty() || options.names.contains(&gate.name);
    let gates: Vec<GateSpec> = load_gates()?.into_iter().filter(wanted).collect();
    if options.list {
        gates.iter().for_each(|gate| say(&gate.name));
        return Ok(true);
    }
    let needs_build = !options.built && gates.iter().any(|gate| gate.name != BOUNDARY);
    // Kept as a result: a failed build is the reason of every gate that needs it, and the source tree is judged
    // all the same.
    let built = if needs_build { build_product(sh) } else { Ok(()) };
    let mut verdicts = Vec::new();
    for gate in &gates {
        let name = &gate.name;
        let started = Instant::now();
        let results = match &built {
            // The source tree is judged even if the product does not build.
            _ if name == BOUNDARY => judge_tree(sh, gate),
            Ok(()) => run_gate(sh, name),
            Err(problem) => Err(Error::msg(format!("{problem:#}"))),
        };
        let results = results.unwrap_or_else(|problem| broken_verdict(name, &problem));
        print_verdict(&results, started);
        verdicts.push(results);
    }
    Ok(verdicts.iter().all(|results| match results.status {
        CheckStatus::Passed => true,
        CheckStatus::Failed => false,
        CheckStatus::Skipped => !options.require_live,
    }))
}

/// Judges the source tree and writes the evidence of that, as the program `gate` does for the other gates.
fn judge_tree(sh: &Shell, gate: &GateSpec) -> Result<GateResults> {
    let began = timestamp(SystemTime::now());
    let names = gate.checks.iter().map(|(id, name)| (id.as_str(), name.as_str()));
    let names = names.collect();
    let tape = GateTape::begin_run(&evidence_folder(sh, BOUNDARY), BOUNDARY, Mode::Gate, &began)?;
    let results = GateResults::new(BOUNDARY, &began, Mode::Gate, boundary::run(sh, &names)?);
    tape.finish_run(&timestamp(SystemTime::now()), &results)?;
    Ok(results)
}

/// Creates the verdict of a gate that could not judge: one failed check with the reason.
fn broken_verdict(gate: &str, problem: &Error) -> GateResults {
    let check = Check::new("gate", "the gate can judge", false, format!("{problem:#}"));
    GateResults::new(gate, &timestamp(SystemTime::now()), Mode::Gate, vec![check])
}

/// Builds the product and the program `gate`.
///
/// # Errors
/// When one of them does not build.
pub fn build_product(sh: &Shell) -> Result<()> {
    let build = cmd!(
        sh,
        "cargo build --quiet --package agentos --package agentos-gates --bins"
    );
    build
        .quiet()
        .run()
        .context("the product or the program of the gates does not build")
}

/// Runs one gate, with a server that is started for it if possible, and reads its verdict.
///
/// # Errors
/// When the gate or its server cannot be run, or the gate leaves no new verdict.
fn run_gate(sh: &Shell, gate: &str) -> Result<GateResults> {
    let binaries = Metadata::load(sh)?.debug_folder();
    let folder = evidence_folder(sh, gate);
    let mut command = Command::new(binaries.join("gate"));
    command
        .arg(gate)
        .arg("--agentos")
        .arg(binaries.join("agentos"))
        .arg("--out")
        .arg(&folder);
    command
        .current_dir(sh.current_dir())
        .env("AGENTOS_GATE_MODE", "1");
    let scratch = sh.create_temp_dir()?;
    // A person who names a server wants that one judged.
    let is_ours = gate == LLAMACPP && sh.var_os("AGENTOS_LLAMACPP_BASE_URL").is_none();
    let server = match LLAMA.find_python(sh).filter(|_| is_ours) {
        Some(python) => Some(ModelServer::start(sh, &python, scratch.path())?),
        None => None,
    };
    if let Some(server) = &server {
        command.args(["--base-url", server.url()]);
    }
    let before = SystemTime::now();
    let output = command
        .output()
        .with_context(|| format!("the gate `{gate}` cannot be run"))?;
    drop(server);
    match output.status.code() {
        // 1 is a verdict too: a check failed. Any other code means that the gate could not judge.
        Some(0 | 1) => {
            let results = GateResults::read(&folder).map_err(Error::msg)?;
            ensure!(
                is_fresh(&results, before),
                "the gate `{gate}` wrote no verdict in this run"
            );
            Ok(results)
        }
        _ => bail!(
            "the gate `{gate}` could not judge: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        ),
    }
}

/// Returns true if a verdict was written by a run that started at or after `before`.
fn is_fresh(results: &GateResults, before: SystemTime) -> bool {
    // Both are RFC 3339 in UTC with the same number of digits, so the order of the texts is that of the times.
    results.started_at >= timestamp(before)
}

/// Returns the folder of a gate's evidence.
fn evidence_folder(sh: &Shell, gate: &str) -> PathBuf {
    sh.current_dir().join(Path::new(EVIDENCE)).join(gate)
}

/// Prints one line for the gate, and one for each reason why a check did not pass.
fn print_verdict(results: &GateResults, started: Instant) {
    let counts = results.counts;
    say(format_args!(
        "{}  {:<20} {} of {} checks passed, {} failed, {} skipped ({:.1} s)",
        results.status.display_word(),
        results.gate,
        counts.passed,
        results.checks.len(),
        counts.failed,
        counts.skipped,
        started.elapsed().as_secs_f64(),
    ));
    reason_lines(&results.checks).iter().for_each(say);
}

/// Most ids of skipped checks in one line. The evidence of the gate names all of them.
const MAX_IDS: usize = 4;

/// Returns a line for each reason why checks did not pass. Checks with the same result and reason share a line.
fn reason_lines(checks: &[Check]) -> Vec<String> {
    let mut grouped: Vec<(CheckStatus, &str, Vec<&str>)> = Vec::new();
    for check in checks.iter().filter(|check| check.status != CheckStatus::Passed) {
        for reason in &check.details {
            let same = grouped
                .iter_mut()
                .find(|(status, known, _)| *status == check.status && *known == reason.as_str());
            match same {
                Some((_, _, ids)) => ids.push(&check.id),
                None => grouped.push((check.status, reason, vec![&check.id])),
            }
        }
    }
    let line = |(status, reason, ids): &(CheckStatus, &str, Vec<&str>)| {
        let is_short = *status == CheckStatus::Failed || ids.len() <= MAX_IDS + 1;
        let shown: Vec<&str> = ids
            .iter()
            .copied()
            .take(if is_short { ids.len() } else { MAX_IDS })
            .collect();
        let rest = match ids.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "      {} {}{rest}: {reason}",
            status.display_word(),
            shown.join(", ")
        )
    };
    grouped.iter().map(line).collect()
}

/// Returns the page with its table generated from the list of gates; the text around the table stays as it is.
///
/// # Errors
/// When the list cannot be read, or the page has no marks around a table.
pub fn render_page(committed: &str) -> Result<String> {
    let (before, rest) = committed
        .split_once("-->\n")
        .context("the page of the gates has no comment that begins the table")?;
    let (_, after) = rest
        .split_once("<!-- end -->")
        .context("the page of the gates has no `<!-- end -->` after the table")?;
    let row = |gate: GateSpec| {
        let of_provider = |ProviderSpec { prefix, .. }| format!("`{prefix}-A` to `{prefix}-E`, as below");
        let checks = gate.checks.iter().map(|(id, what)| format!("`{id}`: {what}"));
        let checks: Vec<String> = checks.chain(gate.provider.map(of_provider)).collect();
        format!("| `{}` | {} | {} |\n", gate.name, gate.about, checks.join("<br>"))
    };
    let rows: String = load_gates()?.into_iter().map(row).collect();
    Ok(format!(
        "{before}-->\n\n| gate | what it judges | its checks |\n| --- | --- | --- |\n{rows}\n<!-- end -->{after}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_gate_and_nothing_that_is_gone() {
        let page = render_page("# Gates\n\n<!-- made -->\n| `gone` |\n<!-- end -->\n\nMore.\n").unwrap();
        assert!(
            page.starts_with("# Gates\n\n<!-- made -->\n\n| gate | what it judges | its checks |\n"),
            "{page}"
        );
        assert!(
            page.ends_with("\n\n<!-- end -->\n\nMore.\n") && !page.contains("`gone`"),
            "{page}"
        );
        for gate in load_gates().unwrap() {
            assert!(page.contains(&format!("| `{}` | {} |", gate.name, gate.about)));
        }
        assert_eq!(super::render_page(&page).unwrap(), page);
    }

    #[test]
    fn the_checks_of_the_tree_are_those_of_the_list() {
        let gates = load_gates().unwrap();
        let listed = gates.iter().find(|gate| gate.name == BOUNDARY).unwrap();
        let listed: Vec<&str> = listed.checks.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(listed, boundary::check_ids());
    }

    #[test]
    fn an_old_verdict_does_not_count() {
        let results = GateResults::new(
            "tl_r2_lmstudio",
            "2020-01-01T00:00:00.000Z",
            Mode::Gate,
            Vec::new(),
        );
        assert!(!is_fresh(
            &results,
            SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)
        ));
        assert!(is_fresh(&results, SystemTime::UNIX_EPOCH));
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
            check("A", CheckStatus::Skipped, "nobody there"),
            check("B", CheckStatus::Skipped, "A did not pass"),
            check("C", CheckStatus::Skipped, "A did not pass"),
            check("D", CheckStatus::Failed, "A did not pass"),
            check("E", CheckStatus::Passed, "fine"),
        ];
        let expected = [
            "      SKIP A: nobody there",
            "      SKIP B, C: A did not pass",
            "      FAIL D: A did not pass",
        ];
        assert_eq!(reason_lines(&checks), expected);
        let ids = ["a", "b", "c", "d", "e", "f"];
        let many = |status| ids.map(|id| check(id, status, "not declared"));
        assert_eq!(
            reason_lines(&many(CheckStatus::Skipped)),
            ["      SKIP a, b, c, d and 2 more: not declared"]
        );
        assert_eq!(
            reason_lines(&many(CheckStatus::Failed)),
            ["      FAIL a, b, c, d, e, f: not declared"]
        );
    }
}
